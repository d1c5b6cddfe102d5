--- `sonde inspect INPUT`: what a file is and whether it can be trusted.
-- @module sonde.cmd.inspect
local common <const> = require "sonde.cmd.common"
local json <const> = require "sonde.base.json"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"

-- The facts of a profile; a trace has many more, and a report for them.
local function facts_of_profile(profile, path)
  local info <const> = profile:info()
  return {
    schema = 1, format = "profile", file = path, samples = #profile, types = profile:types(),
    frames = profile:frames().n, time_ns = info.time_ns, duration_ns = info.duration_ns,
    period = info.period, comments = json.array(info.comments or {}),
    warnings = json.array(info.warnings or {}), errors = json.array {},
  }
end

local function write_facts(facts, out)
  local types = {}
  for i, entry in ipairs(facts.types) do types[i] = ("%s/%s"):format(entry.type, entry.unit) end
  local units <const> = require "sonde.base.units"
  out:write(("%s: a profile\n"):format(facts.file))
  out:write(("  samples       %s of %s frames\n"):format(units.count(facts.samples),
    units.count(facts.frames)))
  out:write(("  sample types  %s\n"):format(table.concat(types, ", ")))
  if (facts.time_ns or 0) ~= 0 then
    out:write(os.date("!  taken         %Y-%m-%d %H:%M:%S UTC\n", facts.time_ns // 1000000000))
  end
  if (facts.duration_ns or 0) ~= 0 then
    out:write(("  duration      %s\n"):format(units.duration(facts.duration_ns)))
  end
end

local function write_warnings(facts, out)
  for _, warning in ipairs(facts.warnings) do
    out:write("  warning       ", text.printable(warning), "\n")
  end
end

local function inspect_profile(profile, args, env)
  local path <const> = args.redactor and args.redactor:path(args.input) or args.input
  local facts <const> = facts_of_profile(profile, path)
  return common.checked(args, env, function(inner)
    if args.json then
      inner.out:write(json.encode(facts, { "schema", "format", "file" }), "\n")
    else
      write_facts(facts, inner.out)
      write_warnings(facts, inner.out)
    end
  end)
end

local function inspect_trace(trace, args, env)
  local module <const> = require "sonde.report.inspect"
  if not args.json then return common.write_report(module, trace, args, env) end
  return common.write_rows(common.check(module.rows(trace, {})), args, env)
end

return common.verb {
  name = "inspect",
  summary = "what a file is, and whether it can be trusted",
  arguments = { common.input_argument },
  options = function()
    return options.join({ common.json }, common.input_options, common.redact_options())
  end,
  examples = { "sonde inspect api.nettrace", "sonde inspect api.nettrace --json" },
  run = function(args, env)
    local object <const> = common.redacted(common.open(args.input, args, env), args)
    local show <const> = common.is_trace(object) and inspect_trace or inspect_profile
    return show(object, args, env)
  end,
}
