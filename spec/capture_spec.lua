local dotnet <const> = require "spec.support.dotnet"
local golang <const> = require "spec.support.golang"
local helper <const> = require "spec.support.helper"
local kind <const> = require "sonde.capture.kind"
local sonde <const> = require "sonde"
local transport <const> = require "sonde.capture.transport"
local uv <const> = require "sonde.base.uv"

if not pcall(require, "sonde.c.sqlite") then
  it("captures are kept in SQLite", function() helper.skip "libsqlite3 was missing" end)
  return
end

local GO_DUMP <const> = ([[
goroutine 1 [chan receive, 5 minutes]:
main.main()
    /src/main.go:12 +0x1d

goroutine 7 [select, locked to thread]:
main.worker(0xc000012345)
    /src/main.go:40 +0x25
created by main.start in goroutine 1
    /src/main.go:33 +0x9e
]]):gsub("\n    /", "\n\t/")

-- A transport of a spec's own.
local function fake(name, fields)
  local one <const> = { name = name, destructive = fields.destructive or false, calls = 0 }
  function one.available() if fields.reason then return nil, fields.reason end return true end
  function one.dump(...)
    one.calls = one.calls + 1
    if fields.dump then return fields.dump(...) end
    return { transport = name, format = "go", text = GO_DUMP, collected_at = 1 }
  end
  return one
end

local function with_capture(opts, use)
  helper.in_directory(function(directory)
    opts.store = directory .. "/captures.db"
    local capture <const> = assert(sonde.capture(opts))
    use(capture, directory)
    capture:close()
  end)
end

local function records(directory, kind_name)
  local out <const>, _, err = helper.sonde("query", directory .. "/captures.db", "--kind",
    kind_name, "--json")
  assert.equal("", err)
  return helper.json_lines(out)
end

describe("the registry of transports", function()
  it("takes the first that can and does no harm", function()
    local deadly <const> = fake("deadly", { destructive = true })
    local cannot <const> = fake("cannot", { reason = "no" })
    local good <const> = fake("good", {})
    local registry <const> = transport.new { deadly, cannot, good }
    assert.equal("good", registry:dump(1).transport)
    assert.equal(0, deadly.calls)
    local rows <const> = registry:of(1)
    assert.same({ "deadly", "cannot", "good" }, { rows[1].name, rows[2].name, rows[3].name })
    assert.equal("no", rows[2].reason)
    assert.is_true(rows[1].destructive and rows[1].available)
  end)

  it("ends a process only when told so by name and with consent", function()
    local deadly <const> = fake("deadly", { destructive = true })
    local registry <const> = transport.new { deadly }
    assert.equal("unavailable", (select(3, registry:dump(1))))
    local dump <const>, message <const>, code <const> = registry:dump(1, { transport = "deadly" })
    assert.is_nil(dump)
    assert.matches("with consent only", message)
    assert.equal("permission", code)
    assert.truthy(registry:dump(1, { transport = "deadly", consent = true }))
    assert.equal(1, deadly.calls)
  end)

  it("names what is near a wrong name, and says why nobody can", function()
    local registry <const> = transport.default()
    local _, message, code = registry:dump(1, { transport = "natvie" })
    assert.matches("did you mean 'native'", message)
    assert.equal("not_found", code)
    local none <const> = transport.new { fake("a", { reason = "x" }), fake("b", { reason = "y" }) }
    _, message = none:dump(1)
    assert.matches("a: x; b: y", message)
  end)

  it("keeps the order in which a host registers", function()
    local registry <const> = transport.new { fake("a", {}), fake("b", {}) }
    registry:add(fake("c", {}), 1)
    registry:add(fake("b", { reason = "gone" }))
    local names = {}
    for i, row in ipairs(registry:of(1)) do names[i] = row.name end
    assert.same({ "c", "a", "b" }, names)
  end)

  it("runs the system's sampler as it is told to", function()
    local native <const> = require "sonde.capture.transports.native"
    local asked = {}
    local one <const> = native.new {
      look_path = function(file) return file == "gdb" and "/x/gdb" or nil end,
      run = function(path, arguments)
        asked = { path, table.concat(arguments, " ") }
        return "Thread 1 (LWP 7):\n#0  0x1 in f ()\n"
      end }
    assert.is_true(one.available(1))
    assert.equal("native", one.dump(1, 0).format)
    assert.same({ "/x/gdb", "-batch -nx -p 1 -ex thread apply all bt" }, asked)
    local none <const> = native.new { look_path = function() return nil end }
    local _, message = none.available(1)
    assert.matches("neither eu%-stack nor gdb", message)
  end)
end)

