local policy <const> = require "sonde.policy"
local replay <const> = require "sonde.policy.replay"

-- Lines of a timeline: `values[i]` of a metric, `step` seconds apart.
local function series(metric, values, step, first)
  local lines = {}
  for i, value in ipairs(values) do
    lines[i] = { (first or 0) + (i - 1) * (step or 1), metric, value }
  end
  return lines
end

local function constant(value, n)
  local values = {}
  for i = 1, n do values[i] = value end
  return values
end

local function rising(from, by, n)
  local values = {}
  for i = 1, n do values[i] = from + (i - 1) * by end
  return values
end

-- Goes up and comes down again: a burst, and no growth.
local function waving(low, high, n)
  local values = {}
  for i = 1, n do values[i] = i % 20 < 10 and low or high end
  return values
end

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  for i, row in ipairs(all) do row.order = i end
  table.sort(all, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a.order < b.order
  end)
  return all
end

-- What has the problem, at which second it is noticed, and what has not.
local INCIDENTS <const> = {
  cpu_spike = { at = 15, bad = series("cpu", { 10, 20, 30, 20, 10, 90, 95, 99, 90, 91, 92,
    93, 94, 95, 96, 97, 98 }), good = series("cpu", waving(20, 99, 100)) },
  memory_growth = { at = 1800, bad = series("memory", rising(1 << 30, 2000000, 200), 10),
    good = series("memory", waving(1 << 30, 1 << 31, 400), 10) },
  gc_pressure = { at = 10, bad = series("gc_pause_share", constant(35, 20)),
    good = series("gc_pause_share", waving(2, 40, 100)) },
  heap_growth = { at = 1200, bad = series("go_heap", rising(1 << 20, 600000, 150), 10),
    good = series("go_heap", waving(1 << 20, 1 << 25, 300), 10) },
  exception_storm = { at = 4.95, bad = series("exception", constant("System.TimeoutException", 120),
    0.05), good = series("exception", constant("System.TimeoutException", 120), 1) },
  threadpool_starvation = { at = 5, bad = series("threadpool_queue", rising(60, 10, 20)),
    good = series("threadpool_queue", { 0, 0, 80, 90, 0, 0, 3, 60, 2 }) },
  lock_contention = { at = 10, bad = series("contention_rate", constant(900, 20)),
    good = series("contention_rate", constant(20, 100)) },
  slow_requests = { at = 40, bad = series("request", constant("2.5 /api/orders 200", 5), 10),
    good = series("request", constant("0.2 /api/orders 200", 50)) },
  goroutine_leak = { at = 600, bad = series("goroutines", rising(50, 5, 70), 10),
    good = series("goroutines", waving(50, 120, 200), 10) },
  hang = { at = 30, bad = joined(series("cpu", constant(0, 60)),
    series("current_requests", constant(12, 60))), good = joined(series("cpu", constant(0, 60)),
    series("current_requests", constant(0, 60))) },
  crash_loop = { at = 40, restarts = true, bad = series("start", constant(1, 5), 10),
    good = series("start", constant(1, 4), 10) },
  slow_start = { at = 16,
    bad = joined({ { 0, "start", 1 } }, series("cpu", constant(99, 30), 1, 1)),
    good = joined({ { 0, "start", 1 } }, series("cpu", { 99, 99, 99, 99, 20, 5, 5, 5 }, 1, 1),
      series("cpu", constant(99, 100), 1, 200)) },
  fd_leak = { at = 600, bad = series("fds", rising(20, 3, 70), 10),
    good = series("fds", waving(20, 90, 200), 10) },
  error_log = { at = 2,
    bad = series("log", { "info: started", "info: ok", "FATAL: out of cheese" }),
    good = series("log", { "info: FATALITY", "warn: retry" }) },
  periodic_baseline = { at = 14400, bad = series("cpu", constant(1, 15000)),
    good = series("cpu", constant(1, 10000)) },
  deploy = { at = 1, bad = series("file", { "/other", "/run/deploy.mark" }),
    good = series("file", { "/other" }) },
}

-- Decisions of a policy over such lines.
local function run(loaded, rows, restarts)
  local i, told = 0, {}
  replay.run({ loaded }, function()
    i = i + 1
    local row <const> = rows[i]
    if row == nil then return nil end
    return ("%s,1,%d,api,%s,%s"):format(row[1], restarts and i or 1, row[2], row[3])
  end, "timeline", function(decision) told[#told + 1] = decision end)
  return told
end

local function fired_at(told)
  for _, decision in ipairs(told) do
    if decision.fired then return decision.time_s end
  end
end

describe("the shipped policy", function()
  for _, name in ipairs(policy.NAMES) do
    it(name .. " fires when it should and not otherwise", function()
      local loaded <const>, message <const> = policy.load(name)
      assert(loaded, message)
      local incident <const> = assert(INCIDENTS[name], "no incident for it")
      assert.equal(incident.at, fired_at(run(loaded, incident.bad, incident.restarts)))
      local told <const> = run(loaded, incident.good, incident.restarts)
      assert.is_nil(fired_at(told))
      assert.is_true(#told[#told].reason > 0)
    end)

    it(name .. " can be explained, and is no longer than a page", function()
      local loaded <const> = assert(policy.load(name))
      local lines <const> = require("sonde.policy.explain").lines(loaded)
      assert.is_true(#lines > 4)
      local _, n = loaded.source:gsub("\n", "")
      assert.is_true(n >= 20 and n <= 60, n)
      assert.matches("^%-%-%- ", loaded.source)
      assert.matches("%-%- Cost: ", loaded.source)
    end)
  end

  it("is in the list, and there are fifteen at least", function()
    assert.is_true(#policy.NAMES >= 15)
    for _, row in ipairs(policy.list { getenv = function() return "/nowhere" end }) do
      assert.is_nil(row.problem)
      assert.is_true(#row.summary > 10)
    end
  end)
end)
