--- `sonde shell [INPUT] [INPUT2]`: asks one question after the other.
-- @module sonde.cmd.shell
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"
local term <const> = require "sonde.base.term"

local OWN <const> = {
  { name = "command", short = "c", type = "string", many = true, argname = "LINE",
    help = "run this line and end; may be repeated" },
  { name = "strict", short = "e", type = "boolean",
    help = "without a terminal, stop at the first error" },
  { name = "script", type = "path", argname = "FILE",
    help = "run a Lua script, such as the word save writes; inputs are its arguments" },
  { name = "no_config", type = "boolean",
    help = "leave the file shell.lua of sonde's configuration alone" },
}

local function fail(message, status)
  errors.raise { message = message, status = status }
end

-- The script sees what lua5.4 would give it.
local function run_script(args, env)
  local chunk, message = loadfile(args.script, "t")
  if chunk == nil then fail("cannot run: " .. message, errors.exit.usage) end
  _G.arg = { [0] = args.script, args.input, args.other }
  io.stdout:setvbuf("full")
  local done, raised = xpcall(chunk, function(raised)
    if errors.is_failure(raised) or errors.is_interrupt(raised) then return raised end
    return { message = tostring(raised) }
  end, args.input, args.other)
  env.out:flush()
  if done then return errors.exit.done end
  if type(raised) == "table" and not errors.is_failure(raised) then
    fail(raised.message, errors.exit.empty)
  end
  error(raised, 0)
end

-- The first time, only the events of samples are wanted; a stream is read once.
local function open_first(path, args, env)
  local progress, status = common.progress(path, env)
  local object <const> = common.open(path, { limit = args.limit }, env, {
    progress = progress, view = path ~= "-" and "wall" or nil,
  })
  status(nil)
  return common.redacted(object, args)
end

-- What is wrong with the file was told when it was opened first.
local function open_all(path, args, env)
  local progress, status = common.progress(path, env)
  local object <const> = common.opened(require("sonde").open(path, {
    limit = args.limit, progress = progress,
  }))
  status(nil)
  return common.redacted(object, args)
end

-- `expression` is Lua text that gives the object in a saved script.
local function open_input(path, expression, name, args, env)
  local session <const> = require "sonde.shell.session"
  local object <const> = open_first(path, args, env)
  local input <const> = session.input(object, expression, name)
  local _, resolved = require("sonde.c.core").path_info(path)
  input.path = resolved or path
  if input.is_trace and path ~= "-" then
    input.load = function() return open_all(path, args, env) end
  end
  return input
end

local function name_of(path, args)
  local redactor <const>, name <const> = common.redactor(args), path:match("[^/]*$")
  return redactor and redactor:path(name) or name
end

local function open_inputs(args, env)
  local inputs = {}
  for i, path in ipairs { args.input, args.other } do
    local name <const> = args.other == nil and name_of(path, args) or i == 1 and "before" or "after"
    inputs[i] = open_input(path, ("inputs[%d]"):format(i), name, args, env)
  end
  return inputs
end

-- What the command line says of the settings, in the words of the shell.
local function first_settings(session, args)
  local settings <const> = require "sonde.shell.settings"
  local values = session.values
  for _, option in ipairs(settings.declared) do
    local given = args[option.name]
    if option.name == "thread" and type(given) == "table" then
      if #given > 1 then errors.usage("--thread may be given once here", "--thread 'A|B'") end
      given = given[1]
    end
    if given ~= nil and given ~= option.default then
      local copy = {}
      for name, value in pairs(values) do copy[name] = value end
      copy[option.name] = given
      values = copy
    end
  end
  session:change(values)
  session.past = {}
end

-- The user's own file: Lua with the names of the shell; it gets a function
-- that runs a line.
local function load_config(shell, path)
  if path == nil or require("sonde.c.core").path_info(path) == nil then return end
  local env <const> = shell.session.env
  local chunk, message = loadfile(path, "t", env)
  local done
  if chunk then
    done, message = errors.pcall(chunk, function(line) shell:run(line) end)
  end
  if not done then
    shell.env:say(("%s was not loaded: %s"):format(path, tostring(message)), "--no-config")
  end
  local names = {}
  for name in next, env do
    if name ~= "_G" then names[name] = true end
  end
  shell.script_about.config_path, shell.script_about.config_names = path, names
  shell.session.log, shell.session.past = {}, {}