describe("parameters of a checkpoint", function()
  local function wrong(name, params)
    local checked, message, code = kind.validate(kind.get(name), params)
    assert.is_nil(checked)
    assert.equal("malformed", code)
    return message
  end

  it("are checked alone", function()
    assert.matches("seconds cannot be given",
      wrong("goprof", { source = "gops", profile = { "cpu" }, seconds = 5 }))
    assert.matches("a path goes with the source file only", wrong("goprof", { path = "x" }))
    assert.matches("needs a path", wrong("goprof", { source = "file" }))
    assert.matches("is not known: 'heep' %(did you mean 'heap'%?%)",
      wrong("goprof", { profile = { "heep" } }))
    assert.matches("no profile 'mutex'",
      wrong("goprof", { source = "gops", profile = { "mutex" } }))
    assert.matches("takes no transport",
      wrong("stacks", { transport = "native", dump = { format = "go", text = "x" } }))
    assert.matches("go or native", wrong("stacks", { dump = { format = "java", text = "x" } }))
    assert.truthy(kind.validate(kind.get "goprof", { profile = { "cpu" }, seconds = 5 }))
    assert.truthy(kind.validate(kind.get "stacks", {}))
  end)
end)

describe("a capture", function()
  it("keeps a record for each goroutine, and one for a dump that failed", function()
    local registry <const> = transport.new { fake("mine", {}),
      fake("bad", { dump = function() return nil, "it would not" end }) }
    with_capture({ transports = registry }, function(capture, directory)
      local done <const> = assert(capture:checkpoint { kind = "stacks", reason = "because" })
      assert.equal(0, done.failed)
      assert(capture:checkpoint { transport = "bad" })
      local rows <const> = records(directory, "stacks")
      assert.equal(3, #rows)
      local by_id = {}
      for _, row in ipairs(rows) do by_id[row.goroutine_id or row.error] = row end
      assert.equal("chan receive", by_id[1].state)
      assert.equal(5, by_id[1].wait_minutes)
      assert.equal("because", by_id[1].reason)
      assert.equal("mine", by_id[1].transport)
      assert.equal(uv.os_getpid(), by_id[1].pid)
      assert.equal("main.worker", by_id[7].frames[1].func)
      assert.equal(40, by_id[7].frames[1].line)
      assert.is_true(by_id[7].locked_to_thread)
      assert.equal("main.start", by_id[7].created_by.func)
      assert.truthy(by_id["bad: it would not"])
      -- It goes on by its id.
      local again <const> = assert(sonde.capture { store = directory .. "/captures.db",
        id = capture.id, transports = registry })
      assert(again:checkpoint())
      again:close()
      local out <const> = helper.sonde("captures", directory .. "/captures.db", "--json")
      local listed <const> = helper.json_lines(out)
      assert.equal(1, #listed)
    end)
  end)

  it("takes a dump that was taken elsewhere, also of a process that is gone", function()
    with_capture({}, function(capture, directory)
      assert(capture:checkpoint { pid = 999999, dump = { format = "go", text = GO_DUMP } })
      assert(capture:checkpoint { pid = 999999, dump = { format = "go", text = "no dump\n" } })
      local none, message, code = capture:checkpoint { pid = 999999 }
      assert.is_nil(none)
      assert.matches("is not in the tree", message)
      assert.equal("not_found", code)
      local rows <const> = records(directory, "stacks")
      assert.equal(3, #rows)
      assert.equal(999999, rows[1].pid)
      local failed = 0
      for _, row in ipairs(rows) do
        if row.error then failed = failed + 1 end
      end
      assert.equal(1, failed)
    end)
  end)

  it("sees the coroutines of its own program", function()
    local waiting <const> = coroutine.create(function()
      local deep <const> = coroutine.create(function() coroutine.yield "deep" end)
      coroutine.resume(deep)
      coroutine.yield(deep)
    end)
    coroutine.resume(waiting)
    with_capture({}, function(capture, directory)
      assert(capture:checkpoint { transport = "inprocess" })
      local suspended, running = 0, 0
      for _, row in ipairs(records(directory, "stacks")) do
        assert.equal("lua", row.format)
        if row.state == "suspended" then suspended = suspended + 1 end
        if row.state == "running" then running = running + 1 end
      end
      assert.is_true(suspended >= 2)   -- the one within the other, too
      assert.equal(1, running)
    end)
  end)

  it("follows a tree, and notes who has ended", function()
    local root <close> = dotnet.spawn { "/bin/sh", "-c",
      "sleep 600 & echo $!; wait; exec sleep 600" }
    local child <const> = root:line("^%d+$", 10)
    with_capture({ root = root.pid, kinds = { "process_tree" } }, function(capture, directory)
      assert(capture:checkpoint())
      uv.kill(math.tointeger(tonumber(child)), 9)
      for _ = 1, 100 do
        local _, ended = capture:refresh()
        if #ended > 0 then break end
        require("sonde.base.loop").sleep(20000000)
      end
      assert(capture:checkpoint())
      local states = {}
      for _, row in ipairs(records(directory, "process_tree")) do
        states[#states + 1] = row.pid == tonumber(child) and row.state or nil
      end
      table.sort(states)
      assert.same({ "exited", "sleeping" }, states)
    end)
  end)

  it("dumps the threads of a native process", function()
    helper.needs "eu-stack"
    local process <close> = dotnet.spawn { "sleep", "600" }
    with_capture({ root = process.pid }, function(capture, directory)
      local done <const> = assert(capture:checkpoint())
      if done.failed > 0 then helper.skip("no process can be traced here: " .. done.error) end
      local rows <const> = records(directory, "stacks")
      assert.equal(1, #rows)
      assert.equal("native", rows[1].transport)
      assert.is_true(#rows[1].frames > 0)
      assert.matches("TID", rows[1].raw)
    end)
  end)
end)

describe("a capture of a .NET process", function()
  it("has a record for each managed thread, and traces as files", function()
    local process <close> = dotnet.start("idle", "10.0")
    with_capture({ root = process.pid }, function(capture, directory)
      assert(capture:checkpoint { kind = "stacks" })
      local rows <const> = records(directory, "stacks")
      assert.is_true(#rows > 1)
      assert.equal("eventpipe", rows[1].transport)
      local done <const> = assert(capture:checkpoint { kind = "nettrace", duration = "1s" })
      assert.equal(0, done.failed, done.error)
      local segments <const> = records(directory, "nettrace")
      assert.equal(1, #segments)
      local path <const> = directory .. "/captures.db.files/" .. segments[1].path
      assert.truthy(sonde.open(path))
      assert.is_true(segments[1].samples > 0)
    end)
  end)
end)

describe("a capture of a Go program", function()
  it("keeps stacks and profiles, and gives the profile back byte for byte", function()
    local process <close> = golang.start("live", {})
    with_capture({ root = process.pid }, function(capture, directory)
      assert(capture:checkpoint { kind = "stacks" })
      local rows <const> = records(directory, "stacks")
      assert.is_true(#rows > 1)
      assert.equal("pprof", rows[1].transport)
      local done <const> = assert(capture:checkpoint { kind = "goprof",
        profile = { "heap", "goroutine" } })
      assert.equal(0, done.failed, done.error)
      local types = {}
      for _, row in ipairs(records(directory, "goprof")) do types[row.sample_type] = true end
      assert.is_true(types.inuse_space and types.goroutine)
      local path <const> = directory .. "/out.pb.gz"
      local _, status, err = helper.sonde("export", directory .. "/captures.db", "--kind", "goprof",
        "--profile", "heap", "--format", "pprof", "-o", path)
      assert.equal(0, status, err)
      assert.truthy(sonde.open(path))
    end)
  end)
end)

describe("sonde capture", function()
  it("marks checkpoints again and again, and says what it did", function()
    local process <close> = dotnet.spawn { "sleep", "600" }
    helper.in_directory(function(directory)
      local store <const> = directory .. "/c.db"
      local out, status, err = helper.sonde("capture", "-p", tostring(process.pid), "--store",
        store, "--kind", "process_tree", "--every", "200ms", "--duration", "1s", "--json")
      assert.equal(0, status, err)
      assert.is_true(#helper.json_lines(out) >= 2)
      assert.equal("process_tree", helper.json_lines(out)[1].kind)
      local _, code, words = helper.sonde("capture", "-p", "1", "--kind", "stakcs")
      assert.equal(2, code)
      assert.matches("did you mean 'stacks'", words)
    end)
  end)
end)
