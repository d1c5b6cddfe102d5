-- The readers of goroutine dumps.
local core <const> = require "sonde.c.core"
local dumps <const> = require "spec.support.dumps"
local helper <const> = require "spec.support.helper"

local function read(name)
  return assert(helper.read(helper.data(name)))
end

local function first(text)
  local records <const> = dumps.records(text)
  return records[1]
end

local CASES <const> = {
  ["01-go-gp-m-header"] = "dump.txt", ["02-go-elided-frames"] = "dump.txt",
  ["05-go-dump-in-log"] = "server.log", ["08-go-stack-overflow"] = "dump.txt",
  ["10-go-dump-cut"] = "cut.txt", ["12-go-debug1-text"] = "goroutine.txt",
}

describe("a goroutine dump", function()
  for case, file in pairs(CASES) do
    it("of the case " .. case, function()
      local records <const> = dumps.records(read("cases/" .. case .. "/" .. file))
      local expected <const> = dumps.expected(helper, case)
      assert.same(expected, dumps.compare(expected, records))
    end)
  end

  it("keeps what stands around goroutines", function()
    local _, text = dumps.records(read "cases/05-go-dump-in-log/server.log")
    assert(text:find("listening on :8080", 1, true))
    assert(text:find("request ok", 1, true))
    assert(text:find("goroutine 99 [running]: inside", 1, true))
    assert(text:find("FAIL\tlib", 1, true))
    _, text = dumps.records(read "cases/08-go-stack-overflow/dump.txt")
    assert(text:find("fatal error: stack overflow", 1, true))
    assert(text:find("runtime.morestack()", 1, true))
    _, text = dumps.records(read "cases/01-go-gp-m-header/dump.txt")
    assert(text:find("rbx    0x0\nrip    0x46f2e1\n", 1, true))
  end)

  it("says where frames are missing", function()
    local records <const> = dumps.records(read "cases/02-go-elided-frames/dump.txt")
    assert.same({ 4912, 50 }, { records[1].elided, records[1].elided_after })
    assert.is_nil(records[2].elided)
    assert.equal(100, records[2].elided_after)
    assert.equal(40, records[3].frames[1].line)
    assert.is_nil(records[3].frames[1].offset)
  end)

  it("keeps offsets, pcs and arguments", function()
    local records <const> = dumps.records(read "cases/01-go-gp-m-header/dump.txt")
    assert.same({ func = "ferry/pump.(*Valve).wait", file = "/src/ferry/pump/valve.go", line = 12,
      inlined = true, pc = 0x4a9f00 }, records[4].frames[2])
    assert.same({ func = "ferry/pump.(*Valve).run", file = "/src/ferry/pump/valve.go", line = 40,
      offset = 0x2b, args = "0xc00011a000", pc = 0x4a9f0b, fp = 0xc00005f7e0, sp = 0xc00005f7b0 },
      records[4].frames[3])
    assert.equal("gp=0xc000007500 m=3 mp=0xc000080008", records[3].scheduler)
    assert.is_true(records[3].stack_unavailable)
    assert.equal(0x25, records[3].created_by.offset)
  end)

  it("keeps earlier goroutines wherever it is cut", function()
    local text <const> = read("cases/10-go-dump-cut/cut.txt"):sub(1, 700)
    local whole <const> = dumps.json(text)
    for n = 0, #text do
      local records <const> = dumps.json(text:sub(1, n))
      for i = 1, #records - 1 do
        if records[i] ~= whole[i] then assert.equal(whole[i], records[i], n) end
      end
    end
  end)

  it("says when it is cut", function()
    local function cut(text)
      local records, _, counts = dumps.records(text)
      return counts.cut, records[1] and records[1].truncated
    end
    local whole <const> = "goroutine 1 [running]:\nmain.f(0x1)\n\t/src/x.go:31 +0x1d\n"
    assert.same({ false }, { cut(whole) })
    assert.same({ false }, { cut(whole:sub(1, -2)) })
    assert.same({ false }, { cut(whole .. "exit status 2") })
    assert.same({ true, true }, { cut("goroutine 1 [running]:\nmain.f(0x1)\n\t/src/x.go:3") })
    assert.same({ true, true }, { cut("goroutine 1 [running]:\nmain.f(0x1)\n") })
    assert.same({ true, true }, { cut("goroutine 1 [running]:\nmain.f(0x") })
    assert.same({ true, true }, { cut("goroutine 1 [running]:") })
    assert.same({ true, true }, { cut(whole .. "created by main.ma") })
    assert.same({ true }, { cut("goroutine 1 [runn") })
    assert.same({ true, true }, { cut("goroutine profile: total 2\n2 @ 0x1 0x2\n#\t0x1\tmain.f") })
  end)

  it("is read alike in pieces of any size", function()
    for _, name in ipairs { "cases/05-go-dump-in-log/server.log", "dumps/races.txt",
      "cases/12-go-debug1-text/goroutine.txt", "cases/01-go-gp-m-header/dump.txt" } do
      local text <const> = read(name)
      local dump = assert(core.dump())
      assert(dump:feed(text))
      assert(dump:finish())
      for _, size in ipairs { 1, 7, 64 } do
        local other <const> = assert(core.dump())
        for at = 1, #text, size do assert(other:feed(text:sub(at, at + size - 1))) end
        assert(other:finish())
        assert.same(dump:info(), other:info())
      end
    end
  end)
end)

