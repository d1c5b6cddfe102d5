local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local function with_idle(use, version)
  local process <close> = dotnet.start("idle", version or "10.0")
  use(process)
end

-- The names of a thread's frames, innermost first.
local function stack_of(row)
  local names = {}
  for i, frame in ipairs(row.frames) do names[i] = frame.func end
  return table.concat(names, " < ")
end

local function dump_of(pid)
  local out, status, err = helper.sonde("dump", tostring(pid), "--json")
  assert.equal(0, status, err)
  return helper.json_lines(out)
end

local function find(rows, pattern)
  for _, row in ipairs(rows) do
    if stack_of(row):find(pattern) then return row end
  end
end

describe("sonde dump", function()
  for _, version in ipairs { "3.1", "8.0", "9.0", "10.0" } do
    it("shows what each thread does, of .NET " .. version, function()
      with_idle(function(process)
        local rows <const> = dump_of(process.pid)
        assert.equal(1, rows[1].schema)
        local sleeper <const> = assert(find(rows, "Targets%.Idle%.Program%.Sleeper"))
        local main <const> = assert(find(rows, "ReadLine < Targets%.Idle%.Program%.Main"))
        assert.truthy(find(rows, "Targets%.Idle%.Program%.Blocked"))
        assert.truthy(find(rows, "Targets%.Idle%.Program%.Holder"))
        assert.equal(process.pid, main.thread_id)
        assert.equal("sleeping", sleeper.state)
        assert.equal(sleeper.samples, sleeper.same)
        assert.is_true(sleeper.samples > 0)
        assert.matches("^0x%x+$", main.frames[1].ip)
        if version ~= "3.1" then assert.equal("sleeper", sleeper.thread_name) end
        assert.truthy(require("sonde").target(process.pid):info())
        assert.is_true(dotnet.has_no_sessions(process.pid))
      end, version)
    end)
  end

  it("groups threads with equal stacks", function()
    with_idle(function(process)
      local out, status = helper.sonde("dump", tostring(process.pid))
      assert.equal(0, status)
      assert.matches("^dump of process %d+ %(target%-idle%): %d+ threads\n", out)
      assert.matches('thread %d+ "sleeper" sleeping\n', out)
      local dump <const> = assert(sonde.target(process.pid):dump())
      local n = 0
      for _, group in ipairs(dump:groups()) do n = n + #group.threads end
      assert.equal(#dump.threads, n)
      assert.equal(#dump.threads, dump:profile():total(1))
    end)
  end)

  it("covers a tree of processes", function()
    local program <const> = dotnet.program("idle", "10.0")
    local outer <close> = dotnet.spawn { "sh", "-c",
      ("tail -f /dev/null | %s & a=$!; %s; kill $a"):format(program, program) }
    assert(outer:line "^ready")
    assert(outer:line "^ready")
    -- The shell itself is no .NET process: the tree begins with one that is.
    local pids = {}
    for _, row in ipairs(sonde.targets()) do
      if require("sonde.process.proc").descends(row.pid, outer.pid) then
        pids[#pids + 1] = row.pid
      end
    end
    assert.equal(2, #pids)
    local out <const> = helper.sonde("dump", "--tree", tostring(pids[1]))
    assert.matches("^dump of process " .. pids[1], out)
    outer:command "quit"
    for _, pid in ipairs(pids) do require("sonde.base.uv").kill(pid, 9) end
  end)

  it("does not hang on a process that is stopped", function()
    with_idle(function(process)
      process:kill(19)
      local _, status, err = helper.sonde("dump", tostring(process.pid))
      process:kill(18)
      assert.equal(3, status)
      assert.matches("it is stopped", err)
    end)
  end)
end)
