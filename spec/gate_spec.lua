-- The gate of `sonde diff`: what fails a build, and what does not.
local dkjson <const> = require "dkjson"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.made_profiles"
local sonde <const> = require "sonde"

local SECOND <const> = 1000000000

-- A profile of counts by function, each sample worth 10 ms.
local function of(counts, seconds)
  local lines = {}
  for name, n in pairs(counts) do
    lines[#lines + 1] = ("main;%s %d %d"):format(name, n, n * 10000000)
  end
  local profile <const> = profiles.of(table.concat(lines, "\n"),
    { { "samples", "count" }, { "cpu", "nanoseconds" } })
  profile:set_info { duration_ns = math.floor((seconds or 10) * SECOND) }
  return profile
end

local function gate(before, after, opts, scale)
  local difference <const> = assert(sonde.diff(before, after, { scale = scale or "total" }))
  return assert(difference:gate(opts))
end

local function names(rows)
  local list = {}
  for i, row in ipairs(rows) do list[i] = row.name end
  return table.concat(list, " ")
end

describe("a gate by share", function()
  it("fails on what grew by more percentage points than are allowed", function()
    local verdict <const> = gate(of { a = 500, b = 500 }, of { a = 700, b = 300 },
      { fail_above = 5 })
    assert.is_true(verdict.failed)
    assert.equal("a", names(verdict.grown))
    assert.equal(20.0, verdict.grown[1].growth)
    assert.equal("share", verdict.measure)
    local text <const> = table.concat(verdict:lines(), "\n")
    assert(text:find("Gate: FAILED, 1 grew by more than 5% of the total, by share", 1, true), text)
    assert(text:find("+20.00%", 1, true), text)
    assert(text:find("500 to 700", 1, true), text)
    assert(text:find("95% for all 2", 1, true), text)
  end)

  it("passes what grew less, and what shrank", function()
    local verdict <const> = gate(of { a = 500, b = 500 }, of { a = 530, b = 470 },
      { fail_above = 5 })
    assert.is_false(verdict.failed)
    assert(verdict:lines()[1]:find("Gate: passed", 1, true))
    assert.is_false(gate(of { a = 700, b = 300 }, of { a = 700, b = 0 },
      { fail_above = 40 }).failed)
  end)

  it("passes a longer recording of the same", function()
    assert.is_false(gate(of { a = 500, b = 500 }, of { a = 5000, b = 5000 },
      { fail_above = 1 }).failed)
  end)

  it("passes what chance explains, and says that it could not see less", function()
    local before <const>, after <const> = of { a = 20, b = 80 }, of { a = 28, b = 72 }
    local verdict <const> = gate(before, after, { fail_above = 5, min_samples = 10 })
    assert.is_false(verdict.failed)
    assert(verdict.rows[1].growth > 5)
    assert(verdict.coarse > 5)
    local text <const> = table.concat(verdict:lines(), "\n")
    assert(text:find("record for longer", 1, true), text)
  end)

  it("leaves out what has few samples", function()
    local before <const> = of { a = 100, b = 100 }
    local after <const> = of { a = 100, b = 80, c = 20 }
    assert.equal("c", names(gate(before, after, { fail_above = 5, min_samples = 20 }).grown))
    local verdict <const> = gate(before, after, { fail_above = 5, min_samples = 21 })
    assert.equal("", names(verdict.grown))
    assert.equal(1, verdict.left_out)
  end)

  it("judges values with callees, files and labels when asked", function()
    local before <const>, after <const> = of { a = 500, b = 500 }, of { a = 500, b = 500 }
    assert.equal("a b main", names(gate(before, after, { fail_above = 5, cum = true }).rows))
    local parts <const> = gate(before, after, { fail_above = 5, by = "module" })
    assert.equal(1, #parts.rows)
  end)
end)

describe("a gate by rate", function()
  it("fails on what takes more in the same time, and on the total", function()
    local verdict <const> = gate(of({ a = 500, b = 500 }, 10), of({ a = 500, b = 900 }, 10),
      { fail_above = 5 }, "time")
    assert.equal("b total", names(verdict.grown))
    assert.equal(40.0, verdict.grown[1].growth)
    assert.equal("rate", verdict.measure)
    assert(verdict:lines()[3]:find("500ms/s", 1, true), verdict:lines()[3])
  end)

  it("passes twice as much in twice the time", function()
    assert.is_false(gate(of({ a = 500, b = 500 }, 10), of({ a = 1000, b = 1000 }, 20),
      { fail_above = 5 }, "time").failed)
  end)

  it("needs to know how long both took", function()
    local difference, message, code = sonde.diff(of({ a = 5 }, 0), of { a = 5 }, { scale = "time" })
    assert.is_nil(difference)
    assert.equal("unavailable", code)
    assert(message:find("before does not say how long it took", 1, true), message)
  end)
end)

describe("a gate by value", function()
  it("compares what is there", function()
    local verdict <const> = gate(of { a = 500, b = 500 }, of { a = 1000, b = 1000 },
      { fail_above = 5 }, "none")
    assert.equal("total a b", names(verdict.grown))
    assert.equal("value", verdict.measure)
  end)

  it("says that chance is unknown where samples are not counted", function()
    local function heap(n)
      return profiles.of(("main;make %d %d"):format(n, n * 100),
        { { "inuse_objects", "count" }, { "inuse_space", "bytes" } })
    end
    local verdict <const> = gate(heap(10), heap(20), { fail_above = 5 }, "none")
    assert.equal("make total", names(verdict.grown))
    assert(table.concat(verdict:lines(), "\n"):find("Noise: unknown", 1, true))
    local difference <const> = sonde.diff(heap(10), heap(20))
    local none, _, code = difference:gate { fail_above = 5, min_samples = 10 }
    assert.is_nil(none)
    assert.equal("unavailable", code)
  end)
end)

describe("a gate", function()
  it("does not pass what it cannot judge", function()
    local function refused(before, after, words)
      local verdict, message, code = sonde.diff(before, after):gate { fail_above = 5 }
      assert.is_nil(verdict)
      assert.equal("no_samples", code)
      assert(message:find(words, 1, true), message)
    end
    refused(of { a = 100 }, of { a = 5 }, "after has 5 samples, too few to judge")
    refused(of { a = 5 }, of { a = 500 }, "before has 5 samples")
    refused(of {}, of { a = 500 }, "before is empty")
  end)

  -- Two recordings of one program, drawn with a fixed seed.
  local function drawn(random, n)
    local counts = {}
    for _ = 1, n do
      local name <const> = "f" .. math.floor(random() ^ 2 * 40)
      counts[name] = (counts[name] or 0) + 1
    end
    return of(counts)
  end

  it("fails by chance in one of twenty runs at most, without any limit", function()
    math.randomseed(20240229)
    local failed = 0
    for _ = 1, 100 do
      local verdict <const> = gate(drawn(math.random, 1500), drawn(math.random, 1500),
        { fail_above = 0 })
      if verdict.failed then failed = failed + 1 end
    end
    assert(failed <= 10, failed)
  end)

  it("sees a function that takes three points more, in 4,000 samples", function()
    math.randomseed(7)
    local seen = 0
    for _ = 1, 20 do
      local before <const> = drawn(math.random, 4000)
      local after <const> = sonde.profile { types = { { "samples", "count" },
        { "cpu", "nanoseconds" } }, default = "cpu" }
      for stack, values in drawn(math.random, 3880):samples() do
        after:add({ "f" .. stack[1] }, values)
      end
      local verdict <const> = gate(before, of { slow = 120, rest = 3880 }, { fail_above = 1 })
      if names(verdict.grown):find("slow") then seen = seen + 1 end
    end
    assert.equal(20, seen)
  end)

  it("raises on wrong use", function()
    local difference <const> = sonde.diff(of { a = 100 }, of { a = 100 })
    assert.has_error(function() difference:gate {} end)
    assert.has_error(function() difference:gate { fail_above = "much" } end)
    assert.has_error(function() difference:gate { fail_above = 5, min_sample = 3 } end)
    assert(difference:gate { fail_above = "5%" })
  end)
end)

describe("sonde diff with a gate", function()
  local CPU <const> = helper.data "pprof/ref/cpu.pb.gz"
  local CPU2 <const> = helper.data "pprof/ref/cpu2.pb.gz"
  local HOT <const> = helper.data "real/problem-hot.nettrace.gz"
  local DEMO <const> = helper.data "demo.nettrace"

  it("exits with 1 and says what grew", function()
    local out, status = helper.sonde("diff", HOT, DEMO, "--view", "running", "--fail-above", "5%")
    assert.equal(1, status)
    assert(out:find("Sides are scaled by total", 1, true), out)
    assert(out:find("Gate: FAILED, 4 grew by more than 5% of the total, by share", 1, true), out)
    assert(out:find("Targets.Cpu.Burn.Alpha", 1, true))
  end)

  it("exits with 0 when nothing did", function()
    for _, scale in ipairs { "total", "time", "none" } do
      local out, status = helper.sonde("diff", CPU, CPU2, "--fail-above", "5%", "--scale", scale)
      assert.equal(0, status, out)
      assert(out:find("Gate: passed", 1, true), out)
    end
  end)

  it("says its verdict beside a file, and apart from data", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/d.pb.gz"
      local out, status = helper.sonde("diff", HOT, DEMO, "--view", "running", "--fail-above",
        "5", "-o", path)
      assert.equal(1, status)
      assert(out:find("^Gate: FAILED"), out)
      assert(helper.read(path))
    end)
    local out, status, err = helper.sonde("diff", HOT, DEMO, "--view", "running", "--fail-above",
      "5%", "--json")
    assert.equal(1, status)
    assert(err:find("Gate: FAILED", 1, true), err)
    local failed = 0
    for _, row in ipairs(helper.json_lines(out)) do
      if row.failed then
        failed = failed + 1
        assert(row.growth > 5 and row.noise < row.growth)
      end
    end
    assert.equal(4, failed)
  end)

  it("refuses what makes no sense", function()
    local _, status, err = helper.sonde("diff", CPU, CPU2, "--min-samples", "5")
    assert.equal(2, status)
    assert(err:find("needs --fail-above", 1, true), err)
    _, status, err = helper.sonde("diff", CPU, CPU2, "--fail-above", "5%", "--min-samples", "5000")
    assert.equal(1, status)
    assert(err:find("too few to judge", 1, true), err)
  end)
end)

describe("the scale of a difference", function()
  local function pair()
    return of({ a = 500, b = 500 }, 10), of({ a = 500, b = 900 }, 20)
  end

  it("is said by every form that draws both sides", function()
    local before <const>, after <const> = pair()
    for scale, words in pairs { none = "not scaled", total = "scaled by total",
      time = "scaled by time" } do
      local difference <const> = assert(sonde.diff(before, after, { scale = scale }))
      assert(difference:render("diff"):find("Sides are " .. words, 1, true), scale)
      local head <const> = dkjson.decode(difference:render("json"))
      assert.equal(scale, head.scale)
      local svg <const> = difference:render("svg")
      assert.equal(scale ~= "none", svg:find(words, 1, true) ~= nil)
      local comments <const> = difference:profile():info().comments or {}
      assert.equal(scale ~= "none", (comments[1] or ""):find(words, 1, true) ~= nil)
    end
  end)

  it("by time compares values per second", function()
    local before <const>, after <const> = pair()
    local rows <const> = sonde.diff(before, after, { scale = "time" }):rows()
    assert.same({ "a", 5e8, 2.5e8, "nanoseconds/second" },
      { rows[1].name, rows[1].before, rows[1].after, rows[1].unit })
    local joined <const> = sonde.diff(before, after, { scale = "time" }):joined()
    assert.equal(7 * SECOND, joined:total("after"))
    assert.equal(-3 * SECOND, sonde.diff(before, after, { scale = "time" }):profile():total("cpu"))
  end)

  it("by total is what normalize was", function()
    local before <const>, after <const> = pair()
    local difference <const> = sonde.diff(before, after, { normalize = true })
    assert.equal("total", difference.scale)
    assert.is_true(difference.normalize)
  end)
end)
