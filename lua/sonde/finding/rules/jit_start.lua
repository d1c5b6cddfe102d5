--- Compilation takes much of the start.
-- @module sonde.finding.rules.jit_start
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "jit_start"
rule.summary = "time that compiling methods takes while the program starts"

-- The start is the first seconds; compilation is news when it takes this
-- share of them, and not less than this time.
local START_NS <const> = 10000000000
local LEAST <const>, GRAVE <const>, LEAST_NS <const> = 0.2, 0.5, 100000000

-- RuntimeStart of the runtime's own provider: the trace saw the process start.
local RUNTIME_START <const> = 187

-- A row is all compilations of a method, at any time. Those after the first are
-- mostly of better code, and later: one counts, at their mean.
local function compiled(ev, limit)
  local time, n, longest, most = 0, 0, nil, -1
  for _, row in ipairs(ev.trace:jits()) do
    if row.first_ns < limit and row.finished > 0 then
      local once <const> = row.time_ns // row.finished
      time, n = time + once, n + 1
      if once > most then longest, most = row, once end
    end
  end
  return time, n, longest, most
end

local function name_of(row)
  local space <const> = row.namespace or ""
  return (space ~= "" and space .. "." or "") .. (row.name or "?")
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  if ev.trace == nil or ev.duration_ns <= 0 then return nil end
  local window <const> = math.min(ev.duration_ns, START_NS)
  local time <const>, n <const>, longest <const>, most <const> = compiled(ev,
    ev.counts.first_ns + window)
  if longest == nil or time < LEAST_NS or time < LEAST * window then return nil end
  local from_start <const> = ev:count_of(RUNTIME_START) > 0
  return {
    title = from_start and "Compiling methods takes much of the start"
      or "Compiling methods takes much of the recording",
    severity = time >= GRAVE * window and "high" or "medium",
    -- Events of every compilation slow compilation down.
    certainty = "likely",
    figure = { value = time, unit = "nanoseconds", share = time / window,
      text = ("%s of the first %s"):format(units.duration(time), units.duration(window)) },
    detail = ("%s methods, %s of the time; the longest, %s, took %s. Recording this makes it"
      .. " slower than it is. ReadyToRun images need less of it."):format(units.count(n),
      evidence.percent(time, window), name_of(longest), units.duration(most)),
    command = ev:command("report jit"), view = "jit",
  }
end

return rule
