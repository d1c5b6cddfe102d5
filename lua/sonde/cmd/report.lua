--- `sonde report NAME INPUT`: any report, by its name.
-- @module sonde.cmd.report
local chosen <const> = require "sonde.cmd.chosen"
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"

local report = {}

-- A report that lists can do so as JSON.
local function own_options(module)
  if module.rows == nil then return module.options end
  return options.join(module.options, { common.json })
end

local function input_options(module)
  if module.takes == "trace" or module.takes == "any" then
    return options.join(common.time_options, common.input_options, common.redact_options())
  end
  return options.join(common.profile_options(), common.combine_options,
    common.redact_options())
end

local function write_json(module, object, args, env)
  local opts <const> = common.options_of(module, args)
  local rows <const> = common.check(module.rows(object, opts))
  return common.write_rows(rows, args, env)
end

-- The object that a report needs, of the input.
local function object_for(module, needs, args, env)
  local whole <const> = needs == "trace" or needs == "any"
  local is_page <const> = whole and module.takes == "profile"
  local object <const> = common.open(args.input, args, env, {
    timeline = needs == "timeline" or is_page, runs = is_page,
    view = not whole and (args.view or "wall") or nil,
  })
  if needs == "trace" and not common.is_trace(object) then
    errors.raise { code = "unavailable",
      message = ("%s: the report '%s' is of a trace, and this is a profile"):format(args.input,
        module.name), hint = "sonde top " .. args.input }
  end
  if whole then return common.redacted(object, args) end
  if needs == "timeline" then
    return common.redacted(chosen.timeline(object, args), args, "timeline")
  end
  local profile <const> = common.redacted(chosen.profile(object, args, env, module), args)
  return common.check(require("sonde.report").shown(profile, "profile", module))
end

--- Runs a report on an input, for every verb that shows one.
-- @tparam table module the report
-- @tparam table args `input` and the options
-- @tparam table env
-- @treturn ?integer exit status
function report.run(module, args, env)
  if type(args.input) == "table" then args.inputs, args.input = args.input, args.input[1] end
  if #(args.inputs or {}) > 1 and module.takes ~= "profile" then
    errors.usage(("one argument too many: '%s'"):format(args.inputs[2]))
  end
  local needs <const> = require("sonde.report").needs(module, args)
  local object <const> = object_for(module, needs, args, env)
  if args.n == nil and module.terminal and env.terminal.out and args.output == nil then
    args.n = module.terminal.n
  end
  if args.json and module.rows then return write_json(module, object, args, env) end
  common.write_report(module, object, args, env)
  -- Formats that keep all of a profile can write an empty one.
  if needs == "profile" and #object == 0 then
    env:warn(require("sonde.report.scope").nothing(object), "no_samples")
  end
end

--- The verb that shows one report.
-- @tparam table module the report
-- @tparam string path how the verb is called: "top", "report tree"
-- @tparam ?{string,...} examples
-- @treturn table
function report.verb_of(module, path, examples)
  return common.verb {
    name = module.name, path = path, summary = module.summary,
    arguments = { module.takes == "profile" and common.input_arguments
      or common.input_argument },
    options = function()
      return options.join(own_options(module), { common.output }, input_options(module))
    end,
    examples = examples,
    run = function(args, env) return report.run(module, args, env) end,
  }
end

local INPUTS <const> = { trace = "a trace", diff = "two inputs" }

local function list_of_reports()
  local lines = { "Reports:" }
  for _, module in ipairs(require("sonde.report").list()) do
    local of <const> = INPUTS[module.takes] or "any input"
    lines[#lines + 1] = ("   %-12s %s (%s)"):format(module.name, module.summary, of)
  end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

-- The verb of a report. A difference has two inputs and a verb of its own.
local function verb_for(module)
  if module.takes == "diff" then return require "sonde.cmd.diff" end
  return report.verb_of(module, "report " .. module.name)
end

-- The name is the first word that is no option: before an option's value is
-- known, the report has to be.
local function start(words, env)
  if words[1] == nil or words[1] == "-h" or words[1] == "--help" then
    env.out:write("Usage: sonde report NAME INPUT [options]\n\n", list_of_reports(),
      "\nsonde help report NAME shows the options of one.\n")
    return words[1] and errors.exit.done or errors.exit.usage
  end
  local name <const> = words[1]
  local module, message = require("sonde.report").get(name)
  if module == nil then
    local hint = require("sonde.c.core").path_info(name) and ("sonde report top " .. name)
    errors.usage(message, hint or "sonde report --help")
  end
  return verb_for(module).start(table.move(words, 2, #words, 1, {}), env)
end

--- The declarations of the verb: of itself, and of each report.
-- @treturn {table,...}
function report.forms()
  local reports <const> = require "sonde.report"
  local input <const> = report.arguments[2]
  local name <const> = { name = "name", choices = reports.names(), help = "of the report" }
  local list = { { arguments = { name, input } } }
  for _, module in ipairs(reports.list()) do
    local verb <const> = verb_for(module)
    local forms <const> = verb.forms and verb.forms() or { verb.declaration() }
    table.move(forms, 1, #forms, #list + 1, list)
  end
  return list
end

report.name = "report"
report.summary = "any report, by name: top, tree, peek, gc, jit, …"
report.arguments = { { name = "name", help = "of the report" }, common.input_argument }
report.start = start

return report
