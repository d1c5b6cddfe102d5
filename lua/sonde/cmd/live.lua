--- What verbs that look into running processes share.
-- @module sonde.cmd.live
local errors <const> = require "sonde.base.errors"

local live = {}

--- Options that say which process is meant.
live.target_options = {
  { name = "process", short = "p", type = "string", argname = "PID|NAME",
    help = "the process: its number, or its name (part of it will do)" },
  { name = "socket", type = "path", argname = "PATH",
    help = "the diagnostics socket, for processes that cannot be seen from here" },
}

--- The argument that says the same.
live.target_argument = { name = "target", optional = true,
  help = "the process: its number, or its name (part of it will do)" }

--- The target that the command line means; ends the verb when there is none.
-- @tparam table args
-- @treturn Target
function live.target(args)
  local what <const> = args.target or args.process
  if args.target and args.process then errors.usage("the process is given twice") end
  if what and args.socket then errors.usage("--socket and a process: one of them") end
  if not what and not args.socket then
    errors.usage("which process? give its number or its name", "sonde ps")
  end
  local target, message, code, hint = require("sonde.targets").open(args.socket
    and { socket = args.socket } or what)
  if target == nil then errors.raise { message = message, code = code, hint = hint,
    status = errors.exit.target } end
  return target
end

--- Ends the verb when a call returned nil.
-- @return the values of the call
function live.check(value, message, code, hint, ...)
  if value == nil then errors.raise { message = message, code = code, hint = hint } end
  return value, message, code, hint, ...
end

return live
