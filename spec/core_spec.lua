local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"

local FOREVER <const> = 600 * 1000000000

-- Some containers let no process look into another.
local function skip_without_ptrace(message)
  if message and (message:find("ptrace") or message:find("not permitted")) then
    helper.skip "processes may not be traced here (ptrace)"
  end
end

describe("sonde core", function()
  for _, version in ipairs { "8.0", "10.0" } do
    it("has the runtime write a core dump, .NET " .. version, function()
      local process <close> = dotnet.start("idle", version)
      helper.in_directory(function(directory)
        local path <const> = directory .. "/it.core"
        local _, status, err = helper.sonde("core", tostring(process.pid), "--type", "mini",
          "-o", path)
        skip_without_ptrace(err)
        assert.equal(0, status, err)
        assert.matches("wrote .*it.core %(mini core, ", err)
        assert.equal("\127ELF", helper.read(path):sub(1, 4))
        _, status, err = helper.sonde("core", tostring(process.pid), "-o", path)
        assert.equal(3, status)
        assert.matches("there is such a file already", err)
      end)
      assert.truthy(sonde.target(process.pid):info())
    end)
  end

  it("says why not, and leaves nothing", function()
    local process <close> = dotnet.start("idle", "10.0")
    local target <const> = assert(sonde.target(process.pid))
    local core, message, code = target:core { output = "/no/such/folder/core" }
    assert.is_nil(core)
    assert.matches("/no/such/folder: there is no such directory", message)
    assert.equal("not_found", code)
    -- A folder in which nobody can make a file.
    core = assert(target:core { output = "/sys/core", type = "mini", force = true })
    local hint, hresult
    core, message, code, hint, hresult = core:wait(loop.after(FOREVER))
    assert.is_nil(core)
    skip_without_ptrace(message)
    assert.equal("runtime_error", code)
    assert.equal(0x80004005, hresult)
    assert.matches("Could not create output file '/sys/core'", message)
    assert.is_nil(message:find("\n"))
    assert.truthy(hint)
  end)
end)

describe("sonde perfmap", function()
  it("has the runtime write maps, and stop", function()
    for _, version in ipairs { "8.0", "10.0" } do
      local process <close> = dotnet.start("idle", version)
      local out, status, err = helper.sonde("perfmap", tostring(process.pid), "on")
      assert.equal(0, status, err)
      local path <const> = assert(out:match("^(%S+) %("))
      assert.equal(("/tmp/perf-%d.map"):format(process.pid), path)
      assert.matches("%x+ %x+ .-Targets.Idle.Program", helper.read(path))
      out, status = helper.sonde("perfmap", tostring(process.pid), "off", "--remove")
      assert.equal(0, status)
      assert.equal("", out)
      assert.is_nil(helper.read(path))
    end
  end)

  it("names the version that it needs", function()
    local process <close> = dotnet.start("idle", "3.1")
    local _, status, err = helper.sonde("perfmap", tostring(process.pid), "on")
    assert.equal(3, status)
    assert.matches("needs .NET 8", err)
    _, status, err = helper.sonde("perfmap", tostring(process.pid), "maybe")
    assert.equal(2, status)
    assert.matches("'maybe' is neither on nor off", err)
  end)
end)
