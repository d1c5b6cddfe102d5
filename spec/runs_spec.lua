-- The order of samples as runs: what a page needs of it.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local DEMO <const> = helper.data "demo.nettrace"

-- Time on each stack, by thread.
local function time_by_stack(timeline)
  local sums = {}
  for _, weight, stack, managed, thread in timeline:each() do
    local key <const> = ("%d %s %s"):format(thread, table.concat(stack, " "), managed)
    sums[key] = (sums[key] or 0) + weight
  end
  return sums
end

describe("runs of samples", function()
  it("are fewer than samples and worth the same", function()
    local trace <const> = assert(sonde.open(DEMO, { timeline = true, runs = true }))
    local runs <const> = assert(trace:timeline { runs = true })
    local whole <const> = assert(trace:timeline())
    assert(#runs < #whole)
    assert.same(time_by_stack(whole), time_by_stack(runs))
    assert.equal(whole:threads()[1].n, runs:threads()[1].n)
  end)

  it("are no samples: those are read again", function()
    local trace <const> = assert(sonde.open(DEMO, { timeline = true, runs = true }))
    local n = 0
    for _ in assert(trace:samples()) do n = n + 1 end
    assert.equal(#assert(trace:timeline()), n)
    local userdata <const> = core.trace { timeline = "runs" }
    userdata:feed(helper.read(DEMO))
    userdata:finish()
    local samples, _, code = userdata:samples()
    assert.is_nil(samples)
    assert.equal("unavailable", code)
    assert.has_error(function() core.trace { timeline = "some" } end)
  end)

  it("of short times are joined when they are too many, and no time is lost", function()
    local made <const> = require "spec.support.made_trace"
    local events = {}
    for i = 1, 132000 do
      for thread = 1, 2 do
        events[#events + 1] = { i * 1000000, made.sample(i % 2 == 0), thread = thread }
      end
    end
    local trace <close> = assert(sonde.open({ bytes = made.trace(events), name = "made" },
      { timeline = true, runs = true }))
    local runs <const> = assert(trace:timeline { runs = true })
    assert(#runs > 1000 and #runs < 200000)
    local sums, ends = { 0, 0 }, { 0, 0 }
    for time, weight, _, _, thread in runs:each() do
      assert(time >= ends[thread])
      sums[thread], ends[thread] = sums[thread] + weight, time + weight
    end
    assert.same({ 132000000000, 132000000000 }, sums)
    local pieces = {}
    require("sonde.report.html").write(trace, {}, { write = function(_, text)
      pieces[#pieces + 1] = text
      return true
    end })
    assert.matches("<html", table.concat(pieces))
  end)
end)
