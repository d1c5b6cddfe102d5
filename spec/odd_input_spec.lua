-- Inputs as they reach people: through shells that change their encoding, pages that
-- drop their tabs, older tools, and with names as long as a compiler makes them.
local core <const> = require "sonde.c.core"
local dumps <const> = require "spec.support.dumps"
local helper <const> = require "spec.support.helper"
local names <const> = require "sonde.report.names"
local sonde <const> = require "sonde"
local utf16 <const> = require "sonde.base.utf16"

local function open(bytes)
  return assert(sonde.open { bytes = bytes, name = "text" })
end

-- The text in UTF-16, each half of a character for itself.
local function encode(text, order)
  local units = {}
  for _, code in utf8.codes(text) do
    if code < 0x10000 then
      units[#units + 1] = (order .. "I2"):pack(code)
    else
      units[#units + 1] = (order .. "I2I2"):pack(0xd800 + (code - 0x10000 >> 10),
        0xdc00 + (code & 0x3ff))
    end
  end
  return table.concat(units)
end

-- Text whose tabs are written as "~".
local function tabbed(text)
  return (text:gsub("~", "\t"))
end

local DUMP <const> = tabbed [[
goroutine 1 [running]:
main.größe😀(0x1)
~/src/main.go:10 +0x20
]]

describe("text with a mark of its encoding", function()
  it("is read without it", function()
    local profile <const> = open "\xef\xbb\xbfa;b 10\nc 5\n"
    local seen = {}
    for _, row in ipairs(profile:top {}) do seen[#seen + 1] = row.name end
    table.sort(seen)
    assert.same({ "a", "b", "c" }, seen)
    assert.equal(1, open("\xef\xbb\xbf" .. DUMP):count())
  end)

  it("may be UTF-16, marked or not, of either order", function()
    for order, mark in pairs { ["<"] = "\xff\xfe", [">"] = "\xfe\xff" } do
      for _, before in ipairs { mark, "" } do
        local bytes <const> = before .. encode(DUMP, order)
        assert.equal(order, utf16.order(bytes))
        assert.equal(DUMP, utf16.decode(bytes, order))
        local long <const> = encode(DUMP:rep(50, "\n"), order)
        assert.equal(DUMP:rep(50, "\n"), utf16.decode(long .. "x", order))
        assert.equal("main.größe😀", open(bytes):groups()[1].frames[1].func)
      end
      assert.equal(15, open(mark .. encode("a;b 10\r\nc 5\r\n", order)):total())
    end
  end)

  it("is not taken for what it is not", function()
    for _, head in ipairs { "", "\xff", "Nettrace\20\0\0\0", ("\0"):rep(40), "a\0b\0c\0d\0" } do
      assert.is_nil(utf16.order(head))
    end
  end)
end)

describe("one long line", function()
  it("may be a deep stack or a long name", function()
    local frames = {}
    for i = 1, 20000 do frames[i] = "f" .. i end
    local deep <const> = open(table.concat(frames, ";") .. " 3\n")
    assert.equal(20000, deep:frames().n)
    assert.equal(3, open(("n"):rep(100000) .. ";b 3\n"):total())
  end)

  it("has a short name in time", function()
    local clock <const> = os.clock()
    for _, name in ipairs { ("n"):rep(1 << 20), ("a<"):rep(1 << 19), ("a["):rep(1 << 19) } do
      assert(#names.short(name) <= 1003)
    end
    assert(os.clock() - clock < 2, "the time grows with the square of the length")
    assert.equal("Db.Query", names.short "shop!Shop.Db.Query(int)")
  end)
end)

describe("a profile's reader", function()
  it("tells what it skipped", function()
    helper.in_directory(function(dir)
      local path <const> = dir .. "/in.folded"
      helper.write(path, "# made by hand\na;b 5\nno count\nc 2\n")
      local out, status, err = helper.sonde("top", path)
      assert(out:find("Total: 7 samples", 1, true))
      assert.equal(4, status)
      assert.equal(("sonde: %s: line 3 is skipped: no count at its end\n"):format(path), err)
      local facts <const> = helper.json_lines(helper.sonde("inspect", path, "--json"))[1]
      assert.same({ "line 3 is skipped: no count at its end" }, facts.warnings)
    end)
  end)

  it("notes what is no loss", function()
    local notes = {}
    local profile <const> = assert(sonde.open({ bytes = "a;b 1 2\nc 3 4\n", name = "x" },
      { note = function(words) notes[#notes + 1] = words end }))
    assert.same({ { type = "before", unit = "count" }, { type = "after", unit = "count" } },
      profile:types())
    assert.same({ "x: each line has two counts: those before and after, of a difference" }, notes)
  end)
end)

describe("what is no input", function()
  local function refusal(bytes)
    local object <const>, message <const>, _, hint <const> =
      sonde.open { bytes = bytes, name = "x" }
    assert.is_nil(object)
    return message, hint
  end

  it("is quoted when it is short: a server's answer", function()
    assert.equal("x: text, but not folded stacks (frame;frame;frame count): it says"
      .. " '404 page not found'", (refusal "404 page not found\n"))
    assert.equal("x: an HTTP answer with its headers: it says '500 Internal Server Error:"
      .. " cpu profiling already in use'", (refusal("HTTP/1.1 500 Internal Server Error\r\n"
      .. "X-Go-Pprof: 1\r\n\r\ncpu profiling already in use\n")))
  end)

  it("is gzip that ends before its first byte can be unpacked", function()
    local file <const> = helper.read(helper.data "odd/label-units.pb.gz")
    assert.equal("x: the gzip data end too early: of 40 bytes nothing can be unpacked",
      (refusal(file:sub(1, 40))))
    assert(refusal(file:sub(1, 10)):find("before its profile was stopped", 1, true))
  end)

  it("has no advice about files when it comes from an address", function()
    local object <const>, message <const>, _, hint <const> =
      sonde.open { bytes = "", name = "http://localhost:1/x" }
    assert.is_nil(object)
    assert.equal("http://localhost:1/x: the answer is empty", message)
    assert.is_nil(hint)
  end)

  it("is named with what reads it", function()
    local message, hint = refusal("go 1.22 trace\0\0\0" .. ("\1"):rep(40))
    assert.same({ "x: an execution trace of Go", "go tool trace x" }, { message, hint })
    assert(refusal('"main" #1 prio=5\n   java.lang.Thread.State: RUNNABLE\n'):find("Java", 1, true))
    for _, rest in ipairs { "\xc2\x8b\8", "\xef\xbf\xbd\8", "?\8" } do
      message = refusal("\x1f" .. rest .. "\0\0\0\0")
      assert(message:find("taken for text", 1, true), message)
    end
  end)

  it("may stand behind the headers of an answer", function()
    local body <const> = helper.read(helper.data "pprof/ok.pb.gz")
    local plain <const> = open(body)
    local behind <const> = open("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n"
      .. body)
    assert.equal(plain:total(), behind:total())
  end)
end)

describe("the text of perf script", function()
  it("may have paths with blanks, deleted files, and threads that are gone", function()
    local profile <const>, message <const> = open(tabbed [[
kworker/u8:1-ev  1234 [001] 100.000001:     250000 cpu-clock:u:
~ffffffff81001234 do_idle+0x1a ([kernel.kallsyms])
~    7f001234 std::map<int, int>::at(int const&)+0x10 (/usr/a b/libx.so (deleted))
~        4010 (anonymous namespace)::f() const (/bin/x)
~           0 [unknown] ([unknown])

:-1    -1 [002] 100.2: 50000 cpu-clock:u:
~  401001 main (/opt/a (b)/x)

]])
    assert.is_nil(message)
    local seen = {}
    for _, row in ipairs(profile:top { n = 0 }) do seen[row.name] = row.cum end
    assert.same({ ["do_idle"] = 250000, ["std::map<int, int>::at(int const&)"] = 250000,
      ["(anonymous namespace)::f() const"] = 250000, ["<unknown>"] = 250000, main = 50000 }, seen)
  end)
end)

describe("numbers of labels", function()
  it("of one key may have several units, and each keeps its own", function()
    local file <const> = helper.data "odd/label-units.pb.gz"
    local out <const> = helper.sonde("report", "traces", file)
    assert(out:find("size:  1kB 2kB\n", 1, true), out)
    assert(out:find("latency:  5ms 3ms\n", 1, true), out)
    local tags <const> = helper.sonde("report", "tags", file)
    assert(tags:find("4.88kB (100%): 3ms\n", 1, true), tags)
  end)
end)

describe("a profile", function()
  it("whose own patterns cannot be used says so", function()
    local notes = {}
    -- A sample type, drop_frames as the third string, and the strings.
    local file <const> = "\10\4\8\1\16\2\56\3\50\0\50\3cpu\50\2ns\50\1("
    assert(sonde.open({ bytes = file, name = "x" },
      { note = function(words) notes[#notes + 1] = words end }))
    assert.equal(1, #notes)
    assert(notes[1]:find("^x: no frames are dropped: drop_frames or keep_frames: "), notes[1])
  end)

  it("without samples or types leaves no file", function()
    helper.in_directory(function(dir)
      helper.write(dir .. "/notype.pb", "\50\0\50\1a")
      for _, path in ipairs { helper.data "pprof/nosample.pb", dir .. "/notype.pb" } do
        local _, status, err = helper.sonde("convert", path, "-o", dir .. "/x.html")
        assert.equal(1, status, path)
        assert(err:find("no samples", 1, true), err)
        assert.is_nil(helper.read(dir .. "/x.html"))
      end
    end)
  end)
end)

describe("a goroutine", function()
  it("may have types with blanks in the names of its functions", function()
    local records <const> = dumps.records(tabbed [[
goroutine 1 [running]:
type:.eq.struct { runtime.gList; runtime.n int32 }(0x1, 0x2)
~<autogenerated>:1 +0x1
main.(*Pair[go.shape.struct { K string; V []uint8 "json:\"a b\"" },go.shape.int]).Get(...)
~/src/a.go:3
main.main()
~/src/a.go:9 +0x5
]])
    assert.equal(3, #records[1].frames)
    assert.equal([[main.(*Pair[go.shape.struct { K string; V []uint8 "json:\"a b\"" },]]
      .. "go.shape.int]).Get", records[1].frames[2].func)
    assert.is_true(records[1].frames[2].inlined)
    assert.is_nil(records[1].unknown_lines)
  end)

  it("may have lost its tabs", function()
    local flat <const> = dumps.records("goroutine 1 [running]:\nmain.f(0x1)\n/src/a.go:3 +0x1\n"
      .. "C:/x.(*T).g()\nC:/x/b.go:4\ncreated by main.main in goroutine 1\n/src/a.go:9 +0x5\n")
    assert.equal(1, #flat)
    assert.same({ "/src/a.go", "C:/x/b.go" }, { flat[1].frames[1].file, flat[1].frames[2].file })
    assert.equal(9, flat[1].created_by.line)
    local text <const> = helper.read(helper.data "cases/12-go-debug1-text/goroutine.txt")
    local whole <const> = dumps.records(text)
    for _, blanks in ipairs { " ", "    " } do
      local other <const> = dumps.records((text:gsub("\t", blanks)))
      assert.equal(#whole, #other)
      for i, record in ipairs(whole) do
        assert.same(record.frames, other[i].frames)
        assert.same(record.labels, other[i].labels)
      end
    end
  end)

  it("may be set in by what writes it", function()
    local records <const>, rest <const> = dumps.records(tabbed [[
=== RUN   TestA
    a_test.go:10: goroutine 12 [select]:
        main.d()
        ~/d.go:1 +0x1
        ~
        goroutine 13 [running]:
        main.e()
        ~/e.go:1 +0x1
    a_test.go:12: done
]])
    assert.same({ 12, 13 }, { records[1].goroutine_id, records[2].goroutine_id })
    assert.same({ "main.d", "main.e" }, { records[1].frames[1].func, records[2].frames[1].func })
    assert.equal("=== RUN   TestA\n    a_test.go:12: done\n", rest)
    local others <const> = dumps.records(tabbed [[
goroutine 11 [running]:
main.a()
~/a.go:1 +0x1
a line of the log
    goroutine 12 [select]:
    main.d()
    ~/d.go:1 +0x1

goroutine 14 [select]:
main.d()
~/d.go:1 +0x1
]])
    local ids = {}
    for i, record in ipairs(others) do ids[i] = record.goroutine_id end
    assert.same({ 11, 12, 14 }, ids)
  end)

  it("may be of a race that an older Go tells, or that held locks", function()
    local text <const> = [[
==================
WARNING: DATA RACE
Write by goroutine 46:
  main.f()
      /go/a.go:34 +0x1

Previous read at 0x00c000010010 by main goroutine (mutexes: write M1):
  main.g()
      /go/b.go:34 +0x1

Goroutine 46 (running) created at:
  main.main()
      /go/b.go:3 +0x1
==================
]]
    local records <const> = dumps.records(text)
    assert.same({ report = 1, access = "Write" }, records[1].race)
    assert.equal(46, records[1].goroutine_id)
    assert.equal("main.f", records[1].frames[1].func)
    assert.equal("main.main", records[1].created_by.func)
    assert.same({ report = 1, access = "read", address = 0xc000010010, previous = true },
      records[2].race)
    assert.equal(1, records[2].goroutine_id)
    local suspect <const> = open(text):suspects()[1]
    assert.equal("race", suspect.kind)
    assert(suspect.message:find("^a data race: write by goroutine 46"), suspect.message)
  end)
end)

describe("a thread of gdb", function()
  it("may be one of several processes, or ending", function()
    local records <const> = dumps.records('Thread 1.2 (Thread 0x7f8e (LWP 64) "a (b) 7"):\n'
      .. "#0  0x01 in f () at f.c:1\n\n"
      .. 'Thread 1.1 (Thread 0x7f8f (LWP 63) "x" (Exiting)):\n#0  0x02 in g () at g.c:2\n',
      "native")
    assert.same({ 64, "a (b) 7", 63, "x" }, { records[1].thread_id, records[1].thread_name,
      records[2].thread_id, records[2].thread_name })
    assert.equal("native", require("sonde.base.detect").kind(
      'Thread 2.1 (Thread 0x1 (LWP 2)):\n#0  f () at x.c:1\n'))
  end)
end)

describe("counts of folded stacks", function()
  local function read(text)
    return assert(core.folded_decode(text))
  end

  it("may have fractions and exponents, which are rounded", function()
    local profile <const> = read "a 2.0\nb 3.5\nc -2.5e0\nd 1e3\ne 1e-10\nf 12345e-2\ng +7\n"
    local values = {}
    for _, row in ipairs(profile:top {}) do values[row.name] = row.flat end
    assert.same({ 2, 4, -3, 1000, 123, 7 }, { values.a, values.b, values.c, values.d,
      values.f, values.g })
    assert.same({ "4 counts are no whole numbers and were rounded" }, profile:info().warnings)
    assert.same({ "line 1 is skipped: the count does not fit 64 bits",
      "line 3 is skipped: no count at its end", "line 4 is skipped: no count at its end" },
      read("a 1e30\nb 1\nc 1e\nd 0x10\n"):info().warnings)
  end)

  it("may be two, when all lines have two", function()
    local profile <const> = read "a;b 10 20\na;c 5 0\na;b 1 2\n# done\n"
    assert.same({ 16, 22 }, { profile:total "before", profile:total "after" })
    assert.equal(20, read("a;b 10 20\n"):total())
    assert.same({ { type = "samples", unit = "count" } }, read("a;loop 4 2\nb 5\n"):types())
  end)
end)
