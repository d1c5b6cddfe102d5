--- Frames without names: the end of the recording, which tells them, is
-- missing.
-- @module sonde.finding.rules.rundown
local advice <const> = require "sonde.dotnet.advice"
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "rundown"
rule.summary = "frames whose methods the trace does not name: no rundown, or part of one"

-- Below this share a few native frames have no name in every trace; with a
-- complete rundown it takes more, since nothing is missing then.
local FEW <const> = 0.02
local WITH_RUNDOWN <const> = 0.1

local TITLES <const> = {
  none = "The trace has no rundown, so methods have no names or guessed ones",
  partial = "The rundown is incomplete, so methods have no names",
  complete = "Many frames belong to no method that the trace tells of",
}

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  if ev.counts == nil then return nil end
  local rundown <const> = ev.counts.rundown
  local facts <const> = ev:names()
  local least <const> = rundown == "complete" and WITH_RUNDOWN or FEW
  if facts.frames == 0 or facts.unresolved < least * facts.frames then return nil end
  local machine <const> = #ev.trace:processes() > 0
  local detail = ("%s of %s frames%s."):format(units.count(facts.unresolved),
    units.count(facts.frames), advice.why_unresolved(ev.trace, facts))
  if facts.guessed > 0 then
    detail = detail .. (" The nearest entry point names %s of them; that may be a"
      .. " neighbour."):format(evidence.percent(facts.guessed, facts.unresolved))
  end
  return {
    title = machine and "Many frames have no symbol" or TITLES[rundown],
    severity = facts.unresolved * 2 > facts.frames and "high" or "medium",
    certainty = "certain",
    figure = { value = facts.unresolved, unit = "count",
      share = facts.unresolved / facts.frames,
      text = evidence.percent(facts.unresolved, facts.frames) .. " unnamed" },
    detail = detail,
  }
end

return rule
