-- Every profile of ../shared/pprof, whole and damaged, through the decoder and the
-- encoder: what was read is written so that it is read again as the same, and
-- lenient reading gives what a strict one accepts.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
require "sonde.profile"

-- Where a file is cut, and how many bytes of it are changed.
local CUTS <const>, CHANGES <const> = 12, 12

local function all_profiles()
  helper.shared "pprof/ok.pb"
  local names <const> = helper.run("cd ../shared/pprof && find . -name '*.pb' -o -name '*.pb.gz'"
    .. " | LC_ALL=C sort")
  local list = {}
  for name in names:gmatch "%./([^\n]+)" do
    list[#list + 1] = { name = name, bytes = assert(helper.read("../shared/pprof/" .. name)) }
  end
  assert.is_true(#list > 20)
  return list
end

-- A label that is an empty text is no label once it was written, as in the reference.
local function has_empty_label(profile)
  for _, labels in ipairs(profile:label_rows()) do
    for _, label in ipairs(labels) do
      if label.value == "" then return true end
    end
  end
  return false
end

-- What is written of a profile is read strictly, and written as the same.
local function assert_fixed(profile, where)
  local once <const> = profile:encode { gzip = false }
  local again <const>, message <const> = core.pprof_decode(once)
  assert.truthy(again, ("%s: %s"):format(where, tostring(message)))
  if has_empty_label(profile) then
    assert_fixed(again, where)
  else
    assert.equal(once, again:encode { gzip = false }, where)
  end
  return once
end

local function assert_lenient(bytes, where)
  local strict <const> = core.pprof_decode(bytes)
  local profile, message = core.pprof_decode(bytes, { lenient = true })
  if profile == nil then
    assert.is_string(message, where)
    assert.is_nil(strict, where)
    return false
  end
  local once <const> = assert_fixed(profile, where)
  if strict then assert.equal(strict:encode { gzip = false }, once, where) end
  return true
end

describe("all profiles", function()
  it("are the same after they were written and read, or are refused with a reason", function()
    local n = 0
    for _, one in ipairs(all_profiles()) do
      local profile <const>, message <const> = core.pprof_decode(one.bytes)
      if profile then
        n = n + 1
        local once <const> = assert_fixed(profile, one.name)
        local packed <const> = assert(core.pprof_decode(profile:encode()))
        assert.equal(once, packed:encode { gzip = false }, one.name)
      else
        assert.is_true(#message > 10, one.name)
      end
    end
    assert.is_true(n > 15)
  end)

  it("read leniently, whole or cut, give what may be written", function()
    local n = 0
    for _, one in ipairs(all_profiles()) do
      if assert_lenient(one.bytes, one.name) then n = n + 1 end
      for i = 1, CUTS do
        local at <const> = #one.bytes * i // (CUTS + 1)
        assert_lenient(one.bytes:sub(1, at), ("%s cut at %d"):format(one.name, at))
      end
    end
    assert.is_true(n > 15)
  end)

  it("read leniently with changed bytes give what may be written", function()
    local seed = 1
    local function random(n)
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return seed % n
    end
    for _, one in ipairs(all_profiles()) do
      for _ = 1, #one.bytes > 0 and CHANGES or 0 do
        local at <const>, byte <const> = random(#one.bytes) + 1, random(256)
        local changed <const> = one.bytes:sub(1, at - 1) .. string.char(byte)
          .. one.bytes:sub(at + 1)
        assert_lenient(changed, ("%s with %d at %d"):format(one.name, byte, at))
      end
    end
  end)
end)
