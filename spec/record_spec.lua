local dkjson <const> = require "dkjson"
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"

local MS <const> = 1000000

-- After every test the target still answers and no session is left open.
local function assert_unharmed(process)
  local target <const> = assert(sonde.target(process.pid))
  assert(target:info())
  assert.is_true(dotnet.has_no_sessions(process.pid))
end

local function with_idle(use, version, opts)
  local process <close> = dotnet.start("idle", version or "10.0", opts)
  helper.in_directory(function(directory) use(process, directory) end)
end

-- Runs `sonde record` beside the test.
local function record(directory, ...)
  local process <const> = dotnet.spawn({ "sh", "-c",
    'exec "$@" 2>' .. helper.quote(directory .. "/err"), "sh", helper.command, "record", ... })
  -- What it said so far.
  function process.said() return helper.read(directory .. "/err") or "" end
  function process:await(pattern)
    for _ = 1, 1500 do
      if self.said():find(pattern) then return true end
      loop.sleep(20 * MS)
    end
    error(("'%s' was not said, but: %s"):format(pattern, self.said()))
  end
  -- Waits until something has come: how soon depends on how busy the machine is.
  function process.await_bytes(n)
    for _ = 1, 1500 do
      local size <const> = helper.run("stat -c %s " .. directory .. "/*.part 2>/dev/null")
      if (tonumber(size:match "%d+") or 0) >= n then return true end
      loop.sleep(20 * MS)
    end
    error("nothing came")
  end
  return process
end

local function inspect(path)
  return dkjson.decode((helper.sonde("inspect", "--json", path)))
end

