local core <const> = require "sonde.c.core"
local fake <const> = require "spec.support.fake_runtime"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"
local wire <const> = require "spec.support.wire"

local MS <const> = 1000000

local with_fake <const> = fake.with

local assert_clean <const> = fake.assert_clean

local function collect()
  local pieces = {}
  return function(bytes) pieces[#pieces + 1] = bytes end, function() return table.concat(pieces) end
end

local function took(began)
  return (loop.now() - began) / MS
end

describe("a session", function()
  it("records, stops, and is decoded by then", function()
    with_fake({}, function(target, server, directory)
      local path <const> = directory .. "/out.nettrace"
      local session <const> = assert(target:trace { output = path })
      assert.is_true(session:is_open())
      assert.equal("CollectTracing2", session.command)
      assert.same({}, session.lost)
      assert.is_nil((session:trace()))
      assert.is_true(session:stop())
      assert.is_false(session:is_open())
      assert.equal(fake.trace(), helper.read(path))
      local counts <const> = session:counts()
      local read <const> = assert(sonde.open(path))
      assert.equal(#fake.trace(), counts.bytes)
      assert.equal(#fake.trace(), counts.written)
      assert.equal(read:counts().events, counts.events)
      assert.is_true(counts.complete)
      local trace <const> = assert(session:trace())
      assert.equal(tostring(read:profile { view = "samples" }:total(1)),
        tostring(trace:profile { view = "samples" }:total(1)))
      assert.same({ "2/3", "2/1" }, server:heard())
      assert_clean(server)
    end)
  end)

  it("asks for what the documentation says when it is told nothing", function()
    with_fake({}, function(target, server)
      assert(assert(target:trace()):stop())
      assert(assert(target:trace { buffer_mb = 0, max_bytes = 0, providers = {} }):stop())
      assert.same(server.requests[1], server.requests[3])
      local request <const> = server.requests[1]
      assert.equal(256, request.buffer_mb)
      assert.equal(1, request.format)
      assert.equal(1, request.rundown)
      assert.same({
        { name = "Microsoft-DotNETCore-SampleProfiler", keywords = 0, level = 5 },
        { name = "Microsoft-Windows-DotNETRuntime", keywords = 0x18, level = 5 },
      }, request.providers)
    end)
  end)

  it("asks for what it is told", function()
    with_fake({}, function(target, server)
      assert(assert(target:trace { buffer_mb = 16, rundown = false, providers = {
        { name = "A", keywords = -1, level = 0, arguments = "x=1" }, { name = "B", level = 2 },
        "C:gc+jit:info:k=v",
      } }):stop())
      local request <const> = server.requests[1]
      assert.equal(16, request.buffer_mb)
      assert.equal(0, request.rundown)
      assert.same({
        { name = "A", keywords = -1, level = 5, arguments = "x=1" },
        { name = "B", keywords = 0, level = 2 },
        { name = "C", keywords = 0x11, level = 4, arguments = "k=v" },
      }, request.providers)
    end)
  end)

  it("gives its bytes to a function, a descriptor, a file", function()
    with_fake({}, function(target, _, directory)
      local add, text = collect()
      assert(assert(target:trace { on_bytes = add }):stop())
      assert.equal(fake.trace(), text())
      local uv <const> = require "sonde.base.uv"
      local fd <const> = assert(uv.fs_open(directory .. "/fd", "w", tonumber("600", 8)))
      assert(assert(target:trace { output = fd }):stop())
      assert.equal(fake.trace(), helper.read(directory .. "/fd"))
      assert(uv.fs_close(fd))
      local file <const> = assert(io.open(directory .. "/file", "wb"))
      assert(assert(target:trace { output = file }):stop())
      assert.equal(fake.trace(), helper.read(directory .. "/file"))
      assert.equal("file", io.type(file))
      file:close()
      local nowhere <const> = assert(target:trace())
      assert(nowhere:stop())
      assert.equal(#fake.trace(), nowhere:counts().bytes)
    end)
  end)

  it("takes a reply and a stream that come byte by byte", function()
    local bytes <const> = helper.read(helper.data "synth/v4-empty.nettrace")
    with_fake({ stream = function(connection, session, reply)
      connection:dribble(reply .. bytes:sub(1, 60))
      session.stopping:wait(loop.after(5000 * MS))
      connection:dribble(bytes:sub(61))
    end }, function(target)
      local add, text = collect()
      assert(assert(target:trace { on_bytes = add, decode = false }):stop())
      assert.equal(bytes, text())
    end)
  end)

  it("hands on every event in order of time, whole when it ends", function()
    with_fake({}, function(target, server)
      local times = {}
      local session <const> = assert(target:trace { decode = false,
        on_event = function(event) times[#times + 1] = event.time_ns end })
      assert.is_true(session:stop())
      for i = 2, #times do
        if times[i] < times[i - 1] then
          error(("event %d is older than the one before it"):format(i))
        end
      end
      local whole <const> = assert(sonde.open { bytes = fake.trace(), name = "demo" })
      assert.equal(whole:counts().events, #times)
      assert_clean(server)
    end)
  end)

  it("ends by itself when the process ends", function()
    with_fake({ stream = function(connection, _, reply)
      connection:write(reply .. fake.trace())
    end }, function(target, server)
      local session <const> = assert(target:trace())
      assert.is_true(session:wait { timeout = "5s" })
      assert.is_true(session:stop())
      assert.equal(0, server.stops)
    end)
  end)

  it("says so when the stream has no end", function()
    for _, decode in ipairs { true, false } do
      with_fake({ stream = function(connection, _, reply)
        connection:write(reply .. fake.trace():sub(1, 100000))
      end }, function(target, _, directory)
        local path <const> = directory .. "/out"
        local session <const> = assert(target:trace { output = path, decode = decode })
        assert.is_true(session:wait { timeout = "5s" })
        local done, message, code = session:stop()
        assert.is_nil(done)
        assert.matches("^process %d+ ended while it was recorded, and its trace has no end$",
          message)
        assert.equal("truncated", code)
        assert.equal(100000, #helper.read(path))
      end)
    end
  end)
end)

describe("starting a session", function()
  it("fails as no_endpoint while there is none", function()
    helper.in_directory(function(directory)
      local server = fake.start(directory .. "/s")
      local target <const> = sonde.target { socket = server.path }
      server:close()
      local session, message, code = target:trace { output = directory .. "/out" }
      assert.is_nil(session)
      assert.matches("^cannot record process %d+: .*nobody listens", message)
      assert.equal("no_endpoint", code)
      os.remove(server.path)
      assert.equal("no_endpoint", select(3, target:trace()))
      -- Later there is one, and the same target works.
      server = fake.start(server.path)
      assert(assert(target:trace()):stop())
      server:close()
      assert.is_nil(helper.read(directory .. "/out"))
      assert.equal("s\n", (helper.run("ls " .. directory)))
    end)
  end)

  it("tells the runtime's refusal, whatever its code", function()
    local codes = { 0, 1, 0x80131399, 0xffffffff }
    for _, row in ipairs(core.ipc_hresults()) do codes[#codes + 1] = row.code end
    for _, hresult in ipairs(codes) do
      with_fake({ [0x0203] = function(_, c) c:write(wire.error(hresult)) end,
        [0x0202] = function(_, c) c:write(wire.error(hresult)) end },
        function(target, server)
          local session, message, code, _, given = target:trace()
          assert.is_nil(session)
          assert.matches(("refused CollectTracing.*0x%08x"):format(hresult), message)
          assert.equal("runtime_error", code)
          assert.equal(hresult, given)
          -- Only an unknown command is worth another try.
          assert.same(hresult == 0x80131385 and { "2/3", "2/2" } or { "2/3" }, server:heard())
          assert_clean(server)
        end)
    end
  end)

  it("tells a refusal that gives no code", function()
    with_fake({ [0x0203] = function(_, c) c:write(wire.message(0xff, 0xff)) end }, function(target)
      local _, _, code, _, hresult = target:trace()
      assert.same({ "runtime_error", 0 }, { code, hresult })
    end)
  end)

  it("fails when the reply makes no sense", function()
    for bytes, wanted in pairs {
      ["HTTP/1.1 400 Bad Request\r\n\r\n"] = "malformed",
      ["DOTNET_IPC_V1\0\5\0\xff\0\0\0"] = "malformed",
      [wire.message(2, 0, ("<I8"):pack(1))] = "malformed",
      [wire.ok("\1\2")] = "malformed",
      [wire.ok(("<I8"):pack(1)):sub(1, 27)] = "truncated",
      [wire.ok():sub(1, 15) .. "\xff\xff\0\0\0"] = "truncated",
      [""] = "truncated",
    } do
      with_fake({ [0x0203] = function(_, c) c:write(bytes) end }, function(target, _, directory)
        local session, message, code = target:trace { output = directory .. "/out" }
        assert.is_nil(session)
        assert.equal(wanted, code, message)
        assert.is_nil(helper.read(directory .. "/out"))
      end)
    end
  end)

  it("waits for a silent runtime no longer than it may", function()
    with_fake({ [0x0203] = function(_, c) c:read() end }, function(target, server)
      local began <const> = loop.now()
      local session, message, code = target:trace { timeout = "150ms" }
      assert.is_nil(session)
      assert.matches("does not answer", message)
      assert.equal("timeout", code)
      assert.is_true(took(began) >= 150 and took(began) < 1000)
      assert_clean(server)
    end)
  end)

  it("can be canceled before the reply", function()
    with_fake({ [0x0203] = function(server, c)
      server.gone = c:read() == nil
    end }, function(target, server)
      local result
      local task <const> = loop.task(function() result = table.pack(target:trace()) end)
      loop.sleep(20 * MS)
      task:cancel "not wanted any more"
      assert(task:join(loop.after(1000 * MS)))
      assert.is_nil(result[1])
      assert.matches("not wanted any more", result[2])
      assert.equal("canceled", result[3])
      loop.sleep(20 * MS)
      -- The connection was closed, so the server is free again.
      assert.is_true(server.gone)
    end)
  end)

  it("raises on wrong use", function()
    with_fake({}, function(target)
      local function wrong(opts, why)
        assert.error_matches(function() target:trace(opts) end, why)
      end
      wrong({ buffer = 1 }, "unknown option 'buffer'")
      wrong({ buffer_mb = -1 }, "must be at least 0")
      wrong({ max_bytes = -1 }, "must be at least 0")
      wrong({ providers = { {} } }, "provider 1 has no name")
      wrong({ providers = { { name = "A", keyword = 1 } } }, "unknown field 'keyword'")
      wrong({ providers = { { name = "A", level = "5" } } }, "must be a number")
      wrong({ providers = { "A:nokey" } }, "keyword 'nokey' is not known")
      wrong({ output = true }, "bad output")
      wrong({ output = "x", on_bytes = print }, "one of them")
      wrong({ on_bytes = "x" }, "must be a function")
      wrong("x", "table expected")
    end)
  end)

  it("reports an output that cannot be opened before it asks the runtime", function()
    with_fake({}, function(target, server, directory)
      local session, message, code = target:trace { output = directory .. "/no/such/file" }
      assert.is_nil(session)
      assert.matches("no such file or directory$", message)
      assert.equal("not_found", code)
      assert.same({}, server:heard())
    end)
  end)
end)

describe("a session that is too large", function()
  it("is cut, its connection closed, its output kept", function()
    for _, cap in ipairs { 1, 1000, 300001 } do
      with_fake({ stream = function(connection, session, reply)
        connection:write(reply)
        while connection:write(("x"):rep(65536)) do loop.sleep(0) end
        session.broken = true
      end }, function(target, server, directory)
        local path <const> = directory .. "/out"
        local session <const> = assert(target:trace { output = path, max_bytes = cap,
          decode = false })
        assert.is_true(session:wait { timeout = "5s" })
        local done, message, code = session:stop()
        assert.is_nil(done)
        assert.matches(("larger than %d bytes"):format(cap), message)
        assert.equal("stream_too_large", code)
        assert.equal(cap, #helper.read(path))
        assert.equal(1, server.stops)
        assert.is_true(server.sessions[1].broken)
        assert.same({ nil, message, code }, { session:stop() })
      end)
    end
  end)
end)

describe("a session whose output fails", function()
  it("stops, and is drained to its end", function()
    with_fake({ stream = function(connection, session, reply)
      connection:write(reply)
      local bytes <const> = fake.trace()
      for at = 1, #bytes, 10000 do
        if not connection:write(bytes:sub(at, at + 9999)) then session.broken = true end
        loop.sleep(MS)
      end
    end }, function(target, server)
      local session <const> = assert(target:trace { output = "/dev/full" })
      local done, message, code = session:stop()
      assert.is_nil(done)
      assert.equal("/dev/full: No space left on device", message)
      assert.equal("unavailable", code)
      assert.is_nil(server.sessions[1].broken)
      local counts <const> = session:counts()
      assert.same({ #fake.trace(), 0, true }, { counts.bytes, counts.written, counts.complete })
      assert.equal(1, server.stops)
      -- What was decoded is there all the same.
      assert.truthy(session:trace())
    end)
  end)

  it("does the same when its function raises", function()
    with_fake({}, function(target, server)
      local calls = 0
      local session <const> = assert(target:trace { on_bytes = function()
        calls = calls + 1
        error("no more", 0)
      end })
      local done, message = session:stop()
      assert.is_nil(done)
      assert.equal("on_bytes: no more", message)
      assert.equal(1, calls)
      assert.equal(#fake.trace(), session:counts().bytes)
      assert.equal(1, server.stops)
    end)
  end)

  it("joins what failed in stopping and in copying", function()
    with_fake({ [0x0201] = function(server, c, request)
      server.sessions[request.session].stopping:set()
      c:write(wire.error(0x80004005))
    end }, function(target)
      local session <const> = assert(target:trace { on_bytes = function() error("no more", 0) end })
      local done, message, code = session:stop()
      assert.is_nil(done)
      assert.matches("on_bytes: no more", message)
      assert.matches("stopping failed: .*refused StopTracing.*0x80004005", message)
      assert.equal("unavailable", code)
    end)
  end)
end)

describe("stopping a session", function()
  it("happens once, though many ask at once and again", function()
    with_fake({ stream = function(connection, session, reply)
      connection:write(reply)
      session.stopping:wait(loop.after(5000 * MS))
      loop.sleep(50 * MS)
      connection:write(fake.trace())
    end }, function(target, server)
      local session <const> = assert(target:trace())
      local tasks, results = {}, {}
      for i = 1, 5 do
        tasks[i] = loop.task(function() results[i] = table.pack(session:stop()) end)
      end
      assert.is_true(session:stop())
      for i = 1, 5 do
        assert(tasks[i]:join(loop.after(1000 * MS)))
        assert.is_true(results[i][1])
      end
      assert.is_true(session:stop())
      assert.equal(1, server.stops)
    end)
  end)

  it("gives each caller its own deadline, and never outlives it", function()
    with_fake({ stream = function(connection, session, reply)
      connection:write(reply)
      while connection:write "x" do loop.sleep(2 * MS) end
      session.broken = true
    end }, function(target, server)
      local calls = 0
      local session <const> = assert(target:trace { decode = false,
        on_bytes = function() calls = calls + 1 end })
      local patient
      local task <const> = loop.task(function()
        local began <const> = loop.now()
        patient = table.pack(session:stop { timeout = "5s" })
        patient.took = took(began)
      end)
      local began <const> = loop.now()
      local done, message, code = session:stop { timeout = "100ms" }
      assert.is_true(took(began) >= 100 and took(began) < 600)
      assert.is_nil(done)
      assert.matches("the stream did not end within 100ms; it was cut", message)
      assert.equal("timeout", code)
      -- Nothing is written any more.
      local before <const> = calls
      loop.sleep(50 * MS)
      assert.equal(before, calls)
      -- The connection is closed, which ends the others' wait too.
      assert(task:join(loop.after(2000 * MS)))
      assert.is_nil(patient[1])
      assert.equal("timeout", patient[3])
      assert.is_true(patient.took < 2000)
      assert.is_true(server.sessions[1].broken)
      assert.equal(1, server.stops)
    end)
  end)

  it("ends when its caller is canceled", function()
    with_fake({ stream = function(connection, session, reply)
      connection:write(reply)
      while connection:write "x" do loop.sleep(2 * MS) end
      session.over:set()
    end }, function(target)
      local session <const> = assert(target:trace { decode = false })
      local result
      local task <const> = loop.task(function() result = table.pack(session:stop()) end)
      loop.sleep(20 * MS)
      task:cancel "enough"
      assert(task:join(loop.after(1000 * MS)))
      assert.same({ "enough", "canceled" }, { result[2], result[3] })
      assert.is_false(session:is_open())
    end)
  end)

  it("does not hang when the stop is never answered", function()
    with_fake({ [0x0201] = function(server, c, request)
      server.sessions[request.session].stopping:set()
      c:read()
    end }, function(target)
      local session <const> = assert(target:trace())
      local began <const> = loop.now()
      session:stop { timeout = "200ms" }
      assert.is_true(took(began) < 700)
      assert.is_true(session:counts().complete)
    end)
  end)

  it("is done for a session that is closed in a hurry", function()
    with_fake({}, function(target, server, directory)
      local session <const> = assert(target:trace { output = directory .. "/out" })
      loop.sleep(20 * MS)
      session:close()
      session:close()
      loop.sleep(50 * MS)
      assert.equal(1, server.stops)
      assert.truthy(helper.read(directory .. "/out"))
    end)
  end)
end)
