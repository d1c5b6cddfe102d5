-- Traces made after public bug reports of neighbouring tools.
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local function path_of(case, file)
  return helper.data(("cases/%s/%s.nettrace"):format(case, file))
end

local function open(case, file)
  return assert(sonde.open(path_of(case, file)))
end

local function folded(trace, view, names)
  local profile <const> = assert(trace:profile { view = view, names = names or "raw" })
  local lines <const> = helper.lines(assert(profile:render("folded", { type = "samples" })))
  table.sort(lines)
  return lines
end

local function top_of(trace, view)
  local rows = {}
  for _, row in ipairs(assert(assert(trace:profile { view = view }):top())) do
    rows[row.name] = row.flat
  end
  return rows
end

local function payloads(case, file)
  local list = {}
  for event in assert(sonde.events(path_of(case, file))) do
    list[#list + 1] = { payload = event.payload, status = event.payload_status }
  end
  return list
end

describe("a start time that cannot be", function()
  for _, file in ipairs { "ms-1000", "all-zero" } do
    it(file .. " costs a warning and no event", function()
      local trace <const>, message = open("40-nt-impossible-start-time", file)
      assert.is_nil(message)
      local counts <const> = trace:counts()
      assert.equal(7, counts.events)
      assert.equal(0, counts.lost)
      assert.is_true(counts.ended)
      assert.equal(1, counts.warnings)
      assert.is_nil(trace:info().wall_ns)
      assert.same({ "stove!Stove.Program.Main(class System.String[]) 1",
        "stove!Stove.Program.Main(class System.String[]);stove!Stove.Oven.Bake() 3" },
        folded(trace, "samples"))
      local period <const> = file == "ms-1000" and 1000000 or 100000
      assert.equal(period, trace:sampling().period_ns)
    end)
  end
end)

describe("empty strings in a payload", function()
  it("do not shift the fields behind them", function()
    local events <const> = payloads("43-nt-empty-strings", "logging")
    assert.equal("Added", events[1].payload.EventName)
    assert.equal("item added", events[1].payload.FormattedMessage)
    assert.equal("", events[2].payload.EventName)
    assert.equal("starting request", events[2].payload.FormattedMessage)
    assert.equal("x", events[3].payload.EventName)
    assert.equal("", events[3].payload.FormattedMessage)
  end)

  it("that are missing mark their event and spare the next", function()
    local events <const> = payloads("43-nt-empty-strings", "logging")
    assert.equal("only one string left", events[4].payload.EventName)
    assert.is_nil(events[4].payload.FormattedMessage)
    assert.equal("cut", events[4].status)
    assert.equal("Fünf", events[5].payload.EventName)
    assert.equal("😀 ok", events[5].payload.FormattedMessage)
    assert.is_nil(events[6].payload and events[6].payload.EventName)
  end)
end)

describe("pauses of collections between suspensions of the sampler", function()
  it("are paired by thread", function()
    local trace <const> = open("45-nt-gc-pause-interleaved", "gc")
    local gcs <const> = trace:gcs()
    assert.equal(2, #gcs)
    assert.same({ 12, 1, "blocking", 4500000 },
      { gcs[1].number, gcs[1].generation, gcs[1].type, gcs[1].pause_ns })
    assert.same({ 13, 2, "background", 900000 },
      { gcs[2].number, gcs[2].generation, gcs[2].type, gcs[2].pause_ns })
    assert.equal(2, #trace:pauses())
    local profile <const> = assert(trace:profile { view = "gc" })
    assert.equal(5400000, profile:total "pause")
    assert.equal(2, profile:total "pauses")
  end)
end)

describe("sampled allocations", function()
  it("are estimated, by type and stack", function()
    local trace <const> = open("46-nt-allocation-sampled", "alloc")
    local profile <const> = assert(trace:profile { view = "alloc" })
    local got = {}
    for _, values, labels in profile:samples() do
      local sum <const> = got[labels.type[1]] or { 0, 0, 0 }
      for i, value in ipairs(values) do sum[i] = sum[i] + value end
      got[labels.type[1]] = sum
    end
    assert.same({ 1, 1, 8388632 }, got["System.Byte[]"])
    assert.same({ 2, 2 * 2695, 2 * 102419 }, got["System.String"])
    local dictionary <const> =
      got["System.Collections.Generic.Dictionary`2[System.Int32,Bin.It;em]"]
    assert.equal(1, dictionary[1])
    assert.is_true(math.abs(dictionary[3] - 102440) <= 1)
  end)

  it("keep their type in one frame of folded text", function()
    local trace <const> = open("46-nt-allocation-sampled", "alloc")
    local lines <const> = folded(trace, "alloc")
    assert.same({ "stove!Bin.Pack.Main() 2", "stove!Bin.Pack.Main();stove!Bin.Pack.Fill() 2" },
      lines)
  end)
end)

describe("lost events", function()
  it("are told by thread, with when, and a reused id is no loss", function()
    local trace <const> = open("48-nt-loss-per-thread", "loss")
    assert.equal(1000000, trace:counts().lost)
    local lost = {}
    for _, row in ipairs(trace:threads()) do lost[row.id] = row.lost end
    assert.equal(1000000, lost[101])
    assert.equal(0, lost[102])
    assert.equal(0, lost[104])
    local losses <const> = trace:losses()
    assert.equal(1, #losses)
    assert.same({ 101, 1000000, 200000, 500000000 },
      { losses[1].thread, losses[1].count, losses[1].from_ns, losses[1].to_ns })
  end)

  it("are in the summary, with a share and advice", function()
    local out <const> = helper.sonde("inspect", path_of("48-nt-loss-per-thread", "loss"))
    assert.truthy(out:find("1,000,000 events (99.999%)", 1, true))
    assert.truthy(out:find("buffer", 1, true))
  end)
end)

describe("a trace cut in its rundown", function()
  it("gives its samples and says why names are missing", function()
    local trace, message, code = sonde.open(path_of("49-nt-cut-in-rundown", "cut"))
    assert.equal("truncated", code)
    assert.truthy(message:find("ends early at byte 2081", 1, true))
    assert.equal(9, trace:counts().events)
    assert.equal("partial", trace:counts().rundown)
    assert.same({ "?!0x7f0000002004;stove!Run.Leaf() 6" }, folded(trace, "samples"))
    assert.same({ "[unknown 0x7f0000002004];Run.Leaf() 6" }, folded(trace, "samples", "pretty"))
    local names <const> = trace:frames()
    assert.same({ 12, 6 }, { names.frames, names.unresolved })
    local comments <const> = table.concat(trace:profile():info().comments, "\n")
    assert.truthy(comments:find("did not complete", 1, true))
  end)

  it("ends the command with the status of damaged data", function()
    local out, status <const> = helper.sonde("top", path_of("49-nt-cut-in-rundown", "cut"))
    assert.equal(4, status)
    assert.truthy(out:find("Run.Leaf", 1, true))
  end)
end)

describe("two processes with the same addresses and thread ids", function()
  it("stay apart", function()
    local trace <const> = open("51-nt-v6-two-processes", "two")
    assert.same({ "alpha!alpha_main;alpha!alpha_leaf 1", "beta!beta_main;beta!beta_leaf 2" },
      folded(trace, "cpu"))
    local threads = {}
    for _, row in ipairs(trace:threads()) do
      if row.samples > 0 then
        threads[row.process_name] = { row.id, row.name, row.samples }
      end
    end
    assert.same({ alpha = { 322, "wörker;1", 1 }, beta = { 322, nil, 2 } }, threads)
  end)

  it("are chosen by id or name", function()
    local trace <const> = open("51-nt-v6-two-processes", "two")
    local function total(process)
      return assert(trace:profile { process = process }):total "samples"
    end
    assert.equal(1, total "alpha")
    assert.equal(1, total(321))
    assert.equal(2, total "400")
    local profile, message, code = trace:profile { process = "gamma" }
    assert.is_nil(profile)
    assert.equal("no_samples", code)
    assert.truthy(message:find("no process gamma", 1, true))
  end)
end)

describe("threads that wait", function()
  it("are wall time, not CPU time, and can be left out", function()
    local trace <const> = open("53-nt-wall-not-cpu", "wait")
    local counts <const> = trace:counts()
    assert.same({ 17, 3 }, { counts.samples_external, counts.samples_managed })
    local wait <const> = "System.Threading.WaitHandle.WaitOneNoCheck(int)"
    local ms <const> = 1000000
    assert.same({ ["Sum.Loop.Add()"] = 10 * ms, [wait] = 10 * ms, ["Sum.Program.Main()"] = 0 },
      top_of(trace, "wall"))
    assert.same({ ["Sum.Loop.Add()"] = 3 * ms, ["Sum.Program.Main()"] = 0 },
      top_of(trace, "managed"))
    assert.same({ ["Sum.Loop.Add()"] = 10 * ms, ["Sum.Program.Main()"] = 0 },
      top_of(trace, "running"))
    assert.equal(20 * ms, assert(trace:profile()):total "wall")
  end)

  it("are named in the header of what leaves them out", function()
    local trace <const> = open("53-nt-wall-not-cpu", "wait")
    local text <const> = assert(assert(trace:profile { view = "running" }):render "top")
    assert.truthy(text:find("10 samples in known waits (10ms) are left out", 1, true))
    local wall <const> = assert(assert(trace:profile()):render "top")
    assert.truthy(wall:find("not CPU time", 1, true))
  end)
end)

describe("one sample, or none", function()
  it("one is worth a nominal period", function()
    local trace <const> = open("55-nt-one-or-no-sample", "one")
    assert.equal(1, assert(trace:profile { view = "samples" }):total "samples")
    assert.is_true(assert(trace:profile()):total "wall" > 0)
  end)

  it("none is said with its reason", function()
    local trace <const> = open("55-nt-one-or-no-sample", "none")
    local profile, message, code = trace:profile()
    assert.is_nil(profile)
    assert.equal("no_samples", code)
    assert.truthy(message:find("no ThreadSample events", 1, true))
    assert.truthy(message:find("Microsoft-Windows-DotNETRuntime", 1, true))
  end)

  it("none leaves no file behind", function()
    helper.in_directory(function(folder)
      local path <const> = folder .. "/out.speedscope.json"
      local _, status = helper.sonde("convert", path_of("55-nt-one-or-no-sample", "none"),
        "-o", path)
      assert.equal(1, status)
      assert.is_nil(helper.read(path))
    end)
  end)
end)
