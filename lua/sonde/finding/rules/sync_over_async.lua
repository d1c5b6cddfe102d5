--- Threads of the pool that wait for tasks, which need threads of the pool.
-- @module sonde.finding.rules.sync_over_async
local evidence <const> = require "sonde.finding.evidence"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "sync_over_async"
rule.summary = "threads of the pool that block on tasks (Task.Wait, .Result)"

local TITLE <const> = "Threads of the pool block on tasks (sync over async)"

local POOL <const> = {
  "^System%.Threading%.ThreadPoolWorkQueue%.Dispatch",
  "^System%.Threading%.PortableThreadPool%.WorkerThread",
}
local BLOCKED <const> = {
  "^System%.Threading%.Tasks%.Task%.SpinThenBlockingWait",
  "^System%.Threading%.Tasks%.Task%.InternalWait",
  "^System%.Threading%.Tasks%.Task%.WaitA[ln][ly]",
}
-- What splits work up waits for its parts, and takes part in it.
local PARALLEL <const> = {
  "^System%.Threading%.Tasks%.TaskReplicator", "^System%.Threading%.Tasks%.Parallel%.",
  "^System%.Linq%.Parallel%.",
}

-- The event of an adjustment, and its reason that means it: a thread was added
-- because one blocks on a task.
local ADJUSTMENT <const>, COOPERATIVE <const> = 55, 8

-- On average so many threads are blocked, in so many samples.
local LEAST <const>, GRAVE <const>, SAMPLES <const> = 0.25, 4, 50
-- Without samples it takes so many notices of the runtime.
local COMPENSATIONS <const> = 10

local function blocked(ev)
  local wall <const> = ev:view "wall"
  if wall == nil then return nil end
  local pool <const> = wall:filter {
    focus = ev:mask(wall, POOL), ignore = ev:mask(wall, PARALLEL),
  }
  return pool:filter { focus = ev:mask(pool, BLOCKED) }
end

local function compensated(ev)
  local n, most = 0, 0
  for _, row in ipairs(ev.trace:adjustments()) do
    if row.reason == COOPERATIVE then n = n + 1 end
    most = math.max(most, row.threads)
  end
  return n, most
end

local function compensation_text(ev)
  local n <const>, most <const> = compensated(ev)
  if n == 0 then return "" end
  return (" The runtime noticed and changed the number of threads %s times, up to %s."):format(
    units.count(n), units.count(most))
end

-- Without samples the runtime's own counter-measure tells, but not where.
local function by_events(ev)
  local n <const>, most <const> = compensated(ev)
  if n < COMPENSATIONS then return nil end
  return {
    title = TITLE, severity = "medium", certainty = "certain",
    figure = { value = n, unit = "count", text = units.count(n) .. " times" },
    detail = ("The runtime changed the number of threads so often because threads of the pool"
      .. " wait for tasks, up to %s. Samples would say where. Await instead."):format(
      units.count(most)),
    command = ev:command("events", "--id " .. ADJUSTMENT),
  }
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  if ev.trace and ev:view "wall" == nil then return by_events(ev) end
  local profile <const> = ev.trace and ev.duration_ns > 0 and blocked(ev)
  if not profile or profile:total("samples") < SAMPLES then return nil end
  local time <const> = profile:total("wall")
  local threads <const> = time / ev.duration_ns
  if threads < LEAST then return nil end
  local who <const>, name <const> = ev:blame_text(profile, "wall", " Most of it under")
  return {
    title = TITLE,
    severity = threads >= GRAVE and "high" or "medium", certainty = "certain",
    figure = { value = threads, unit = "threads",
      text = ("%.1f threads blocked on average"):format(threads) },
    detail = ("%s of wall time in %s samples.%s%s Await instead."):format(units.duration(time),
      units.count(profile:total("samples")), who ~= "" and who .. "." or "",
      compensation_text(ev)),
    command = ev:command("report peek", "--pattern " .. (name and evidence.pattern(name)
      or "SpinThenBlockingWait")),
    view = "wall", focus = name and evidence.short(name),
  }
end

return rule
