--- The words that are reports: each becomes a call of the library, which is
-- run and kept for `save`.
-- @module sonde.shell.ask
local code <const> = require "sonde.shell.code"
local errors <const> = require "sonde.base.errors"
local reports <const> = require "sonde.report"
local settings <const> = require "sonde.shell.settings"
local words <const> = require "sonde.shell.words"

local ask = {}

-- Reports that are methods, whose rows are values to work with.
local METHODS <const> = {
  profile = { top = "top", tree = "tree", calltree = "calls", peek = "peek" },
  diff = { diff = "top" },
}

-- The sample type that a profile's view is.
local function add_type(session, module, opts)
  if session.used.is_trace or session.values.view == nil or opts.type then return end
  for _, option in ipairs(module.options) do
    if option.name == "type" then opts.type = session.values.view end
  end
end

local function options_for(session, module, args)
  local opts <const> = settings.for_report(session.values, module)
  for name, value in pairs(args.options) do opts[name] = value end
  add_type(session, module, opts)
  return opts
end

-- The object of a report, as Lua text.
local function receiver(session, kind, args)
  if kind ~= "profile" then
    if #args.focus + #args.ignore > 0 then
      errors.usage(("this report has no functions to choose by '%s'"):format(
        args.focus[1] or args.ignore[1]), "help")
    end
    if kind == "timeline" then return "assert(trace:timeline())" end
    return kind == "any" and (session.used.is_trace and "trace" or "whole") or kind
  end
  local filters <const> = words.filters(args, settings.filters(session.values))
  return filters and ("assert(%s)"):format(code.call("whole:where", filters)) or "profile"
end

local function check_kind(session, module, kind)
  if kind == "diff" and #session.inputs ~= 2 then
    errors.usage(("'%s' compares two inputs, and there is %s"):format(module.name,
      #session.inputs == 1 and "one" or "none"), "sonde shell BEFORE AFTER")
  end
  if (kind == "trace" or kind == "timeline") and not session:need_input().is_trace then
    errors.raise { code = "unavailable", hint = "top",
      message = ("'%s' is of a trace, and %s is a profile"):format(module.name,
        session.used.name) }
  end
end

local function with(opts, more)
  local all = {}
  for name, value in pairs(opts) do all[name] = value end
  for name, value in pairs(more) do all[name] = value end
  return all
end

local HAS_WRITE <const> = { profile = true, diff = true }

-- "sonde.report.render(trace, "trace", "gc", …)" for objects without a method.
local function library_call(fn, object, kind, last)
  return ("sonde.report.%s(%s, %q, %s, %q)"):format(fn, object, kind, last, "shell")
end

local function writing(module, object, kind, opts, path)
  local given <const> = code.options(with(opts, { path = path, format = module.name }))
  if HAS_WRITE[kind] then return ("%s:write %s"):format(object, given) end
  return library_call("write", object, kind, given)
end

local function rendering(module, object, kind, opts)
  local given <const> = code.options(opts)
  if HAS_WRITE[kind] then
    return ("%s:render(%q%s)"):format(object, module.name, given == "" and "" or ", " .. given)
  end
  return library_call("render", object, kind, ("%q, %s"):format(module.name,
    given == "" and "{}" or given))
end

-- Reports whose rows are not what people take them for: samples one by one, the
-- one object of inspect.
local NO_ROWS <const> = { traces = true, inspect = true }

local function showing(module, object, kind, opts)
  local method <const> = METHODS[kind] and METHODS[kind][module.name]
  if method then return code.call(("%s:%s"):format(object, method), opts) end
  if module.rows == nil or NO_ROWS[module.name] then
    return rendering(module, object, kind, opts)
  end
  local given <const> = code.options(opts)
  if kind == "profile" then
    return ("%s:rows(%q%s)"):format(object, module.name, given == "" and "" or ", " .. given)
  end
  return library_call("rows", object, kind, ("%q, %s"):format(module.name,
    given == "" and "{}" or given))
end

-- Formats that only a program can read.
local FOR_PROGRAMS <const> = { svg = true, html = true, speedscope = true, chromium = true,
  json = true }

--- The Lua text of a report.
-- @tparam table session
-- @tparam table module the report
-- @tparam table args of `words.arguments`
-- @tparam ?boolean interactive somebody would have to read it
-- @treturn string
-- @treturn boolean whether its value says only that it worked
function ask.source(session, module, args, interactive)
  local opts <const> = options_for(session, module, args)
  local kind <const> = reports.needs(module, opts)
  check_kind(session, module, kind)
  local object <const> = receiver(session, kind, args)
  if args.path then return writing(module, object, kind, opts, args.path), true end
  if module.binary or interactive and FOR_PROGRAMS[module.name] then
    errors.usage(module.name .. " is nothing to read on a terminal",
      ("%s > out.%s"):format(module.name, module.extensions[1]))
  end
  if args.pipe then
    return ("pipe(%s, %s)"):format(code.literal(args.pipe),
      rendering(module, object, kind, opts)), true
  end
  return showing(module, object, kind, opts), false
end

--- Runs a report.
-- @tparam table shell
-- @tparam table module
-- @tparam string rest its arguments
-- @tparam ?string digits of a word such as top20
-- @tparam string line what was typed
function ask.run(shell, module, rest, digits, line)
  local args <const> = words.arguments(module, rest, digits)
  local source, quiet = ask.source(shell.session, module, args, shell.interactive)
  local hint <const> = module.takes == "trace" and "providers" or nil
  local values <const> = shell.session:evaluate(source, {
    line = line, quiet = quiet, hint = hint,
  })
  if args.path then
    require("sonde.shell.basics").check_written(shell, args.path, module.name)
    shell:say(("wrote %s (%s)"):format(args.path, module.name))
  elseif not quiet then
    shell:display(values)
  end
end

return ask
