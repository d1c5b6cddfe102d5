local dotnet <const> = require "spec.support.dotnet"
local fake <const> = require "spec.support.fake_runtime"
local names <const> = require "sonde.dotnet.names"
local sonde <const> = require "sonde"

describe("names of a process's methods", function()
  for _, version in ipairs { "3.1", "8.0", "10.0" } do
    it("come from a session that is only a rundown: .NET " .. version, function()
      local process <close> = dotnet.start("idle", version)
      local target <const> = assert(sonde.target(process.pid))
      local known <const> = assert(names.of(target))
      assert.equal("complete", known.counts.rundown)
      assert.is_true(known.counts.methods > 300)
      assert.is_true(known.cost_ns > 0)
      local main
      for _, method in ipairs(known.trace:methods()) do
        if method.name == "Main" then main = method end
      end
      local frame <const> = known:frame(main.start + 1)
      assert.same({ "Main", "Targets.Idle.Program", "target-idle" },
        { frame.method, frame.type, frame.assembly:match "^[^,]+" })
      assert.equal(frame, known:frame(main.start + 1))
      assert.is_nil(known:frame(16))
      -- Once for each runtime, whoever asks.
      assert.equal(known, names.of(sonde.target(process.pid)))
      assert.not_equal(known, names.of(target, { fresh = true }))
      assert.is_true(dotnet.has_no_sessions(process.pid))
    end)
  end

  it("are not taken from half a rundown", function()
    fake.with({ stream = function(connection, session, reply)
      connection:write(reply .. fake.trace():sub(1, 200000))
      session.stopping:wait(require("sonde.base.loop").after(5000000000))
    end }, function(target)
      local known, message, code = names.of(target)
      assert.is_nil(known)
      assert.equal("truncated", code)
      assert.matches("no end", message)
    end)
  end)
end)
