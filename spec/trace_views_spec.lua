-- What profiles and counts of a trace are made of, beside what trace_spec asks.
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local demo <const> = assert(sonde.open(helper.data "demo.nettrace"))

describe("a view of a trace", function()
  it("has objects counted by type, whose names come before or after", function()
    local made <const> = require "spec.support.made_trace"
    local bytes <const> = made.trace {
      { 1000, made.bulk_type { { 11, "Demo.Early" } } },
      { 2000, made.objects(11, 3, 72) }, { 3000, made.objects(12, 5, 4000) },
      { 4000, made.objects(13, 1, 24) }, { 5000, made.objects(11, 2, 48) },
      { 6000, made.bulk_type { { 12, "Demo.Late" }, { 14, "Demo.Never" } } },
    }
    local trace <const> = assert(sonde.open { bytes = bytes, name = "made" })
    assert.same({ "alloc" }, trace:views())
    local profile <const> = assert(trace:profile { view = "alloc" })
    local rows = {}
    for _, row in ipairs(profile:top { label = "type" }) do rows[row.name] = row.flat end
    assert.same({ ["Demo.Early"] = 120, ["Demo.Late"] = 4000, ["[type 0xd]"] = 24 }, rows)
    assert.equal(11, profile:total "alloc_objects")
    assert.matches("counted by type", profile:info().comments[1])
  end)

  it("has allocations by the name that each has, whatever came before", function()
    local made <const> = require "spec.support.made_trace"
    local events, want, long = {}, {}, ("Long"):rep(60)
    for i = 1, 600 do
      local name = ({ "Demo.A", "Demo.AB", "", long .. "1", long .. "2" })[i % 5 + 1]
      events[i] = { i * 1000, made.allocated(i % 3 + 1, name, i) }
      want[name] = (want[name] or 0) + i
    end
    local trace <close> = assert(sonde.open { bytes = made.trace(events), name = "made" })
    local rows = {}
    for _, row in ipairs(trace:profile { view = "alloc" }:top { label = "type" }) do
      rows[row.name] = row.flat
    end
    assert.same(want, rows)
  end)

  it("has what was started as its main mapping", function()
    for _, view in ipairs { "wall", "managed" } do
      local mappings <const> = demo:profile { view = view }:mappings()
      assert.equal("/tmp/target/cpu/target-cpu.dll", mappings[1].file)
      assert.is_true(#mappings > 1)
    end
  end)

  it("counts frames without a profile as a profile does", function()
    local _, facts = demo.core:profile { view = "wall" }
    local counted <const> = demo.core:frames { view = "wall" }
    for _, name in ipairs { "frames", "unresolved", "guessed", "cut_samples" } do
      assert.equal(facts[name], counted[name])
    end
    assert.is_true(counted.frames > 100000)
  end)
end)
