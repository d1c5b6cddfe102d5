local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local pty <const> = require "spec.support.pty"
local sonde <const> = require "sonde"

local function rows_of(...)
  local out, status, err = helper.sonde("counters", ...)
  assert.equal(0, status, err)
  local rows <const> = helper.json_lines(out)
  local by_name = {}
  for _, row in ipairs(rows) do by_name[row.name] = row end
  return by_name, rows
end

describe("sonde counters", function()
  it("shows the runtime's own, as EventCounters and as a meter", function()
    for version, name in pairs { ["3.1"] = "working-set", ["8.0"] = "working-set",
      ["10.0"] = "dotnet.process.memory.working_set" } do
      local process <close> = dotnet.start("idle", version)
      local by_name, rows = rows_of(tostring(process.pid), "--once", "--json")
      assert.equal(1, rows[1].schema)
      local row <const> = assert(by_name[name], name)
      assert.equal("System.Runtime", row.provider)
      assert.is_true(row.value > 0)
      assert.is_true(#rows > 10)
      assert.truthy(sonde.target(process.pid):info())
      assert.is_true(dotnet.has_no_sessions(process.pid))
    end
  end)

  it("gives the values that a program publishes", function()
    local process <close> = dotnet.start("eventsource", "10.0",
      { args = { "100", "8000" }, wait = false })
    require("sonde.base.loop").sleep(1000000000)
    local by_name <const> = rows_of(tostring(process.pid), "--provider", "Targets-Plain",
      "--once", "--json")
    assert.equal(42.5, by_name.queue.value)
    assert.equal("mean", by_name.queue.kind)
    assert.equal("rate", by_name["requests-rate"].kind)
    local only, list = rows_of(tostring(process.pid), "--provider", "Targets-Plain[queue]",
      "--once", "--json")
    assert.truthy(only.queue)
    assert.equal(1, #list)
  end)

  it("writes a table and comma-separated values", function()
    local process <close> = dotnet.start("idle", "10.0")
    local out <const> = helper.sonde("counters", tostring(process.pid), "--once", "--csv")
    assert.matches("^Timestamp,Provider,Counter Name,Counter Type,Mean/Increment\n", out)
    assert.matches("System.Runtime,dotnet.assembly.count %({assembly}%),Metric,%d", out)
    assert.matches("^SOURCE +COUNTER +VALUE +RATE +UNIT",
      (helper.sonde("counters", tostring(process.pid), "--once")))
    local _, status, err = helper.sonde("counters", tostring(process.pid), "--provider",
      "No-Such-Source", "--duration", "4s")
    assert.equal(1, status)
    assert.matches("nothing has come from No%-Such%-Source", err)
  end)

  it("lives on a terminal, marks what is stale, and leaves it as it was", function()
    local process <close> = dotnet.start("idle", "10.0")
    helper.in_directory(function(directory)
      local terminal <close> = pty.start(directory,
        ("stty -a >%s/old; %s counters %d; stty -a >%s/new"):format(directory, helper.command,
          process.pid, directory))
      terminal:expect(("target-idle (%d)  every 1s"):format(process.pid))
      terminal:expect "dotnet.assembly.count"
      terminal:expect "▁"
      process:kill(19)
      terminal:expect "stale"
      process:kill(18)
      for _, step in ipairs { { " ", "held" }, { " ", "every 1s\n" }, { "\27[B", "every 1s" } } do
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
