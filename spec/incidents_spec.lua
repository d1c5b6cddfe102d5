-- Real incidents on real processes: the policies that come with sonde, with smaller
-- figures, notice each and leave what shows it.
local dotnet <const> = require "spec.support.dotnet"
local golang <const> = require "spec.support.golang"
local helper <const> = require "spec.support.helper"
local http <const> = require "sonde.base.http"
local loop <const> = require "sonde.base.loop"
local policy <const> = require "sonde.policy"
local probes <const> = require "spec.support.probes"
local sonde <const> = require "sonde"
local watch <const> = require "sonde.policy.watch"

local SECOND <const> = 1000000000

-- Since when somebody listens to the process; nil while nobody does.
local function listening_since(watching, since)
  for _, known in pairs(watching.attached) do
    if known.attachment and #known.attachment.sources > 0 then return since or loop.now() end
  end
end

-- Watches a process with one policy, as its user sets it, until its actions are
-- done. `trouble` is called once the watch has got ready.
local function catch(process, one, trouble, opts)
  local events <const> = {}
  return helper.in_directory(function(directory)
    local begun, since
    local watching <const> = watch.new { policies = { one }, directory = directory,
      select = function(facts)
        return opts and opts.name and facts.name == opts.name or facts.pid == process.pid
      end,
      say = function(event) events[event.kind] = event end }
    watching:run(loop.after(90 * SECOND), function()
      since = listening_since(watching, since)
      if not begun and since and loop.now() - since > 2 * SECOND then
        begun = true
        trouble()
      end
      if events.acted or opts and opts.till and events[opts.till] then watching:stop() end
    end)
    watching:close()
    local troubles <const> = events.trouble and events.trouble.text or ""
    assert(events.fired, "it did not fire; " .. troubles)
    if opts and opts.see then opts.see(events.acted and events.acted.results or {}, events) end
    return events
  end)
end

local function shipped(name, args, edit)
  if edit == nil then return assert(policy.load(name, { args = args })) end
  local source = assert(policy.load(name)).source
  for from, to in pairs(edit) do
    local n
    source, n = source:gsub(from, to)
    assert(n > 0, from)
  end
  local one <const> = assert(policy.compile(source, name .. ".lua", { args = args }))
  one.name = name
  return one
end

