--- Exceptions by the hundred: each costs the throwing thread tens of
-- microseconds, and more with a deep stack.
-- @module sonde.finding.rules.exceptions
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "exceptions"
rule.summary = "exceptions of one type thrown at a high rate"

-- A storm is so many of one type, at this rate while it lasts.
local LEAST <const>, RATE <const>, GRAVE_RATE <const> = 200, 100, 1000
local SECOND <const> = 1000000000

local function figure_text(row, rate)
  local span <const> = row.last_ns - row.first_ns
  if span < SECOND then
    return ("%s within %s"):format(units.count(row.count), units.duration(span))
  end
  return ("%s a second, %s in all"):format(units.count(math.floor(rate + 0.5)),
    units.count(row.count))
end

-- The type with the most exceptions that came fast enough, and their rate. A
-- burst shorter than a second counts as if it had lasted one.
local function worst(types)
  local found, rate, total = nil, 0, 0
  for _, row in ipairs(types) do
    total = total + row.count
    local span <const> = math.max(row.last_ns - row.first_ns, SECOND)
    local its_rate <const> = row.count * SECOND / span
    if row.count >= LEAST and its_rate >= RATE and (found == nil or row.count > found.count) then
      found, rate = row, its_rate
    end
  end
  return found, rate, total
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  if ev.trace == nil then return nil end
  local types <const> = ev.trace:exceptions()
  local row <const>, rate <const>, total <const> = worst(types)
  if row == nil then return nil end
  local profile <const> = ev:view "exception"
  local who, name = "", nil
  if profile then who, name = ev:blame_text(profile, "exceptions", " Most are thrown in") end
  return {
    title = ("Exceptions are thrown in storms, mostly %s"):format(row.type or "?"),
    severity = rate >= GRAVE_RATE and "high" or "medium", certainty = "certain",
    figure = { value = row.count, unit = "count", text = figure_text(row, rate) },
    detail = ("%s of %s in %s.%s"):format(units.several(total, "exception"),
      units.several(#types, "type"), evidence.duration(ev.duration_ns),
      who ~= "" and who .. "." or ""),
    command = ev:command("report exceptions"),
    view = "exception", focus = name and evidence.short(name),
  }
end

return rule
