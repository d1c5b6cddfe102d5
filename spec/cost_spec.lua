local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"

describe("what recording costs the process", function()
  it("is said at the end", function()
    helper.in_directory(function(directory)
      local process <close> = dotnet.start("idle", "10.0")
      local _, status, err = helper.sonde("record", tostring(process.pid), "--duration", "1s", "-o",
        directory .. "/out.nettrace")
      assert.equal(0, status, err)
      local share <const>, took <const> = err:match
        "cost the process (%d+%.%d)%% of a processor %(([%d.]+%a+)%) for sampling and sending"
      assert.truthy(share, err)
      assert.is_true(tonumber(share) < 100)
      assert.truthy(took)
      assert.matches(", and [%d.]+%a+ to describe its methods", err)
    end)
  end)

  it("ends the recording when it is more than it may be", function()
    helper.in_directory(function(directory)
      local process <close> = dotnet.start("idle", "8.0")
      local path <const> = directory .. "/out.nettrace"
      local began <const> = loop.now()
      local _, status, err = helper.sonde("record", tostring(process.pid), "--max-cost", "0.001%",
        "--duration", "30s", "-o", path)
      assert.equal(0, status, err)
      assert.is_true(loop.now() - began < 25 * 1000000000)
      assert.matches("it costs the process too much %(%-%-max%-cost%)", err)
      assert.matches("and 0.001%% were allowed", err)
      assert.equal("complete", require("sonde").open(path):counts().rundown)
      _, status, err = helper.sonde("record", tostring(process.pid), "--max-cost", "100%",
        "--duration", "1500ms", "-o", path)
      assert.equal(0, status, err)
      assert.matches("the time is over", err)
      assert.equal(2, select(2, helper.sonde("record", tostring(process.pid), "--max-cost", "x")))
    end)
  end)
end)
