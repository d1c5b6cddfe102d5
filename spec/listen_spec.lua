local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"

local MS <const> = 1000000

local function serve(directory, ...)
  helper.run("mkdir -p " .. directory .. "/traces")
  local process <const> = dotnet.sonde(directory, "record", "--listen", directory .. "/port", "-o",
    directory .. "/traces", ...)
  process:await "listening on"
  return process
end

local function start(directory, version, args)
  return dotnet.start("idle", version, { args = args,
    env = { DOTNET_DiagnosticPorts = directory .. "/port" } })
end

local function traces(directory)
  local found = {}
  for name in helper.run("ls " .. directory .. "/traces"):gmatch "[^\n]+" do
    found[#found + 1] = directory .. "/traces/" .. name
  end
  return found
end

local function assert_whole(path)
  local trace, message = sonde.open(path)
  assert.is_nil(message)
  local names = {}
  for _, method in ipairs(trace:methods()) do names[method.name] = true end
  assert.is_true(names.Main and names.Burn)
end

describe("sonde record --listen", function()
  it("records each process that comes, from its start, to its own file", function()
    helper.in_directory(function(directory)
      local server <close> = serve(directory)
      do
        local one <close> = start(directory, "10.0")
        local two <close> = start(directory, "8.0")
        for _, process in ipairs { one, two } do
          assert.matches("^ok burn", process:command "burn 50")
          assert.equal("bye", process:command "quit")
          assert.equal(0, process:wait())
        end
      end
      server:await "wrote .*wrote "
      server:kill(2)
      assert.equal(0, server:wait(), server.said())
      assert.matches("2 processes were recorded", server.said())
      local found <const> = traces(directory)
      assert.equal(2, #found)
      for _, path in ipairs(found) do
        assert.matches("/target%-idle_%d+_%d+_%d+[_%d]*%.nettrace$", path)
        assert_whole(path)
      end
      assert.equal("err\ntraces\n", (helper.run("ls " .. directory)))
    end)
  end)

  it("ends what it records at Ctrl-C, and the processes go on", function()
    helper.in_directory(function(directory)
      local server <close> = serve(directory)
      local process <close> = start(directory, "10.0")
      assert.matches("^ok burn", process:command "burn 50")
      server:kill(2)
      assert.equal(0, server:wait(), server.said())
      local found <const> = traces(directory)
      assert.equal(1, #found)
      assert_whole(found[1])
      assert.matches("^ok gc", process:command "gc")
      assert.truthy(sonde.target(process.pid):info())
      assert.is_true(dotnet.has_no_sessions(process.pid))
    end)
  end)

  it("leaves others alone when one is named, and tells of those that are killed", function()
    helper.in_directory(function(directory)
      local server <close> = serve(directory, "--assembly", "other")
      do
        local process <close> = start(directory, "10.0")
        assert.matches("^ok gc", process:command "gc")
        server:kill(15)
        assert.equal(0, server:wait(), server.said())
        assert.same({}, traces(directory))
      end
      local again <close> = serve(directory)
      local killed <close> = start(directory, "10.0")
      again:await "recording process"
      loop.sleep(300 * MS)
      killed:kill(9)
      again:await "its trace has no end"
      again:kill(2)
      assert.equal(4, again:wait(), again.said())
      assert.equal(1, #traces(directory))
    end)
  end)

  it("needs a folder and a free socket, and nothing else", function()
    helper.in_directory(function(directory)
      local _, status, err = helper.sonde("record", "--listen", directory .. "/port", "-o",
        directory .. "/none")
      assert.equal(3, status)
      assert.matches("/none: no such folder", err)
      local server <close> = serve(directory)
      _, status, err = helper.sonde("record", "--listen", directory .. "/port", "-o", directory)
      assert.equal(3, status)
      assert.matches("/port: cannot listen: ", err)
      assert.equal(2, select(2, helper.sonde("record", "--listen", directory .. "/x", "-p", "1")))
      server:kill(2)
      assert.equal(0, server:wait(), server.said())
    end)
  end)
end)
