--- A Go program whose collector takes much of the processor.
-- @module sonde.finding.rules.go_gc
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "go_gc"
rule.summary = "the processor time that the collector of a Go program takes"

local LEAST <const>, GRAVE <const>, SAMPLES <const> = 0.2, 0.4, 50

-- The collector's own goroutines, and what allocating ones do for it.
local COLLECTOR <const> = { "^runtime%.gcBgMarkWorker$", "^runtime%.gcAssistAlloc$",
  "^runtime%.bgsweep$" }

local function cpu_type(profile)
  for i, entry in ipairs(profile:types()) do
    if entry.type == "cpu" and entry.unit == "nanoseconds" then return i end
  end
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  local profile <const> = ev.profile
  local type <const> = profile and cpu_type(profile)
  if not type then return nil end
  local inside <const> = profile:filter { focus = ev:mask(profile, COLLECTOR) }
  local total <const>, time <const> = profile:total(type, true), inside:total(type, true)
  local samples <const> = inside:total(1, true)
  if samples < SAMPLES or time < LEAST * total then return nil end
  return {
    title = "Garbage collection takes much of the processor time",
    severity = time >= GRAVE * total and "high" or "medium", certainty = "certain",
    figure = { value = time, unit = "nanoseconds", share = time / total,
      text = evidence.percent(time, total) },
    detail = ("%s of %s. An allocation profile says who makes the garbage."):format(
      units.duration(time), units.duration(total)),
    command = ev:command("report peek", "--pattern 'runtime.gcBgMarkWorker|gcAssistAlloc'"),
    focus = "runtime.gcBgMarkWorker",
  }
end

return rule
