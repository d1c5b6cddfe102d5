-- Traces made so that reading them costs more than they are long. Times are of
-- the processor and have room: what they guard against takes minutes.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"

local SAMPLER <const> = "Microsoft-DotNETCore-SampleProfiler"
local RUNTIME <const> = "Microsoft-Windows-DotNETRuntime"
local SAMPLE <const> = ("<I4"):pack(2)

local function utf16(text) return text:gsub(".", "%0\0") .. "\0\0" end

local function varint(n)
  local bytes = {}
  while n < 0 or n >= 0x80 do
    bytes[#bytes + 1] = string.char(n & 0x7f | 0x80)
    n = n >> 7
  end
  return table.concat(bytes, "", 1, #bytes) .. string.char(n)
end

local HEADER <const> = ("<I2I2i8i8"):pack(20, 1, 0, 0)
local CLOCK <const> = ("<i2i2i2i2i2i2i2i2i8i8"):pack(2024, 2, 4, 29, 12, 34, 56, 789, 0, 1000000000)

-- A writer of V4: blocks are added to its pieces; `whole` is the trace.
local V4 <const> = {}
V4.__index = V4

local function v4()
  local self <const> = setmetatable({ size = 0 }, V4)
  self:add("Nettrace" .. ("<s4"):pack("!FastSerialization.1"))
  self:add("\5\5\1" .. ("<i4i4s4"):pack(4, 4, "Trace") .. "\6" .. CLOCK
    .. ("<i4i4i4i4"):pack(8, 4242, 2, 1000000) .. "\6")
  return self
end

function V4:add(bytes)
  self[#self + 1] = bytes
  self.size = self.size + #bytes
end

function V4:block(name, body, claim)
  self:add("\5\5\1" .. ("<i4i4s4"):pack(2, 0, name) .. "\6" .. ("<i4"):pack(claim or #body))
  self:add(("\0"):rep(-self.size % 4) .. body .. "\6")
end

local function event(id, thread, payload, stack)
  return "\xcf" .. varint(id) .. varint(0) .. varint(thread) .. varint(0) .. varint(thread)
    .. varint(stack or 0) .. varint(1) .. varint(#payload) .. payload
end

function V4:types(...)
  local parts = { HEADER }
  for id, type in ipairs { ... } do
    local record <const> = ("<i4"):pack(id) .. utf16(type[1]) .. ("<i4"):pack(type[2])
      .. utf16(type[3] or "") .. ("<i8i4i4"):pack(0, type[4] or 0, 4) .. (type[5] or "\0\0\0\0")
    parts[#parts + 1] = "\xc0\0" .. varint(#record) .. record
  end
  self:block("MetadataBlock", table.concat(parts))
end

function V4:events(list) self:block("EventBlock", HEADER .. table.concat(list)) end

function V4:stack(first, addresses)
  self:block("StackBlock", ("<I4I4I4"):pack(first, 1, 8 * #addresses)
    .. ("<" .. ("i8"):rep(#addresses)):pack(table.unpack(addresses)))
end

function V4:sequence_point() self:block("SPBlock", ("<i8i4"):pack(0, 0)) end

function V4:whole() return table.concat(self) .. "\1" end

-- The same for V6.
local V6 <const> = {}
V6.__index = V6

local function v6()
  local self <const> = setmetatable({ "Nettrace" .. ("<I4I4I4"):pack(0, 6, 0) }, V6)
  self:block(1, CLOCK .. ("<i4i4"):pack(8, 0))
  return self
end

function V6:block(kind, body) self[#self + 1] = ("<I4"):pack(#body | kind << 24) .. body end

function V6:type(id, provider, number, name, fields, optional)
  local row <const> = varint(id) .. ("<s1"):pack(provider) .. varint(number) .. ("<s1"):pack(name)
    .. (fields or "\0\0") .. ("<s2"):pack(optional or "")
  self:block(3, "\0\0" .. ("<s2"):pack(row))
end

function V6:thread() self:block(6, ("<s2"):pack("\1\2\7\3\9")) end

function V6:events(list) self:block(2, HEADER .. table.concat(list)) end

function V6:whole() return table.concat(self) .. "\0\0\0\0" end

local function event6(id, payload, labels)
  return "\xdf" .. varint(id) .. "\0\0\0\1\0\1" .. varint(labels or 0) .. varint(#payload)
    .. payload
end

local function read(bytes, options)
  local trace <const> = core.trace(options or {})
  local message, code = select(2, trace:feed(bytes))
  if code == nil then message, code = select(2, trace:finish()) end
  return trace, message, code
end

local function events_of(bytes, options)
  local reader <const> = core.events(options or {})
  assert(reader:feed(bytes))
  assert(reader:finish())
  local list = {}
  for one in reader.next, reader do list[#list + 1] = one end
  return list
end

-- Seconds of the processor that a function takes.
local function seconds(run)
  local began <const> = os.clock()
  run()
  return os.clock() - began
end

describe("a hostile trace", function()
  -- Numbers that a hash function without a secret puts into one place: it is
  -- taken backwards from one result (see src/base/hash.h).
  local function collision(i, kind)
    local GOLD <const>, ODD <const> = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
    local inverse = ODD
    for _ = 1, 5 do inverse = inverse * (2 - ODD * inverse) end
    local hash <const> = i << 32 | (i ~ 12345) & 0xffffffff
    local before <const> = hash ~ hash >> 29 ~ hash >> 58
    return before * inverse ~ kind * GOLD
  end

  it("cannot choose addresses of one hash", function()
    local made <const> = v4()
    made:types({ SAMPLER, 0 })
    local n = 0
    for _ = 1, 600 do
      local addresses = {}
      for i = 1, 100 do addresses[i] = collision(n + i, 3) end
      n = n + 100
      made:stack(1, addresses)
      made:events { event(1, 1, SAMPLE, 1) }
      made:sequence_point()
    end
    local bytes <const> = made:whole()
    assert.is_true(seconds(function()
      assert.equal(600, read(bytes):counts().samples_managed)
    end) < 2)
  end)

  it("cannot have a large table cleared again and again", function()
    local made <const> = v4()
    made:types({ SAMPLER, 0 })
    for i = 100, 1, -1 do
      made:block("StackBlock", ("<I4I4"):pack(i * 2000, 2000) .. ("\0\0\0\0"):rep(2000))
    end
    for _ = 1, 20000 do
      made:stack(7, { 1 })
      made:stack(5, { 1 })
      made:sequence_point()
    end
    local bytes <const> = made:whole()
    assert.is_true(seconds(function()
      assert.equal(20000, read(bytes):counts().sequence_points)
    end) < 1.5)
  end)

  it("loses nothing but a block whose size lies, and gathers little for it", function()
    local made <const> = v4()
    made:types({ SAMPLER, 0 })
    made:events { event(1, 1, SAMPLE), event(1, 1, SAMPLE) }
    made:block("EventBlock", HEADER .. event(1, 2, SAMPLE), 0x7fffffff)
    made:events { event(1, 3, SAMPLE) }
    made:block("Nonsense", ("\0"):rep(100), 0x7ffffff0)
    made:events { event(1, 4, SAMPLE) }
    local trace <const> = read(made:whole())
    assert.equal(5, trace:counts().samples_managed)
    assert.is_true(trace:counts().ended)
    local problems <const> = trace:problems()
    assert.matches("cannot have the 2147483647 bytes that it claims: 33 of them are read",
      problems[1].text)
  end)

  it("is not gathered beyond what a block can be", function()
    local made <const> = v4()
    made:types({ SAMPLER, 0 })
    made:block("EventBlock", HEADER .. event(1, 2, SAMPLE), 0x7fffffff)
    local trace <const> = core.trace {}
    trace:feed(made:whole())
    local filling <const> = ("\xff"):rep(1 << 20)
    assert.is_true(seconds(function()
      for _ = 1, 64 do trace:feed(filling) end
    end) < 2)
    trace:finish()
    assert.equal(1, trace:counts().samples_managed)
    assert.is_true(trace:counts().memory_peak < 28 << 20)
  end)

  it("with many sizes that lie is read in time", function()
    local made <const> = v4()
    for _ = 1, 100000 do made:block("EventBlock", "", 0x7fffffff) end
    local bytes <const> = made:whole()
    assert.is_true(seconds(function() read(bytes) end) < 2)
  end)

  it("pays for the code that changes under addresses only when they are seen", function()
    local made <const> = v4()
    made:types({ SAMPLER, 0 }, { RUNTIME, 143, "", 1 })
    local list = {}
    for i = 1, 1000 do
      made:stack(i, { 0x10000 + 16 * i })
      list[i] = event(1, 1, SAMPLE, i)
    end
    made:events(list)
    for i = 1, 2000 do
      list[i] = event(2, 1, ("<I8I8I8I4I4I4"):pack(i, 1, 0x10000, 0x8000, 0, 8) .. utf16 "N"
        .. utf16("m" .. i) .. utf16 "()" .. "\0\0")
    end
    made:events(list)
    made:events { event(1, 1, SAMPLE, 1) }
    local trace, message <const> = read(made:whole(), { limit = 4 << 20 })
    assert.is_nil(message)
    local profile <const> = trace:profile { view = "samples", names = "raw" }
    local names, frames = {}, profile:frames()
    for stack, values in profile:samples() do
      local name <const> = frames.name[stack[1]]
      names[name] = (names[name] or 0) + values[1]
    end
    assert.same({ ["?!N.m1()"] = 1000, ["?!N.m2000()"] = 1 }, names)
  end)

  it("has labels that are read in time and take little memory", function()
    local made <const> = v6()
    made:type(1, SAMPLER, 0, "")
    made:thread()
    -- One list of a million labels, and as many lists of one.
    made:block(8, ("<I4I4"):pack(1, 1) .. ("\7\1"):rep(999999) .. "\x87\5")
    made:block(8, ("<I4I4"):pack(2, 1000000) .. ("\x87\1"):rep(1000000))
    local list = {}
    for i = 1, 5000 do list[i] = event6(1, SAMPLE, 1) end
    list[#list + 1] = event6(1, SAMPLE, 1000001)
    made:events(list)
    local bytes <const> = made:whole()
    assert.is_true(seconds(function()
      local trace, message <const> = read(bytes, { limit = 24 << 20 })
      assert.is_nil(message)
      assert.equal(5001, trace:counts().samples_managed)
    end) < 2)
  end)

  it("still says by labels what an event is", function()
    local made <const> = v6()
    made:type(1, "P", 1, "E", nil, "\1\9\9\4")
    made:thread()
    local text <const> = "\5" .. ("<s1"):pack("key") .. ("<s1"):pack("value")
    made:block(8, ("<I4I4"):pack(1, 2) .. text .. "\6" .. ("<s1"):pack("n") .. varint(300) .. "\7\3"
      .. "\1" .. ("A"):rep(16) .. "\x89\2" .. "\x8a\6")
    made:events { event6(1, "", 1), event6(1, "", 2), event6(1, "", 0) }
    local found <const> = events_of(made:whole())
    assert.equal("41414141-4141-4141-4141-414141414141", found[1].activity)
    assert.same({ 3, 9, 9 }, { found[1].opcode, found[2].opcode, found[3].opcode })
    assert.same({ 2, 0, 0 }, { found[1].level, found[2].level, found[3].level })
    assert.same({ 4, 6, 4 }, { found[1].version, found[2].version, found[3].version })
  end)

  it("shows no byte of a payload twice through locations", function()
    local made <const> = v6()
    -- Locations of bytes, all of the whole payload.
    made:type(1, "P", 1, "E", ("<I2"):pack(20) .. ("<s2"):pack("\1a\25\6"):rep(20))
    made:thread()
    local location <const> = ("<I4"):pack(100 << 16)
    made:events { event6(1, location:rep(20) .. ("x"):rep(20)),
      event6(1, location .. ("\0"):rep(96)) }
    local found <const> = events_of(made:whole())
    assert.equal("bad", found[1].payload_status)
    assert.equal(100, #found[1].payload.a)
    assert.is_nil(found[2].payload_status)
  end)

  it("has no more fields in an empty payload than a real one", function()
    local made <const> = v4()
    local object <const> = ("<i4i4"):pack(1, 0) .. utf16 "o"
    made:types({ "P", 1, "E", 0, ("<i4"):pack(20000) .. object:rep(20000) })
    made:events { event(1, 1, "") }
    local reader <const> = core.events { json = true }
    assert(reader:feed(made:whole()))
    assert(reader:finish())
    assert.is_true(#reader:take_json() < 4000)
  end)

  it("gives no negative time when its clock goes back", function()
    local made <const> = v4()
    made:types({ SAMPLER, 0 })
    made:events { event(1, 1, SAMPLE), event(1, 1, SAMPLE) }
    made:block("EventBlock", ("<I2I2i8i8"):pack(20, 1, 0, 0) .. "\xcf\1\0\1\0\1\0"
      .. varint(-5000000000) .. "\4" .. SAMPLE .. event(1, 1, SAMPLE))
    local profile <const> = read(made:whole()):profile { view = "wall" }
    for _, values in profile:samples() do assert.is_true(values[2] >= 0) end
  end)

  it("may have a type without a provider", function()
    local made <const> = v4()
    made:types({ "", 1, "E" })
    made:events { event(1, 1, "") }
    assert.equal("", read(made:whole()):types()[1].provider)
    local sonde <const> = require "sonde"
    local trace <const> = assert(sonde.open { bytes = made:whole(), name = "x" })
    local profile, message, code = trace:profile {}
    assert.is_nil(profile)
    assert.matches("it has only events of %?$", message)
    assert.equal("no_samples", code)
  end)
end)

describe("events of JSON", function()
  it("are written while they are decoded", function()
    local path <const> = helper.data "real/mixed.nettrace.gz"
    local sonde <const> = require "sonde"
    local reader <const> = require("sonde.dotnet.events").open_json(path, {})
    local largest, n = 0, 0
    reader:pass(function(lines)
      largest = math.max(largest, #lines)
      for _ in lines:gmatch("\n") do n = n + 1 end
    end)
    assert.is_true(largest < 200000)
    assert.equal(assert(sonde.open(path)):counts().events, n)
  end)

  it("raise what their writer raises", function()
    local made <const> = v4()
    made:types({ "P", 1, "E" })
    local list = {}
    for i = 1, 5000 do list[i] = event(1, 1, "") end
    made:events(list)
    local reader <const> = core.events { json = true, write = function() error({}, 0) end }
    local done, raised = pcall(reader.feed, reader, made:whole())
    assert.is_false(done)
    assert.is_table(raised)
    assert.has_error(function() core.events { write = 1 } end)
  end)

  it("say that they need more memory than they may have", function()
    local made <const> = v4()
    made:types({ "P", 1, "E" })
    local list = {}
    for i = 1, 20000 do list[i] = event(1, 1, "") end
    made:events(list)
    local reader <const> = core.events { json = true, limit = 1 << 20 }
    local done, message, code = reader:feed(made:whole())
    assert.is_nil(done)
    assert.equal("needs more memory than the limit of 1 MiB", message)
    assert.equal("limit", code)
  end)
end)
