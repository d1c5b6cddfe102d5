-- Profiles in the formats of other tools.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local function open(bytes, opts)
  return sonde.open({ bytes = bytes, name = "input" }, opts)
end

local function rows(profile, type)
  local list = {}
  for i, row in ipairs(profile:top { type = type }) do
    list[i] = ("%s %d %d"):format(row.name, row.flat, row.cum)
  end
  return list
end

local function types(profile)
  local list = {}
  for i, entry in ipairs(profile:types()) do list[i] = entry.type .. "/" .. entry.unit end
  return table.concat(list, " ")
end

describe("the text of perf script", function()
  local TEXT <const> = [[
# cmdline : perf record
my prog  1234/1235 [000] 12345.678901:     250000 cpu-clock:uhpppH:
            7f1234 inner+0x12 (/lib/x.so)
            400123 main+0x3 (/bin/prog)

my prog  1234/1235 [001] 12345.778901:     250000 cpu-clock:uhpppH:
            7f1234 inner+0x12 (/lib/x.so)
            400123 main+0x3 (/bin/prog)

swapper     0 [001] 12346.0: cycles:
        ffffffff81 [unknown] ([kernel.kallsyms])

]]

  it("becomes a profile of its distinct stacks", function()
    local profile <const> = assert(open(TEXT))
    assert.equal("samples/count cpu-clock/nanoseconds cycles/count", types(profile))
    assert.equal(2, #profile)
    assert.same({ "inner 500000 500000", "main 0 500000" }, rows(profile))
    assert.equal(3, profile:total "samples")
    assert.same({ "my prog (1235)" }, profile:label_sets()[2].thread)
  end)

  it("tells of lines that it does not understand", function()
    local profile, message, code = open(TEXT .. "banana\n")
    assert.equal(2, #profile)
    assert.equal("input: 1 lines are not perf script's; the first: banana", message)
    assert.equal("malformed", code)
  end)
end)

describe("files for speedscope", function()
  local function case(name)
    return sonde.open(helper.data("cases/31-speedscope-validity/" .. name .. ".speedscope.json"))
  end

  it("are read, frames that open and close too", function()
    local profile <const> = assert(case "good")
    assert.equal("time/nanoseconds", types(profile))
    assert.same({ "App.Main() 6000000 9500000", "CPU_TIME 3500000 3500000",
      "App.Sum(int64) 0 3500000" }, rows(profile))
  end)

  it("are refused when they contradict themselves", function()
    for name, words in pairs {
      ["negative-weight"] = "weights%[1%] is negative", ["no-profiles"] = "no profile in it",
      ["time-goes-back"] = "time goes back", unbalanced = "not the innermost open one",
    } do
      local profile, message, code = case(name)
      assert.is_nil(profile)
      assert.matches(words, message)
      assert.equal("malformed", code)
    end
  end)

  it("come back as they were written", function()
    local before <const> = assert(open("a;b 5\na;c 7\na 1\n"))
    local text <const> = assert(before:render "speedscope")
    assert.same(rows(before), rows(assert(open(text))))
  end)
end)

describe("CPU profiles of V8", function()
  local NODES <const> = [["nodes":[{"id":1,"callFrame":{"functionName":"(root)","url":""},
    "children":[2,4]},{"id":2,"callFrame":{"functionName":"main","url":"file:///a.js",
    "lineNumber":3},"hitCount":1,"children":[3]},{"id":3,"callFrame":{"functionName":"",
    "url":"file:///a.js","lineNumber":9},"hitCount":2},{"id":4,"callFrame":
    {"functionName":"(idle)","url":""},"hitCount":1}] ]]

  it("give each sample the time to the next", function()
    local profile <const> = assert(open('{"startTime":1000,"endTime":5000,' .. NODES
      .. ',"samples":[2,3,3,4],"timeDeltas":[100,1000,900,500]}'))
    assert.equal("samples/count cpu/nanoseconds", types(profile))
    assert.same({ "(idle) 1500000 1500000", "(anonymous) 1400000 1400000",
      "main 1000000 2400000" }, rows(profile))
    assert.equal(4, profile:total "samples")
    assert.equal(4000000, profile:info().duration_ns)
  end)

  it("count hits where there are no times", function()
    assert.equal(4, assert(open("{" .. NODES .. "}")):total "samples")
  end)

  it("are refused when a sample hits nothing", function()
    local none, message, code = open("{" .. NODES .. ',"samples":[9],"timeDeltas":[1]}')
    assert.is_nil(none)
    assert.equal("input: a sample hit node 9, which there is not", message)
    assert.equal("malformed", code)
  end)
end)

describe("pprof's text formats of old", function()
  it("are heap profiles with names, unsampled", function()
    local profile <const> = assert(sonde.open(helper.data "pprof/h1.txt"))
    assert.equal("objects/count space/bytes", types(profile))
    -- 15 objects of 106,496 bytes at a rate of 524,288 stand for so many.
    assert.equal("main.main 8690061 8690061", rows(profile)[1])
    assert.equal(524288, profile:info().period)
  end)

  it("are contention, in nanoseconds", function()
    local profile <const> = assert(open("--- contention:\ncycles/second=2000000000\n"
      .. "sampling period=2\n100 3 @ 0x11 0x21\n#\t0x10\tmain.lock+0x1\t/a.go:7\n"))
    assert.equal("contentions/count delay/nanoseconds", types(profile))
    assert.same({ "main.lock 100 100", "<unknown> 0 100" }, rows(profile))
    assert.equal(6, profile:total "contentions")
  end)

  it("are growth of the heap, with its memory map", function()
    local profile <const> = assert(open("heap profile: 2: 300 [ 2: 300] @ growthz\n"
      .. " 2: 300 [ 2: 300] @ 0x401001 0x402001\nMAPPED_LIBRARIES:\n"
      .. "00400000-00500000 r-xp 00000000 08:01 12 /bin/prog\n"))
    assert.same({ "[prog] 300 300" }, rows(profile, "space"))
    assert.equal(1, profile:info().period)
    assert.matches("malloc", profile:info().drop_frames)
  end)

  it("have the ranges of their memory map, as the reference arranges them", function()
    local profile <const> = assert(open("heap profile: 2: 300 [ 2: 300] @ heapprofile\n"
      .. "1: 100 [1: 100] @ 0x401010 0x7f0000001010 0x55\n"
      .. "1: 200 [1: 200] @ 0x402010 0x7f0000003010 0x7f0000007010\n\nMAPPED_LIBRARIES:\n"
      .. "7f0000000000-7f0000002000 r-xp 00002000 08:01 12 /lib/libx.so.6\n"
      .. "00400000-00401000 r--p 00000000 08:01 11 /bin/prog\n"
      .. "00401000-00403000 r-xp 00001000 08:01 11 /bin/prog\n"
      .. "00403000-00404000 r-xp 00003000 08:01 11 /bin/prog\n"
      .. "7f0000003000-7f0000004000 r-xp 00000000 00:00 0 \n"
      .. "7f0000008000-7f0000009000 r-xp 00001000 08:01 13 /lib/liby.so\n"))
    local ranges = {}
    for i, m in ipairs(profile:mappings()) do
      ranges[i] = ("%x-%x %x %s"):format(m.start, m.limit, m.offset, m.file)
    end
    assert.same({ "400000-404000 0 /bin/prog", "7f0000000000-7f0000002000 2000 /lib/libx.so.6",
      "7f0000003000-7f0000004000 0 ", "7f0000007000-7f0000009000 0 /lib/liby.so",
      "0-ffffffffffffffff 0 " }, ranges)
    local at = {}
    for _, location in ipairs(profile:locations()) do at[location.address] = location.mapping end
    assert.same({ [0x40100f] = 1, [0x40200f] = 1, [0x7f000000100f] = 2, [0x7f000000300f] = 3,
      [0x7f000000700f] = 4, [0x54] = 5 }, at)
    assert.same(profile:mappings(), core.pprof_decode(profile:encode()):mappings())
  end)

  it("have calls that were inlined in one location", function()
    local profile <const> = assert(open("heap profile: 1: 8 [1: 8] @ heap/2\n"
      .. "1: 8 [1: 8] @ 0x11 0x21\n#\t0x10\tmain.inner+0x1\t/a.go:7\n"
      .. "#\t0x10\tmain.outer+0x5\t/a.go:9\n#\t0x20\tmain.main+0x9\t/a.go:20\n"))
    local places = {}
    for _, location in ipairs(profile:locations()) do
      local names = {}
      for i, line in ipairs(location.lines) do names[i] = line.name .. ":" .. line.line end
      places[location.address] = table.concat(names, " ")
    end
    assert.same({ [0x10] = "main.inner:7 main.outer:9", [0x20] = "main.main:20" }, places)
    assert.equal(1, #profile:where({ no_inlines = true, focus = "outer" }))
  end)

  it("are threads, equal ones counted", function()
    local profile <const> = assert(open("--- threadz 1 ---\n\n"
      .. "--- Thread 7f01 (name: main/14) stack: ---\n  0x401000 0x402001\n"
      .. "--- Thread 7f02 (name: w/15) stack: ---\n [same as previous thread]\n"))
    assert.equal(2, profile:total "thread")
  end)

  it("are words of the machine, of each size and order", function()
    for _, word in ipairs { "<I4", ">I4", "<I8", ">I8" } do
      local numbers <const> = { 0, 3, 0, 10000, 0, 5, 2, 0x401000, 0x402001, 0, 1, 0 }
      local bytes <const> = word:rep(#numbers, " "):pack(table.unpack(numbers))
      local profile <const> = assert(open(bytes .. "00400000-00402000 r-xp 0 0:0 0 /bin/p\n"))
      assert.equal("samples/count cpu/nanoseconds", types(profile))
      assert.equal(50000000, profile:total())
      assert.equal("[p] 50000000 50000000", rows(profile)[1])
      local none, _, code = open(bytes:sub(1, -word:packsize() * 4 - 1))
      assert.is_nil(none)
      assert.equal("truncated", code)
    end
  end)

  it("are refused with the line that is wrong", function()
    local none, message, code = open("heap profile: 1: 8 [1: 8] @ heap/2\nbanana\n")
    assert.is_nil(none)
    assert.equal("input: line 2 is no sample of a heap: banana", message)
    assert.equal("malformed", code)
    message = select(2, sonde.open(helper.data "cases/26-pprof-header-only/text-then-proto.pprof"))
    assert.matches("gzip data follow at byte 42", message)
  end)
end)

describe("several profiles in one file", function()
  it("are added up, with a word", function()
    local profile, message = sonde.open(helper.data "cases/26-pprof-header-only/appended.pprof")
    assert.equal(23, profile:total())
    assert.matches("3 profiles were appended to one file and are added up", message)
  end)
end)

describe("a damaged profile", function()
  local function lenient(name)
    return sonde.open(helper.data("pprof/" .. name), { lenient = true })
  end

  it("is refused, or read without what is damaged when asked", function()
    for name, words in pairs {
      ["badloc.pb"] = "lost: 1 sample %(first: sample%[7%]",
      ["badfn.pb"] = "lost: 1 location", ["nvals.pb"] = "lost: 1 sample",
      ["trunc.pb"] = "lost: 1 function", ["wire.pb"] = "lost: 1 part",
      ["truncgz.pb.gz"] = "lost: the rest of the file",
    } do
      assert.is_nil((sonde.open(helper.data("pprof/" .. name))))
      local profile, message, code = lenient(name)
      assert.truthy(#profile >= 7, name)
      assert.matches(words, message)
      assert.equal("malformed", code)
    end
  end)

  it("is still refused when nothing is left", function()
    for _, name in ipairs { "empty.pb", "notype.pb", "html.txt" } do
      assert.is_nil((lenient(name)))
    end
  end)

  it("is read up to any cut", function()
    local whole <const> = assert(core.pprof_decode(helper.read(helper.data "pprof/ok.pb.gz")))
    local bytes <const> = whole:encode { gzip = false }
    for n = 1, #bytes - 1 do
      local profile, message = core.pprof_decode(bytes:sub(1, n), { lenient = true })
      assert.truthy(profile or message)
    end
  end)

  it("ends the command with the status of damage", function()
    local out, status, err = helper.sonde("top", helper.data "pprof/badloc.pb", "--lenient")
    assert.equal(4, status)
    assert.matches("flat%%", out)
    assert.matches("lost: 1 sample", err)
  end)
end)
