-- What watching costs, and what deciding costs:
--   lua5.4 bench/watch.lua live [PROCESSES] [SECONDS]   ten policies on many processes
--   lua5.4 bench/watch.lua day                          one target's day, ten metrics
--   lua5.4 bench/watch.lua fleet [TARGETS]              many targets for ten minutes
-- Bars: live under 2 % of a core and 60 MB, reaction under 1 s; day under 2 s; fleet of
-- 10,000 under 60 s with flat memory.
package.path = "lua/?.lua;lua/?/init.lua;./?.lua;" .. package.path
package.cpath = (os.getenv "SONDE_BUILD" or "build") .. "/lua/?.so;" .. package.cpath

local engine <const> = require "sonde.policy.engine"
local loop <const> = require "sonde.base.loop"
local policy <const> = require "sonde.policy"
local proc <const> = require "sonde.process.proc"
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

local function spawn(words)
  local handle, pid = uv.spawn(words[1], { args = table.move(words, 2, #words, 1, {}) },
    function() end)
  return { handle = assert(handle, pid), pid = pid }
end

local function live(processes, seconds)
  local children, mine = {}, {}
  for i = 1, processes do
    children[i] = spawn { "sleep", "600" }
    mine[children[i].pid] = true
  end
  local list <const>, fired_at = ten_policies(), nil
  list[#list + 1] = compile("react", [[return { summary = "s",
    trigger = { metric = "cpu", above = 5 }, actions = { { log = "x" } } }]])
  local watching <const> = require("sonde.policy.watch").new { policies = list, directory = "/tmp",
    select = function(facts) return mine[facts.pid] or false end,
    say = function(event) if event.kind == "log" then fired_at = fired_at or loop.now() end end }
  watching:run(loop.after(3 * SECOND))
  local before <const>, began <const> = proc.stat(uv.os_getpid()).cpu_ns, loop.now()
  watching:run(loop.after(seconds * SECOND))
  local used <const> = proc.stat(uv.os_getpid()).cpu_ns - before
  print(("%d processes, %d policies: %.2f %% of a core, %.1f MB"):format(processes, #list,
    used * 100 / (loop.now() - began), resident_mb()))
  local busy <const> = spawn { "sh", "-c", "while :; do :; done" }
  mine[busy.pid], children[#children + 1] = true, busy
  local started <const> = loop.now()
  watching:run(loop.after(10 * SECOND), function() if fired_at then watching:stop() end end)
  print(("reaction: %.2f s after the process began to be busy"):format(
    fired_at and (fired_at - started) / SECOND or math.huge))
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
  print(("%s: %d targets, %d s, %d samples in %.2f s; fired %d times; %.1f MB at half, %.1f MB")
    :format(what, targets, seconds, n, os.clock() - began, fired, early, late))
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
