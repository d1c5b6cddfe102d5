--- Threads wait for locks that others hold.
-- @module sonde.finding.rules.locks
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "locks"
rule.summary = "threads that wait for contended locks"

-- Shares of the recording that threads waited, added over threads: below the
-- first it is no news, from the second on one thread does nothing else.
local LEAST <const>, GRAVE <const> = 0.05, 1
local LEAST_NS <const> = 20000000
-- Samples say only where threads stood, so they need more.
local LEAST_SAMPLED <const>, SAMPLES <const> = 0.2, 50

local ENTER <const> = {
  "^System%.Threading%.Monitor%.Enter_Slowpath", "^System%.Threading%.Monitor%.ReliableEnter",
  "^System%.Threading%.Monitor%.Enter%(", "^System%.Threading%.Monitor%.TryEnter",
  "^System%.Threading%.Lock%.Enter", "^System%.Threading%.Lock%.TryEnterSlow",
}

local function made(ev, waited, certainty, n, detail, view, who)
  local share <const> = waited / ev.duration_ns
  return {
    title = "Threads wait for contended locks",
    severity = share >= GRAVE and "high" or "medium", certainty = certainty,
    figure = { value = waited, unit = "nanoseconds", share = share,
      text = ("%s waited in %s"):format(units.duration(waited), units.duration(ev.duration_ns)) },
    detail = ("%s%s"):format(n, detail),
    command = ev:command("report tree", view and "--view " .. view
      or "--focus Monitor.Enter"),
    view = view or "wall", focus = who and evidence.short(who),
  }
end

-- What the runtime measured.
local function by_events(ev)
  local sum <const> = ev.trace:contention()
  local waited <const> = math.floor(sum.reported_ns)
  if waited < LEAST_NS or waited < LEAST * ev.duration_ns then return nil end
  local profile <const> = ev:view "contention"
  local text, who = "", nil
  if profile then text, who = ev:blame_text(profile, "delay", ", most of it in") end
  return made(ev, waited, "certain",
    sum.count == 1 and "One wait" or units.count(sum.count) .. " waits",
    ("%s; the longest took %s."):format(text, units.duration(sum.longest_ns)), "contention", who)
end

-- Where threads stood, when the runtime did not measure.
local function by_samples(ev)
  local wall <const> = ev:view "wall"
  if wall == nil or not ev:has_names() then return nil end
  local profile <const> = wall:filter { focus = ev:mask(wall, ENTER) }
  local waited <const> = profile:total("wall")
  if profile:total("samples") < SAMPLES or waited < LEAST_SAMPLED * ev.duration_ns then
    return nil
  end
  local text <const>, who <const> = ev:blame_text(profile, "wall", ", most of them in")
  return made(ev, waited, "likely", units.count(profile:total("samples")) .. " samples in entries"
    .. " of locks", text .. ". For exact times record the keyword 0x4000 of the runtime.", nil, who)
end

-- A mutex profile of Go, or one that was made of a trace.
local function by_profile(ev)
  local types <const> = ev.profile:types()
  if ev.duration_ns <= 0 or types[1] == nil or types[1].type ~= "contentions" then return nil end
  local delay <const> = types[2] and types[2].unit == "nanoseconds" and types[2].type
  if not delay then return nil end
  local waited <const> = ev.profile:total(delay, true)
  if waited < LEAST_NS or waited < LEAST * ev.duration_ns then return nil end
  local text <const>, who <const> = ev:blame_text(ev.profile, delay, ", most of it under")
  local found <const> = made(ev, waited, "certain",
    units.count(ev.profile:total("contentions", true)) .. " waits", text .. ".", nil, who)
  found.command = ev:command("report tree", "--type " .. delay)
  return found
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  if ev.profile then return by_profile(ev) end
  if ev.duration_ns <= 0 then return nil end
  if ev.trace:contention().count > 0 then return by_events(ev) end
  return by_samples(ev)
end

return rule
