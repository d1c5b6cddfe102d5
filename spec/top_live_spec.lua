local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local pty <const> = require "spec.support.pty"
local sonde <const> = require "sonde"

local SECOND <const> = 1000000000

-- A target that burns its main thread for longer than the test takes.
local function busy(version)
  local process <const> = dotnet.start("idle", version)
  process.stdin:write("burn 60000\n")
  return process
end

local function names_of(rows)
  local by_name = {}
  for _, row in ipairs(rows) do by_name[row.name] = row end
  return by_name
end

describe("Target:live", function()
  it("gives one profile after the other, with names", function()
    for _, version in ipairs { "8.0", "10.0" } do
      local process <close> = busy(version)
      local target <const> = assert(sonde.target(process.pid))
      local live <const> = assert(target:live { interval = "500ms" })
      -- The first looks may come before the method runs at all.
      local first
      for _ = 1, 20 do
        local window <const> = assert(live:next())
        assert.equal("oncpu", window.view)
        assert.is_true(window.duration_ns >= SECOND // 2)
        -- With what it calls: the runtime of .NET 10 stops a loop in PollGC.
        for _, row in ipairs(window.profile:top { n = 10, cum = true }) do
          if row.name == "Targets.Idle.Program.Burn(long)" then first = row.name end
        end
        if first then break end
      end
      assert.equal("Targets.Idle.Program.Burn(long)", first)
      live:set_view "exception"
      live:turn()
      local window <const> = assert(live:next())
      assert.equal("exception", window.view)
      assert.is_true(live:stop())
      assert.is_true(dotnet.has_no_sessions(process.pid))
    end
  end)

  it("says when the process has ended", function()
    local process <close> = dotnet.start("idle", "10.0")
    local live <const> = assert(sonde.target(process.pid):live { interval = "20s" })
    loop.sleep(SECOND // 2)
    process.stdin:write("quit\n")
    local window <const> = assert(live:next())
    assert.is_true(window.ended)
    assert.is_false(live:is_open())
  end)
end)

describe("sonde top of a process", function()
  it("writes blocks, JSON lines, threads", function()
    local process <close> = busy("10.0")
    local pid <const> = tostring(process.pid)
    local out, status, err = helper.sonde("top", "-p", pid, "--once", "-n", "9", "--cum")
    assert.equal(0, status, err)
    assert.matches("CPU: [%d.]+%% of one processor", out)
    assert.matches("OWN +OWN%% +TOTAL +TOTAL%% +FUNCTION", out)
    assert.matches("Targets.Idle.Program.Burn", out)
    assert.matches("… %d+ more", out)
    out, status, err = helper.sonde("top", pid, "--json", "--count", "2", "--interval", "500ms")
    assert.equal(0, status, err)
    local rows <const> = helper.json_lines(out)
    assert.equal(1, rows[1].schema)
    assert.equal("nanoseconds", rows[1].unit)
    assert.equal(process.pid, rows[1].pid)
    assert.truthy(names_of(rows)["Targets.Idle.Program.Burn(long)"])
    out = helper.sonde("top", pid, "--once", "--by", "thread")
    assert.matches("%d+ target%-idle", out)
    assert.is_true(dotnet.has_no_sessions(process.pid))
  end)

  it("counts exceptions by type", function()
    local process <close> = dotnet.start("idle", "8.0")
    local target <const> = assert(sonde.target(process.pid))
    local live <const> = assert(target:live { view = "exception", interval = "10s" })
    assert.truthy(process:command("throw 25"))
    live:set_interval(SECOND // 10)
    local window <const> = assert(live:next())
    live:stop()
    local rows <const> = require("sonde.cmd.top_table").rows(window, { by = "type", sort = "own" })
    assert.same({ { name = "System.TimeoutException", flat = 25, cum = 25 } }, rows)
  end)

  it("refuses what makes no sense, and names neither file nor process", function()
    local _, status, err = helper.sonde("top", "-p", "1", "--by", "type")
    assert.equal(2, status)
    assert.matches("view oncpu has no types", err)
    for _, name in ipairs { "no-such-thing", "missing.nettrace" } do
      _, status, err = helper.sonde("top", name)
      assert.equal(3, status)
      assert.matches("cannot open: " .. name:gsub("%-", "%%-"), err)
    end
  end)

  it("finds a process by its whole name", function()
    local process <close> = dotnet.start("idle", "10.0")
    local _, status, err = helper.sonde("top", "TARGET-IDLE", "--once", "--interval", "250ms")
    -- Another one of that name may run.
    if status ~= 0 then assert.matches("is %d+ processes", err) end
    assert.truthy(process.pid)
  end)

  it("lives on a terminal, heeds keys, and leaves it as it was", function()
    local process <close> = busy("10.0")
    helper.in_directory(function(directory)
      local terminal <close> = pty.start(directory,
        ("stty -a >%s/old; %s top -p %d --interval 500ms; stty -a >%s/new"):format(directory,
          helper.command, process.pid, directory))
      terminal:expect "sorted by own, every 500ms"
      terminal:expect "Targets.Idle.Program.Burn(long)"
      for _, step in ipairs {
        { "s", "sorted by total" }, { "b", "THREAD" }, { "e", "exceptions: " }, { "h", "scroll" },
        { "h+", "every 1s" }, { " ", "held" },
      } do
        terminal:type(step[1])
        terminal:expect(step[2])
      end
      terminal:type "q"
      terminal:expect "ended "
      terminal.keys:close()
      assert.equal(helper.read(directory .. "/old"), helper.read(directory .. "/new"))
    end)
    assert.is_true(dotnet.has_no_sessions(process.pid))
  end)
end)
