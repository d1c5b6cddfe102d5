--- `sonde core PID`: a core dump, written by the process's own runtime.
-- @module sonde.cmd.core
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"

local MS <const> = 1000000
local LOOK <const> = 200 * MS
local SIGNALS <const> = { 2, 15, 1 }

local function status_text(core)
  local units <const> = require "sonde.base.units"
  if core.needed == nil then return "writing: " .. units.bytes(core:bytes()) end
  return ("writing: %s of at most about %s"):format(units.bytes(core:bytes()),
    units.bytes(core.needed))
end

-- Waits and shows how it grows; true when somebody lost patience.
local function watch(core, env)
  local loop <const> = require "sonde.base.loop"
  local show <const> = require("sonde.base.term").status(env.err, env.terminal.err)
  local over = false
  local release <const> = loop.on_signals(SIGNALS, function() over = true end)
  local _ <close> = setmetatable({}, { __close = function()
    release()
    show(nil)
  end })
  while not over do
    local result <const> = table.pack(core:wait(loop.after(LOOK)))
    if core.finished then return false, table.unpack(result, 1, result.n) end
    show(status_text(core))
  end
  return true
end

return common.verb {
  name = "core",
  summary = "a core dump of a running process, written by its own runtime",
  arguments = { live.target_argument },
  options = function()
    return options.join(live.target_options, require("sonde.dotnet.coredump").options)
  end,
  examples = { "sonde core 4242", "sonde core Api --type full -o /var/tmp/api.core" },
  run = function(args, env)
    local target <const> = live.target(args)
    local core <const> = common.check(target:core { output = args.output, type = args.type,
      force = args.force, timeout = args.timeout })
    if core.foreign then
      env:say(("the process writes it in its own file system: here that is %s"):format(core.seen))
    end
    local left, done, message, code, hint = watch(core, env)
    if left then
      errors.raise { message = ("not waited for: the process goes on writing %s"):format(core.path),
        status = errors.exit.given_up }
    end
    common.check(done, message, code, hint)
    env:say(("wrote %s (%s core, %s)"):format(core.seen, core.type,
      require("sonde.base.units").bytes(core:bytes())), "dotnet-dump analyze " .. core.seen)
  end,
}
