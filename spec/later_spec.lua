-- Profiles whose stacks stay in the file until somebody needs them are the same
-- as those that were read whole.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local random_profile <const> = require "spec.support.random_profile"

local function later(bytes) return core.pprof_read(core.input(bytes)) end

local function rows_of(profile)
  local rows = {}
  for stack, values in profile:samples() do
    rows[#rows + 1] = table.concat(stack, " ") .. ": " .. table.concat(values, " ")
  end
  return rows
end

-- Asks the one what can be asked without stacks first, then the rest.
local function compare(bytes, name)
  local whole <const>, left <const> = core.pprof_decode(bytes), later(bytes)
  if whole == nil then
    assert.is_nil(left, name)
    return
  end
  assert.equal(whole:encode { gzip = false }, left:encode { gzip = false }, name)
  if #whole:types() > 0 then
    for _, by in ipairs { "function", "line", "address" } do
      local request <const> = { by = by, node_of = true }
      assert.same(whole:graph(request), left:graph(request), name)
      request.edges, request.tags = true, true
      assert.same(whole:graph(request), left:graph(request), name)
    end
    local sum <const> = core.merge { { left, 2 }, { whole, -1 } }
    assert.same(rows_of(core.merge { { whole, 1 } }), rows_of(sum), name)
  end
  assert.same(rows_of(whole), rows_of(left), name)
  assert.equal(whole:encode { gzip = false }, left:encode { gzip = false }, name)
end

describe("stacks that are still to come", function()
  it("are those of the file, in the suite's files", function()
    local list <const> = helper.run("find spec/data/pprof spec/data/cases -type f "
      .. "\\( -name '*.pb' -o -name '*.pb.gz' \\)")
    local n = 0
    for path in list:gmatch("[^\n]+") do
      compare(helper.read(path), path)
      n = n + 1
    end
    assert.truthy(n > 20)
  end)

  it("are those of random files", function()
    for seed = 1, 30 do compare(random_profile.bytes(seed), seed) end
  end)

  -- One location and one sample type each; the sample is written in odd ways.
  local function with_sample(sample)
    return "\x0a\x02\x08\x01\x12" .. string.char(#sample) .. sample
      .. "\x22\x02\x08\x01\x22\x02\x08\x02\x32\x00\x32\x01a"
  end

  it("may be written in any way that protobuf allows", function()
    for name, sample in pairs {
      plain = "\x08\x01\x10\x05", ["values first"] = "\x10\x05\x08\x01",
      ["packed, though short"] = "\x0a\x01\x01\x12\x01\x05",
      ["three, not packed"] = "\x08\x01\x08\x02\x08\x01\x10\x05",
      ["two packed parts"] = "\x0a\x02\x01\x02\x0a\x02\x02\x01\x10\x05",
      ["a long number"] = "\x08\x81\x00\x10\x05", ["a long value"] = "\x08\x01\x10\x85\x00",
      ["a long zero"] = "\x08\x01\x10\x80\x00", ["a long length"] = "\x0a\x81\x00\x01\x10\x05",
      ["an unknown field"] = "\x08\x01\x10\x05\x28\x07", ["no stack"] = "\x10\x05",
      ["an empty list"] = "\x0a\x00\x10\x05", canonical = "\x0a\x03\x01\x02\x01\x10\x05",
      ["a label"] = "\x08\x01\x10\x05\x1a\x04\x08\x01\x10\x01",
      ["a label of nothing"] = "\x08\x01\x10\x05\x1a\x02\x08\x01",
    } do
      assert.truthy(core.pprof_decode(with_sample(sample)), name)
      compare(with_sample(sample), name)
    end
    for _, sample in ipairs {
      "\x08\x09\x10\x05", "\x0a\x02\x01\x80\x10\x05", "\x08\x01", "\x0b",
    } do
      assert.is_nil((later(with_sample(sample))))
    end
  end)

  -- The end of a file tells how much room it needs, and need not be right.
  it("are those of a file, whatever its end says", function()
    local sample <const> = "\x12\x07\x0a\x03\x01\x02\x01\x10\x05"
    local plain <const> = "\x0a\x02\x08\x01" .. sample:rep(20000)
      .. "\x22\x02\x08\x01\x22\x02\x08\x02\x32\x00\x32\x01a"
    local packed <const> = core.gzip(plain)
    for name, bytes in pairs {
      plain = plain, packed = packed, ["a small member last"] = packed .. core.gzip "",
      ["too much"] = packed:sub(1, -5) .. ("<I4"):pack(#packed * 1000),
      ["more than can be"] = packed:sub(1, -5) .. "\xff\xff\xff\xff",
      ["too little"] = packed:sub(1, -5) .. ("<I4"):pack(70000),
    } do
      local file <close> = assert(io.tmpfile())
      assert(file:write(bytes))
      file:seek "set"
      local profile, message, code = core.pprof_read(core.input(file))
      local whole, reason, same = core.pprof_decode(bytes)
      assert.same({ reason, same }, { message, code }, name)
      if whole then assert.equal(whole:encode {}, profile:encode {}, name) end
      compare(bytes, name)
    end
  end)

  it("are gone with a profile that is closed", function()
    local profile <const> = later(random_profile.bytes(1))
    assert.truthy(profile:graph {})
    profile:close()
    assert.error_matches(function() profile:graph {} end, "closed profile")
  end)

  it("say so when there is no memory for them", function()
    local bytes <const> = random_profile.bytes(3)
    local profile, message, code
    for limit = 1000, 200000, 1000 do
      profile, message, code = core.pprof_read(core.input(bytes), { limit = limit })
      if profile then break end
      assert.equal("limit", code, message)
    end
    assert.truthy(profile)
  end)
end)
