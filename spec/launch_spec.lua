local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"

local MS <const> = 1000000

local function idle() return dotnet.program("idle", "10.0") end

-- `sonde record OPTIONS -- sh -c SCRIPT`, beside the test; what the program
-- writes is the process's output, what sonde says is a file.
local function launch(directory, options, script)
  local words = { "sh", "-c", 'exec "$@" 2>' .. helper.quote(directory .. "/err"), "sh",
    helper.command, "record", "-o", directory .. "/out.nettrace" }
  for _, word in ipairs(options) do words[#words + 1] = word end
  table.move({ "--", "sh", "-c", script }, 1, 4, #words + 1, words)
  local process <const> = dotnet.spawn(words, { env = { TMPDIR = directory } })
  function process.said() return helper.read(directory .. "/err") or "" end
  return process
end

local function methods_of(path)
  local names = {}
  for _, method in ipairs(assert(sonde.open(path)):methods()) do names[method.name] = true end
  return names
end

-- The directory holds what was asked for and nothing else.
local function assert_tidy(directory, ...)
  local wanted = { ... }
  table.sort(wanted)
  assert.equal(table.concat(wanted, "\n") .. "\n", (helper.run(("ls %s | grep -v ^dotnet-diag"
    .. " | grep -v ^clr-debug"):format(directory))))
end

describe("sonde record -- CMD", function()
  it("records from the first instruction and passes on the status", function()
    helper.in_directory(function(directory)
      local process <close> = launch(directory, {}, "exec " .. idle())
      assert.truthy(process:line "^ready")
      assert.matches("^ok burn", process:command "burn 100")
      assert.equal("bye", process:command "quit")
      assert.equal(0, process:wait(), process.said())
      assert.matches("recording process %d+ %(target%-idle%)", process.said())
      assert.matches("the process ended", process.said())
      local names <const> = methods_of(directory .. "/out.nettrace")
      assert.is_true(names.Main and names.Burn)
      assert_tidy(directory, "err", "out.nettrace")
    end)
  end)

  it("passes on any status, and the signal that ended the program", function()
    helper.in_directory(function(directory)
      local failing <close> = launch(directory, {}, idle() .. " </dev/null >/dev/null; exit 7")
      assert.equal(7, failing:wait(), failing.said())
      local killed <close> = launch(directory, {}, "exec " .. idle())
      assert.truthy(killed:line "^ready")
      local target <const> = assert(sonde.target((helper.read(directory .. "/err")
        :match "recording process (%d+)")))
      require("sonde.base.uv").kill(target.pid, 9)
      assert.equal(137, killed:wait(), killed.said())
      assert.matches("its trace has no end", killed.said())
    end)
  end)

  it("lets grandchildren go on, recording the first or the one that is named", function()
    helper.in_directory(function(directory)
      local script <const> = ("echo quit | %s; %s 1 1000"):format(idle(),
        dotnet.program("cpu", "10.0"))
      local first <close> = launch(directory, {}, script)
      assert.equal(0, first:wait(60), first.said())
      assert.matches("recording process %d+ %(target%-idle%)", first.said())
      assert.matches("total_s", first.output)
      local named <close> = launch(directory, { "--assembly", "target-cpu" }, script)
      assert.equal(0, named:wait(60), named.said())
      assert.matches("recording process %d+ %(target%-cpu%)", named.said())
      assert.is_true(methods_of(directory .. "/out.nettrace").Alpha)
    end)
  end)

  it("names a program that is no .NET", function()
    helper.in_directory(function(directory)
      local process <close> = launch(directory, {}, "exit 0")
      assert.equal(3, process:wait())
      assert.matches("^sonde: sh: not recorded: it ended with status 0 before any .NET runtime",
        process.said())
      assert_tidy(directory, "err")
      local _, status, err = helper.sonde("record", "--", "/no/such/program")
      assert.equal(3, status)
      assert.matches("cannot run /no/such/program: no such file or directory", err)
      _, status, err = helper.sonde("record", "--")
      assert.equal(2, status)
      assert.matches("without a program", err)
      _, status = helper.sonde("record", "-p", "1", "--", "true")
      assert.equal(2, status)
    end)
  end)

  it("goes on with the program when the recording is over", function()
    helper.in_directory(function(directory)
      local process <close> = launch(directory, { "--duration", "500ms" }, "exec " .. idle())
      assert.truthy(process:line "^ready")
      for _ = 1, 500 do
        if process.said():find "wrote " then break end
        loop.sleep(20 * MS)
      end
      assert.matches("the time is over", process.said())
      assert.matches("^ok gc", process:command "gc")
      process:command "quit"
      assert.equal(0, process:wait())
    end)
  end)

  it("passes signals on and never kills the program", function()
    helper.in_directory(function(directory)
      local process <close> = launch(directory, {}, "exec " .. idle())
      assert.truthy(process:line "^ready")
      process:kill(15)
      assert.equal(143, process:wait(), process.said())
      assert.matches("waiting for the program to end", process.said())
      -- One that does not care for Ctrl-C goes on; its recording ends.
      local deaf <close> = launch(directory, {}, "trap '' INT; exec " .. idle())
      assert.truthy(deaf:line "^ready")
      deaf:kill(2)
      loop.sleep(200 * MS)
      deaf:kill(2)
      for _ = 1, 500 do
        if deaf.said():find "wrote " then break end
        loop.sleep(20 * MS)
      end
      assert.matches("stopped after .*: Ctrl%-C", deaf.said())
      assert.matches("^ok gc", deaf:command "gc")
      deaf:command "quit"
      assert.equal(0, deaf:wait())
      assert_tidy(directory, "err", "out.nettrace")
    end)
  end)
end)

describe("reasons to stop a recording", function()
  it("may be an event, by its name or by an expression", function()
    local process <close> = dotnet.start("idle", "10.0")
    for _, option in ipairs {
      { "--until", "DotNETRuntime/ExceptionThrown" },
      { "--until-lua", "event.payload.ExceptionMessage == 'late 7'" },
    } do
      helper.in_directory(function(directory)
        local recorder <close> = dotnet.spawn { "sh", "-c",
          'exec "$@" 2>' .. directory .. "/err", "sh", helper.command, "record", "-p",
          tostring(process.pid), "--profile", "exceptions", "-o", directory .. "/out.nettrace",
          "-f", "folded", table.unpack(option) }
        for _ = 1, 500 do
          if (helper.read(directory .. "/err") or ""):find "until the event" then break end
          loop.sleep(20 * MS)
        end
        process:command "throw 5"
        if option[1] == "--until-lua" then
          loop.sleep(500 * MS)
          assert.is_nil((helper.read(directory .. "/err"):find "stopped"))
        end
        process:command "throw 10"
        assert.equal(0, recorder:wait(), helper.read(directory .. "/err"))
        assert.matches("the event came", helper.read(directory .. "/err"))
        assert.matches("Program.Main", helper.read(directory .. "/out.folded"))
      end)
    end
    local _, status, err = helper.sonde("record", tostring(process.pid), "--until-lua", "1 +")
    assert.equal(2, status)
    assert.matches("%-%-until%-lua: expression", err)
  end)
end)
