--- `{ record = { duration = "15s" } }`: records the target.
-- @module sonde.policy.actions.record
local units <const> = require "sonde.base.units"
local words <const> = require "sonde.policy.words"

local record = {}

local SECOND <const> = 1000000000

--- Fields.
record.fields = {
  { name = "duration", type = "duration", default = 15 * SECOND, min = SECOND // 10,
    max = 24 * 3600 * SECOND, help = "how long" },
  { name = "before", type = "duration", min = SECOND, max = 600 * SECOND,
    help = "keep a ring while watching, so that so much of what came before is in it" },
  { name = "profile", type = "string", many = true, help = "what to record, by name (cpu)" },
  { name = "provider", type = "string", many = true, help = "further providers of events" },
  { name = "max_size", type = "size", default = 256 << 20, min = 1 << 20, help = "most it takes" },
  { name = "format", type = "string", help = "nettrace, or another format to write it in" },
  { name = "path", type = "path", help = "its name; by default of policy, target and time" },
}

--- Says what it does.
-- @tparam table spec
-- @treturn string
function record.explain(spec)
  local text <const> = ("record %s for %s, at most %s"):format(
    spec.profile and table.concat(spec.profile, ", ") or "cpu", words.duration(spec.duration),
    units.bytes(spec.max_size))
  if spec.before == nil then return text end
  return ("%s, with the %s before it"):format(text, words.duration(spec.before))
end

--- What it costs at most.
-- @tparam table spec
-- @treturn table
function record.cost(spec)
  return { bytes = spec.max_size, duration_ns = spec.duration }
end

--- Does it.
-- @tparam table spec
-- @tparam table context
-- @treturn ?table `path bytes samples lost`
-- @treturn ?string message
-- @treturn ?string code
function record.run(spec, context)
  return require("sonde.capture.recorder").run(spec, context)
end

return record
