-- What watching costs, and what deciding costs:
--   lua5.4 bench/watch.lua live [PROCESSES] [SECONDS]   ten policies on many processes
--   lua5.4 bench/watch.lua day                          one target's day, ten metrics
--   lua5.4 bench/watch.lua fleet [TARGETS]              many targets for ten minutes
-- Bars: live under 2 % of a core and 60 MB, reaction under 1 s (a round is a second, so
-- half of that is usual); day under 2 s; fleet of
-- 10,000 under 60 s with flat memory.
package.path = "lua/?.lua;lua/?/init.lua;./?.lua;" .. package.path
package.cpath = (os.getenv "SONDE_BUILD" or "build") .. "/lua/?.so;" .. package.cpath

local harness <const> = dofile "bench/harness.lua"

local engine <const> = require "sonde.policy.engine"
local loop <const> = require "sonde.base.loop"
local policy <const> = require "sonde.policy"
local uv <const> = require "sonde.base.uv"

local SECOND <const> = 1000000000

local function resident_mb()
  local kib <const> = io.open("/proc/self/status"):read("a"):match("VmRSS:%s+(%d+)")
  return tonumber(kib) / 1024
end

local function compile(name, text)
  local one <const> = assert(policy.compile(text, name .. ".lua"))
  one.name = name
  return one
end

local METRICS <const> = { "cpu", "memory", "threads", "fds", "read_bytes", "write_bytes",
  "context_switches", "virtual_memory", "cgroup_memory", "cgroup_memory_share" }

-- Ten policies, one on each figure that any process has; as of those that come with
-- sonde, what changes slowly is looked at every 10 s.
local function ten_policies()
  local list <const> = {}
  for i, name in ipairs(METRICS) do
    list[i] = compile("watch_" .. name, ([[return { summary = "s", interval = "%s",
      trigger = { metric = "%s", above = 1e18, stat = "p95", over = "60s", gap = "1m" } }]])
      :format((name == "cpu" or name == "threads") and "1s" or "10s", name))
  end
  return list
end

local function spawn(words, stdin)
  local handle, pid = uv.spawn(words[1], { args = table.move(words, 2, #words, 1, {}),
    stdio = { stdin } }, function() end)
  return { handle = assert(handle, pid), pid = pid }
end

-- A process that begins to be busy when it is told to.
local function sleeper()
  local pipe <const> = uv.new_pipe()
  local one <const> = spawn({ "sh", "-c", "read line || exit; while :; do :; done" }, pipe)
  one.go = function() pipe:write "\n" end
  return one
end

-- Seconds until the policy fires after `begin`, which gives a pid, was called at some
-- moment between two rounds.
local function reaction(watching, fired, begin)
  watching:run(loop.after(2 * SECOND))
  local pid, began
  loop.task(function()
    loop.sleep(math.random(0, SECOND))
    pid, began = begin(), loop.now()
  end)
  watching:run(loop.after(12 * SECOND), function()
    if pid and fired[pid] then watching:stop() end
  end)
  watching.ended = loop.event()
  uv.kill(pid, 9)
  return fired[pid] and (fired[pid] - began) / SECOND or math.huge
end

local TRIALS <const> = 10

local function say_reactions(what, watching, fired, begin)
  local list <const> = {}
  for i = 1, TRIALS do list[i] = reaction(watching, fired, begin) end
  harness.say("reaction, %s: median %.2f s, longest %.2f s of %d", what, harness.median(list),
    harness.quantile(list, 1), TRIALS)
end

local function live(processes, seconds)
  local children, mine, sleepers = {}, {}, {}
  local function take(child)
    children[#children + 1], mine[child.pid] = child, true
    return child
  end
  for _ = 1, processes do take(spawn { "sleep", "600" }) end
  for i = 1, TRIALS do sleepers[i] = take(sleeper()) end
  local list <const>, fired <const> = ten_policies(), {}
  list[#list + 1] = compile("react", [[return { summary = "s", limits = { concurrency = 100 },
    trigger = { metric = "cpu", above = 5 }, actions = { { log = "x" } } }]])
  local watching <const> = require("sonde.policy.watch").new { policies = list, directory = "/tmp",
    select = function(facts) return mine[facts.pid] or false end,
    say = function(event)
      if event.kind == "log" then fired[event.firing.pid] = loop.now() end
    end }
  watching:run(loop.after(3 * SECOND))
  local before <const>, began <const> = os.clock(), loop.now()
  watching:run(loop.after(seconds * SECOND))
  local used <const>, passed <const> = os.clock() - before, (loop.now() - began) / SECOND
  harness.say("%d processes, %d policies: %.2f %% of a core, %.1f MB", #children, #list,
    used * 100 / passed, resident_mb())
  say_reactions("a process that was there", watching, fired, function()
    local one <const> = table.remove(sleepers)
    one.go()
    return one.pid
  end)
  say_reactions("a process that came", watching, fired, function()
    return take(spawn { "sh", "-c", "while :; do :; done" }).pid
  end)
  watching:close(SECOND)
  for _, child in ipairs(children) do uv.kill(child.pid, 9) end
end

local function decide_over(list, targets, seconds)
  local fired = 0
  local decide <const> = engine.new { policies = list, tell = function(told)
    if told.fired then fired = fired + 1 end
  end }
  local keys <const> = {}
  for i = 1, targets do keys[i] = decide:add({ pid = i, start = 1, name = "api" }, 0) end
  local early, n = nil, 0
  for second = 1, seconds do
    local time <const> = second * SECOND
    for i = 1, targets do
      for m = 1, #METRICS do
        decide:feed(keys[i], time, METRICS[m], (second * 31 + i * 7 + m) % 100)
        n = n + 1
      end
    end
    if second == seconds // 2 then
      collectgarbage()
      early = resident_mb()
    end
  end
  collectgarbage()
  return n, fired, early, resident_mb()
end

local function simulate(what, list, targets, seconds)
  local began <const> = os.clock()
  local n <const>, fired <const>, early <const>, late <const> = decide_over(list, targets, seconds)
  harness.say("%s: %d targets, %d s, %d samples in %.2f s; fired %d times; %.1f MB at half, "
    .. "%.1f MB", what, targets, seconds, n, os.clock() - began, fired, early, late)
end

local mode <const>, first <const>, second <const> = arg[1], tonumber(arg[2]), tonumber(arg[3])
if mode == "live" then
  live(first or 300, second or 30)
elseif mode == "day" then
  simulate("day", { assert(policy.load "cpu_spike"), assert(policy.load "fd_leak"),
    compile("p95", [[return { summary = "s", trigger = { metric = "memory", stat = "p95",
      over = "5m", above = 98 } }]]) }, 1, 86400)
elseif mode == "fleet" then
  simulate("fleet", { assert(policy.load "cpu_spike"),
    compile("mean", [[return { summary = "s", trigger = { metric = "memory", stat = "mean",
      over = "30s", above = 98 } }]]) }, first or 10000, 600)
else
  io.stderr:write "lua5.4 bench/watch.lua live|day|fleet\n"
  os.exit(2)
end
