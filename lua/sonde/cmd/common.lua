--- What verbs share: options, opening the input, writing reports and listings.
-- @module sonde.cmd.common
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"
local take <const> = require "sonde.cmd.take"
local term <const> = require "sonde.base.term"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local common = {}

--- Options of every verb that opens an input.
common.input_options = options.join({
  { name = "limit", type = "size", default = 2 << 30, default_text = "2GiB", min = 1 << 20,
    help = "most memory that decoding may use" },
  { name = "lenient", type = "boolean",
    help = "of a damaged profile, leave out what is damaged and read the rest" },
  require("sonde.symbols").option,
}, require "sonde.golang.take", require "sonde.base.connection")

--- Options that cut a trace by time.
common.time_options = {
  { name = "from", type = "duration", help = "leave out what was before this time" },
  { name = "to", type = "duration", help = "leave out what was after this time" },
}

--- Options that choose a profile of a trace.
common.view_options = {
  { name = "view", aliases = { "sample_index" }, type = "string", argname = "VIEW",
    help = "what is measured: wall samples running managed oncpu alloc exception contention"
      .. " gc jit cpu cswitch, or a sample type of a pprof file" },
  { name = "names", type = "string", choices = { "pretty", "full", "raw" }, default = "pretty",
    argname = "FORM", help = "how methods of a trace are named" },
  { name = "thread", type = "pattern", many = true, argname = "ID|RE",
    help = "only threads with this id, or whose name matches; may be repeated" },
  { name = "process", type = "pattern", argname = "PID|RE",
    help = "only the process with this id, or whose name matches" },
}

--- `--json`.
common.json = { name = "json", type = "boolean", help = "write JSON lines" }

--- `-o FILE`.
common.output = { name = "output", short = "o", type = "path", argname = "FILE",
  help = "write to this file; - is standard output" }

--- `--format NAME`.
common.format = { name = "format", type = "string", argname = "NAME",
  help = "format, when the output's name does not say it" }

--- The argument that names an input.
common.input_argument = { name = "input",
  help = "a trace or profile (.nettrace, .netperf, pprof, folded; also gzip, xz, zip); - is stdin" }

--- The same of verbs that add several profiles up.
common.input_arguments = { name = "input", many = true,
  help = common.input_argument.help .. "; several profiles are added up" }

--- Options that make one profile of several.
common.combine_options = {
  { name = "base", type = "path", argname = "FILE",
    help = "subtract this profile: an earlier one of the same process" },
  { name = "diff_base", type = "path", argname = "FILE",
    help = "subtract this profile to compare with it: percentages are of it" },
  { name = "normalize", type = "boolean",
    help = "scale to the totals of the base before it is subtracted" },
  { name = "scale", type = "number", argname = "X", help = "multiply all values by this" },
}

--- Options of verbs that show a profile.
-- @treturn {table,...} declared options
function common.profile_options()
  local filters <const> = require("sonde.profile").filters
  return options.join(common.view_options, common.time_options, filters, common.input_options,
    require("sonde.capture.query").window)
end

--- Options that make what is written fit to be shown to others.
-- @treturn {table,...} declared options
function common.redact_options()
  return require "sonde.redact.options"
end

--- The redactor that the options ask for, one for a whole command.
-- @tparam table args
-- @treturn ?Redactor nil when nothing is to be redacted
function common.redactor(args)
  if not args.redact then
    for _, name in ipairs { "redact_key", "redact_allow", "redact_forbid" } do
      if args[name] and #args[name] > 0 then
        errors.usage(("%s: needs --redact"):format(options.flag(name)))
      end
    end
    return nil
  end
  args.redactor = args.redactor or require("sonde.redact").new {
    key = args.redact_key, allow = args.redact_allow, forbid = args.redact_forbid,
  }
  return args.redactor
end

--- An object as it may be shown: redacted when the options ask for it.
-- @param object Trace, Profile or Timeline
-- @tparam table args
-- @tparam ?string kind "timeline" for one; the others are known
-- @return the same kind
function common.redacted(object, args, kind)
  local redactor <const> = common.redactor(args)
  if redactor == nil then return object end
  if kind == "timeline" then return common.check(redactor:timeline(object)) end
  return common.check(redactor:object(object))
end

-- The arguments and options that name what is read.
local READ <const> = { "input", "before", "after", "base", "diff_base" }