local function names_in(profile)
  local names = {}
  for _, row in ipairs(profile:top { n = 100000, cum = true }) do names[#names + 1] = row.name end
  return table.concat(names, "\n")
end

describe("an incident of a .NET service", function()
  it("is an exception storm: types and places", function()
    local process <close> = dotnet.start("trouble", "10.0")
    catch(process, shipped("exception_storm", { count = "20" }, { ['"15s"'] = '"2s"' }), function()
      process.stdin:write "throw 1000\n"
    end, { see = function(results)
      assert.is_nil(results[2].failed)
      local trace <const> = assert(sonde.open(results[2].path))
      assert.matches("ThrowOne", names_in(assert(trace:profile { view = "exception" })))
    end })
  end)

  it("is a pool that starves: who blocks it", function()
    local process <close> = dotnet.start("trouble", "10.0")
    catch(process, shipped("threadpool_starvation", nil,
      { ['%["for"%] = "5s"'] = '["for"] = "1s"', ['"10s"'] = '"2s"' }), function()
      process.stdin:write "starve 400\n"
    end, { see = function(results)
      assert.is_nil(results[1].failed)
      local trace <const> = assert(sonde.open(results[1].path))
      assert.matches("BlockOne", names_in(assert(trace:profile { view = "wall" })))
    end })
  end)

  it("is a leak: what allocates", function()
    local process <close> = dotnet.start("trouble", "10.0")
    local over
    catch(process, shipped("memory_growth", { over = "3s" }, { ['"30s"'] = '"3s"',
      ['interval = "10s"'] = 'interval = "500ms"' }), function()
      over = loop.task(function()
        for _ = 1, 40 do
          process.stdin:write "leak 4\n"
          if not loop.sleep(SECOND // 4) then return end
        end
      end)
    end, { see = function(results)
      over:cancel()
      assert.is_nil(results[1].failed)
      local trace <const> = assert(sonde.open(results[1].path))
      assert.matches("KeepOne", names_in(assert(trace:profile { view = "alloc" })))
    end })
  end)

  it("is slow requests: what the service did before they ended", function()
    local process <close> = dotnet.start("trouble", "10.0")
    catch(process, shipped("slow_requests", { slow = "300ms", count = "2" },
      { ['"5s", before = "20s"'] = '"1s", before = "10s"' }), function()
      process.stdin:write("request 10\n" .. ("request 500\n"):rep(8))
    end, { see = function(results, events)
      assert.matches("2 times within .* the last /api/orders, %d+%.?%d*m?s",
        events.fired.firing.reason)
      assert.is_nil(results[1].failed)
      local trace <const> = assert(sonde.open(results[1].path))
      assert.matches("Program.Request", names_in(assert(trace:profile { view = "wall" })))
    end })
  end)

  it("is a hang: where all threads stand", function()
    local process <close> = dotnet.start("trouble", "10.0")
    catch(process, shipped("hang", { span = "3s" }, { ['duration = "5s"'] = 'duration = "1s"' }),
      function() process.stdin:write "hang\n" end, { see = function(results)
        assert.is_nil(results[2].failed)
        local trace <const> = assert(sonde.open(results[2].path))
        local names <const> = names_in(assert(trace:profile { view = "wall" }))
        assert.matches("Program.First", names)
        assert.matches("Program.Second", names)
      end })
  end)

  it("is a crash: what came before is told, and the watch goes on", function()
    local process <close> = dotnet.start("trouble", "10.0")
    local one <const> = assert(policy.compile([[return { summary = "s",
      targets = { runtime = "dotnet" },
      trigger = { sequence = { { exception = "Timeout" }, { exit = "any" } }, within = "60s" },
      actions = { { write = { path = "end.txt", text = "%{reason}" } } } }]], "crash.lua"))
    one.name = "crash"
    catch(process, one, function()
      loop.task(function()
        process.stdin:write "throw 10\n"
        -- What a runtime has not written when it crashes is lost.
        loop.sleep(3 * SECOND)
        process.stdin:write "crash\n"
      end)
    end, { see = function(results)
      assert.matches("TimeoutException; then exit", helper.read(results[1].path))
    end })
  end)

  it("can end while it is recorded: what came is kept", function()
    local process <close> = dotnet.start("trouble", "10.0")
    local one <const> = assert(policy.compile([[return { summary = "s",
      trigger = { exception = "Timeout" },
      actions = { { record = { duration = "30s" } } } }]], "killed.lua"))
    one.name = "killed"
    catch(process, one, function()
      loop.task(function()
        process.stdin:write "throw 10\n"
        loop.sleep(3 * SECOND)
        process:kill(9)
      end)
    end, { see = function(results)
      local path <const> = results[1].path
      assert.is_string(path)
      assert.is_true(assert(sonde.open(path)):counts().events > 100)
    end })
  end)
end)

describe("an incident of a Go server", function()
  local function leak(process, n)
    return http.request { url = ("%s/leak?n=%d"):format(process.url, n) }
  end

  local function leaking(process, rounds)
    return loop.task(function()
      for _ = 1, rounds do
        leak(process, 50)
        if not loop.sleep(SECOND // 2) then return end
      end
    end)
  end

  it("is a leak of goroutines: where they wait", function()
    local process <close> = golang.start "leak"
    local task
    catch(process, shipped("goroutine_leak", { over = "3s" },
      { ['interval = "10s"'] = 'interval = "500ms"' }), function()
      task = leaking(process, 40)
    end, { see = function(results)
      task:cancel()
      assert.is_nil(results[1].failed)
      local profile <const> = assert(sonde.open(results[1].path))
      assert.matches("waitForever", names_in(profile))
      assert.is_true(profile:total(1) > 100)
    end })
  end)

  it("is seen in what it publishes by expvar", function()
    local process <close> = golang.start "leak"
    local one <const> = assert(policy.compile([[return { summary = "s",
      targets = { runtime = "go" }, trigger = { all = { { metric = "expvar/jobs", above = 30 },
        { metric = "expvar/memstats.HeapAlloc", above = 0 } } },
      actions = { { dump = {} } } }]], "jobs.lua"))
    one.name = "jobs"
    catch(process, one, function() loop.task(leak, process, 40) end, { see = function(results)
      assert.is_nil(results[1].failed)
      assert.matches("waitForever", helper.read(results[1].path))
    end })
  end)
end)

describe("an incident of a native program", function()
  it("is seen in how often a function is called", function()
    probes.needed()
    local process <close> = probes.start(probes.program "calls.c")
    local one <const> = assert(policy.compile([[return { summary = "s",
      trigger = { probe = "^counted$", count = 100, within = "10s" },
      actions = { { log = "%{reason}" } } }]], "calls.lua"))
    one.name = "calls"
    catch(process, one, function() process.stdin:write "calls 150\n" end, {
      see = function(_, events)
        assert.matches("probe: 100 times within .*, the last counted", events.fired.firing.reason)
      end })
  end)

  it("is seen in how long a function takes", function()
    probes.needed()
    local process <close> = probes.start(probes.program "calls.c")
    local one <const> = assert(policy.compile([[return { summary = "s",
      trigger = { probe = "^wait_line$", slower = "300ms" },
      actions = { { log = "%{reason}" } } }]], "slow.lua"))
    one.name = "slow"
    catch(process, one, function()
      loop.task(function()
        process.stdin:write "wait\n"
        loop.sleep(SECOND // 2)
        process.stdin:write "calls 1\n"
      end)
    end, { see = function(_, events)
      assert.matches("probe: wait_line, %d+%.?%d*m?s", events.fired.firing.reason)
    end })
  end)
end)

describe("an event of a source of one's own", function()
  it("is asked for by its provider", function()
    local process <close> = dotnet.start("trouble", "10.0")
    local one <const> = assert(policy.compile([[return { summary = "s",
      trigger = { event = "Hosting/Request.?Start", provider = "Microsoft.AspNetCore.Hosting",
        level = 4, where = function(payload) return payload.path == "/api/orders" end },
      actions = { { log = "%{reason}" } } }]], "event.lua"))
    one.name = "event"
    catch(process, one, function() process.stdin:write "request 10\n" end)
  end)
end)

describe("a meter", function()
  it("is watched by its tags and percentiles", function()
    local process <close> = dotnet.start("meters", "8.0")
    local one <const> = assert(policy.compile([[return { summary = "s",
      trigger = { all = {
        { metric = "Targets.Meters/orders", tags = { kind = "book" }, above = 20 },
        { metric = "Targets.Meters/duration", percentile = 95, above = 90 },
        { metric = "Targets.Meters/level", above = 42 } } },
      actions = { { log = "%{reason}" } } }]], "meter.lua"))
    one.name = "meter"
    catch(process, one, function() end)
  end)
end)
