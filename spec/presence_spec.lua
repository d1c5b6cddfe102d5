-- Which processes a watch sees: as they come, become others and go.
local core <const> = require "sonde.c.core"
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local policy <const> = require "sonde.policy"
local proc <const> = require "sonde.process.proc"
local source <const> = require "sonde.policy.source.process"
local usage <const> = require "sonde.process.usage"
local uv <const> = require "sonde.base.uv"
local watch <const> = require "sonde.policy.watch"

local SECOND <const> = 1000000000

local function compile(name, text)
  local loaded <const> = assert(policy.compile(text, name .. ".lua"))
  loaded.name = name
  return loaded
end

-- A watch of the processes that `is_mine` accepts, whose events are in a list.
local function watch_for(one, is_mine)
  local events <const> = { n = {} }
  local watching <const> = watch.new { policies = { one }, directory = ".",
    select = function(facts) return is_mine(facts.pid) end,
    say = function(event)
      events[#events + 1] = event
      events.n[event.kind] = (events.n[event.kind] or 0) + 1
    end }
  return watching, events
end

local function run_until(watching, is_done)
  watching:run(loop.after(120 * SECOND), function()
    if is_done() then watching:stop() end
  end)
  watching:close()
end

local function statuses_needed()
  local ends <const>, message <const> = core.exits()
  if ends == nil then helper.skip("the kernel tells no statuses here: " .. message) end
  ends:close()
end

describe("a process", function()
  it("may have any name", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/a) R (1 2 "
      os.execute(("cp \"$(command -v sleep)\" '%s'"):format(path))
      local process <close> = dotnet.spawn { path, "100" }
      local stat
      for _ = 1, 1000 do
        stat = proc.stat(process.pid)
        if stat.name == "a) R (1 2 " then break end
        loop.sleep(SECOND // 100)
      end
      assert.equal("a) R (1 2 ", stat.name)
      assert.equal(proc.self().pid, stat.parent)
      assert.equal(1, stat.threads)
      assert.is_false(stat.kernel)
    end)
  end)

  it("is left out when it surely has fewer threads than are looked for", function()
    local function is_listed(pid, least)
      for _, listed in ipairs(proc.pids(least)) do
        if listed == pid then return true end
      end
      return false
    end
    local one <close> = dotnet.spawn { "/bin/sh", "-c", "echo ready; read line" }
    local two <close> = dotnet.spawn { "lua5.4", "-e", [[
      local uv = require "luv"
      uv.new_thread(function() require("luv").sleep(600000) end)
      print "ready"
      io.stdout:flush()
      io.read()
      os.exit(0, false)]] }
    assert.is_string(one:line "ready")
    assert.is_string(two:line "ready")
    assert.equal(1, proc.stat(one.pid).threads)
    assert.equal(2, proc.stat(two.pid).threads)
    for _, process in ipairs { one, two } do
      assert.is_true(is_listed(process.pid))
      assert.is_true(is_listed(process.pid, 1))
      assert.is_false(is_listed(process.pid, 3))
    end
    assert.is_false(is_listed(one.pid, 2))
    assert.is_true(is_listed(two.pid, 2))
  end)

  it("has as many descriptors as its folder has entries", function()
    local process <close> = dotnet.spawn { "/bin/sh", "-c",
      "exec 7</dev/null 8</dev/null; echo ready; read line" }
    assert.is_string(process:line "ready")
    local listed <const> = core.numbers_in(("/proc/%d/fd"):format(process.pid))
    assert.is_true(#listed >= 5)
    assert.equal(#listed, usage.descriptors(process.pid))
    local none, _, code = core.numbers_in "/proc/self/there is none"
    assert.is_nil(none)
    assert.equal("not_found", code)
  end)

  it("that came a moment ago is measured since it began", function()
    local seen <const> = {}
    local own <const> = proc.self().pid
    local open <const> = source.open({ pid = own }, { cpu = SECOND, memory = SECOND },
      function(name, value) seen[name] = value end, { since = 10 * SECOND })
    open:poll(10 * SECOND + 1000, { cpu_ns = 0 })
    assert.is_nil(seen.cpu)   -- the clock of processes is too coarse for so short a time
    assert.is_number(seen.memory)
    open.groups[1].next = 0
    open:poll(10 * SECOND + SECOND // 2, { cpu_ns = SECOND // 4 })
    assert.equal(50.0, seen.cpu)
  end)

  it("that becomes another program is another target", function()
    local one <const> = compile("sleepers", [[return { summary = "s",
      targets = { name = "^sleep$" }, interval = "100ms", trigger = { start = true } }]])
    local process
    local watching <const>, events <const> = watch_for(one, function(pid)
      return process ~= nil and pid == process.pid
    end)
    local rounds = 0
    run_until(watching, function()
      rounds = rounds + 1
      if rounds == 1 then
        process = dotnet.spawn { "/bin/sh", "-c", "read line; exec sleep 100" }
      elseif rounds == 5 then
        process.stdin:write "now\n"
      end
      return events.n.fired
    end)
    process:close()
    assert.equal(1, events.n.target)
    assert.equal(1, events.n.fired)
    assert.equal("sleep", events[#events].firing.name)
  end)

  it("whose runtime begins later is known by it then", function()
    local program <const> = dotnet.program("idle", "8.0")
    local one <const> = compile("runtime", [[return { summary = "s",
      targets = { runtime = "dotnet" }, interval = "100ms", trigger = { start = true } }]])
    local process
    local watching <const>, events <const> = watch_for(one, function(pid)
      return process ~= nil and pid == process.pid
    end)
    run_until(watching, function()
      process = process or dotnet.spawn { program }
      return events.n.fired
    end)
    process:close()
    assert.equal(1, events.n.target)
    assert.equal(1, events.n.fired)
  end)

  it("ends with a status", function()
    statuses_needed()
    local one <const> = compile("ends", [[return { summary = "s", interval = "100ms",
      trigger = { any = { { exit = "7" }, { exit = "139" } } } }]])
    for _, ending in ipairs { { "exit 7", "7" }, { "kill -11 $$", "139" }, { "exit 0" } } do
      local process <close> = dotnet.spawn { "/bin/sh", "-c", "read line; " .. ending[1] }
      local watching <const>, events <const> = watch_for(one, function(pid)
        return pid == process.pid
      end)
      local is_told
      run_until(watching, function()
        if events.n.target and not is_told then
          process.stdin:write "now\n"
          is_told = true
        end
        return events.n.gone
      end)
      local fired
      for _, event in ipairs(events) do
        if event.kind == "fired" then fired = event.firing.reason end
      end
      assert.equal(ending[2] and "exit: status " .. ending[2], fired)
    end
  end)
end)

describe("300 processes that come and go", function()
  local COUNT <const>, AT_ONCE <const> = 300, 50

  local function n_descriptors()
    return #core.numbers_in "/proc/self/fd"
  end

  it("are all seen, and leave nothing", function()
    local one <const> = compile("crowd", [[return { summary = "s", interval = "100ms",
      trigger = { any = { { start = true }, { exit = "any" } } },
      limits = { cooldown = "0s", count = 10 } }]])
    local mine <const>, ended, started = {}, 0, 0
    local watching <const>, events <const> = watch_for(one, function(pid) return mine[pid] end)
    local function start()
      local handle, pid
      handle, pid = uv.spawn("sleep", { args = { "1000" } }, loop.guard(function()
        ended = ended + 1
        loop.close(handle)
      end))
      assert(handle, pid)
      mine[pid], started = true, started + 1
    end
    local next_event, before, memory = 1, nil, nil
    run_until(watching, function()
      before = before or n_descriptors()
      for i = next_event, #events do   -- each lives until it is watched
        if events[i].kind == "target" then uv.kill(events[i].facts.pid, 9) end
      end
      next_event = #events + 1
      for _ = 1, math.min(AT_ONCE, COUNT - started) do start() end
      if started == 5 * AT_ONCE then
        collectgarbage()
        memory = collectgarbage "count"
      end
      return events.n.gone == COUNT
    end)
    assert.same({ target = COUNT, gone = COUNT, fired = 2 * COUNT }, events.n)
    assert.equal(COUNT, ended)
    for pid in pairs(mine) do   -- at most that it lies there unreaped is still known
      local known <const> = watching.presence.processes[pid]
      assert.is_nil(known and known.facts)
    end
    assert.is_nil(next(watching.engine.targets))
    assert.is_true(n_descriptors() <= before)
    events[1] = nil
    collectgarbage()
    -- What was said is kept by this spec: less than 4 KiB each.
    assert.is_true(collectgarbage "count" - memory < COUNT * 4)
  end)
end)

describe("10 minutes of many targets", function()
  it("take time by their number, and memory that does not grow", function()
    local engine <const> = require "sonde.policy.engine"
    local list <const> = { assert(policy.load "cpu_spike"),
      compile("mean", [[return { summary = "s", trigger = { metric = "memory", stat = "p95",
        over = "30s", above = 98 } }]]) }
    local decide <const> = engine.new { policies = list, tell = function() end }
    local keys <const> = {}
    for i = 1, 100 do keys[i] = decide:add({ pid = i, start = 1, name = "api" }, 0) end
    local half
    local began <const> = os.clock()
    for second = 1, 600 do
      for i, key in ipairs(keys) do
        decide:feed(key, second * SECOND, "cpu", (second * 31 + i * 7) % 100)
        decide:feed(key, second * SECOND, "memory", (second * 17 + i * 3) % 100)
      end
      if second == 300 then
        collectgarbage()
        half = collectgarbage "count"
      end
    end
    collectgarbage()
    assert.is_true(collectgarbage "count" < 1.05 * half)
    assert.is_true(os.clock() - began < 10)   -- a hundred times fewer than may take a minute
  end)
end)
