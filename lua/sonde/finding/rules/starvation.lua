--- The thread pool ran out of threads: work waited although processors did
-- not.
-- @module sonde.finding.rules.starvation
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "starvation"
rule.summary = "a thread pool that had to add threads because no work was done"

-- The reason of an adjustment that means it: work was queued, and for half a
-- second none was taken.
local STARVATION <const> = 6

-- One such verdict may come from a busy machine; several are the program's.
local SURE <const> = 3

local function verdicts(ev)
  local n, first, most = 0, nil, 0
  local before
  for _, row in ipairs(ev.trace:adjustments()) do
    if row.reason == STARVATION then
      n = n + 1
      first = first or before or row.threads
    end
    before, most = row.threads, math.max(most, row.threads)
  end
  return n, first, most
end

-- What the pool's threads run in: of the managed pool, and of that before .NET 6.
local POOL <const> = { "WorkerThreadStart", "ThreadPoolWorkQueue.Dispatch" }

-- The command that shows what the threads did; the verdicts themselves where no
-- sample has a name that tells the pool's threads.
local function command(ev)
  local wall <const> = ev:view "wall"
  for _, name in ipairs(wall and POOL or {}) do
    if #wall:filter { focus = ev:mask(wall, { (name:gsub("%.", "%%.")) }) } > 0 then
      return ev:command("report tree", "--focus " .. evidence.pattern(name))
    end
  end
  return ev:command("events", "--id 55")
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  if ev.trace == nil then return nil end
  local n <const>, first <const>, most <const> = verdicts(ev)
  if n == 0 then return nil end
  local sure <const> = n >= SURE
  return {
    title = sure and "The thread pool starves, work waits for a free thread"
      or "Work for the thread pool waited half a second for a free thread",
    severity = sure and "high" or "low", certainty = sure and "certain" or "hint",
    figure = { value = n, unit = "count",
      text = ("%s, %d to %d threads"):format(units.several(n, "time"), first, most) },
    detail = "The runtime added a thread each time because queued work did not begin; it adds"
      .. " about two a second, so work waits for seconds. The threads are blocked (calls that"
      .. " wait, locks, Task.Wait, .Result) or busy with long work.",
    command = command(ev),
    view = "wall",
  }
end

return rule
