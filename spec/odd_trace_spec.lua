-- Traces with what no writer should have written, and with what the runtime does not
-- describe.
local helper <const> = require "spec.support.helper"
local made <const> = require "spec.support.made_trace"
local sonde <const> = require "sonde"

-- Where the date and the clock stand in a made trace: behind the head's words.
local DATE <const> = #"Nettrace" + 4 + 20 + 3 + 12 + #"Trace" + 1

local function open(bytes)
  return assert(sonde.open { bytes = bytes, name = "x.nettrace" })
end

local function replace(bytes, at, with)
  return bytes:sub(1, at) .. with .. bytes:sub(at + #with + 1)
end

local SAMPLES <const> = { { 1000000, made.sample(true) }, { 2000000, made.sample(true) } }

describe("the head of a trace", function()
  local function dated(year, month, day)
    return open(replace(made.trace(SAMPLES), DATE,
      ("<I2I2I2I2"):pack(year, month, 0, day)))
  end

  it("may have a date that no calendar has", function()
    for _, date in ipairs { { 2023, 2, 29 }, { 2023, 2, 30 }, { 2100, 2, 29 }, { 2024, 4, 31 },
        { 1601, 1, 1 }, { 9999, 12, 31 }, { 2024, 0, 1 }, { 2024, 13, 1 } } do
      local trace <const> = dated(table.unpack(date))
      assert.is_nil(trace:info().wall_ns)
      assert.equal(1, trace:counts().warnings)
    end
    for _, date in ipairs { { 2024, 2, 29 }, { 2000, 2, 29 }, { 2023, 12, 31 } } do
      local trace <const> = dated(table.unpack(date))
      assert(trace:info().wall_ns)
      assert.equal(0, trace:counts().warnings)
    end
  end)

  it("may have a clock that no machine has", function()
    for _, frequency in ipairs { 0, -5, math.maxinteger, 1000000000001 } do
      local trace <const> = open(replace(made.trace(SAMPLES), DATE + 24, ("<i8"):pack(frequency)))
      assert.equal(1, trace:counts().warnings)
      assert.equal(1000000, trace:sampling().period_ns)
    end
    assert.equal(0, open(replace(made.trace(SAMPLES), DATE + 24,
      ("<i8"):pack(3124099))):counts().warnings)
  end)
end)

describe("events of DiagnosticSource", function()
  it("have their arguments, though the trace does not describe them", function()
    local function utf16(text) return (text:gsub(".", "%0\0")) .. "\0\0" end
    local payload <const> = utf16 "Shop" .. utf16 "Order.Begin" .. ("<I2"):pack(2)
      .. utf16 "Path" .. utf16 "/a;b" .. utf16 "" .. utf16 ""
    helper.in_directory(function(dir)
      local path <const> = dir .. "/x.nettrace"
      for _, id in ipairs { 2, 4, 12 } do
        helper.write(path, made.trace { { 1000, { id = id, version = 0, payload = payload,
          provider = "Microsoft-Diagnostics-DiagnosticSource" } } })
        local event <const> = helper.json_lines((helper.sonde("events", path, "--json")))[1]
        assert.equal("Order.Begin", event.payload.EventName)
        assert.same({ { Key = "Path", Value = "/a;b" }, { Key = "", Value = "" } },
          event.payload.Arguments)
      end
    end)
  end)
end)

describe("a collection", function()
  it("of an unknown reason is said to be so", function()
    local gc <const> = open(made.trace {
      { 1000, made.suspend(1) }, { 2000, made.gc_start(1, 0, 99) }, { 3000, made.gc_end(1, 0) },
      { 4000, made.restarted() },
    }):gcs()[1]
    assert.equal("unknown", gc.reason)
  end)
end)

describe("a clock that stands still", function()
  it("gives each sample the least that it is worth", function()
    local trace <const> = open(made.trace { { 5000, made.sample(true) },
      { 5000, made.sample(true) }, { 5000, made.sample(false) } })
    local profile <const> = trace:profile()
    assert.equal(3000000, profile:total())
    local info <const> = profile:info()
    assert(table.concat(info.comments, "\n"):find("stood still", 1, true))
  end)
end)

describe("labels of a V6 event", function()
  local FILE <const> = helper.data "odd/v6-labels.nettrace"

  it("stand behind its payload", function()
    local events <const> = helper.json_lines((helper.sonde("events", FILE, "--json")))
    assert.equal(5, #events)
    assert.same({ trace_id = "000102030405060708090a0b0c0d0e0f" }, events[1].labels)
    assert.equal("03020100-0504-0706-0809-0a0b0c0d0e0f", events[1].activity)
    assert.same({ span_id = "0000000000000007", ["k;"] = "v\n", n = 5 }, events[2].labels)
    assert.same({ 9, 4 }, { events[2].opcode, events[2].version })
    for i = 3, 5 do assert.is_nil(events[i].labels) end
  end)

  it("are redacted with it, and its state is not", function()
    local out <const> = helper.sonde("events", FILE, "--json", "--redact")
    local events <const> = helper.json_lines(out)
    assert.not_equal("000102030405060708090a0b0c0d0e0f", events[1].labels.trace_id)
    assert.equal(32, #events[1].labels.trace_id)
    assert.equal(5, events[2].labels.n)
    assert.is_nil(out:find('"v\\n"', 1, true))
    assert.equal("cut", events[5].payload_status)
  end)
end)
