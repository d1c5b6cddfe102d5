--- Collections that the program itself asks for.
-- @module sonde.finding.rules.induced_gc
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "induced_gc"
rule.summary = "collections that the program asks for (GC.Collect)"

-- Induced, induced and not forced, induced and compacting. Low memory is the
-- system's wish.
local INDUCED <const> = { [1] = true, [7] = true, [10] = true }

-- A tool that looks at the heap induces one; three are the program's.
local LEAST <const> = 3

local COLLECT <const> = { "^System%.GC%.Collect", "^System%.GC%._Collect" }

-- Who calls GC.Collect, when the sampler met one there.
local function who(ev)
  local wall <const> = ev:view "wall"
  if wall == nil then return "" end
  local inside <const> = wall:filter { focus = ev:mask(wall, COLLECT) }
  if #inside == 0 then return "" end
  local text <const> = ev:blame_text(inside, "wall", " By samples they are asked for in")
  return text ~= "" and text .. "." or ""
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  if ev.trace == nil then return nil end
  local sums <const> = ev.trace:gc_sums()
  local n, paused, full = 0, 0, 0
  for _, sum in ipairs(sums) do
    if INDUCED[sum.reason_code] then
      n, paused = n + sum.n, paused + sum.pause_ns
      if sum.generation == 2 then full = full + sum.n end
    end
  end
  if n < LEAST then return nil end
  local grave <const> = ev.duration_ns > 0 and paused * 10 >= ev.duration_ns
  return {
    title = "The program asks for garbage collections (GC.Collect)",
    severity = grave and "high" or "medium", certainty = "certain",
    figure = { value = n, unit = "count",
      text = ("%s of %s collections"):format(units.count(n), units.count(sums.n)) },
    detail = ("%s of them of the whole heap; they stopped the program for %s.%s"):format(
      units.count(full), units.duration(paused), who(ev)),
    command = ev:command("report gc"), view = "gc",
  }
end

return rule
