local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"

local SECOND <const> = 1000000000

-- Runs the command while the target does what it is told to.
local function watching(process, words, act)
  local command <const> = dotnet.spawn { helper.command, "events", "-p", tostring(process.pid),
    table.unpack(words) }
  for _ = 1, 200 do
    if dotnet.sessions(process.pid) > 0 then break end
    loop.sleep(SECOND // 20)
  end
  act(command)
  return command
end

describe("sonde events of a process", function()
  for _, version in ipairs { "8.0", "10.0" } do
    it("writes each event as it comes, .NET " .. version, function()
      local process <close> = dotnet.start("idle", version)
      local command <close> = watching(process, { "--provider",
        "Microsoft-Windows-DotNETRuntime:exception:2", "--name", "^ExceptionThrown" },
        function() assert.truthy(process:command("throw 5")) end)
      for _ = 1, 5 do
        local line <const> = assert(command:line("Exception"))
        assert.matches("Microsoft%-Windows%-DotNETRuntime/ExceptionThrown", line)
        assert.matches('"ExceptionType":"System.TimeoutException"', line)
      end
      command:kill(2)
      assert.equal(0, (command:wait()))
      assert.is_true(dotnet.has_no_sessions(process.pid))
    end)
  end

  it("writes JSON lines and ends by itself", function()
    local process <close> = dotnet.start("idle", "10.0")
    local command <close> = watching(process, { "--json", "-n", "2", "--provider",
      "Microsoft-Windows-DotNETRuntime:exception:2" },
      function() assert.truthy(process:command("throw 5")) end)
    assert.equal(0, (command:wait()))
    local rows <const> = helper.json_lines(command.output)
    assert.equal(2, #rows)
    assert.equal(1, rows[1].schema)
    assert.equal("Microsoft-Windows-DotNETRuntime", rows[2].provider)
    assert.is_true(dotnet.has_no_sessions(process.pid))
  end)

  it("ends when the process does, and when nobody reads", function()
    local process <close> = dotnet.start("idle", "10.0")
    local command <close> = watching(process, { "--provider", "Microsoft-Windows-DotNETRuntime" },
      function() process.stdin:write("quit\n") end)
    assert.equal(0, (command:wait()))
    local other <close> = dotnet.start("idle", "10.0")
    helper.run(("%s events -p %d --provider Microsoft-Windows-DotNETRuntime:gc+jit+threading:5"
      .. " --duration 5s | head -n 1"):format(helper.command, other.pid))
    assert.is_true(dotnet.has_no_sessions(other.pid))
  end)

  it("asks for a provider, and says when nothing comes", function()
    local process <close> = dotnet.start("idle", "10.0")
    local _, status, err = helper.sonde("events", "-p", tostring(process.pid))
    assert.equal(2, status)
    assert.matches("name a provider", err)
    _, status, err = helper.sonde("events", "-p", tostring(process.pid), "--provider", "No-Such",
      "--duration", "5500ms")
    assert.equal(1, status)
    assert.matches("no event has come from No%-Such", err)
  end)
end)
