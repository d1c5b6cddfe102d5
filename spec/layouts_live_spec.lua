-- Events of runtimes that do of everything, all keywords on: each is understood
-- to its last byte.
local dotnet <const> = require "spec.support.dotnet"
local exactness <const> = require "spec.support.exactness"
local helper <const> = require "spec.support.helper"

-- Of each part of the program one that it cannot do without.
local RAISED <const> = { "PrvSetGCHandle", "PrvFinalizeObject", "PrvDestroyGCHandle",
  "AllocRequest", "GCPerHeapHistory", "MulticoreJit", "MethodJitTailCallSucceeded",
  "ExceptionFilterStart", "ContentionStart", "ILStubGenerated", "ThreadRunning" }

local function record(directory, process)
  local path <const> = directory .. "/out.nettrace"
  local recorder <close> = dotnet.sonde(directory, "record", tostring(process.pid), "-o", path,
    "--provider", "Microsoft-Windows-DotNETRuntime:*:5",
    "--provider", "Microsoft-Windows-DotNETRuntimePrivate:*:5")
  recorder:await "recording process"
  assert.matches('"finalized":40', process:command "go")
  assert.equal(0, recorder:wait(60))
  return path
end

describe("a runtime that does of everything", function()
  for _, version in ipairs { "3.1", "10.0" } do
    it("raises no event that is not understood: " .. version, function()
      helper.in_directory(function(directory)
        local process <close> = dotnet.start("events", version, { args = { "wait" } })
        local kinds = {}
        local path <const> = record(directory, process)
        assert.same({}, exactness.misread(path, function(event) kinds[event.name] = true end))
        for _, name in ipairs(RAISED) do assert.is_true(kinds[name] or false, name) end
      end)
    end)
  end
end)
