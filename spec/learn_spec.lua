-- Names that one trace gives to another.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"

local BYTES <const> = assert(helper.read(helper.data "demo.nettrace"))

local function read(bytes, known)
  local trace <const> = core.trace()
  if known then assert(trace:learn(known)) end
  trace:feed(bytes)
  trace:finish()
  local profile, facts = trace:profile { view = "samples" }
  return trace, profile, facts
end

-- Frames that nothing names are called by what else is known of them.
local function set_of_names(profile)
  local set = {}
  for _, name in ipairs(profile:frames().name) do
    if not name:find("^%[[nu]") then set[name] = true end
  end
  return set
end

describe("trace:learn", function()
  local whole, profile, facts = read(BYTES)

  it("names what the trace itself has no rundown for", function()
    local cut <const> = BYTES:sub(1, #BYTES // 2)
    local _, _, without = read(cut)
    assert.is_true(without.unresolved > without.frames // 2)
    local _, other, with = read(cut, whole)
    assert.equal(without.frames, with.frames)
    assert.equal(facts.unresolved, with.unresolved)
    assert.same(set_of_names(profile), set_of_names(other))
  end)

  it("passes on what was learned, also of a trace that is not finished", function()
    local between <const> = core.trace()
    between:learn(whole)
    between:learn(whole)
    assert.equal(whole:counts().methods, between:counts().methods)
    local _, _, with = read(BYTES:sub(1, #BYTES // 2), between)
    assert.equal(facts.unresolved, with.unresolved)
  end)

  it("raises when it is too late, and refuses what is too large", function()
    assert.has_error(function() whole:learn(core.trace()) end)
    assert.has_error(function() whole:learn(whole) end)
    local small <const> = core.trace { limit = 1 << 17 }
    local done, _, code = small:learn(whole)
    assert.is_nil(done)
    assert.equal("limit", code)
  end)
end)
