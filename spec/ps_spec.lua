local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local targets <const> = require "sonde.targets"

local dkjson <const> = require "dkjson"

-- The row of a process in `sonde ps --json`; nil when it is not listed.
local function row_of(pid, ...)
  for _, row in ipairs(helper.json_lines((helper.sonde("ps", "--json", ...)))) do
    if row.pid == pid then return row end
  end
end

-- A target of .NET 10 that is ready, ended when the test is over.
local function with_idle(opts, use)
  local process <close> = dotnet.start("idle", "10.0", opts)
  use(process)
end

describe("sonde ps", function()
  for _, version in ipairs { "3.1", "8.0", "9.0", "10.0" } do
    it("knows a process of .NET " .. version, function()
      local process <close> = dotnet.start("idle", version)
      local row <const> = row_of(process.pid)
      local stat <const> = helper.read("/proc/" .. process.pid .. "/stat")
      local start_time <const> = stat:match("%) " .. ("%S+ "):rep(19) .. "(%d+)")
      assert.equal(math.tointeger(tonumber(start_time)), row.start_time)
      assert.matches("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$", row.started)
      assert.equal("dotnet", row.runtime)
      assert.equal(version, row.version:match("^%d+%.%d+"))
      assert.equal("target-idle", row.name)
      assert.same({ "record", "dump" }, row.can)
      assert.same({}, row.reasons)
      assert.matches("^x64$", row.architecture)
    end)
  end

  it("says what to do in a table and in JSON", function()
    with_idle({}, function(process)
      local out, status = helper.sonde "ps"
      assert.equal(0, status)
      assert.matches("PID +USER +RUNTIME +ARCH +NAME", out)
      assert.matches(process.pid
        .. " +%S+ +%.NET 10%.%d+%.%d+ +x64 +target%-idle .*record dump", out)
      local first <const> = helper.json_lines((helper.sonde("ps", "--json")))[1]
      assert.equal(1, first.schema)
      local all <const> = helper.json_lines((helper.sonde("ps", "--json", "--all")))
      local plain
      for _, row in ipairs(all) do
        if row.runtime == nil then plain = row end
      end
      assert.same({}, plain.can)
      assert.truthy(plain.reasons.record)
    end)
  end)

  it("tells why diagnostics are off", function()
    for variable, why in pairs {
      DOTNET_EnableDiagnostics = "switched off: DOTNET_EnableDiagnostics=0",
      DOTNET_EnableDiagnostics_IPC = "switched off: DOTNET_EnableDiagnostics_IPC=0",
    } do
      with_idle({ env = { [variable] = "0" } }, function(process)
        local row <const> = row_of(process.pid)
        assert.same({}, row.can)
        assert.matches(why, row.reasons.record, 1, true)
        local target, message, code, hint = targets.open(process.pid)
        assert.is_nil(target)
        assert.matches(why, message, 1, true)
        assert.same({ "no_endpoint", "restart it without that" }, { code, hint })
        local _, status = helper.sonde("info", tostring(process.pid))
        assert.equal(3, status)
      end)
    end
  end)

  it("finds the socket in the process's own TMPDIR", function()
    helper.in_directory(function(directory)
      with_idle({ env = { TMPDIR = directory } }, function(process)
        assert.same({ "record", "dump" }, row_of(process.pid).can)
        assert.equal(directory, targets.open(process.pid).endpoint.path:match("^(.*)/"))
      end)
      -- A socket of 100 to 107 bytes is one that .NET still makes.
      local long <const> = directory .. "/" .. ("t"):rep(60 - #directory)
      helper.run("mkdir " .. long)
      with_idle({ env = { TMPDIR = long } }, function(process)
        assert.same({ "record", "dump" }, row_of(process.pid).can)
      end)
      local too_long <const> = directory .. "/" .. ("t"):rep(120 - #directory)
      helper.run("mkdir " .. too_long)
      with_idle({ env = { TMPDIR = too_long } }, function(process)
        assert.matches("TMPDIR is so long that the socket's path would have %d+ bytes",
          row_of(process.pid).reasons.record)
      end)
    end)
    with_idle({ env = { TMPDIR = "/nowhere/at/all" } }, function(process)
      assert.matches("its TMPDIR /nowhere/at/all does not exist, so .NET made no socket",
        row_of(process.pid).reasons.record, 1, true)
    end)
  end)

  it("sees into other mount and pid namespaces", function()
    local outer <close>, pid <const> = dotnet.start_apart("idle", "10.0")
    assert.truthy(outer)
    local row <const> = row_of(pid)
    assert.same({ "record", "dump" }, row.can)
    local target <const> = targets.open(pid)
    assert.equal(("/proc/%d/root/tmp"):format(pid), target.endpoint.path:match("^(.*)/"))
    assert.equal(1, target:info().pid)
    local info <const> = dkjson.decode((helper.sonde("info", tostring(pid), "--json")))
    assert.equal(1, info.inner_pid)
  end)

  it("does not fall for a stale socket", function()
    local target, message, code
    do
      local process <close> = dotnet.start("idle", "10.0")
      local stale <const> = targets.open(process.pid).endpoint.path
      process:kill(9)
      process:wait()
      assert.truthy(require("sonde.base.uv").fs_stat(stale))
      target, message, code = targets.open { socket = stale }
    end
    assert.is_nil(target)
    assert.matches("nobody listens", message)
    assert.equal("no_endpoint", code)
    -- One of another start time beside the right one is not taken.
    with_idle({}, function(process)
      local path <const> = targets.open(process.pid).endpoint.path
      local older <const> = path:gsub("%d+%-socket$", "1-socket")
      require("sonde.c.core").unix_listen(older):close()
      assert.equal(path, targets.open(process.pid).endpoint.path)
      os.remove(path)
      target, message, code = targets.open(process.pid)
      os.remove(older)
      assert.is_nil(target)
      assert.matches("its socket is gone; .* was left by an earlier process", message)
      assert.equal("no_endpoint", code)
    end)
  end)

  it("notices a process that waits at its start, and one that is stopped", function()
    local process <close> = dotnet.start("idle", "10.0",
      { env = { DOTNET_DefaultDiagnosticPortSuspend = "1" }, wait = false })
    local row
    for _ = 1, 100 do
      row = row_of(process.pid)
      if row and row.suspended then break end
    end
    assert.is_true(row.suspended)
    assert.matches("suspended at its start", row.reasons.record)
    local target <const> = assert(targets.open(process.pid))
    assert.equal("target-idle", target:info().entry_assembly)
    assert.is_true(target:resume())
    assert.truthy(process:line "^ready")
    assert.same({ "record", "dump" }, row_of(process.pid).can)
    process:kill(19)
    assert.matches("it is stopped", row_of(process.pid).reasons.record)
    local _, status, err = helper.sonde("info", tostring(process.pid))
    assert.equal(3, status)
    assert.matches("does not answer: it is stopped %(SIGSTOP or a debugger%)", err)
    assert.matches("try: kill %-CONT", err)
    process:kill(18)
    assert.truthy(target:environment().PATH)
  end)

  it("tells of other users' processes what can be known", function()
    local own <const> = helper.run "id -u"
    if own ~= "0\n" then helper.skip "needs root, to be another user" end
    with_idle({}, function(process)
      local out, status, err = helper.run(("setpriv --reuid 65534 --clear-groups %s ps --json")
        :format(helper.quote(helper.command)))
      if status == 127 or err:find("ermission denied") and out == "" then
        helper.skip "another user cannot run the command here"
      end
      local row
      for _, candidate in ipairs(helper.json_lines(out)) do
        if candidate.pid == process.pid then row = candidate end
      end
      assert.same({}, row.can)
      assert.matches("belongs to user root %(uid 0%), and only that user and root may connect",
        row.reasons.record)
    end)
  end)
end)

describe("a target", function()
  it("is found by pid, by name and by socket", function()
    helper.in_directory(function(directory)
      -- Whoever else runs the program, this name is nobody's.
      local name <const> = ("Only%d"):format(require("sonde.base.uv").os_getpid())
      local link <const> = directory .. "/" .. name
      helper.run(("ln -s %s %s"):format(helper.quote(dotnet.program("idle", "10.0")), link))
      local process <close> = dotnet.spawn { link }
      assert.truthy(process:line "^ready")
      local target <const> = assert(targets.open(process.pid))
      assert.equal(("target: process %d (%s)"):format(process.pid, name), tostring(target))
      assert.equal(process.pid, targets.open(tostring(process.pid)).pid)
      for _, word in ipairs { name, name:lower(), name:sub(2, -2) } do
        assert.equal(process.pid, assert(targets.open(word)).pid)
      end
      local by_socket <const> = assert(targets.open { socket = target.endpoint.path })
      assert.equal(process.pid, by_socket.pid)
      assert.matches("^10%.", by_socket:info().version)
      local other <close> = dotnet.spawn { link }
      assert.truthy(other:line "^ready")
      local none, message, code = targets.open(name)
      assert.is_nil(none)
      assert.matches("^'" .. name .. "' is 2 processes: ", message)
      assert.matches(tostring(process.pid), message)
      assert.matches(tostring(other.pid), message)
      assert.equal("not_found", code)
    end)
    local none, message, code = targets.open "no-such-name"
    assert.same({ nil, "no .NET or Go process is called 'no-such-name'", "not_found" },
      { none, message, code })
    none, message, code = targets.open(999999999)
    assert.same({ nil, "no process 999999999", "not_found" }, { none, message, code })
    assert.error_matches(function() targets.open(nil) end, "bad target")
  end)

  it("is no longer one when its pid belongs to another process", function()
    with_idle({}, function(process)
      local target <const> = assert(targets.open(process.pid))
      target.start_time = target.start_time - 1
      local info, message, code = target:info()
      assert.is_nil(info)
      assert.matches("its number is another process's now", message)
      assert.equal("not_found", code)
    end)
  end)

  it("is not a process without .NET", function()
    local process <close> = dotnet.spawn { "sleep", "30" }
    local target, message, code = targets.open(process.pid)
    assert.is_nil(target)
    assert.matches("^process %d+ %(sleep%) has no diagnostics socket, or not yet$", message)
    assert.equal("no_endpoint", code)
  end)

  it("is not a part of the kernel", function()
    local stat <const> = require("sonde.process.proc").stat(2)
    if stat == nil or not stat.kernel then helper.skip "no kernel threads are seen here" end
    local _, status, err = helper.sonde("info", "2")
    assert.equal(3, status)
    assert.matches("is part of the kernel", err)
  end)
end)

describe("sonde info", function()
  it("gives facts and the environment, secrets masked", function()
    local env <const> = { DB_PASSWORD = "hunter2", API_URL = "http://u:pw@host/x", PLAIN = "yes",
      CONN = "Server=db;User=sa;Password=p;x" }
    with_idle({ env = env, args = { "stay", "--api-key=abc" } }, function(process)
      local out, status = helper.sonde("info", tostring(process.pid), "--json")
      assert.equal(0, status)
      local info <const> = dkjson.decode(out)
      assert.equal(1, info.schema)
      assert.equal(process.pid, info.pid)
      assert.equal("target-idle", info.entry_assembly)
      assert.matches("^10%.", info.version)
      assert.equal("linux-x64", info.rid)
      assert.matches("^%x+%-%x+%-%x+%-%x+%-%x+$", info.cookie)
      assert.equal("***", info.environment.DB_PASSWORD)
      assert.equal("http://u:***@host/x", info.environment.API_URL)
      assert.equal("yes", info.environment.PLAIN)
      assert.equal("Server=db;User=sa;Password=***;x", info.environment.CONN)
      assert.same({ "stay", "--api-key=***" }, { table.unpack(info.command_line, 2) })
      out = helper.sonde("info", tostring(process.pid), "--json", "--show-secrets")
      assert.equal("hunter2", dkjson.decode(out).environment.DB_PASSWORD)
      out = helper.sonde("info", tostring(process.pid))
      assert.matches("runtime +%.NET 10", out)
      assert.matches("DB_PASSWORD=%*%*%*", out)
    end)
  end)

  it("needs to know which process", function()
    local _, status, err = helper.sonde "info"
    assert.equal(2, status)
    assert.matches("which process", err)
  end)
end)
