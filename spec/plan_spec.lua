local fake <const> = require "spec.support.fake_runtime"
local wire <const> = require "spec.support.wire"

local with_fake <const> = fake.with

describe("the command of a session", function()
  -- A runtime that knows commands up to some number.
  local function knows(number, version)
    local behaviour = { version = version }
    for n = number + 1, 7 do
      behaviour[0x0200 | n] = function(_, c) c:write(wire.error(0x80131385)) end
    end
    return behaviour
  end

  it("is the oldest that can say what is wanted", function()
    for wanted, opts in pairs {
      CollectTracing2 = {}, CollectTracing3 = { stackwalk = false },
      CollectTracing4 = { rundown_keyword = 0x38 },
      CollectTracing5 = { providers = { { name = "A", only = true, ids = { 1 } } } },
      CollectTracing6 = { block = true },
    } do
      with_fake(knows(7, "11.0.0"), function(target)
        local session <const> = assert(target:trace(opts))
        assert.equal(wanted, session.command)
        assert.same({}, session.lost)
        assert(session:stop())
      end)
    end
  end)

  it("falls back by the runtime's version, and says what is lost", function()
    with_fake(knows(5, "9.0.20"), function(target, server)
      local session <const> = assert(target:trace { block = true, rundown_keyword = 0x38 })
      assert.equal("CollectTracing4", session.command)
      assert.equal(1, #session.lost)
      assert.matches("needs .NET 11", session.lost[1])
      assert.same({ "4/8", "2/5" }, server:heard())
      assert.equal(0x38, server.requests[2].rundown_keyword)
      assert(session:stop())
    end)
  end)

  it("falls back on unknown-command, and says what is lost", function()
    with_fake(knows(3, "11.0.0"), function(target, server)
      local session <const> = assert(target:trace { rundown_keyword = 0x38, stackwalk = false })
      assert.equal("CollectTracing2", session.command)
      assert.equal(2, #session.lost)
      assert.matches("needs .NET 9", session.lost[1])
      assert.matches("leaving out stacks %(needs .NET 9%)", session.lost[2])
      assert.same({ "4/8", "2/5", "2/4", "2/3" }, server:heard())
      assert(session:stop())
      fake.assert_clean(server)
    end)
    with_fake(knows(2, "3.0.0"), function(target)
      local session <const> = assert(target:trace { rundown = false })
      assert.equal("CollectTracing", session.command)
      assert.matches("leaving out the rundown", session.lost[1])
      assert(session:stop())
    end)
  end)
end)