-- What comes from standard input is gone when it was read.
local function refuse_stdin_twice(args)
  local n = 0
  for _, name in ipairs(READ) do
    local paths = args[name]
    if type(paths) ~= "table" then paths = { paths } end
    for _, path in ipairs(paths) do n = n + (path == "-" and 1 or 0) end
  end
  if n > 1 then
    errors.usage("-: standard input can be read only once",
      "cat >saved, and the file's name instead of one -")
  end
end

--- Makes a verb of its declaration: `start(words, env, program)` reads the command
-- line and calls `run(args, env)`; a `program` to be started is `args.program`.
-- @tparam table verb `name summary arguments run`; `options` is a list or a
--   function that gives one, so that listing verbs loads nothing else
-- @treturn table the same
function common.verb(verb)
  verb.path = verb.path or verb.name
  function verb.declaration()
    if type(verb.options) == "function" then verb.options = verb.options() end
    return verb
  end
  function verb.start(words, env, program)
    local arguments <const> = require "sonde.base.arguments"
    local args, help = arguments.read(verb.declaration(), verb.path, words)
    if args == nil then
      env.out:write(help)
      return errors.exit.done
    end
    args.program = program
    refuse_stdin_twice(args)
    return verb.run(args, env)
  end
  return verb
end

--- Ends the verb when an input could not be opened.
-- @param object what opening it returned
-- @tparam ?string message
-- @tparam ?string code
-- @tparam ?string hint
-- @return the values of the call
function common.opened(object, message, code, hint)
  if object == nil then
    errors.raise { message = "cannot open: " .. message, code = code, hint = hint }
  end
  return object, message, code, hint
end

-- Verbs that show profiles see a dump as one.
local function profile_of_dump(object, args)
  if not common.is_dump(object) then return object end
  return common.check(object:profile { view = args.view == "wait" and "wait" or nil })
end

--- Opens an input. A partial one is told and goes on; none ends the verb.
-- @tparam string path
-- @tparam table args the verb's, of which `limit from to view` are used
-- @tparam table env
-- @tparam ?table more further options of `sonde.open`
-- @return Trace or Profile
function common.open(path, args, env, more)
  return profile_of_dump(common.open_any(path, args, env, more), args)
end

--- Which records of a store the options choose.
-- @tparam table args
-- @treturn table for `Store:profile`
function common.window_of(args)
  local window = { view = args.view }
  for _, option in ipairs(require("sonde.capture.query").window) do
    local value <const> = args[option.name]
    if type(value) ~= "table" or #value > 0 then window[option.name] = value end
  end
  return window
end