end

local function reader_for(shell, args, env, is_terminal)
  local lines <const> = require "sonde.shell.lines"
  if #args.command > 0 then return lines.list(args.command) end
  if not is_terminal then return lines.file(io.stdin) end
  local history <const> = lines.history(lines.history_path(env.getenv))
  return (lines.terminal(history, function(...)
    return require("sonde.shell.complete").find(shell, ...)
  end, function(prompt)
    env.out:write(prompt)
    env.out:flush()
  end, env.getenv))
end

local function greet(shell)
  local session <const> = shell.session
  for i, input in ipairs(session.inputs) do
    local name <const> = #session.inputs == 2 and input.name .. ": " or ""
    shell:say(name .. tostring(session.inputs[i].object))
  end
  require("sonde.shell.basics").tell_views(shell)
  if session:is_empty() then
    shell:say('nothing is open: open FILE, targets(), store "FILE", sonde ps')
  end
  if #session.inputs == 2 then
    shell:say("words are about the later input; use before; diff compares")
  end
  shell:say("help lists the words; all else is Lua, as profile:top{ n = 5 }; Ctrl-D ends")
end

local function size_of_terminal()
  return require("sonde.c.core").columns(1)
end

local function make_shell(args, env, is_terminal)
  local session <const> = require("sonde.shell.session").new(open_inputs(args, env))
  first_settings(session, args)
  local redactor <const> = common.redactor(args)
  if redactor then redactor:guard() end
  require("sonde.shell").is_redacted = redactor ~= nil
  local style <const> = require "sonde.shell.style"
  return require("sonde.shell.loop").new {
    session = session, env = env, interactive = is_terminal,
    open = function(path) return open_input(path, "", name_of(path, args), args, env) end,
    size = is_terminal and env.terminal.out and size_of_terminal or nil,
    paint = style.painter(is_terminal and term.colored(1, env.getenv)),
    paint_err = style.painter(is_terminal and term.colored(2, env.getenv)),
    number = not is_terminal and #args.command == 0 and 0 or nil,
    script_about = { limit = args.limit ~= common.input_options[1].default and args.limit or nil,
      redactor = redactor },
  }
end

local function run(args, env)
  args.command = args.command or {}
  if args.script then return run_script(args, env) end
  local is_terminal <const> = #args.command == 0 and term.is_terminal(0)
  if #args.command == 0 and (args.input == "-" or args.other == "-") then
    errors.usage("standard input cannot be both the input and the lines to run", "-c LINE")
  end
  local shell <const> = make_shell(args, env, is_terminal)
  if not args.no_config then
    load_config(shell, require("sonde.base.settings").path("shell.lua", env.getenv))
  end
  shell.reader = reader_for(shell, args, env, is_terminal)
  if not is_terminal then return shell:loop(args.strict) end
  local _ <close> = setmetatable({}, { __close = function() shell.reader:close() end })
  local core <const> = require "sonde.c.core"
  core.heed_signals(false)   -- until a line is read
  core.catch_signal(2, true)
  greet(shell)
  shell:loop()
end

return common.verb {
  name = "shell",
  summary = "asks one question after the other: pprof's words, and Lua",
  arguments = {
    { name = "input", optional = true, help = common.input_argument.help },
    { name = "other", optional = true, help = "a later one to compare with" },
  },
  options = function()
    return options.join(OWN, common.profile_options(), common.redact_options())
  end,
  examples = {
    "sonde shell api.nettrace",
    "sonde shell monday.nettrace tuesday.nettrace",
    "sonde shell api.nettrace -c 'focus=Json' -c 'top10 -cum'",
    "sonde shell                                  # of what runs: targets(), target \"Api\"",
    "sonde shell api.nettrace --redact            # all names are pseudonyms from the start",
  },
  run = run,
}
