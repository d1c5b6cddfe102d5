--- Large objects that are made and dropped: each wave of them makes the
-- runtime collect the whole heap.
-- @module sonde.finding.rules.large_objects
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "large_objects"
rule.summary = "large objects that are made and dropped (churn of the large object heap)"

-- The runtime's own reasons: large allocation, out of space for large objects.
local LARGE <const> = { [4] = true, [6] = true }

-- So many collections for large objects, and this share of all, or this
-- share of the allocated bytes.
local LEAST <const>, SHARE <const> = 3, 0.2
local BYTES_SHARE <const>, BYTES_SAMPLES <const> = 0.5, 50

-- From this size on an object is allocated on the large object heap.
local LARGE_BYTES <const> = 85000

-- Allocations whose objects are large on average: bytes, and who made them.
local function allocations(ev)
  local alloc <const> = ev:view "alloc"
  if alloc == nil then return nil end
  local at = {}
  for i, entry in ipairs(alloc:types()) do at[entry.type] = i end
  if at.alloc_objects == nil then return nil end
  local sum = { large = 0, all = 0, samples = 0 }
  local values, names <const> = {}, alloc:frames().name
  for stack, row in alloc:samples() do
    local bytes <const>, objects <const> = row[at.alloc_space], row[at.alloc_objects]
    sum.all = sum.all + bytes
    if objects > 0 and bytes // objects >= LARGE_BYTES then
      local name <const> = names[stack[1]] or "?"
      values[name] = (values[name] or 0) + bytes
      sum.large, sum.samples = sum.large + bytes, sum.samples + row[at.samples]
      if sum.top == nil or values[name] > values[sum.top] then sum.top = name end
    end
  end
  sum.top_bytes = sum.top and values[sum.top]
  return sum
end

local function allocation_text(sum)
  if sum == nil or sum.top == nil then return "" end
  return (" Of %s that were allocated, about %s were large objects; %s of those by %s."):format(
    units.bytes(sum.all), units.bytes(sum.large), evidence.percent(sum.top_bytes, sum.large),
    evidence.short(sum.top))
end

local function collections(sums)
  local n, paused = 0, 0
  for _, sum in ipairs(sums) do
    if LARGE[sum.reason_code] then n, paused = n + sum.n, paused + sum.pause_ns end
  end
  return n, paused
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  if ev.trace == nil then return nil end
  local sums <const> = ev.trace:gc_sums()
  local n <const>, paused <const> = collections(sums)
  local by_gc <const> = n >= LEAST and n >= SHARE * sums.n
  local sum <const> = allocations(ev)
  local by_bytes <const> = n > 0 and sum and sum.samples >= BYTES_SAMPLES
    and sum.large >= BYTES_SHARE * sum.all
  if not by_gc and not by_bytes then return nil end
  local grave <const> = ev.duration_ns > 0 and paused * 10 >= ev.duration_ns
  return {
    title = "Large objects are made and dropped, each wave collects the whole heap",
    severity = grave and "high" or "medium", certainty = by_gc and "certain" or "likely",
    figure = { value = n, unit = "count",
      text = ("%s of %s collections"):format(units.count(n), units.count(sums.n)) },
    detail = ("Collections for large objects stopped the program for %s.%s Rent arrays"
      .. " (ArrayPool) or keep them."):format(units.duration(paused), allocation_text(sum)),
    command = sum and ev:command("top", "--view alloc") or ev:command("report gc"),
    view = sum and "alloc" or "gc", focus = sum and sum.top and evidence.short(sum.top),
  }
end

return rule
