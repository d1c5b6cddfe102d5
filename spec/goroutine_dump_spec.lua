-- Dumps as objects, the verb, and dumps of real Go programs.
local dumps <const> = require "spec.support.dumps"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local function read(name)
  return assert(helper.read(helper.data(name)))
end

-- A goroutine with a stack of functions, innermost first.
local function goroutine(id, state, functions, creator)
  local lines = { ("goroutine %d [%s]:"):format(id, state) }
  for i, func in ipairs(functions) do
    local file <const> = func:match("%w+")
    lines[#lines + 1] = ("%s(0x%x)\n\t/src/shop/%s.go:%d +0x1"):format(func, id, file, i)
  end
  if creator then
    lines[#lines + 1] = ("created by %s\n\t/src/shop/main.go:9 +0x1"):format(creator)
  end
  return table.concat(lines, "\n") .. "\n\n"
end

local function herd()
  local text = { goroutine(1, "select", { "main.main" }) }
  for id = 2, 31 do
    text[#text + 1] = goroutine(id, ("chan receive, %d minutes"):format(id),
      { "cart.wait", "cart.run" }, "main.main")
  end
  text[#text + 1] = goroutine(40, "IO wait", { "net.read", "cart.run" }, "main.main")
  return table.concat(text)
end

describe("a dump", function()
  local dump <const> = assert(dumps.open(herd(), "herd"))

  it("groups what is similar", function()
    local groups <const> = dump:groups()
    assert.equal(3, #groups)
    local group <const> = groups[1]
    assert.same({ 30, 31, 2, 31 }, { group.count, group.longest, group.shortest, group.longest_id })
    assert.same({ { state = "chan receive", count = 30 } }, group.states)
    assert.same({ func = "cart.wait", file = "/src/shop/cart.go", line = 1 }, group.frames[1])
    assert.equal("main.main", group.created_by.func)
    assert.equal(5, #group.ids)
    assert.equal("herd: 32 goroutines in 3 stacks", tostring(dump))
  end)

  it("groups by functions alone when asked", function()
    local text <const> = goroutine(1, "select", { "main.f" })
      .. goroutine(2, "sleep", { "main.f" }):gsub("main.go:1 ", "main.go:99 ")
    local two <const> = assert(dumps.open(text))
    assert.equal(2, #two:groups())
    local groups <const> = two:groups { similar = "function" }
    assert.equal(1, #groups)
    assert.same({ { state = "select", count = 1 }, { state = "sleep", count = 1 } },
      groups[1].states)
    assert.has_error(function() two:groups { similar = "colour" } end)
  end)

  it("filters by state, function and wait", function()
    assert.equal(1, dump:where { state = "IO" }:count())
    assert.equal(31, dump:where { func = "^cart[.]run$" }:count())
    assert.equal(22, dump:where { wait = 10 * 60000000000 }:count())
    assert.equal(21, dump:where { wait = 10 * 60000000000 + 1 }:count())
    local both <const> = dump:where { func = "wait" }:where { wait = 30 * 60000000000 }
    assert.equal(2, both:count())
    assert.equal(2, both:profile():total())
    assert.equal("herd: 2 goroutines in 1 stack (func=wait, wait=1800s)", tostring(both))
    assert.equal(32, dump:count())
    assert.equal(0, dump:where { state = "nothing" }:count())
  end)

  it("is a profile", function()
    local profile <const> = dump:profile()
    assert.same({ { type = "goroutine", unit = "count" } }, profile:types())
    assert.equal(32, profile:total())
    local labels = {}
    for _, values, own in profile:samples() do
      if own.created_by then labels[own.state[1]] = values[1] end
    end
    assert.same({ ["chan receive"] = 30, ["IO wait"] = 1 }, labels)
    local minutes = 0
    for id = 2, 31 do minutes = minutes + id end
    assert.equal(minutes * 60000000000, dump:profile { view = "wait" }:total("wait"))
  end)

  it("gives its goroutines one by one", function()
    local n, last = 0, nil
    for record in assert(dump:entries()) do
      n, last = n + 1, record
    end
    assert.equal(32, n)
    assert.same({ 40, "IO wait", "file" }, { last.goroutine_id, last.state, last.transport })
    assert.equal("0x28", last.frames[1].args)
  end)

  it("marks missing frames in a profile", function()
    local profile <const> = assert(dumps.open(read "cases/02-go-elided-frames/dump.txt")):profile()
    local folded <const> = profile:render("folded")
    assert(folded:find("main.descend;...4912 frames elided...;main.descend", 1, true))
  end)

  it("joins inlined functions to one location", function()
    local profile <const> = assert(dumps.open("goroutine 1 [running]:\nmain.a(...)\n\t/x.go:1\n"
      .. "main.b(0x1)\n\t/x.go:2 +0x1\nmain.c()\n\t/x.go:3 +0x1\n\n")):profile()
    local frames <const> = profile:frames()
    local locations = {}
    for i = 1, frames.n do locations[frames.name[i]] = frames.location[i] end
    assert.equal(locations["main.a"], locations["main.b"])
    assert(locations["main.b"] ~= locations["main.c"])
  end)
end)

describe("two dumps of a process", function()
  local before <const> = goroutine(1, "select", { "main.main" })
    .. goroutine(2, "sleep, 1 minutes", { "main.f" }, "main.main")
    .. goroutine(3, "select", { "main.g" }, "main.main") .. goroutine(4, "running", { "main.h" })
  local after <const> = goroutine(1, "select, 2 minutes", { "main.main" })
    .. goroutine(2, "sleep, 9 minutes", { "main.f" }, "main.main")
    .. goroutine(3, "IO wait", { "main.g" }, "main.main") .. goroutine(5, "running", { "main.i" })

  it("tell new, gone, stuck and moved", function()
    local changes, counts = assert(dumps.open(after)):diff(assert(dumps.open(before)))
    local words = {}
    for i, change in ipairs(changes) do
      words[i] = ("%d %s %s %d"):format(change.goroutine_id, change.change, change.state,
        change.wait_minutes)
    end
    assert.same({ "1 stuck select 2", "2 stuck sleep 9", "3 moved IO wait 0", "4 gone running 0",
      "5 new running 0" }, words)
    assert.same({ new = 1, gone = 1, stuck = 2, moved = 1, strangers = 0 }, counts)
    assert.equal("select", changes[3].before.state)
    assert.equal("main.main", changes[3].created_by.func)
  end)

  it("are known when they are of different processes", function()
    local other <const> = goroutine(2, "sleep", { "main.f" }, "net/http.(*Server).Serve")
    local _, counts = assert(dumps.open(other)):diff(assert(dumps.open(before)))
    assert.equal(1, counts.strangers)
  end)

  it("need ids", function()
    local text <const> = read "cases/12-go-debug1-text/goroutine.txt"
    local changes, message, code = assert(dumps.open(text)):diff(assert(dumps.open(before)))
    assert.is_nil(changes)
    assert(message:find("no goroutine ids", 1, true))
    assert.equal("unavailable", code)
  end)
end)

describe("suspects", function()
  local function kinds(text)
    local list = {}
    for i, suspect in ipairs(assert(dumps.open(text)):suspects()) do
      list[i] = suspect.kind .. ": " .. suspect.message
    end
    return list
  end

  it("are many that wait long", function()
    assert.same({ "leak: 30 goroutines wait in cart.wait (chan receive), the longest for"
      .. " 31 minutes: a leak?" }, kinds(herd()))
  end)

  it("are those that wait for ever", function()
    assert.same({ "never: 1 goroutine receives from a nil channel in main.f and can never go on" },
      kinds(goroutine(1, "select (no cases)", { "main.main" })
        .. goroutine(2, "chan receive (nil chan), 3 minutes", { "main.f" })))
  end)

  local function waiter(id, lock, call)
    return ("goroutine %d [sync.Mutex.Lock, 6 minutes]:\n"
      .. "sync.runtime_SemacquireMutex(0x0?, 0x1?)\n\t/go/sema.go:77 +0x25\n"
      .. "sync.(*Mutex).lockSlow(0x%x)\n\t/go/mutex.go:171 +0x165\n"
      .. "sync.(*Mutex).Lock(...)\n\t/go/mutex.go:90\n%s\n\t/src/bank.go:7 +0x1\n\n"):format(id,
      lock, call)
  end

  it("are those that wait for each other", function()
    local text <const> = waiter(6, 0xc000014090,
        "main.(*account).transfer(0xc000014060, 0xc000014080)")
      .. waiter(7, 0xc000014070, "main.(*account).close(0xc000014080)")
    local list <const> = kinds(text)
    assert.equal("deadlock: a dead-lock? goroutine 6 (sync.Mutex.Lock, in"
      .. " main.(*account).transfer) waits for the sync.Mutex at 0xc000014090 and may hold the"
      .. " sync.Mutex at 0xc000014070; goroutine 7 (sync.Mutex.Lock, in main.(*account).close)"
      .. " waits for the sync.Mutex at 0xc000014070 and may hold the sync.Mutex at 0xc000014090",
      list[1])
  end)

  it("are a lock with many waiters, and who may hold it", function()
    local text <const> = waiter(6, 0xc000014090, "main.get(0x1)")
      .. waiter(7, 0xc000014090, "main.get(0x2)")
      .. goroutine(9, "IO wait", { "main.flush" }):gsub("0x9", "0xc000014090")
    assert.same({ "lock: 2 goroutines wait for the sync.Mutex at 0xc000014090, the longest for"
      .. " 6 minutes; goroutine 9 (IO wait, in main.flush) may hold it" }, kinds(text))
  end)

  it("are locks that may be taken in different order", function()
    local list <const> = kinds(read "dumps/lock-order.txt")
    assert.equal("order: 2 goroutines wait in main.(*account).transfer for different locks"
      .. " (0xc000014070, 0xc000014090): taken in different order?", list[1])
  end)

  it("are data races", function()
    local list <const> = kinds(read "dumps/races.txt")
    assert.equal("race: a data race at 0xc0000b4010: read by goroutine 7 in main.(*Store).Get"
      .. " (store.go:12); earlier write by goroutine 1 in main.(*Store).Put (store.go:17)", list[1])
  end)
end)

describe("sonde dump", function()
  local DUMP <const> = helper.data "cases/01-go-gp-m-header/dump.txt"
  local LOG <const> = helper.data "cases/05-go-dump-in-log/server.log"

  it("shows stacks with counts, states and waits", function()
    local out, status = helper.sonde("dump", DUMP)
    assert.equal(0, status)
    assert(out:find("3 goroutines in 4 stacks, 1 stack of the system", 1, true))
    assert(out:find("1 goroutine: chan receive (nil chan), 5 min, created by ferry/pump.NewValve",
      1, true))
    assert(out:find("ferry/pump.(*Valve).run            pump/valve.go:40", 1, true))
    assert(out:find("receives from a nil channel", 1, true))
    assert(out:find("locked to thread, stack unavailable", 1, true))
  end)

  it("writes an object for each goroutine", function()
    local out, status = helper.sonde("dump", "--json", DUMP)
    assert.equal(0, status)
    local rows <const> = helper.json_lines(out)
    assert.equal(4, #rows)
    local row <const> = rows[4]
    assert.same({ 18, "chan receive (nil chan)", 5, false, 7, 1, "file", "go" },
      { row.goroutine_id, row.state, row.wait_minutes, row.locked_to_thread, row.creator_id,
        row.count, row.transport, row.format })
    assert.same({ func = "ferry/pump.NewValve", file = "/src/ferry/pump/valve.go", line = 25,
      offset = 0x9d }, row.created_by)
    assert.equal("0x43a6ae", row.frames[1].pc)
    assert.equal(1, rows[1].schema)
    assert.is_nil(row.schema)
    assert.is_true(rows[1].system)
    assert.equal("SIGQUIT: quit\nPC=0x46f2e1 m=0 sigcode=0\n\n", rows[1].before)
    assert.equal("rax    0xca\nrbx    0x0\nrip    0x46f2e1\n", row.after)
    assert(row.raw:find("^goroutine 18 "))
  end)

  it("passes everything through", function()
    local out, status = helper.sonde("dump", "--full", LOG)
    assert.equal(0, status)
    assert.equal(read("cases/05-go-dump-in-log/server.log"):gsub("\n+", "\n"),
      (out:gsub("\n+", "\n")))
  end)

  it("filters in every form", function()
    local out = helper.sonde("dump", "--json", "--state", "nil chan", "--wait", "5m", DUMP)
    assert.equal(1, #helper.json_lines(out))
    out = helper.sonde("dump", "--json", "--func", "^time[.]", DUMP)
    assert.equal(1, #helper.json_lines(out))
    out = helper.sonde("dump", "--full", "--func", "^time[.]", DUMP)
    assert(out:find("^goroutine 1 "))
    local _, status, err = helper.sonde("dump", "--json", "--wait", "6m", DUMP)
    assert.equal(1, status)
    assert(err:find("nothing matches the filters", 1, true))
    _, status = helper.sonde("dump", "--wait", "6m", DUMP)
    assert.equal(1, status)
  end)

  it("reads standard input, gzip and headers of HTTP", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/dump"
      helper.write(path, "HTTP/1.1 200 OK\nContent-Type: text/plain\n\n"
        .. read "dumps/lock-order.txt")
      helper.run("gzip -k " .. path)
      for _, words in ipairs { "- <%s", "%s", "%s.gz" } do
        local command <const> = "%s dump --json " .. words
        local out, status = helper.run(command:format(helper.command, path))
        assert.equal(0, status, command)
        assert.equal(4, #helper.json_lines(out))
      end
      local out <const> = helper.run(("%s top %s.gz -n 1"):format(helper.command, path))
      assert(out:find("sync.runtime_SemacquireMutex", 1, true))
    end)
  end)

  it("says when a dump is cut, and shows what is there", function()
    local path <const> = helper.data "cases/10-go-dump-cut/cut.txt"
    for _, option in ipairs { "--json", "--full", "-n0" } do
      local out, status, err = helper.sonde("dump", path, option)
      assert.equal(4, status)
      assert(err:find("ends in mid-line", 1, true))
      assert(out:find("serve.go", 1, true))
    end
  end)

  it("says why a file is no dump", function()
    local _, status, err = helper.sonde("dump", "Makefile")
    assert.equal(4, status)
    assert(err:find("no goroutine in %d+ bytes; the first line is: # sonde: build"))
    _, status = helper.sonde("dump", "--json", "Makefile")
    assert.equal(4, status)
    _, status, err = helper.sonde("dump", helper.data "demo.nettrace")
    assert(status ~= 0)
    assert(err:find("not a dump", 1, true))
    _, status = helper.sonde("dump", "no/such/file.txt")
    assert.equal(3, status)
  end)

  it("compares two dumps", function()
    helper.in_directory(function(directory)
      local a <const>, b <const> = directory .. "/a.txt", directory .. "/b.txt"
      local main <const> = goroutine(1, "select", { "main.main" })
      helper.write(a, main .. goroutine(2, "sleep", { "main.f" }))
      helper.write(b, main .. goroutine(3, "sleep", { "main.f" }))
      local out, status = helper.sonde("dump", "--diff", a, b)
      assert.equal(0, status)
      assert(out:find("1 new, 1 gone, 1 stuck, 0 moved", 1, true))
      local rows <const> = helper.json_lines((helper.sonde("dump", "--diff", "--json", a, b)))
      assert.same({ "stuck", "gone", "new" }, { rows[1].change, rows[2].change, rows[3].change })
    end)
    local _, status = helper.sonde("dump", "--diff", DUMP)
    assert.equal(2, status)
    _, status = helper.sonde("dump", DUMP, LOG)
    assert.equal(2, status)
  end)

  it("is a profile to other verbs", function()
    local out <const> = helper.sonde("top", LOG)
    assert(out:find("Type: goroutine", 1, true))
    helper.in_directory(function(directory)
      local _, status = helper.sonde("convert", LOG, "-o", directory .. "/flame.svg")
      assert.equal(0, status)
    end)
  end)

  it("gives a profile that go tool pprof reads", function()
    helper.needs "go"
    helper.in_directory(function(directory)
      local path <const> = directory .. "/g.pb.gz"
      local _, status = helper.sonde("convert",
        helper.data "cases/12-go-debug1-text/goroutine.txt", "-o", path)
      assert.equal(0, status)
      local out <const> = helper.run(("HOME=%s go tool pprof -top %s"):format(directory, path))
      assert(out:find("of 30004 total", 1, true))
    end)
  end)
end)

describe("a real Go program", function()
  local function build(directory, flags)
    helper.needs "go"
    local _, status, err = helper.run(("cd spec/targets/go/dumps && GOFLAGS= go build %s"
      .. " -o %s/dumps ."):format(flags or "", directory))
    assert.equal(0, status, err)
  end

  local function states(dump)
    local list = {}
    for _, group in ipairs(dump:groups()) do
      for _, state in ipairs(group.states) do
        list[state.state] = (list[state.state] or 0) + state.count
      end
    end
    return list
  end

  it("is understood in each of its words", function()
    helper.in_directory(function(directory)
      build(directory)
      local program <const> = directory .. "/dumps"
      local out <const>, _, quit = helper.run(("cd %s; ./dumps park . >ready & pid=$!; i=0;"
        .. " while [ ! -s ready ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done;"
        .. " kill -QUIT $pid; wait $pid; echo $?"):format(directory))
      assert.equal("2\n", out)
      local now <const> = assert(sonde.open(directory .. "/debug2.txt"))
      assert.same({ running = 1, ["chan receive"] = 8, ["chan receive (nil chan)"] = 1 },
        states(now))
      assert.equal(0, now:info().unknown_lines)
      assert.equal(0, now:info().text_lines)
      local later <const> = assert(sonde.open(directory .. "/later.txt"))
      local _, counts = later:diff(now)
      assert.same({ 2, 1, 0 }, { counts.new, counts.gone, counts.strangers })
      local dump <const>, _ = assert(dumps.open(quit))
      assert.equal(11, (dump:where { func = "^main[.]" }:count()))
      assert.equal(0, dump:info().unknown_lines)
      local list <const> = assert(sonde.open(directory .. "/debug1.txt"))
      assert.equal(10, list:count())
      now:set_labels(require("sonde.golang.dump").labels_of(list))
      local labels
      for _, group in ipairs(now:groups()) do
        if group.frames[1].func == "main.labelled" then labels = group.labels[1].labels end
      end
      assert.same({ route = '/cart "1"', shard = "7" }, labels)
      local crowd <const> = assert(dumps.open((helper.run(program .. " crowd 10000"))))
      assert.equal(10001, crowd:count())
      assert.equal(10000, crowd:groups()[1].count)
      local _, status, err = helper.run(program .. " asleep")
      assert.equal(2, status)
      assert.equal("deadlock", assert(dumps.open(err)):suspects()[1].kind)
      _, _, err = helper.run(program .. " overflow")
      local deep <const> = assert(dumps.open(err)):groups()[1]
      assert.equal("main.overflow", deep.frames[1].func)
      assert.equal(1, deep.truncated)
      _, _, err = helper.run(program .. " log")
      local records, rest = dumps.records(err)
      assert.equal(1, #records)
      assert(rest:find("request done", 1, true))
      local locks <const> = assert(dumps.open((helper.run(program .. " locks"))))
      local kind <const> = locks:suspects()[1].kind
      assert(kind == "order" or kind == "deadlock", kind)
    end)
  end)

  it("is told its data race", function()
    helper.in_directory(function(directory)
      build(directory, "-race")
      local _, status, err = helper.run(directory .. "/dumps race")
      if status ~= 66 then helper.skip("the race was not seen in this run") end
      local dump <const> = assert(dumps.open(err))
      assert.equal(1, dump:info().races)
      assert.equal("race", dump:suspects()[1].kind)
      assert.equal("main.bump", dump:groups()[1].frames[1].func)
    end)
  end)
end)