describe("sonde record", function()
  for _, version in ipairs { "3.1", "8.0", "9.0", "10.0" } do
    it("records a process of .NET " .. version, function()
      with_idle(function(process, directory)
        local path <const> = directory .. "/out.nettrace"
        local out, status, err = helper.sonde("record", "-p", tostring(process.pid), "--duration",
          "1s", "-o", path)
        assert.equal(0, status, err)
        assert.equal("", out)
        assert.matches("stopped after [%d.]+s: the time is over", err)
        assert.matches("wrote .*out.nettrace %(.* events, .* samples%)\ntry: sonde ", err)
        local facts <const> = inspect(path)
        assert.is_false(facts.truncated)
        assert.equal(0, facts.lost)
        assert.equal("complete", facts.rundown)
        assert.is_true(facts.samples > 100)
        assert.is_true(facts.methods > 300)
        assert.equal("out.nettrace\n", (helper.run("ls " .. directory)))
        assert_unharmed(process)
      end, version)
    end)
  end

  it("writes another format when the output's name says so", function()
    with_idle(function(process, directory)
      local pid <const> = tostring(process.pid)
      local _, status, err = helper.sonde("record", pid, "--duration", "500ms", "-o",
        directory .. "/out.folded")
      assert.equal(0, status, err)
      assert.matches("Sleeper", helper.read(directory .. "/out.folded"))
      _, status, err = helper.sonde("record", pid, "--duration", "500ms", "-o",
        directory .. "/out.pb.gz", "--view", "managed")
      assert.equal(0, status, err)
      assert.truthy(sonde.open(directory .. "/out.pb.gz"))
      assert_unharmed(process)
    end)
  end)

  it("takes two recordings of one process at once", function()
    with_idle(function(process, directory)
      local pid <const> = tostring(process.pid)
      helper.run(("mkdir %s/a %s/b"):format(directory, directory))
      local a <close> = record(directory .. "/a", pid, "--duration", "1s", "-o",
        directory .. "/a.nettrace")
      local b <close> = record(directory .. "/b", pid, "--duration", "1s", "-o",
        directory .. "/b.nettrace", "--profile", "exceptions")
      assert.equal(0, a:wait(60), a.said())
      assert.equal(0, b:wait(60), b.said())
      assert.equal("complete", inspect(directory .. "/a.nettrace").rundown)
      assert.equal(0, inspect(directory .. "/b.nettrace").samples)
      assert_unharmed(process)
    end)
  end)

  it("ends with the whole rundown at Ctrl-C and at SIGTERM", function()
    with_idle(function(process, directory)
      for _, signal in ipairs { 2, 15 } do
        local path <const> = ("%s/%d.nettrace"):format(directory, signal)
        local recorder <close> = record(directory, tostring(process.pid), "-o", path)
        recorder:await "recording process"
        recorder.await_bytes(10000)
        recorder:kill(signal)
        assert.equal(0, recorder:wait(60), recorder.said())
        assert.matches("Ctrl%-C again does not wait", recorder.said())
        local facts <const> = inspect(path)
        assert.same({ false, "complete" }, { facts.truncated, facts.rundown })
        assert_unharmed(process)
      end
    end)
  end)

  it("gives up at a second Ctrl-C, and leaves a readable file", function()
    with_idle(function(process, directory)
      local path <const> = directory .. "/out.nettrace"
      local recorder <close> = record(directory, tostring(process.pid), "-o", path)
      recorder:await "recording process"
      recorder.await_bytes(50000)
      process:kill(19)   -- so that no rundown comes
      recorder:kill(2)
      recorder:await "Ctrl%-C again"
      recorder:kill(2)
      assert.equal(5, recorder:wait(60), recorder.said())
      assert.matches("given up before the stream had ended", recorder.said())
      process:kill(18)
      local facts <const> = inspect(path)
      assert.is_true(facts.samples > 100)
      assert_unharmed(process)
    end)
  end)

  it("reports the death of the process, and its file stands", function()
    with_idle(function(process, directory)
      local path <const> = directory .. "/out.nettrace"
      local recorder <close> = record(directory, tostring(process.pid), "-o", path)
      recorder:await "recording process"
      recorder.await_bytes(50000)
      process:kill(9)
      assert.equal(4, recorder:wait(60), recorder.said())
      assert.matches("the process ended", recorder.said())
      assert.matches("its trace has no end", recorder.said())
      local facts <const> = inspect(path)
      assert.is_true(facts.samples > 100)
      assert.is_true(facts.truncated)
    end)
  end)

  it("reports a process that crashes", function()
    with_idle(function(process, directory)
      local path <const> = directory .. "/out.nettrace"
      local recorder <close> = record(directory, tostring(process.pid), "-o", path)
      recorder:await "recording process"
      recorder.await_bytes(10000)
      process.stdin:write "crash\n"
      local status <const> = recorder:wait(60)
      assert.matches("the process ended", recorder.said())
      -- It depends on the runtime whether a crash still ends its sessions.
      local facts <const> = inspect(path)
      assert.equal(facts.truncated and 4 or 0, status, recorder.said())
      if facts.truncated then assert.matches("its trace has no end", recorder.said()) end
      assert.is_true(facts.samples > 0)
    end)
  end)

  it("has the whole trace of a process that ends as it should", function()
    -- From .NET 10 on, SIGTERM ends a program at once that does not ask for it.
    for version, how in pairs { ["9.0"] = "SIGTERM", ["10.0"] = "quit" } do
      with_idle(function(process, directory)
        local path <const> = directory .. "/out.nettrace"
        local recorder <close> = record(directory, tostring(process.pid), "-o", path)
        recorder:await "recording process"
        recorder.await_bytes(10000)
        if how == "quit" then process:command "quit" else process:kill(15) end
        assert.equal(0, recorder:wait(60), recorder.said())
        assert.matches("the process ended", recorder.said())
        local facts <const> = inspect(path)
        assert.same({ false, "complete" }, { facts.truncated, facts.rundown })
      end, version)
    end
  end)

  it("stops at a size, and the file has its rundown", function()
    with_idle(function(process, directory)
      local path <const> = directory .. "/out.nettrace"
      local _, status, err = helper.sonde("record", tostring(process.pid), "--max-size", "50k",
        "-o", path)
      assert.equal(0, status, err)
      assert.matches("the size is reached", err)
      assert.equal("complete", inspect(path).rundown)
      assert_unharmed(process)
    end)
  end)

  it("reports what a small buffer loses", function()
    with_idle(function(process, directory)
      local path <const> = directory .. "/out.nettrace"
      local recorder <close> = record(directory, tostring(process.pid), "-o", path, "--buffer",
        "1MiB", "--profile", "exceptions")
      recorder:await "recording process"
      process:command "throw 3000"
      recorder:kill(19)
      process:command "throw 20000"
      recorder:kill(18)
      recorder:kill(2)
      assert.equal(0, recorder:wait(60), recorder.said())
      assert.matches("events were lost: the buffer was too small", recorder.said())
      assert.matches("%-%-buffer", recorder.said())
      assert.is_true(inspect(path).lost > 0)
      assert_unharmed(process)
    end)
  end)

  it("stops when the disk is full, and says so", function()
    with_idle(function(process)
      local _, status, err = helper.sonde("record", tostring(process.pid), "-o", "/dev/full")
      assert.equal(3, status)
      assert.matches("/dev/full: No space left on device", err)
      assert_unharmed(process)
      _, status, err = helper.sonde("record", tostring(process.pid), "-o", "/no/such/folder/x")
      assert.equal(3, status)
      assert.matches("/no/such/folder/x: no such file or directory", err)
      assert_unharmed(process)
    end)
  end)

  it("records a process in a mount and pid namespace of its own", function()
    local outer <close>, pid <const> = dotnet.start_apart("idle", "10.0")
    helper.in_directory(function(directory)
      local path <const> = directory .. "/apart.nettrace"
      local _, status, err = helper.sonde("record", "-p", tostring(pid), "--duration", "1s",
        "-o", path)
      assert.equal(0, status, err)
      local trace <const> = assert(sonde.open(path))
      assert.is_true(trace:counts().ended)
      assert.equal("complete", trace:counts().rundown)
      assert.equal(1, trace:info().process_id)
      -- The clocks that we read are those of the threads that the runtime names.
      local clocks, sampled = {}, 0
      for event in sonde.events(path, { provider = "Sonde" }) do clocks[event.thread] = true end
      for _, thread in ipairs(trace:threads()) do
        if thread.samples > 0 then
          sampled = sampled + 1
          assert.is_true(clocks[thread.id], "no clock of thread " .. thread.id)
        end
      end
      assert.is_true(sampled > 0)
    end)
    assert.is_true(dotnet.has_no_sessions(pid))
    assert.truthy(outer)
  end)

  it("says which provider gave nothing", function()
    with_idle(function(process, directory)
      local _, status, err = helper.sonde("record", tostring(process.pid), "--duration", "300ms",
        "--profile", "exceptions", "--provider", "No-Such-Source", "-o",
        directory .. "/out.nettrace")
      assert.equal(0, status)
      assert.matches("nothing came from No%-Such%-Source", err)
      assert.is_nil(err:find("nothing came from Microsoft", 1, true))
      assert_unharmed(process)
    end)
  end)

  it("never hangs on a process that is stopped", function()
    with_idle(function(process)
      process:kill(19)
      local began <const> = loop.now()
      local _, status, err = helper.sonde("record", tostring(process.pid), "--duration", "1s",
        "-o", "/dev/null")
      process:kill(18)
      assert.equal(3, status)
      assert.matches("does not answer: it is stopped", err)
      assert.is_true(loop.now() - began < 20000 * MS)
      assert_unharmed(process)
    end)
  end)

  it("knows what to do and what not", function()
    local function refused(status, pattern, ...)
      local _, its, err = helper.sonde("record", ...)
      assert.equal(status, its)
      assert.matches(pattern, err)
    end
    refused(2, "which process", "--duration", "1s")
    refused(3, "no process 999999999", "999999999")
    with_idle(function(process)
      local pid <const> = tostring(process.pid)
      refused(2, "did you mean 'cpu'", pid, "--profile", "cpuu")
      refused(2, "keyword 'nix' is not known", pid, "--provider", "X:nix")
      refused(2, "duration", pid, "--duration", "1")
    end)
  end)
end)

