-- What is exported for viewers: speedscope, aggregated and in time order, and
-- Chromium's trace events.
local dkjson <const> = require "dkjson"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.made_profiles"
local reports <const> = require "sonde.report"
local speedscope <const> = require "spec.support.speedscope"

local function aggregated(profile, opts)
  return speedscope.read(assert(profile:render("speedscope", opts)))
end

local function in_order(rows)
  return speedscope.read(assert(reports.render(profiles.timeline(rows), "timeline", "speedscope",
    { time_order = true }, "spec")))
end

-- The events of a profile as text: `+a@0 +b@0 -b@5 -a@5`.
local function events_of(file, i)
  local words = {}
  for _, event in ipairs(file.profiles[i].events) do
    words[#words + 1] = ("%s%s@%d"):format(event.type == "O" and "+" or "-",
      file.shared.frames[event.frame + 1].name, event.at)
  end
  return table.concat(words, " ")
end

describe("an aggregated speedscope file", function()
  it("has all threads together, then each", function()
    local file <const> = aggregated(profiles.program())
    local titles = {}
    for i, profile in ipairs(file.profiles) do
      titles[i] = ("%s %d %s"):format(profile.name, profile.endValue, profile.unit)
    end
    assert.same({
      "cpu (nanoseconds) 660000000 nanoseconds", "thread worker 500000000 nanoseconds",
      "thread boss 160000000 nanoseconds",
    }, titles)
    assert.equal("sampled", file.profiles[1].type)
    assert.equal("main", file.shared.frames[file.profiles[1].samples[1][1] + 1].name)
  end)

  it("has one profile where there is one thread", function()
    assert.equal(1, #aggregated(profiles.of("a;b 1\na 2")).profiles)
    assert.equal(1, #aggregated(profiles.of("a;b 1 thread=x\na 2 thread=x")).profiles)
  end)

  it("says what kind of number it shows", function()
    local function unit(name)
      return aggregated(profiles.of("a 1", { { "t", name } })).profiles[1].unit
    end
    assert.equal("bytes", unit "bytes")
    assert.equal("microseconds", unit "microseconds")
    assert.equal("none", unit "count")
    assert.equal("none", unit "cycles")
  end)

  it("is valid with any names and with samples without a stack", function()
    local file = aggregated(profiles.case("29-svg-illegal-characters/in.folded"))
    assert.equal(13, #file.shared.frames)
    file = aggregated(profiles.case("19-pprof-sample-without-stack/goroutine.pb.gz"))
    assert.equal(43, file.profiles[1].endValue)
    assert.equal("[no stack]", file.shared.frames[3].name)
    file = aggregated(profiles.case("23-pprof-odd-function-names/names.pb.gz"))
    assert.equal(35, file.profiles[1].endValue)
  end)

  it("never has a negative weight", function()
    local delta <const> = profiles.case("14-pprof-negative-heap-delta/delta.pb.gz")
    local text, message, code = delta:render("speedscope", { type = "inuse_space" })
    assert.is_nil(text)
    assert.matches("^%-36kB is negative in stack main.main;cache.evict", message)
    assert.equal("unavailable", code)
    assert.equal(36864,
      aggregated(delta, { type = "inuse_space", sign = "negative" }).profiles[1].endValue)
    assert.equal(16384,
      aggregated(delta, { type = "inuse_space", sign = "positive" }).profiles[1].endValue)
    -- A thread whose stacks have no value of this sign has no profile.
    local mixed <const> = profiles.of("a 5 thread=x\nb -5 thread=y\nc 1 thread=z\nc -1 thread=z")
    local file <const> = aggregated(mixed, { sign = "positive" })
    assert.equal(2, #file.profiles)
    assert.equal("thread x", file.profiles[2].name)
  end)

  it("is not written when there is nothing in it", function()
    local text, _, code = profiles.of(""):render("speedscope")
    assert.is_nil(text)
    assert.equal("no_samples", code)
    text, _, code = profiles.of("a 1\na -1\nb 0"):render("speedscope")
    assert.is_nil(text)
    assert.equal("no_samples", code)
  end)
end)

describe("a timeline", function()
  it("keeps the outer frames open between samples", function()
    local file <const> = in_order {
      { "main", 10, 5, "a;b" }, { "main", 15, 5, "a;b;c" }, { "main", 20, 5, "a;d" },
    }
    assert.equal("+a@10 +b@10 +c@15 -c@20 -b@20 +d@20 -d@25 -a@25", events_of(file, 1))
    assert.same({ 10, 25, "main (100)" },
      { file.profiles[1].startValue, file.profiles[1].endValue, file.profiles[1].name })
  end)

  it("closes everything where the thread was not sampled", function()
    assert.equal("+a@0 -a@5 +a@9 -a@12",
      events_of(in_order { { "t", 0, 5, "a" }, { "t", 9, 3, "a" } }, 1))
  end)

  it("nests frames that begin or end together, and recursion", function()
    assert.equal("+a@0 +a@0 +a@0 -a@1 -a@1 +b@1 -b@2 -a@2",
      events_of(in_order { { "t", 0, 1, "a;a;a" }, { "t", 1, 1, "a;b" } }, 1))
    assert.equal("+a@7 +b@7 -b@7 -a@7 +c@7 -c@8",
      events_of(in_order { { "t", 7, 0, "a;b" }, { "t", 7, 1, "c" } }, 1))
  end)

  it("never goes back in time", function()
    assert.equal("+a@5 -a@5 +b@5 -b@9",
      events_of(in_order { { "t", 5, 5, "a" }, { "t", 3, 4, "b" } }, 1))
    in_order { { "t", 5, -3, "a" }, { "t", 6, 2, "b" }, { "t", 6, 2, "b;c" } }
  end)

  it("shows one sample, threads apart, and samples without a stack", function()
    local file <const> = in_order {
      { "one", 0, 1, "a" }, { "two", 0, 1, "b" }, { "one", 1, 1, "" },
    }
    assert.equal("+a@0 -a@1 +[no stack]@1 -[no stack]@2", events_of(file, 1))
    assert.equal("+b@0 -b@1", events_of(file, 2))
  end)

  it("without samples is not written", function()
    local text, _, code = reports.render(profiles.timeline {}, "timeline", "speedscope",
      { time_order = true }, "spec")
    assert.is_nil(text)
    assert.equal("no_samples", code)
    text, _, code = reports.render(profiles.timeline {}, "timeline", "chromium", {}, "spec")
    assert.is_nil(text)
    assert.equal("no_samples", code)
  end)
end)

-- Reads trace events and checks the rules of their format: begins and ends of
-- a thread nest, times do not go back, every thread has a name.
local function check_events(text)
  local file <const> = assert(dkjson.decode(text))
  local open, last, named = {}, {}, {}
  for _, event in ipairs(file.traceEvents) do
    local key <const> = ("%d/%d"):format(event.pid, event.tid)
    if event.ph == "M" then
      assert(event.name == "process_name" or event.name == "thread_name")
      named[key] = event.args.name
    else
      assert(event.ph == "B" or event.ph == "E")
      assert(named[key], "a thread without a name")
      assert(event.ts >= (last[key] or 0), "a time that goes back")
      last[key] = event.ts
      open[key] = (open[key] or 0) + (event.ph == "B" and 1 or -1)
      assert(open[key] >= 0, "an end without a begin")
      assert(event.ph == "E" or type(event.name) == "string")
    end
  end
  for _, depth in pairs(open) do assert.equal(0, depth) end
  return file, named
end

describe("Chromium's trace events", function()
  local function render(rows)
    return assert(reports.render(profiles.timeline(rows), "timeline", "chromium", {}, "spec"))
  end

  it("are begins and ends that nest, in microseconds", function()
    local file, named = check_events(render {
      { "main", 1500, 1000, "a;b" }, { "io", 2000, 500, "x" }, { "main", 2500, 1, "a" },
    })
    assert.equal("main", named["1/100"])
    assert.equal("io", named["1/101"])
    local first
    for _, event in ipairs(file.traceEvents) do
      if event.ph == "B" then first = first or event end
    end
    assert.same({ "a", 1.5, 1, 100 }, { first.name, first.ts, first.pid, first.tid })
  end)

  it("lose no nanosecond of a long session", function()
    assert.matches('"ts":9007199254740%.993', render { { "t", 9007199254740993, 1, "a" } })
  end)

  it("hold any name", function()
    check_events(render { { "t\27\"", 0, 1, "</script>\n\xff\"" } })
  end)
end)

describe("a trace", function()
  local function open(name)
    local core <const> = require "sonde.c.core"
    local trace <const> = core.trace { timeline = true }
    local file <close> = assert(io.open(helper.data("cases/" .. name), "rb"))
    local input <const> = core.input(file)
    repeat until assert(trace:pump(input)) == 0
    trace:finish()
    return trace:timeline(), trace:profile { view = "wall" }
  end

  for _, name in ipairs {
    "53-nt-wall-not-cpu/wait.nettrace", "55-nt-one-or-no-sample/one.nettrace",
  } do
    it("gives valid files of both kinds: " .. name, function()
      local timeline, profile = open(name)
      local ordered <const> = speedscope.read(assert(reports.render(timeline, "timeline",
        "speedscope", { time_order = true }, "spec")))
      local whole <const> = speedscope.read(assert(profile:render("speedscope")))
      assert.truthy(#ordered.profiles >= 1)
      assert.equal(profile:total("wall"), whole.profiles[1].endValue)
      check_events(assert(reports.render(timeline, "timeline", "chromium", {}, "spec")))
    end)
  end
end)
