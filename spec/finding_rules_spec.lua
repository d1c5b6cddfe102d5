-- Every rule of findings, on a trace that has the problem and on one that has
-- not.
local finding <const> = require "sonde.finding"
local helper <const> = require "spec.support.helper"
local made <const> = require "spec.support.made_trace"
local profiles <const> = require "spec.support.made_profiles"
local sonde <const> = require "sonde"

local SECOND <const> = 1000000000

local function file(name)
  if name:find("^%.%./") then return helper.shared(name:sub(#"../shared/" + 1)) end
  return helper.data(name)
end

local function all(object)
  local list <const>, problems <const> = finding.all(object, { directory = false })
  assert.same({}, problems)
  return list
end

local function of_file(name)
  local object <close> = assert(sonde.open(file(name)))
  return all(object)
end

local function of_events(events)
  local object <close> = assert(sonde.open { bytes = made.trace(events), name = "made" })
  return all(object)
end

local function by_name(list, name)
  local found = {}
  for _, row in ipairs(list) do
    if row.name == name then found[#found + 1] = row end
  end
  return found
end

local CASES <const> = {
  truncated = {
    has = { "real/net10-attach-killed.nettrace.gz", "synth/v4-cut-in-event-block.nettrace" },
    not_in = { "demo.nettrace", "real/healthy.nettrace.gz" },
  },
  lost = {
    has = { "cases/48-nt-loss-per-thread/loss.nettrace",
      "../shared/traces/net10/lossy.nettrace.xz" },
    not_in = { "demo.nettrace", "real/healthy.nettrace.gz" },
  },
  rundown = {
    has = { "real/net10-attach-killed.nettrace.gz", "cases/49-nt-cut-in-rundown/cut.nettrace",
      "../shared/traces/net10/lossy.nettrace.xz" },
    not_in = { "demo.nettrace", "real/healthy.nettrace.gz", "real/net10-default.nettrace.gz" },
  },
  sampler = {
    has = { "real/sdk-exceptions.nettrace.gz", "real/net50-arraytypes.nettrace.gz" },
    not_in = { "demo.nettrace", "real/healthy.nettrace.gz", "synth/v6-universal.nettrace",
      "synth/v4-empty.nettrace" },
  },
  starvation = {
    has = { "real/problem-starve.nettrace.gz" },
    not_in = { "real/problem-blocking.nettrace.gz", "real/healthy.nettrace.gz" },
  },
  sync_over_async = {
    has = { "real/problem-blocking.nettrace.gz" },
    not_in = { "real/healthy.nettrace.gz", "demo.nettrace", "real/problem-starve.nettrace.gz" },
  },
  locks = {
    has = { "real/problem-locks.nettrace.gz", "real/sdk-exceptions.nettrace.gz" },
    not_in = { "real/healthy.nettrace.gz", "demo.nettrace", "real/problem-throw.nettrace.gz" },
  },
  gc_pauses = {
    has = { "real/problem-pressure.nettrace.gz" },
    not_in = { "real/sdk-exceptions.nettrace.gz", "real/net10-default.nettrace.gz",
      "real/problem-induced.nettrace.gz" },
  },
  induced_gc = {
    has = { "real/problem-induced.nettrace.gz", "real/sdk-exceptions.nettrace.gz" },
    not_in = { "real/problem-pressure.nettrace.gz", "real/problem-large.nettrace.gz" },
  },
  large_objects = {
    has = { "real/problem-large.nettrace.gz", "real/sdk-exceptions.nettrace.gz" },
    not_in = { "real/problem-pressure.nettrace.gz", "real/problem-induced.nettrace.gz" },
  },
  exceptions = {
    has = { "real/problem-throw.nettrace.gz", "real/sdk-exceptions.nettrace.gz" },
    not_in = { "real/healthy.nettrace.gz", "../shared/traces/net10/exceptions.nettrace.xz" },
  },
  jit_start = {
    has = { "real/problem-jit.nettrace.gz", "../shared/traces/net10/norundown.nettrace.xz" },
    not_in = { "real/healthy.nettrace.gz", "../shared/traces/net10/attach.nettrace.xz" },
  },
  hot = {
    has = { "demo.nettrace", "real/problem-hot.nettrace.gz", "pprof/ref/cpu.pb.gz" },
    not_in = { "real/healthy.nettrace.gz", "real/net10-default.nettrace.gz",
      "real/net10-attach-killed.nettrace.gz", "pprof/ref/heap.pb.gz" },
  },
  go_gc = { has = {}, not_in = { "pprof/ref/cpu.pb.gz", "demo.nettrace" } },
  -- Of stores: store_cli_spec has one where goroutines grow.
  goroutine_growth = { has = {}, not_in = { "pprof/ref/cpu.pb.gz", "demo.nettrace" } },
}

describe("rule", function()
  it("has cases for every shipped one", function()
    for _, name in ipairs(finding.shipped) do assert(CASES[name], name) end
  end)

  for _, name in ipairs(finding.shipped) do
    for _, path in ipairs(CASES[name].has) do
      it(("%s finds it in %s"):format(name, path), function()
        local found <const> = by_name(of_file(path), name)
        assert(#found >= 1, "nothing found")
      end)
    end
    for _, path in ipairs(CASES[name].not_in) do
      it(("%s finds nothing in %s"):format(name, path), function()
        assert.same({}, by_name(of_file(path), name))
      end)
    end
  end
end)

describe("a figure", function()
  local function one(path, name)
    return assert(by_name(of_file(path), name)[1], name)
  end

  it("of hot methods has the share that the program really has, and its noise", function()
    local found <const> = by_name(of_file "demo.nettrace", "hot")
    assert.equal("Targets.Cpu.Burn.Alpha", found[1].focus)
    -- 300 of 450 units of two threads, beside 100 of a third.
    assert(math.abs(found[1].figure.share - 0.5) < 0.04, found[1].figure.share)
    assert.equal("nanoseconds", found[1].figure.unit)
    assert(found[1].figure.text:find("^50%% ± %d"), found[1].figure.text)
    assert.equal("likely", found[1].certainty)
    assert(not found[1].title:find("CPU"), found[1].title)
  end)

  it("of exceptions is what was thrown", function()
    local row <const> = one("real/sdk-exceptions.nettrace.gz", "exceptions")
    assert.equal(1000, row.figure.value)
    assert(row.title:find("System.InvalidOperationException", 1, true))
    assert(row.detail:find("1,525 exceptions of 3 types", 1, true), row.detail)
    assert(row.detail:find("Targets.Alloc.Program.ThrowInvalid", 1, true), row.detail)
  end)

  it("of locks is what the runtime measured, with who holds threads up", function()
    local row <const> = one("real/sdk-exceptions.nettrace.gz", "locks")
    assert.equal(513, row.figure.value // 1000000)
    assert(row.detail:find("^50 waits, most of it in Targets.Alloc.Program.Waiter"), row.detail)
  end)

  it("of collections counts those that were asked for", function()
    local row = one("real/sdk-exceptions.nettrace.gz", "induced_gc")
    assert.equal("7 of 21 collections", row.figure.text)
    row = one("real/sdk-exceptions.nettrace.gz", "large_objects")
    assert.equal("6 of 21 collections", row.figure.text)
  end)

  it("of large objects names who makes them", function()
    local row <const> = one("real/problem-large.nettrace.gz", "large_objects")
    assert.equal("Shop.Program.LoadPicture", row.focus)
    assert.equal("certain", row.certainty)
  end)

  it("of blocked pool threads is their average number, with where", function()
    local row <const> = one("real/problem-blocking.nettrace.gz", "sync_over_async")
    assert(row.figure.value > 2 and row.figure.value < 3.5, row.figure.value)
    assert.equal("Shop.Inventory.Count", row.focus)
  end)

  it("of a killed recording says where it ends", function()
    local list <const> = of_file "real/net10-attach-killed.nettrace.gz"
    assert.equal("truncated", list[1].name)
    assert.equal("ends at byte 558,464", list[1].figure.text)
    assert.equal("100% unnamed", by_name(list, "rundown")[1].figure.text)
  end)
end)

-- Events that repeat `n` times, `step` apart, between two that span a time.
local function repeated(n, step, kinds, length)
  local events = { { 0, made.adjustment(2, 1) } }
  for i = 1, n do
    for k, kind in ipairs(kinds) do
      local event <const> = type(kind) == "function" and kind(i) or kind
      events[#events + 1] = { i * step + k, event }
    end
  end
  events[#events + 1] = { length, made.adjustment(2, 1) }
  return events
end

describe("a threshold", function()
  local function found(name, events)
    return by_name(of_events(events), name)[1]
  end

  it("of induced collections is three: a tool asks for one", function()
    local function collections(n, reason)
      return repeated(n, SECOND // 10, {
        function(i) return made.gc_start(i, 2, reason) end,
        function(i) return made.gc_end(i, 2) end,
      }, 2 * SECOND)
    end
    assert.is_nil(found("induced_gc", collections(2, 1)))
    assert.equal("3 of 3 collections", found("induced_gc", collections(3, 1)).figure.text)
    assert.is_nil(found("induced_gc", collections(5, 2)), "low memory is the system's wish")
  end)

  it("of pauses is a tenth of the time, or long ones", function()
    local function pauses(n, length, total)
      local events = { { 0, made.adjustment(2, 1) } }
      for i = 1, n do
        local at <const> = i * (total // (n + 1))
        events[#events + 1] = { at, made.suspend(i) }
        events[#events + 1] = { at + 1, made.gc_start(i, 1, 0) }
        events[#events + 1] = { at + length - 1, made.gc_end(i, 1) }
        events[#events + 1] = { at + length, made.restarted() }
      end
      events[#events + 1] = { total, made.adjustment(2, 1) }
      return found("gc_pauses", events)
    end
    assert.is_nil(pauses(9, SECOND // 100, SECOND))
    local row = pauses(15, SECOND // 100, SECOND)
    assert.equal("medium", row.severity)
    assert.equal("15% of the time", row.figure.text)
    assert(row.detail:find("generation 1", 1, true), row.detail)
    assert.equal("high", pauses(25, SECOND // 100, SECOND).severity)
    row = pauses(1, 300000000, 60 * SECOND)
    assert.equal("300ms", row.figure.text)
  end)

  it("of starvation: one verdict of the runtime is a hint, three are certain", function()
    local function verdicts(n)
      return found("starvation", repeated(n, SECOND // 2, {
        function(i) return made.adjustment(2 + i, 6) end }, 5 * SECOND))
    end
    assert.is_nil(verdicts(0))
    assert.equal("hint", verdicts(1).certainty)
    assert.equal("low", verdicts(1).severity)
    assert.equal("certain", verdicts(3).certainty)
    assert.equal("3 times, 2 to 5 threads", verdicts(3).figure.text)
  end)

  it("of blocked tasks without samples is ten notices of the runtime", function()
    local function notices(n)
      return found("sync_over_async", repeated(n, SECOND // 20, {
        function(i) return made.adjustment(2 + i, 8) end }, SECOND))
    end
    assert.is_nil(notices(9))
    assert.equal("10 times", notices(10).figure.text)
  end)

  it("of exceptions is a rate, and a burst is judged by itself", function()
    local function thrown(n, step, length)
      return found("exceptions", repeated(n, step, { made.exception("Shop.Oops", "no") }, length))
    end
    assert.is_nil(thrown(199, 1000000, SECOND))
    assert.is_nil(thrown(300, SECOND // 10, 60 * SECOND), "ten a second")
    assert.equal("medium", thrown(250, SECOND // 200, 2 * SECOND).severity)
    assert.equal("high", thrown(1200, 100000, 60 * SECOND).severity)
  end)

  it("of locks is a share of the recording", function()
    local function waits(n, ns)
      return found("locks", repeated(n, SECOND // 20, {
        made.contention_start(), made.contention_stop(ns) }, SECOND))
    end
    assert.is_nil(waits(4, 10000000))
    assert.equal("medium", waits(10, 10000000).severity)
    assert.equal("high", waits(12, 100000000).severity)
  end)

  it("of compilation is a fifth of the start", function()
    local function compiled(n, ns)
      local events = { { 0, made.adjustment(2, 1) } }
      for i = 1, n do
        local at <const> = i * (SECOND // (n + 1))
        events[#events + 1] = { at, made.jit_start(i, "M" .. i) }
        events[#events + 1] = { at + ns, made.jit_end(i, "M" .. i) }
      end
      events[#events + 1] = { SECOND, made.adjustment(2, 1) }
      return found("jit_start", events)
    end
    assert.is_nil(compiled(10, 15000000))
    local row <const> = compiled(10, 30000000)
    assert.equal("300ms of the first 1s", row.figure.text)
    -- The trace did not see the process start.
    assert(row.title:find("recording", 1, true), row.title)
  end)

  it("of compilation counts a method once that is compiled again and again", function()
    local events = {}
    for round = 0, 19 do
      local at <const> = round * 40000000
      events[#events + 1] = { at, made.jit_start(1, "M") }
      events[#events + 1] = { at + 30000000, made.jit_end(1, "M") }
    end
    events[#events + 1] = { SECOND, made.adjustment(2, 1) }
    assert.is_nil(found("jit_start", events))   -- 600 ms of the second, in 20 rounds
  end)

  it("of losses is one in a thousand", function()
    local function lost(n)
      local events = {}
      for i = 1, 1000 do events[i] = { i * 1000, made.adjustment(2, 1), i == 500 and n or 0 } end
      return found("lost", events)
    end
    assert.is_nil(lost(1))
    assert.equal("medium", lost(20).severity)
    assert.equal("high", lost(100).severity)
  end)
end)

describe("a profile", function()
  local function cpu(lines)
    return all(profiles.of(lines, { { "samples", "count" }, { "cpu", "nanoseconds" } }))
  end

  it("has hot functions, for certain when the processor was measured", function()
    local list <const> = cpu [[
      main.main;main.parse 80 800000000
      main.main;main.print 20 200000000
    ]]
    assert.equal(1, #list)
    assert.equal("main.parse takes most of the processor time", list[1].title)
    assert.equal("80% ± 7.8", list[1].figure.text)
    assert.equal("certain", list[1].certainty)
  end)

  it("has none in few samples", function()
    assert.same({}, cpu "main.main;main.parse 30 300000000")
  end)

  it("says who calls a hot function of a framework", function()
    local list <const> = cpu [[
      main.main;main.hash;crypto/sha256.block 90 900000000
      main.main;main.print 20 200000000
    ]]
    assert(list[1].detail:find("Called mostly by main.hash (100%)", 1, true), list[1].detail)
  end)

  it("of a Go program may collect garbage most of the time", function()
    local list <const> = cpu [[
      runtime.gcBgMarkWorker;runtime.gcDrain 60 600000000
      main.main;main.parse;runtime.mallocgc;runtime.gcAssistAlloc 10 100000000
      main.main;main.parse 30 300000000
    ]]
    local row <const> = by_name(list, "go_gc")[1]
    assert.equal("70%", row.figure.text)
    assert.equal("high", row.severity)
  end)

  it("of waits has no hot functions", function()
    assert.same({}, all(profiles.of([[
      main.main;runtime.gopark 500
      main.main;main.run 10
    ]], { { "goroutine", "count" } })))
    local list <const> = all(profiles.of([[
      main;worker;__poll 500
      main;worker;futex_wait 500
    ]], { { "samples", "count" } }))
    assert.same({}, list)
  end)

  it("of plain samples is a hint only", function()
    local list <const> = all(profiles.of("main;work 500\nmain;rest 100",
      { { "samples", "count" } }))
    assert.equal("hint", list[1].certainty)
    assert.equal("work takes most of the samples", list[1].title)
  end)

  it("of locks shows who waits, when it says for how long it was taken", function()
    local profile <const> = profiles.of("main.main;main.save;sync.(*Mutex).Lock 40 900000000",
      { { "contentions", "count" }, { "delay", "nanoseconds" } })
    assert.same({}, all(profile))
    profile:set_info { duration_ns = SECOND }
    local row <const> = all(profile)[1]
    assert.equal("locks", row.name)
    assert(row.detail:find("main.save", 1, true), row.detail)
  end)
end)
