local core <const> = require "sonde.c.core"
local wire <const> = require "spec.support.wire"

local PROVIDERS <const> = {
  { name = "Microsoft-DotNETCore-SampleProfiler", level = 5 },
  { name = "Ünïcode-\u{1f600}", keywords = -1, level = 0, arguments = "a=b;c=\"d e\"" },
}

local function sent(command, fields)
  return wire.request(assert(core.ipc_request(command, fields or {})))
end

-- Feeds bytes in pieces of some size until the decoder is done.
local function feed(decoder, bytes, size)
  for at = 1, #bytes, size do
    local done, rest, code = decoder:feed(bytes:sub(at, at + size - 1))
    if done == nil then return nil, rest, code end
    if done then return true, rest .. bytes:sub(at + size) end
  end
  return false
end

local function answer(command, bytes)
  local reply <const> = core.ipc_reply(command)
  assert.is_true(assert(feed(reply, bytes, #bytes)))
  return reply:answer()
end

describe("binding: requests of the diagnostics protocol", function()
  it("know every command", function()
    local numbers = {}
    for _, command in ipairs(core.ipc_commands()) do
      numbers[#numbers + 1] = ("%d/%d %s %s"):format(command.set, command.number, command.name,
        command.since)
    end
    assert.same({
      "1/1 GenerateCoreDump 3.0", "1/2 GenerateCoreDump2 6.0", "1/3 GenerateCoreDump3 6.0",
      "2/1 StopTracing 3.0", "2/2 CollectTracing 3.0", "2/3 CollectTracing2 3.0",
      "2/4 CollectTracing3 9.0", "2/5 CollectTracing4 9.0", "2/6 CollectTracing5 10.0",
      "2/7 CollectTracing6 11.0", "3/1 AttachProfiler 3.0", "3/2 StartupProfiler 6.0",
      "4/0 ProcessInfo 5.0", "4/1 ResumeRuntime 5.0", "4/2 ProcessEnvironment 5.0",
      "4/3 SetEnvironmentVariable 6.0", "4/4 ProcessInfo2 6.0", "4/5 EnablePerfMap 8.0",
      "4/6 DisablePerfMap 8.0", "4/7 ApplyStartupHook 8.0", "4/8 ProcessInfo3 8.0",
    }, numbers)
    assert.error_matches(function() core.ipc_request("Reboot", {}) end, "unknown command 'Reboot'")
  end)

  it("are 20 bytes when they have no payload", function()
    assert.equal("DOTNET_IPC_V1\0\x14\0\4\0\0\0", core.ipc_request("ProcessInfo", {}))
    assert.equal("DOTNET_IPC_V1\0\x14\0\4\1\0\0", core.ipc_request("ResumeRuntime"))
  end)

  it("carry the providers of a session", function()
    for number = 1, 6 do
      local name <const> = "CollectTracing" .. (number == 1 and "" or number)
      local request <const> = sent(name, { providers = PROVIDERS, buffer_mb = 64, rundown = false,
        rundown_keyword = 0x80020139, stackwalk = false, buffer_mode = 1 })
      assert.equal(64, request.buffer_mb)
      assert.equal(1, request.format)
      assert.equal(2, #request.providers)
      local first, second = request.providers[1], request.providers[2]
      assert.equal("Microsoft-DotNETCore-SampleProfiler", first.name)
      assert.is_nil(first.arguments)
      assert.equal(0, first.keywords)
      assert.equal(5, first.level)
      assert.equal("Ünïcode-\u{1f600}", second.name)
      assert.equal(-1, second.keywords)
      assert.equal(0, second.level)
      assert.equal('a=b;c="d e"', second.arguments)
      if number == 2 or number == 3 then assert.equal(0, request.rundown) end
      if number >= 3 then assert.equal(0, request.stackwalk) end
      if number >= 4 then assert.equal(0x80020139, request.rundown_keyword) end
      if number == 6 then assert.equal(1, request.buffer_mode) end
    end
  end)

  it("carry event filters", function()
    local request <const> = sent("CollectTracing5", { providers = {
      { name = "A", only = true, ids = { 1, 0xffffffff } }, { name = "B", ids = { 7 } },
      { name = "C" },
    } })
    assert.equal(0, request.type)
    assert.same({ true, false, false },
      { request.providers[1].only, request.providers[2].only, request.providers[3].only })
    assert.same({ { 1, 0xffffffff }, { 7 }, {} },
      { request.providers[1].ids, request.providers[2].ids, request.providers[3].ids })
  end)

  it("carry what the other commands need", function()
    assert.equal(-2, sent("StopTracing", { session = -2 }).session)
    assert.same({ set = 4, number = 3, name = "A", value = "" },
      sent("SetEnvironmentVariable", { name = "A", value = "" }))
    assert.same({ set = 4, number = 3, name = "A" }, sent("SetEnvironmentVariable", { name = "A" }))
    assert.same({ set = 4, number = 5, perf_map_type = 3 },
      sent("EnablePerfMap", { perf_map_type = 3 }))
    assert.same({ set = 4, number = 7, path = "/a.dll" },
      sent("ApplyStartupHook", { path = "/a.dll" }))
    assert.same({ set = 1, number = 1, path = "/c", dump_type = 4, dump_flags = 1 },
      sent("GenerateCoreDump", { path = "/c", dump_type = 4, dump_diagnostics = true }))
    assert.same({ set = 1, number = 3, path = "/c", dump_type = 2, dump_flags = 5 },
      sent("GenerateCoreDump3", { path = "/c", dump_type = 2, dump_flags = 5 }))
    assert.same({ set = 3, number = 1, path = "/p.so", timeout = 5, clsid = wire.COOKIE,
      client_data = "\0x" },
      sent("AttachProfiler",
        { path = "/p.so", timeout = 5, clsid = wire.COOKIE, client_data = "\0x" }))
    assert.same({ set = 3, number = 2, path = "/p.so", clsid = wire.COOKIE },
      sent("StartupProfiler", { path = "/p.so", clsid = wire.COOKIE }))
  end)

  it("are refused before a byte leaves when a runtime could not read them", function()
    local function refused(command, fields, why)
      local bytes, message, code = core.ipc_request(command, fields)
      assert.is_nil(bytes)
      assert.equal(command .. ": " .. why, message)
      assert.equal("malformed", code)
    end
    local function session(changes)
      local fields = { providers = { { name = "A" } } }
      for key, value in pairs(changes) do fields[key] = value end
      return fields
    end
    refused("CollectTracing2", session { providers = {} }, "providers is empty")
    refused("CollectTracing2", session { buffer_mb = 0 }, "buffer_mb must be 1 to 1048576")
    refused("CollectTracing2", session { format = 2 }, "format must be 0 to 1")
    refused("CollectTracing6", session { buffer_mode = 2 }, "buffer_mode must be 0 to 1")
    refused("CollectTracing2", session { providers = { { name = "A", level = 6 } } },
      "level of a provider must be 0 to 5")
    refused("CollectTracing2", session { providers = { { name = "" } } },
      "name of a provider is empty")
    refused("CollectTracing2", session { providers = { {} } }, "name of a provider is empty")
    local BAD <const> = {
      "a\0b", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82",
    }
    for _, bad in ipairs(BAD) do
      refused("CollectTracing2", session { providers = { { name = bad } } },
        "name of a provider is not UTF-8, or has a zero inside")
      refused("CollectTracing2", session { providers = { { name = "A", arguments = bad } } },
        "arguments of a provider is not UTF-8, or has a zero inside")
    end
    local many = {}
    for i = 1, 1001 do many[i] = { name = "A" } end
    refused("CollectTracing2", session { providers = many }, "providers has more than 1000")
    many[1001] = nil
    assert.equal(1000, #sent("CollectTracing2", session { providers = many }).providers)
    refused("CollectTracing2", session { providers = { { name = ("x"):rep(40000) } } },
      "the request is longer than 65535 bytes")
    refused("StopTracing", {}, "session is 0")
    refused("SetEnvironmentVariable", { name = "A=B" }, "name has a '='")
    refused("SetEnvironmentVariable", {}, "name is empty")
    refused("EnablePerfMap", { perf_map_type = 9 }, "perf_map_type must be 0 to 3")
    refused("GenerateCoreDump", { path = "/c", dump_type = 5 }, "dump_type must be 1 to 4")
    refused("GenerateCoreDump2", { path = "/c", dump_type = 1, dump_flags = 8 },
      "dump_flags must be 0 to 7")
    refused("GenerateCoreDump", { dump_type = 1 }, "path is empty")
    refused("StartupProfiler", { path = "/p", clsid = "short" }, "clsid must be 16 bytes")
  end)

  it("never send an absent string as more than four zero bytes", function()
    local bytes <const> = core.ipc_request("CollectTracing2",
      { providers = { { name = "A", arguments = "" } } })
    assert.equal("\2\0\0\0A\0\0\0\0\0\0\0", bytes:sub(-12))
  end)

  it("raise on wrong use", function()
    assert.error_matches(function() core.ipc_request("StopTracing", { sesion = 1 }) end,
      "unknown option 'sesion'")
    assert.error_matches(function() core.ipc_request("StopTracing", { session = "1" }) end,
      "must be an integer")
    assert.error_matches(function() core.ipc_request("CollectTracing", { buffer_mb = -1 }) end,
      "out of range")
    assert.error_matches(function() core.ipc_request("CollectTracing", { providers = { 1 } }) end,
      "table expected")
    assert.error_matches(function()
      core.ipc_request("CollectTracing5", { providers = { { name = "A", ids = { 1.5 } } } })
    end, "event ids must be integers")
  end)
end)

describe("binding: replies of the diagnostics protocol", function()
  local FACTS <const> = { pid = 4711, command_line = "/opt/api --x", entry_assembly = "api",
    version = "10.0.9", architecture = "arm64" }

  it("tell about the process", function()
    local one <const> = answer("ProcessInfo", wire.ok(wire.info(1, FACTS)))
    assert.same({ ok = true, pid = 4711, cookie = wire.COOKIE_TEXT, command_line = "/opt/api --x",
      system = "Linux", architecture = "arm64" }, one)
    local two <const> = answer("ProcessInfo2", wire.ok(wire.info(2, FACTS)))
    assert.same({ "api", "10.0.9" }, { two.entry_assembly, two.version })
    local three <const> = answer("ProcessInfo3", wire.ok(wire.info(3, FACTS)))
    assert.same({ "api", "10.0.9", "linux-x64" },
      { three.entry_assembly, three.version, three.rid })
    -- A later version appends to the payload.
    local longer <const> = answer("ProcessInfo3", wire.ok(wire.info(3, FACTS) .. "more"))
    assert.equal("api", longer.entry_assembly)
  end)

  it("tell the session, and leave its stream alone", function()
    for size = 1, 40 do
      local reply <const> = core.ipc_reply "CollectTracing2"
      local done, rest = feed(reply, wire.ok(("<I8"):pack(-77)) .. "Nettrace\20\0\0\0", size)
      assert.is_true(done)
      assert.equal("Nettrace\20\0\0\0", rest)
      assert.same({ ok = true, session = -77 }, reply:answer())
    end
  end)

  it("carry the environment, byte by byte too", function()
    local payload, body = wire.environment { "A=1", "B=ü=\u{1f600}", "EMPTY=" }
    for _, size in ipairs { 1, 2, 7, 19, 20, 21, 1000 } do
      local reply <const> = core.ipc_reply "ProcessEnvironment"
      assert.is_true(assert(feed(reply, wire.ok(payload) .. body, size)))
      assert.same({ "A=1", "B=ü=\u{1f600}", "EMPTY=" }, reply:answer().environment)
    end
    local none <const> = core.ipc_reply "ProcessEnvironment"
    assert.is_true(assert(none:feed(wire.ok("\0\0\0\0\0\0"))))
    assert.same({}, none:answer().environment)
  end)

  it("tell why the runtime refused", function()
    local fail <const> = answer("CollectTracing2", wire.error(0x80131385))
    assert.same({ ok = false, hresult = 0x80131385 }, fail)
    assert.same({ ok = false, hresult = 0x80004005, error = "no ptrace" },
      answer("GenerateCoreDump3", wire.error(0x80004005, "no ptrace")))
    assert.same({ ok = false, hresult = 0 }, answer("StopTracing", wire.message(0xff, 0xff)))
    assert.same({ ok = false, hresult = 0 }, answer("StopTracing", wire.message(0xff, 0xff, "\1")))
  end)

  it("name the codes that runtimes answer with", function()
    local seen = {}
    for _, row in ipairs(core.ipc_hresults()) do
      assert.is_true(row.code > 0 and row.code < 1 << 32)
      assert.truthy(row.name and row.meaning)
      assert.is_nil(seen[row.code])
      seen[row.code] = row
      assert.same(row, core.ipc_hresult(row.code))
    end
    assert.equal("UnknownCommand", core.ipc_hresult(0x80131385).name)
    assert.is_nil(core.ipc_hresult(0x80131399))
  end)

  it("are refused when they make no sense", function()
    local function refused(bytes, why)
      local reply <const> = core.ipc_reply "ProcessInfo2"
      local done, message, code = reply:feed(bytes)
      assert.is_nil(done)
      assert.equal("malformed", code)
      assert.equal("not a reply: " .. why, message)
      assert.is_nil((reply:feed "more"))
      assert.error_matches(function() reply:answer() end, "not complete")
    end
    refused("HTTP/1.1 400 Bad Request\r\n", "does not begin with DOTNET_IPC_V1")
    refused("DOTNET_IPC_V1\0\x13\0\xff\0\0\0", "size 19 is less than a header")
    refused(wire.message(4, 0), "command set 4 is no reply")
    refused(wire.message(0xff, 7), "reply id 7 is unknown")
    refused(wire.ok(), "payload is too short")
    refused(wire.ok(wire.info(2, FACTS):sub(1, -2)), "payload is too short")
    refused(wire.ok(("\0"):rep(24) .. "\xff\xff\xff\xff"), "payload is too short")
    local environment <const> = core.ipc_reply "ProcessEnvironment"
    assert.same(
      { nil, "not a reply: environment of 4294967295 bytes is not believed", "malformed" },
      { environment:feed(wire.ok("\xff\xff\xff\xff\0\0")) })
    local short <const> = core.ipc_reply "ProcessEnvironment"
    assert.same({ nil, "not a reply: environment is shorter than its count", "malformed" },
      { short:feed(wire.ok("\4\0\0\0\0\0") .. "\2\0\0\0") })
  end)

  it("are truncated when the connection ends inside them", function()
    local bytes <const> = wire.ok(wire.info(2, FACTS))
    for cut = 0, #bytes - 1 do
      local reply <const> = core.ipc_reply "ProcessInfo2"
      assert.is_false((reply:feed(bytes:sub(1, cut))))
      local done, message, code = reply:finish()
      assert.is_nil(done)
      assert.equal("truncated", code)
      assert.matches("^the connection ended after %d+ of %d+ bytes", message)
    end
    local payload, body = wire.environment { "A=1", "B=2" }
    local reply <const> = core.ipc_reply "ProcessEnvironment"
    assert.is_false((reply:feed(wire.ok(payload) .. body:sub(1, -2))))
    assert.equal("truncated", select(3, reply:finish()))
  end)

  it("survive any byte changed and any cut", function()
    local payload, body = wire.environment { "A=1", "B=2" }
    local whole <const> = {
      ProcessInfo3 = wire.ok(wire.info(3, FACTS)), ProcessEnvironment = wire.ok(payload) .. body,
      CollectTracing2 = wire.ok(("<I8"):pack(5)), GenerateCoreDump3 = wire.error(1, "words"),
    }
    for command, bytes in pairs(whole) do
      for at = 1, #bytes do
        for _, other in ipairs { 0, 1, 0x7f, 0x80, 0xff } do
          local changed <const> = bytes:sub(1, at - 1) .. string.char(other) .. bytes:sub(at + 1)
          local reply <const> = core.ipc_reply(command)
          local done = feed(reply, changed, 1 + at % 9)
          if done == false then done = reply:finish() end
          if done then assert.is_boolean(reply:answer().ok) end
        end
      end
    end
  end)

  it("cannot be used when closed", function()
    local reply <const> = core.ipc_reply "ProcessInfo"
    reply:close()
    reply:close()
    assert.error_matches(function() reply:feed "" end, "closed reply")
  end)
end)

describe("binding: the greeting of a reverse connection", function()
  it("tells pid and cookie", function()
    for size = 1, 35 do
      local greeting <const> = core.ipc_advertise()
      local done, rest = feed(greeting, wire.advertise(1 << 40) .. "DOTNET", size)
      assert.is_true(done)
      assert.equal("DOTNET", rest)
      assert.same({ pid = 1 << 40, cookie = wire.COOKIE_TEXT }, greeting:answer())
    end
  end)

  it("is refused at the first wrong byte", function()
    for at = 1, 8 do
      local bytes <const> = ("ADVR_V1\0"):sub(1, at - 1) .. "?"
      local done, message, code = core.ipc_advertise():feed(bytes)
      assert.same({ nil, "not the greeting of a .NET runtime", "malformed" },
        { done, message, code })
    end
    local greeting <const> = core.ipc_advertise()
    assert.is_false((greeting:feed(wire.advertise(1):sub(1, 33))))
    assert.error_matches(function() greeting:answer() end, "not complete")
  end)
end)
