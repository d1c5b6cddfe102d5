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
  if target.runtime == "go" then
    errors.raise { status = errors.exit.target, hint = ("sonde dump %d"):format(target.pid),
      message = ("process %d (%s) is a Go program, and this is for .NET"):format(target.pid,
        target.name) }
  end
  return target
end

-- A number is a process (its file is "./4242"); another word is one when there
-- is no such file and a process has this whole name.
local function is_process(word)
  if word:find("^%d+$") then return true end
  if word:find("^[-:]") or word:find("[/%s]") or word:find("^%a+:") then return false end
  if require("sonde.c.core").path_info(word) then return false end
  return require("sonde.targets").is_name(word)
end

--- Does a command line mean a running process and no file? It says `-p` or
-- `--socket`, or begins with a number or with the name of a process.
-- @tparam {string,...} words
-- @treturn boolean
function live.is_meant(words)
  for _, word in ipairs(words) do
    if word:find("^%-p") or word == "--socket" or word:find("^%-%-socket=") then return true end
  end
  return words[1] ~= nil and is_process(words[1])
end

--- After the help of a verb, that of the form which it has for other inputs.
-- @tparam {string,...} words of the command line; without `-h` nothing happens
-- @tparam string of what that form is
-- @tparam string module
-- @tparam table env
function live.add_help(words, of, module, env)
  for _, word in ipairs(words) do
    if word == "-h" or word == "--help" then
      env.out:write(("\nOf %s:\n\n"):format(of))
      require(module).start({ "--help" }, env)
      return
    end
  end
end

--- A verb that takes a file or a running process: with `-h` it tells of both.
-- @tparam table of_file the verb for files
-- @tparam string module the verb for processes
-- @treturn table a verb
function live.either(of_file, module)
  local start_file <const> = of_file.start
  function of_file.start(words, env)
    local is_go, as_input = require("sonde.cmd.go").meant(words)
    if is_go then return start_file(as_input, env) end
    if live.is_meant(words) then return require(module).start(words, env) end
    local status <const> = start_file(words, env)
    live.add_help(words, "a running process", module, env)
    return status
  end
  function of_file.forms()
    return { of_file.declaration(), require(module).declaration() }
  end
  return of_file
end

return live