describe("the header of a goroutine", function()
  local function header(line)
    local record <const> = assert(first(dumps.one(line)), line)
    assert.equal(1, #record.frames, line)
    return record
  end

  it("has states of all versions", function()
    for _, state in ipairs { "running", "chan receive (nil chan)", "select (no cases)",
      "sync.WaitGroup.Wait", "GC worker (idle)", "force gc (idle)", "semacquire", "IO wait",
      "finalizer wait", "sync.RWMutex.RLock", "???", "debug call", "trace reader (blocked)" } do
      local record <const> = header(("goroutine 7 [%s]:"):format(state))
      assert.equal(state, record.state)
      assert.equal(0, record.wait_minutes)
      assert.is_false(record.locked_to_thread)
    end
  end)

  it("tells waits and threads", function()
    local record = header("goroutine 7 gp=0xc000002380 m=nil "
      .. "[chan receive, 5 minutes, locked to thread]:")
    assert.equal(5, record.wait_minutes)
    assert.is_true(record.locked_to_thread)
    assert.equal("gp=0xc000002380 m=nil", record.scheduler)
    record = header "goroutine 18446744073709551615 [sleep, locked to thread]:"
    assert.equal(-1, record.goroutine_id)
    assert.is_true(record.locked_to_thread)
    assert.equal(1, header("goroutine 7 [sleep, 1 minutes]:").wait_minutes)
    assert.is_true(header("goroutine 0 [idle]:").system)
  end)

  it("tells marks of newer versions", function()
    local record = header "goroutine 7 [select (scan), 2 minutes]:"
    assert.same({ "select", 2, true }, { record.state, record.wait_minutes, record.scan })
    record = header "goroutine 7 [sync.WaitGroup.Wait (durable), synctest bubble 3]:"
    assert.same({ "sync.WaitGroup.Wait", true, 3 }, { record.state, record.durable, record.bubble })
    assert.equal(4, header("goroutine 7 [sleep, synctest group 4]:").bubble)
    record = header "goroutine 7 [chan send (leaked)]:"
    assert.same({ "chan send", true }, { record.state, record.leaked })
    record = header "goroutine 7 [chan send (leaked) (scan), mood 7]:"
    assert.same({ "chan send", true, true, { "mood 7" } },
      { record.state, record.leaked, record.scan, record.extra })
  end)

  it("has labels in two forms", function()
    local record = header 'goroutine 7 [running labels:{"a": "b]:", "c":"d\\"e\\x41\\u00e9"}]:'
    assert.equal("running", record.state)
    assert.same({ a = "b]:", c = 'd"eAé' }, record.labels)
    record = header 'goroutine 7 [select, 3 minutes] {req: x7, "weird key": "a\\"b]"}:'
    assert.same({ "select", 3 }, { record.state, record.wait_minutes })
    assert.same({ req = "x7", ["weird key"] = 'a"b]' }, record.labels)
    record = header "goroutine 7 [select] {no colon}:"
    assert.same({ "no colon" }, record.extra)
  end)

  it("is nothing that only looks like one", function()
    for _, line in ipairs { "goroutine 99 [running]: inside", "goroutine [running]:",
      "goroutine 1 running:", "panic: goroutine 5 [running]:", "a goroutine 5 [select]: b",
      "goroutine 5 [running" } do
      local records, text = dumps.records(line .. "\n\nmore\n")
      assert.same({}, records, line)
      assert.equal(line .. "\n\nmore\n", text)
    end
  end)
end)

describe("the frames of a goroutine", function()
  local function frame(lines)
    local record <const> = assert(first("goroutine 1 [running]:\n" .. lines .. "\n\n"))
    assert.equal(1, #record.frames, lines)
    return record.frames[1], record
  end

  it("have names of all kinds", function()
    for name, args in pairs {
      ["main.f"] = "...", ["a%2eb/c.(*T[...]).M.func1.2"] = "{0x1, {0x2?, _}}, ...",
      ["gopkg.in/yaml%2ev2.(*parser).parse"] = "0x1", ["main.glob..func1"] = "",
      ["type..eq.[2]main.T"] = "0x1, 0x2", ["main.(*T).M-fm"] = "", ["main.f-range1"] = "0x7?",
      ["main.größe·f"] = "0x1",
    } do
      local found <const> = frame(("%s(%s)\n\t/src/x.go:3 +0x1"):format(name, args))
      assert.equal(name, found.func)
      assert.equal(args ~= "" and args ~= "..." and args or nil, found.args)
      assert.equal(args == "..." or nil, found.inlined)
    end
  end)

  it("have places of all kinds", function()
    for place, want in pairs {
      ["/tmp/sp ace/x.go:3 +0x1"] = { "/tmp/sp ace/x.go", 3, 1 },
      ["C:/a b/x.go:10"] = { "C:/a b/x.go", 10 }, ["<autogenerated>:1"] = { "<autogenerated>", 1 },
      ["_cgo_gotypes.go:10 +0x4f"] = { "_cgo_gotypes.go", 10, 0x4f },
      ["??:0 +0x12"] = { "??", nil, 0x12 }, ["/src/parse.y:77"] = { "/src/parse.y", 77 },
      ["/src/asm_amd64.s:570 +0x8b fp=0x1 sp=0x2 pc=0x3"] = { "/src/asm_amd64.s", 570, 0x8b, 3 },
      ["/src/x.go:5 pc=0x77"] = { "/src/x.go", 5, nil, 0x77 },
    } do
      local found <const> = frame("main.f(0x1)\n\t" .. place)
      assert.same({ want[1], want[2], want[3], want[4] },
        { found.file, found.line, found.offset, found.pc }, place)
    end
  end)

  it("may be of C", function()
    local records <const> = dumps.records("goroutine 1 [syscall]:\nnon-Go function\n\tpc=0x7f01\n"
      .. "c_burn\n\t/src/burn.c:7 pc=0x48b0e2\nmain._Cfunc_c_burn(0x4c4b40)\n"
      .. "\t_cgo_gotypes.go:43 +0x4c\n\n")
    local frames <const> = records[1].frames
    assert.same({ func = "non-Go function", pc = 0x7f01 }, frames[1])
    assert.same({ func = "c_burn", file = "/src/burn.c", line = 7, pc = 0x48b0e2 }, frames[2])
    assert.equal("main._Cfunc_c_burn", frames[3].func)
  end)

  it("tell their creators", function()
    local _, record = frame("main.f(0x1)\n\t/src/x.go:3 +0x1\n"
      .. "created by main.(*S).run in goroutine 17\n\t/src/s.go:9 +0x2")
    assert.same({ func = "main.(*S).run", file = "/src/s.go", line = 9, offset = 2 },
      record.created_by)
    assert.equal(17, record.creator_id)
    _, record = frame "main.f(0x1)\n\t/src/x.go:3 +0x1\ncreated by main.run\n\t/src/s.go:9"
    assert.equal("main.run", record.created_by.func)
    assert.is_nil(record.creator_id)
  end)

  it("tell their ancestors", function()
    local text <const> = "goroutine 9 [running]:\nmain.c()\n\t/x.go:3 +0x1\n"
      .. "created by main.b in goroutine 5\n\t/x.go:2 +0x1\n"
      .. "[originating from goroutine 5]:\nmain.b(...)\n\t/x.go:2 +0x1\n"
      .. "created by main.a\n\t/x.go:1 +0x1\n[originating from goroutine 1]:\nmain.a(...)\n"
      .. "\t/x.go:1 +0x1\nmain.main(...)\n\t/x.go:8 +0x1\n\n"
    local record <const> = first(text)
    assert.equal("main.b", record.created_by.func)
    assert.equal(1, #record.frames)
    assert.equal(2, #record.ancestors)
    assert.equal(5, record.ancestors[1].goroutine_id)
    assert.equal("main.a", record.ancestors[1].created_by.func)
    assert.equal("main.main", record.ancestors[2].frames[2].func)
    assert.equal(text:sub(1, -2), record.raw)
  end)

  it("may have strange lines between them", function()
    local records, text, counts = dumps.records("goroutine 1 [running]:\nmain.f(0x1)\n"
      .. "2031/04/05 08:12:12 a log line (in between)\n\t/src/x.go:3 +0x1\nmain.g()\n"
      .. "\t/src/x.go:9 +0x1\nunheard of\n\n")
    assert.equal(2, #records[1].frames)
    assert.equal("main.f", records[1].frames[1].func)
    assert.equal(1, records[1].unknown_lines)
    assert(records[1].raw:find("in between", 1, true))
    assert.equal("unheard of\n", text)
    assert.equal(1, counts.unknown_lines)
  end)
end)

describe("a dump inside a log", function()
  local DUMP <const> = "goroutine 7 [select, 2 minutes]:\nmain.f(0x1)\n\t/src/x.go:3 +0x1d\n"
    .. "created by main.main in goroutine 1\n\t/src/x.go:9 +0x2\n\ngoroutine 8 [running]:\n"
    .. "main.g(0x2)\n\t/src/x.go:4 +0x1d\n"

  local function check(text, message)
    local records, rest = dumps.records(text)
    assert.equal(2, #records, message or text)
    assert.equal(7, records[1].goroutine_id)
    assert.same({ "select", 2 }, { records[1].state, records[1].wait_minutes })
    assert.equal("/src/x.go", records[1].frames[1].file)
    assert.equal(1, records[1].creator_id)
    assert.equal("main.g", records[2].frames[1].func)
    assert.equal(1, #records[2].frames)
    return records, rest
  end

  it("may have a prefix on every line", function()
    for _, prefix in ipairs {
      "2026-01-01T00:00:%02d.%dZ pod-1 | ", "web_1  | ", "    ", "> ",
      "Nov 30 02:30:%02d host app[123]: ", "2026-01-01T00:00:%02d.12345678%dZ stderr F ",
      "[2026-01-01 00:00:%02d,%d] INFO ",
    } do
      local n = 0
      local text = DUMP:gsub("[^\n]*\n", function(line)
        n = n + 1
        return prefix:format(n, 900 + n * 37) .. line
      end)
      check(text, prefix)
      check((text:gsub(" +\n", "\n")), prefix)
    end
  end)

  it("may have lines of others between its own", function()
    local _, rest = check((DUMP:gsub("[^\n]*\n", "pod-1 | %0pod-2 | request ok\n")))
    -- Those behind the first header stay with it: whose they are was not known yet.
    assert.equal(("pod-2 | request ok\n"):rep(7), rest)
  end)

  it("may have a prefix on its first line only", function()
    local records <const> = dumps.records("2026/01/01 12:00:00 goroutine 7 [running]:\n"
      .. "main.f(0x1)\n\t/src/x.go:3 +0x1d\nmain.g()\n\t/src/x.go:4 +0x1d\n"
      .. "2026/01/01 12:00:01 next\n")
    assert.equal(1, #records)
    assert.equal(2, #records[1].frames)
  end)

  it("may end its lines as Windows does, and be coloured", function()
    check((DUMP:gsub("\n", "\r\n")))
    check((DUMP:gsub("(%S+)%(", "\27[1;31m%1\27[0m(")))
  end)

  it("may be a quoted string", function()
    local quoted <const> = DUMP:gsub("\n", "\\n"):gsub("\t", "\\t")
    check(('{"level":"error","stack":"%s","time":1}\n'):format(quoted))
    check(('level=error msg="a \\"b\\"" stack="%s"\n'):format(quoted))
    local docker <const> = DUMP:gsub("([^\n]*)\n", function(line)
      return ('{"log":"%s\\n","stream":"stderr"}\n'):format(line:gsub("\t", "\\t"))
    end)
    check(docker)
  end)

  it("may have tabs as syslog writes them", function()
    check((DUMP:gsub("[^\n]*\n", function(line)
      return "Nov 30 02:30:27 host app[123]: " .. line:gsub("\t", "#011")
    end)))
  end)

  it("ends where the log goes on", function()
    local log <const> = "8080 a line of the log (of a request)\n"
    local records, rest = dumps.records(DUMP .. log:rep(1000))
    assert.equal(2, #records)
    assert.equal(log:rep(1000), rest)
    assert(#records[2].raw < 200)
  end)
end)

describe("a profile of goroutines as text", function()
  it("pairs lines with addresses", function()
    local records <const> = dumps.records(read "cases/12-go-debug1-text/goroutine.txt")
    assert.is_true(records[2].frames[2].inlined)
    assert.is_nil(records[2].frames[3].inlined)
    assert.equal("0x6f0d19", records[3].frames[1].func)
    local recursion <const> = first("goroutine profile: total 1\n1 @ 0x11 0x21 0x21 0x21 0x31\n"
      .. ("#\t0x20\tmain.in+0x1\t/x.go:1\n#\t0x20\tmain.f+0x1\t/x.go:2\n"):rep(3) .. "\n")
    local inlined = {}
    for i, frame in ipairs(recursion.frames) do inlined[i] = frame.inlined or false end
    assert.same({ true, false, true, false, true, false }, inlined)
  end)

  it("knows threads without stacks", function()
    local records <const> = dumps.records("threadcreate profile: total 7\n6 @\n#\t0x0\n\n"
      .. "1 @ 0x43e675\n#\t0x43e674\truntime.allocm+0xd4\t/usr/lib/go/proc.go:1761\n\n")
    assert.same({ 6, 0, 1, 1 }, { records[1].count, #records[1].frames, records[2].count,
      #records[2].frames })
  end)

  it("says when fewer goroutines are there than it told", function()
    local dump, message, code = dumps.open("goroutine profile: total 9\n2 @ 0x1\n"
      .. "#\t0x1\tmain.f\t/x.go:1\n\n")
    assert.equal(2, dump:count())
    assert.equal("text: the text speaks of 9 goroutines and holds 2", message)
    assert.equal("truncated", code)
  end)
end)

describe("a report of the race detector", function()
  local records <const>, text <const>, counts <const> = dumps.records(read "dumps/races.txt")

  it("gives a record for each access", function()
    assert.equal(4, #records)
    assert.equal(2, counts.races)
    assert.same({ report = 1, access = "Read", address = 0xc0000b4010 }, records[1].race)
    assert.same({ report = 1, access = "write", address = 0xc0000b4010, previous = true },
      records[2].race)
    assert.same({ report = 2, access = "atomic write", address = 0xc0000b4018, previous = true },
      records[4].race)
    assert.same({ 7, 1, 9, 8 }, { records[1].goroutine_id, records[2].goroutine_id,
      records[3].goroutine_id, records[4].goroutine_id })
  end)

  it("has both stacks, and where they were created", function()
    assert.same({ func = "main.(*Store).Get", file = "/src/shop/store.go", line = 12,
      offset = 0x44 }, records[1].frames[1])
    assert.equal(2, #records[2].frames)
    assert.equal("running", records[1].state)
    assert.equal("finished", records[4].state)
    assert.same({ func = "main.main", file = "/src/shop/main.go", line = 19, offset = 0xd0 },
      records[1].created_by)
    assert.is_nil(records[2].created_by)
    assert.is_true(records[4].stack_unavailable)
  end)

  it("keeps the rest", function()
    assert(records[3].raw:find("Mutex M21 (0xc00001c0a8) created at:", 1, true))
    assert(text:find("go on\n", 1, true))
    assert(text:find("Found 2 data race(s)\nexit status 66\n", 1, true))
  end)
end)

describe("#binding of dumps", function()
  it("refuses wrong use", function()
    assert.has_error(function() core.dump { format = "java" } end)
    assert.has_error(function() core.dump { colour = 1 } end)
    assert.has_error(function() core.dump_reader("text") end)
    local dump <const> = core.dump()
    assert.has_error(function() dump:groups() end)
    assert(dump:feed "goroutine 1 [running]:\n")
    assert(dump:finish())
    assert.has_error(function() dump:feed "x" end)
    assert.has_error(function() dump:place(99) end)
    assert.has_error(function() dump:stack(-1) end)
    assert.has_error(function() dump:rows() end)
    dump:close()
    dump:close()
    assert.has_error(function() dump:info() end)
    assert.equal("sonde.dump (closed)", tostring(dump))
  end)

  it("keeps within its limit", function()
    local dump <const> = core.dump { limit = 100000 }
    local text = {}
    for i = 1, 20000 do text[i] = dumps.one(("goroutine %d [state %d]:"):format(i, i)) end
    local taken, _, code = dump:feed(table.concat(text))
    assert.is_nil(taken)
    assert.equal("limit", code)
  end)

  it("takes goroutines that others told", function()
    local dump <const> = core.dump { rows = true }
    for id = 1, 3 do
      assert(dump:add { goroutine_id = id, state = "select", wait_minutes = 4, labels = { a = "b" },
        frames = { { func = "main.f", file = "/x.go", line = 7 }, { func = "main.main" } },
        created_by = { func = "main.main" }, creator_id = 1 })
    end
    assert.has_error(function() dump:add { goroutine_id = "x" } end)
    assert.has_error(function() dump:add { frames = { 1 } } end)
    assert(dump:finish())
    local groups = {}
    for i, group in dump:groups() do groups[i] = group end
    assert.equal(1, #groups)
    assert.same({ 3, "select", 4, { 1, 2, 3 }, { a = "b" } }, { groups[1].count, groups[1].state,
      groups[1].wait, groups[1].ids, groups[1].labels })
    assert.equal("main.f", dump:place(dump:stack(groups[1].stack)[1]).func)
    assert.equal(3, dump:profile():total("goroutine"))
  end)

  it("gives entries only while there is one", function()
    local reader <const> = core.dump_reader(core.input("a line\n"))
    assert.has_error(function() reader:entry() end)
    assert.equal("text", reader:next())
    assert.equal("a line\n", reader:text())
    assert.has_error(function() reader:json("") end)
    assert.is_nil(reader:next())
    reader:close()
    reader:close()
    assert.has_error(function() reader:next() end)
  end)
end)