--- Shows how far reading is, where somebody watches stderr.
-- @tparam string path
-- @tparam table env
-- @treturn function for the option `progress` of `sonde.open`
-- @treturn function to be called without a text when it has been read
function common.progress(path, env)
  local status <const> = term.status(env.err, env.terminal.err and true or false)
  local last
  return function(taken, size)
    local share <const> = size and size > 0 and (" %d%%"):format(math.min(100, taken * 100 // size))
      or (" %s"):format(units.bytes(taken))
    if share == last then return end
    last = share
    status(("reading %s%s"):format(text.printable(path), share))
  end, status
end

--- Opens an input as `common.open` does, and leaves a dump a dump.
-- @tparam string path
-- @tparam table args
-- @tparam table env
-- @tparam ?table more
-- @return Trace, Profile or Dump
function common.open_any(path, args, env, more)
  local taken <const> = take.input(path, args, env)
  local opts <const> = {
    limit = args.limit, from = args.from, to = args.to, lenient = args.lenient,
    symbolize = args.symbolize, note = function(words) env:say(words) end,
  }
  local progress, status = common.progress(path, env)
  opts.progress = env.terminal.err and progress or nil
  for name, value in pairs(more or {}) do opts[name] = value end
  opts.store = common.window_of(args)
  local object, message, code, hint = require("sonde").open(taken or path, opts)
  status(nil)
  common.opened(object, message, code, hint)
  if message then env:warn(message, code, hint) end
  take.remember(object, taken)
  return object
end

--- Is the object a dump?
-- @param object
-- @treturn boolean
function common.is_dump(object)
  return type(object.suspects) == "function"
end

--- Is the object a Trace?
-- @param object
-- @treturn boolean
function common.is_trace(object)
  return type(object.profile) == "function"
end

--- Ends the verb when a call returned nil.
-- @param value what the call returned
-- @tparam ?string message
-- @tparam ?string code
-- @tparam ?string hint
-- @return the values of the call
function common.check(value, message, code, hint)
  if value == nil then errors.raise { message = message, code = code, hint = hint } end
  return value, message, code
end

--- The options of a report out of a verb's arguments.
-- @tparam table module
-- @tparam table args
-- @treturn table
function common.options_of(module, args)
  local own = {}
  for _, option in ipairs(module.options) do
    own[option.name] = args[option.name]
    if own[option.name] == nil then own[option.name] = option.default end
  end
  return own
end

-- What a row is about comes first in its line of JSON.
local ROW_KEYS <const> = {
  "schema", "name", "flat", "cum", "before", "after", "change", "relative", "unit",
}

-- The same, but nothing is handed on before all of it was checked.
local function checked(args, form, write)
  local redactor <const> = common.redactor(args)
  if redactor == nil then return write end
  return function(out)
    local collector <const> = require("sonde.report.sink").collector()
    local done, message, code = write(collector)
    if not done then return nil, message, code end
    local bytes <const> = collector:text()
    done, message, code = redactor:check(bytes, form)
    if not done then return nil, message, code end
    out:write(bytes)
    return true
  end
end

--- Runs something that writes to `env.out`, and hands on what it wrote when
-- nothing is left in it that must not be shown.
-- @tparam table args
-- @tparam table env
-- @tparam function run called with an env
function common.checked(args, env, run)
  if common.redactor(args) == nil then return run(env) end
  common.check(checked(args, "text", function(out)
    run(setmetatable({ out = out }, { __index = env }))
    return true
  end)(env.out))
end

local function inputs_of(args)
  if type(args.input) == "table" then return args.input end
  return args.input and { args.input } or { args.before, args.after }
end

-- A recording that its own picture replaces cannot be made again.
local function refuse_own_input(args)
  local core <const> = require "sonde.c.core"
  local kind, output <const> = core.path_info(args.output)
  if kind ~= "file" then return end
  for _, path in ipairs(inputs_of(args)) do
    local input_kind, input <const> = core.path_info(path)
    if input_kind == "file" and input == output then
      errors.usage(("-o: '%s' is the input, which would be lost"):format(args.output))
    end
  end
end

--- Writes to where the arguments say: a file, or `env.out`.
-- @tparam table args
-- @tparam string what in words, for the message
-- @tparam table env
-- @tparam function write called with an output
function common.write_to(args, what, env, write)
  write = checked(args, what, write)
  if args.output == nil or args.output == "-" then
    common.check(write(env.out))
    return
  end
  refuse_own_input(args)
  local files <const> = require "sonde.base.files"
  local done, message, code = files.write(args.output, write)
  if not done then errors.raise { message = "cannot write: " .. message, code = code } end
  env:say(("wrote %s (%s)"):format(args.output, what))
end

--- Writes rows as JSON lines to where the arguments say.
-- @tparam function rows iterator of tables
-- @tparam table args the verb's
-- @tparam table env
-- @treturn ?integer exit status, when there was no row
function common.write_rows(rows, args, env)
  local json <const> = require "sonde.base.json"
  local n = 0
  common.write_to(args, "JSON lines", env, function(out)
    for row in rows do
      out:write(json.encode(row, ROW_KEYS), "\n")
      n = n + 1
    end
    return true
  end)
  if n > 0 then return end
  env:say((inputs_of(args)[1] or "no input") .. ": nothing to list")
  return errors.exit.empty
end

--- Writes a report to where the arguments say: `output`, or `env.out`.
-- @tparam table module
-- @param object
-- @tparam table args the verb's
-- @tparam table env
-- @tparam ?function write instead of the module's own
function common.write_report(module, object, args, env, write)
  local opts <const> = common.options_of(module, args)
  write = write or module.write
  local to_terminal <const> = env.terminal.out and (args.output or "-") == "-"
  if module.binary and to_terminal then
    errors.usage(module.name .. " is no text for a terminal", "-o FILE")
  end
  common.write_to(args, module.name, env, function(out) return write(object, opts, out) end)
end

return common
