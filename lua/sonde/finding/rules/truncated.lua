--- The file ends before the recording did.
-- @module sonde.finding.rules.truncated
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "truncated"
rule.summary = "a trace that was cut off, or is damaged"

local function damage(ev)
  local counts <const> = ev.counts
  local first
  for _, problem in ipairs(ev.trace:problems()) do
    if problem.severity == "error" then first = first or problem end
  end
  if first == nil then return nil end
  return {
    title = "The trace is damaged, part of it could not be read",
    severity = "high", certainty = "certain",
    figure = { value = counts.errors, unit = "count",
      text = counts.errors == 1 and "1 error" or units.count(counts.errors) .. " errors" },
    detail = ("At byte %d: %s. What could be read is shown."):format(first.offset, first.text),
  }
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  local counts <const> = ev.counts
  if counts == nil then return nil end
  if not counts.truncated then return counts.errors > 0 and damage(ev) or nil end
  return {
    title = "The trace is cut off, its end is missing",
    severity = "high", certainty = "certain",
    figure = { value = counts.bytes, unit = "bytes",
      text = "ends at byte " .. units.count(counts.bytes) },
    detail = ("What came before is shown, %s events. The recording was killed, or the disk was"
      .. " full; a recording has to be ended by itself or by one Ctrl-C."):format(
      units.count(counts.events)),
  }
end

return rule
