--- Goroutines that grow from checkpoint to checkpoint of a store of captures.
-- @module sonde.finding.rules.goroutine_growth
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "goroutine_growth"
rule.summary = "goroutines of one stack that are more at every checkpoint of a capture"

-- Growth of so many, or so many checkpoints in a row, leave no doubt.
local GRAVE <const>, CERTAIN <const> = 100, 5

local function finding_of(row, ev)
  local place <const> = row.frames[1] and row.frames[1].func or "?"
  return {
    title = ("Goroutines at %s grow"):format(evidence.short(place)),
    severity = row.grown >= GRAVE and "high" or "medium",
    certainty = #row.counts >= CERTAIN and "certain" or "likely",
    figure = { value = row.grown, unit = "count",
      text = ("from %s to %s over %d checkpoints"):format(units.count(row.from),
        units.count(row.to), #row.counts) },
    detail = ("Of process %s, and never fewer from one checkpoint to the next: something starts"
      .. " them and nothing ends them."):format(row.key),
    command = ev:command("query", "--growth"),
    focus = place,
  }
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?{table,...}
function rule.look(ev)
  if ev.store == nil then return nil end
  local list = {}
  for i, row in ipairs(ev.store:growth() or {}) do list[i] = finding_of(row, ev) end
  return list
end

return rule
