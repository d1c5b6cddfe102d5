-- The Trace object: everything that the Go package's reader gives, and more.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local PROGRAM <const> = helper.data "synth/v4-program-compressed.nettrace"
local DEMO <const> = helper.data "demo.nettrace"

local MAIN <const> = "demo!Demo.Program.Main(class System.String[])"
local WORK <const> = "demo!Demo.Program.Work(int32,class System.String)"

local function folded(profile)
  local names <const> = profile:frames().name
  local counts = {}
  for stack, values in profile:samples() do
    local frames = {}
    for i = #stack, 1, -1 do frames[#frames + 1] = names[stack[i]] end
    local line <const> = table.concat(frames, ";")
    counts[line] = (counts[line] or 0) + values[1]
  end
  return counts
end

local function samples_of(trace, opts)
  opts.view, opts.names = "samples", opts.names or "raw"
  return folded(assert(trace:profile(opts)))
end

describe("opening a trace", function()
  local bytes <const> = assert(helper.read(PROGRAM))
  local want <const> = { [MAIN .. ";" .. WORK] = 3, [MAIN] = 1 }

  it("works from a path, a handle, a string", function()
    assert.same(want, samples_of(assert(sonde.open(PROGRAM)), {}))
    local file <close> = assert(io.open(PROGRAM, "rb"))
    assert.same(want, samples_of(assert(sonde.open(file)), {}))
    assert.same(want, samples_of(assert(sonde.open { bytes = bytes, name = "memory" }), {}))
  end)

  it("works from standard input", function()
    local out <const>, status = helper.run(("%s top - --json --view samples <%s"):format(
      helper.quote(helper.command), helper.quote(PROGRAM)))
    assert.equal(0, status)
    assert.equal(2, #helper.json_lines(out))
  end)

  it("works whatever the size of the pieces", function()
    for _, size in ipairs { 1, 2, 3, 7, 64, 1000 } do
      local trace <const> = core.trace()
      for at = 1, #bytes, size do assert(trace:feed(bytes:sub(at, at + size - 1))) end
      assert(trace:finish())
      assert.same(want, folded(assert(trace:profile { view = "samples", names = "raw" })))
    end
  end)

  it("tells the head's facts", function()
    local trace <const> = assert(sonde.open(PROGRAM))
    assert.same({ 4, 8, 4242 }, { trace.version, trace.pointer_size, trace.process_id })
    assert.equal("integer", math.type(trace.clock_frequency))
    assert.truthy(tostring(trace):find("7 events, 4 samples, 2 methods", 1, true))
  end)

  it("of what is none fails with a code", function()
    local trace, message, code = sonde.open { bytes = ("no trace "):rep(9), name = "x" }
    assert.is_nil(trace)
    assert.equal("not_nettrace", code)
    assert.is_string(message)
    trace, message, code = sonde.open(helper.data "synth/v6-major-7.nettrace")
    assert.is_nil(trace)
    assert.equal("unsupported_version", code)
    assert.truthy(message:find("7", 1, true))
  end)

  it("without any data block gives the empty trace with a code", function()
    local trace, message, code = sonde.open(helper.data "synth/v4-empty.nettrace")
    assert.equal("no_events", code)
    assert.is_string(message)
    assert.equal(0, trace:counts().events)
  end)

  it("keeps within a limit of memory", function()
    local trace <const>, _, code = core.trace { limit = 200000 }
    if trace == nil then
      assert.equal("limit", code)
      return
    end
    local demo <const> = assert(helper.read(DEMO))
    local taken, message, reason = trace:feed(demo)
    assert.is_nil(taken)
    assert.equal("limit", reason)
    assert.truthy(message:find("200000", 1, true))
    assert.is_true(trace:counts().memory_peak <= 200000)
  end)
end)

describe("samples in order", function()
  local trace <const> = assert(sonde.open(PROGRAM))

  it("have time, thread, frames with method, type and assembly", function()
    local list = {}
    for sample in assert(trace:samples()) do list[#list + 1] = sample end
    assert.equal(4, #list)
    local first <const> = list[1]
    assert.equal(1001000 * (1000000000 // trace.clock_frequency), first.timestamp)
    assert.equal(100, first.thread_id)
    assert.is_boolean(first.managed)
    assert.equal("Work", first.frames[1].method)
    assert.equal("Demo.Program", first.frames[1].type)
    assert.equal("Main", first.frames[#first.frames].method)
    assert.equal("integer", math.type(first.frames[1].ip))
  end)

  it("share the frames of equal stacks", function()
    local by_stack, shared = {}, 0
    for sample in assert(trace:samples()) do
      local key = ""
      for _, frame in ipairs(sample.frames) do key = key .. ";" .. frame.ip end
      if by_stack[key] then
        assert.equal(by_stack[key], sample.frames)
        shared = shared + 1
      end
      by_stack[key] = sample.frames
    end
    assert.is_true(shared > 0)
  end)

  it("keep the address of a frame that nothing covers, with empty names", function()
    local other <const> = assert(sonde.open(helper.data
      "synth/v4-unresolved-and-dangling.nettrace"))
    local found
    for sample in assert(other:samples()) do
      for _, frame in ipairs(sample.frames) do
        if frame.ip == 0xdead then found = frame end
      end
    end
    assert.same({ ip = 0xdead, method = "", type = "", assembly = "" }, found)
  end)

  it("come in order of time, on the trace's clock", function()
    local demo <const> = assert(sonde.open(DEMO))
    local before, n = math.mininteger, 0
    for sample in assert(demo:samples()) do
      assert.is_true(sample.timestamp >= before)
      before, n = sample.timestamp, n + 1
    end
    assert.equal(13424, n)
  end)

  it("are weighed by the pass of the sampler", function()
    local demo <const> = assert(sonde.open(DEMO))
    local sum = 0
    for sample in assert(demo:samples()) do sum = sum + sample.weight_ns end
    assert.equal(assert(demo:profile()):total "wall", sum)
  end)

  it("need a second reading, which a stream cannot give", function()
    local file <close> = assert(io.popen("cat " .. helper.quote(PROGRAM), "r"))
    local stream <const> = assert(sonde.open(file))
    local iterator, message, code = stream:samples()
    assert.is_nil(iterator)
    assert.equal("unavailable", code)
    assert.truthy(message:find("second time", 1, true))
  end)

  it("can be kept at once", function()
    local file <close> = assert(io.popen("cat " .. helper.quote(PROGRAM), "r"))
    local stream <const> = assert(sonde.open(file, { timeline = true }))
    local n = 0
    for _ in assert(stream:samples()) do n = n + 1 end
    assert.equal(4, n)
  end)
end)

describe("timeline", function()
  it("has threads, weights and stacks of one profile", function()
    local trace <const> = assert(sonde.open(DEMO))
    local timeline <const> = assert(trace:timeline())
    local sum, n = 0, 0
    for i, thread in ipairs(timeline:threads()) do
      local own = 0
      for _, weight, stack in timeline:each(i) do
        own, sum = own + 1, sum + weight
        assert.is_true(#stack > 0)
      end
      assert.equal(thread.n, own)
      n = n + own
    end
    assert.equal(#timeline, n)
    assert.equal(assert(trace:profile()):total "wall", sum)
    assert.truthy(tostring(timeline):find("13424 samples", 1, true))
  end)
end)

describe("methods, modules, assemblies", function()
  it("are what the trace tells", function()
    local trace <const> = assert(sonde.open(PROGRAM))
    local methods <const> = trace:methods()
    assert.equal(2, #methods)
    local by_name = {}
    for _, method in ipairs(methods) do by_name[method.name] = method end
    local work <const> = by_name.Work
    assert.equal("Demo.Program", work.namespace)
    assert.equal("integer", math.type(work.start))
    assert.is_true(work.size > 0)
    local modules <const> = trace:modules()
    assert.equal(work.module_id, modules[1].id)
    assert.equal(modules[1].assembly_id, trace:module_assemblies()[modules[1].id])
  end)

  it("are joined: a method's assembly by its full name", function()
    local trace <const> = assert(sonde.open(DEMO))
    local found = 0
    for _, method in ipairs(trace:methods()) do
      if (method.assembly or ""):find("^target%-cpu, Version=") then found = found + 1 end
    end
    assert.is_true(found > 10)
    local names <const> = trace:assemblies()
    for module, assembly in pairs(trace:module_assemblies()) do
      assert.is_truthy(names[assembly], module)
    end
  end)

  it("have lines of IL when asked for", function()
    local trace <const> = assert(sonde.open(DEMO))
    local maps <const> = assert(trace:il_maps())
    assert.is_true(#maps > 100)
    for _, map in ipairs(maps) do assert.equal(#map.il, #map.native) end
  end)
end)

describe("frames in time", function()
  it("mean the method that lived at the address then", function()
    local trace <const> = assert(sonde.open(helper.data "synth/v4-address-reuse.nettrace"))
    assert.same({ ["demo!T.First()"] = 1, ["demo!T.Second()"] = 1 }, samples_of(trace, {}))
  end)

  it("before their method's load event are that method", function()
    local trace <const> = assert(sonde.open(helper.data "synth/v4-tiers.nettrace"))
    assert.same({ ["demo!T.Hot()"] = 3 }, samples_of(trace, {}))
  end)
end)

describe("profile of a trace", function()
  local demo <const> = assert(sonde.open(DEMO))

  it("has labels for thread and type, and can do without", function()
    local _, _, labels = assert(demo:profile()):samples()()
    assert.truthy(labels.thread[1]:find("^Thread %(%d+%)$"))
    assert.equal("integer", math.type(labels.thread_id[1]))
    assert.truthy(labels.type[1] == "external" or labels.type[1] == "managed")
    local _, _, none = assert(demo:profile { labels = false }):samples()()
    assert.is_nil(none)
  end)

  it("without labels has the same totals in fewer samples", function()
    local with <const>, without = demo:profile(), assert(demo:profile { labels = false })
    assert.is_true(#without < #with)
    assert.equal(with:total "wall", without:total "wall")
  end)

  it("is cut by thread, by id or name", function()
    local all = 0
    for _, thread in ipairs(demo:threads()) do
      if thread.samples > 0 then
        local profile <const> = assert(demo:profile { view = "samples", thread = thread.id })
        assert.equal(thread.samples, profile:total "samples")
        all = all + thread.samples
      end
    end
    assert.equal(13424, all)
    assert.equal(13424, assert(demo:profile { thread = "^Thread" }):total "samples")
    local none, message, code = demo:profile { thread = 1 }
    assert.is_nil(none)
    assert.equal("no_samples", code)
    assert.truthy(message:find("no thread 1", 1, true))
  end)

  it("is cut by time, in parts that add up", function()
    local half <const> = "3s"
    local before <const> = assert(demo:profile { view = "samples", to = half })
    local after <const> = assert(demo:profile { view = "samples", from = half })
    assert.is_true(before:total "samples" > 0 and after:total "samples" > 0)
    assert.equal(demo:profile():info().time_ns + 3000000000, after:info().time_ns)
    assert.is_true(after:info().duration_ns < demo:profile():info().duration_ns)
    assert.equal(13424, before:total "samples" + after:total "samples")
    assert.equal(assert(demo:profile()):total "wall", before:total "wall" + after:total "wall")
  end)

  it("says what a frame without a name is", function()
    local killed <const> = assert(sonde.open(helper.data "real/net10-attach-killed.nettrace.gz"))
    local profile <const> = assert(killed:profile { view = "samples" })
    for _, name in ipairs(profile:frames().name) do
      assert.truthy(name:find("^%[unknown 0x%x+%]$") or name == "[stack cut at 100 frames]", name)
    end
    local comments <const> = table.concat(profile:info().comments, "\n")
    assert.truthy(comments:find("no rundown", 1, true))
  end)

  it("refuses an unknown view with the ones there are", function()
    local profile, message, code = demo:profile { view = "wal" }
    assert.is_nil(profile)
    assert.equal("unknown_name", code)
    assert.truthy(message:find("did you mean 'wall'", 1, true))
    assert.has_error(function() demo:profile { names = "short" } end)
  end)

  it("is a value: the same question gives the same object", function()
    assert.equal(demo:profile(), demo:profile())
  end)

  it("knows the views that a trace can give", function()
    assert.same({ "wall", "samples", "running", "managed" }, demo:views())
    local other <const> = assert(sonde.open(helper.data "real/sdk-exceptions.nettrace.gz"))
    assert.same({ "exception", "contention", "gc" }, other:views())
  end)

  it("of exceptions and contention has their stacks and types", function()
    local trace <const> = assert(sonde.open(helper.data "real/sdk-exceptions.nettrace.gz"))
    local thrown <const> = assert(trace:profile { view = "exception" })
    assert.equal(1525, thrown:total "exceptions")
    local waits <const> = assert(trace:profile { view = "contention" })
    assert.equal(50, waits:total "contentions")
    assert.equal(513543862, waits:total "delay")
  end)
end)

describe("report", function()
  local function json(name, ...)
    local out, status <const> = helper.sonde("report", name, ...)
    assert.equal(0, status)
    return out
  end

  it("inspect has the keys that checks rely on", function()
    local out <const>, status = helper.sonde("inspect", "--json", DEMO)
    assert.equal(0, status)
    local facts <const> = helper.json_lines(out)[1]
    for key, want in pairs {
      format = "nettrace", version = 4, events = 24578, lost = 0, samples = 13424,
      frames = 168918, frames_unresolved = 4, stacks = 135, truncated = false,
      rundown = "complete", pointer_size = 8, clock_frequency = 1000000000,
    } do
      assert.equal(want, facts[key], key)
    end
    for _, key in ipairs { "lost_by_thread", "methods", "process_id", "runtime", "warnings",
      "errors" } do
      assert.is_not_nil(facts[key], key)
    end
    assert.same({}, facts.errors)
    assert.equal(".NET 10.0.12", facts.runtime.name)
  end)

  it("of each kind writes text and JSON lines", function()
    local path <const> = helper.data "real/sdk-exceptions.nettrace.gz"
    for _, name in ipairs { "gc", "exceptions", "threads", "providers", "inspect" } do
      assert.is_true(#json(name, path) > 50, name)
      local rows <const> = helper.json_lines(json(name, path, "--json"))
      assert.equal(1, rows[1].schema, name)
    end
    assert.equal(21, #helper.json_lines(json("gc", path, "--json")))
    assert.equal(3, #helper.json_lines(json("exceptions", path, "--json")))
  end)

  it("says what is not in the trace", function()
    local _, status, err = helper.sonde("report", "jit", DEMO)
    assert.equal(1, status)
    assert.truthy(err:find("level 5", 1, true))
    _, status, err = helper.sonde("report", "gc", DEMO)
    assert.equal(1, status)
    assert.truthy(err:find("no garbage collections", 1, true))
  end)

  it("of a killed recording says why it has no names", function()
    local out <const>, status =
      helper.sonde("inspect", helper.data "real/net10-attach-killed.nettrace.gz")
    assert.equal(4, status)
    assert.truthy(out:find("no rundown", 1, true))
    assert.truthy(out:find("ends early at byte 558464", 1, true))
  end)
end)

describe("damage", function()
  local bytes <const> = assert(helper.read(PROGRAM))

  it("by a cut at any byte keeps what came before", function()
    local before = 0
    for size = 0, #bytes do
      local trace <const> = core.trace()
      trace:feed(bytes:sub(1, size))
      trace:finish()
      local events <const> = trace:counts().events
      assert.is_true(events >= before, size)
      assert.is_not_nil(trace:profile { view = "samples", names = "raw" })
      before = events
    end
    assert.equal(7, before)
  end)

  it("of any one byte ends neither in a crash nor in a hang", function()
    for at = 1, #bytes do
      for _, value in ipairs { 0, 0xff, bytes:byte(at) ~ 1 } do
        local trace <const> = core.trace { limit = 64 << 20 }
        trace:feed(bytes:sub(1, at - 1) .. string.char(value) .. bytes:sub(at + 1))
        trace:finish()
        trace:profile { view = "wall" }
        trace:methods()
      end
    end
  end)
end)

describe("binding of traces #binding", function()
  it("refuses wrong use", function()
    assert.has_error(function() core.trace { views = {} } end)
    assert.has_error(function() core.trace { groups = { "wall" } } end)
    assert.has_error(function() core.trace { limit = -1 } end)
    assert.has_error(function() core.trace { limit = "1" } end)
    local trace <const> = core.trace()
    assert.has_error(function() trace:profile() end)
    assert.has_error(function() trace:feed() end)
    assert.has_error(function() trace:pump(1) end)
    trace:feed(assert(helper.read(PROGRAM)))
    trace:finish()
    assert.has_error(function() trace:feed "x" end)
    assert.has_error(function() trace:finish() end)
    assert.has_error(function() trace:profile { view = "x" } end)
    assert.has_error(function() trace:profile { threads = "x" } end)
  end)

  it("closes more than once, and not while it is used", function()
    local trace <const> = core.trace { timeline = true }
    trace:feed(assert(helper.read(PROGRAM)))
    trace:finish()
    local next_sample <const> = trace:samples()
    local timeline <const> = trace:timeline()
    assert.is_table(next_sample())
    trace:close()
    assert.has_error(function() trace:close() end)
    assert.has_error(function() trace:counts() end)
    assert.has_error(next_sample)
    assert.equal(4, #timeline)
    local each <const> = timeline:each()
    assert.equal("integer", math.type((each())))
    timeline:close()
    timeline:close()
    assert.has_error(each)
    assert.has_error(function() timeline:threads() end)
  end)

  it("lets a timeline outlive its trace", function()
    local timeline
    do
      local trace <const> = core.trace { timeline = true }
      trace:feed(assert(helper.read(PROGRAM)))
      trace:finish()
      timeline = trace:timeline()
    end
    collectgarbage()
    collectgarbage()
    local names <const> = timeline:profile():frames().name
    local seen = {}
    for _, _, stack in timeline:each() do
      for _, frame in ipairs(stack) do seen[names[frame]] = true end
    end
    assert.is_true(seen["Demo.Program.Work(int, string)"])
  end)

  it("says what it is", function()
    local trace <const> = core.trace()
    assert.equal("trace (0 events)", tostring(trace))
    trace:close()
    assert.equal("trace (closed)", tostring(trace))
  end)
end)
