--- Collections that stop the program for a large part of the time, or for
-- long, and why they happen.
-- @module sonde.finding.rules.gc_pauses
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "gc_pauses"
rule.summary = "the share of time that collections stop the program, and their cause"

local LEAST <const>, GRAVE <const> = 0.1, 0.2
local LONG_NS <const>, VERY_LONG_NS <const> = 200000000, 1000000000

local INDUCED <const> = { [1] = true, [7] = true, [10] = true }
local LARGE <const> = { [4] = true, [6] = true }

-- How much of the pauses each kind of collection caused.
local function by_cause(sums)
  local by = { gen0 = 0, gen1 = 0, gen2 = 0, induced = 0, large = 0, all = 0 }
  for _, sum in ipairs(sums) do
    local kind = "gen" .. sum.generation
    if INDUCED[sum.reason_code] then kind = "induced" end
    if LARGE[sum.reason_code] then kind = "large" end
    by[kind], by.all = by[kind] + sum.pause_ns, by.all + sum.pause_ns
  end
  return by
end

local CAUSES <const> = {
  gen0 = "collections of generation 0: objects are made faster than they should be",
  gen1 = "collections of generation 1: objects live just long enough to be moved",
  gen2 = "collections of generation 2: long-lived data grows or is replaced",
  induced = "collections that the program asks for (GC.Collect)",
  large = "large objects: each wave of them collects the whole heap",
}

local function cause_text(sums)
  local sum <const> = by_cause(sums)
  if sum.all == 0 then return "" end
  local top
  for _, kind in ipairs { "gen0", "gen1", "gen2", "induced", "large" } do
    if top == nil or sum[kind] > sum[top] then top = kind end
  end
  return (" Mostly (%s of the pauses) %s."):format(evidence.percent(sum[top], sum.all),
    CAUSES[top])
end

-- Who allocates, when the trace says.
local function allocation_text(ev)
  local alloc <const> = ev:view "alloc"
  if alloc == nil then return "" end
  local who <const> = ev:blame_text(alloc, "alloc_space", " Most bytes are allocated by")
  return who ~= "" and who .. "." or ""
end

local function severity_of(share, longest)
  if share >= GRAVE or longest >= VERY_LONG_NS then return "high" end
  if share >= LEAST or longest >= LONG_NS then return "medium" end
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  if ev.trace == nil or ev.duration_ns <= 0 then return nil end
  local sums <const> = ev.trace:gc_sums()
  local total <const>, longest <const> = sums.pause_ns, sums.longest_ns
  local share <const> = total / ev.duration_ns
  local severity <const> = severity_of(share, longest)
  if severity == nil then return nil end
  local mostly <const> = share >= LEAST
  return {
    title = mostly and "Garbage collections stop the program for much of the time"
      or "A garbage collection stopped the program for long",
    severity = severity, certainty = "certain",
    figure = mostly and { value = total, unit = "nanoseconds", share = share,
        text = ("%s of the time"):format(evidence.percent(total, ev.duration_ns)) }
      or { value = longest, unit = "nanoseconds", text = units.duration(longest) },
    detail = ("%s pauses, %s in all, the longest %s.%s%s"):format(units.count(sums.pauses),
      units.duration(total), units.duration(longest), cause_text(sums), allocation_text(ev)),
    command = ev:command("report gc"), view = "gc",
  }
end

return rule