describe("sessions of a real runtime", function()
  it("are 64, and the next is refused", function()
    with_idle(function(process)
      local target <const> = assert(sonde.target(process.pid))
      local sessions = {}
      local opts <const> = { rundown = false, decode = false, buffer_mb = 1,
        providers = { { name = "No-Such-Source" } } }
      opts.timeout = "60s"   -- a machine that is busy is no reason
      for i = 1, 64 do sessions[i] = assert(target:trace(opts)) end
      local more, message, code, hint, hresult = target:trace(opts)
      assert.is_nil(more)
      assert.matches("refused CollectTracing2: .*0x80004005", message)
      assert.equal("runtime_error", code)
      assert.matches("64 sessions", hint)
      assert.equal(0x80004005, hresult)
      for _, one in ipairs(sessions) do one:begin_stop() end
      for _, one in ipairs(sessions) do assert(one:stop { timeout = "100s" }) end
      assert_unharmed(process)
    end)
  end)

  it("fall back by version", function()
    for version, wanted in pairs { ["8.0"] = "CollectTracing2", ["9.0"] = "CollectTracing4",
      ["10.0"] = "CollectTracing5", ["3.1"] = "CollectTracing2" } do
      with_idle(function(process)
        local target <const> = assert(sonde.target(process.pid))
        local session <const> = assert(target:trace { block = true, stackwalk = false,
          rundown_keyword = 0x38 })
        assert.equal(wanted, session.command)
        session:wait { timeout = "200ms" }
        assert(session:stop())
        assert.equal("complete", session:counts().rundown)
        assert_unharmed(process)
      end, version)
    end
  end)

  it("leave out the rundown when they are told to", function()
    with_idle(function(process)
      local target <const> = assert(sonde.target(process.pid))
      local session <const> = assert(target:trace { rundown = false })
      session:wait { timeout = "300ms" }
      assert(session:stop())
      assert.equal("none", session:counts().rundown)
      assert.is_true(session:counts().complete)
      assert_unharmed(process)
    end)
  end)

  it("may be started while the process waits at its start", function()
    local process <close> = dotnet.start("idle", "10.0",
      { env = { DOTNET_DefaultDiagnosticPortSuspend = "1" }, wait = false })
    local target
    for _ = 1, 200 do
      target = sonde.target(process.pid)
      if target then break end
      loop.sleep(10 * MS)
    end
    local session <const> = assert(target:trace {})
    assert.is_true(target:resume())
    assert.truthy(process:line "^ready")
    assert(session:stop())
    -- The start itself is in it.
    local names = {}
    for _, method in ipairs(session:trace():methods()) do names[method.name] = true end
    assert.is_true(names.Main)
    assert_unharmed(process)
  end)
end)
