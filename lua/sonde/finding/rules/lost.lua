--- The runtime dropped events, so everything that is counted is too small.
-- @module sonde.finding.rules.lost
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "lost"
rule.summary = "events that the runtime dropped for lack of buffer"

-- A few lost events of many change no number that anybody sees.
local SHARE <const> = 0.001
local GRAVE <const> = 0.05

local function where(ev)
  local longest
  for _, loss in ipairs(ev.trace:losses()) do
    if longest == nil or loss.count > longest.count then longest = loss end
  end
  if longest == nil then return "" end
  return (" Most at once: %s on thread %d, between %s and %s."):format(units.count(longest.count),
    longest.thread, units.duration(longest.from_ns), units.duration(longest.to_ns))
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  local counts <const> = ev.counts
  if counts == nil or counts.lost == 0 then return nil end
  local all <const> = counts.lost + counts.events
  if counts.lost < SHARE * all then return nil end
  return {
    title = "Events were lost, so counts and times are too small",
    severity = counts.lost >= GRAVE * all and "high" or "medium", certainty = "certain",
    figure = { value = counts.lost, unit = "count", share = counts.lost / all,
      text = evidence.percent(counts.lost, all) },
    detail = ("%s of %s events.%s Record fewer providers, or with a larger buffer."):format(
      units.count(counts.lost), units.count(all), where(ev)),
  }
end

return rule
