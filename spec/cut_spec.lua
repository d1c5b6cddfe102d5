local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local DEMO <const> = helper.data "demo.nettrace"

local function cut(directory, ...)
  local path <const> = directory .. "/out.nettrace"
  local _, status, err = helper.sonde("cut", DEMO, "-o", path, ...)
  assert.equal(0, status, err)
  return path, err
end

-- Samples by stack, as text.
local function samples_of(path, opts)
  local trace <const> = assert(sonde.open(path, opts))
  local profile <const> = assert(trace:profile { view = "samples", names = "raw" })
  local folded <const> = profile:render("folded")
  local lines <const> = helper.lines(folded)
  table.sort(lines)
  return lines, trace
end

describe("sonde cut", function()
  it("keeps the events of the time, and the names of all methods", function()
    helper.in_directory(function(directory)
      local whole <const> = assert(sonde.open(DEMO))
      local length <const> = whole:counts().last_ns
      local from, to = length // 4, length // 2
      local path, err = cut(directory, "--from", from .. "ns", "--to", to .. "ns")
      assert.matches("events, .* left out\ntry: sonde ", err)
      local mine, trace = samples_of(path)
      local wanted <const> = samples_of(DEMO, { from = from, to = to })
      assert.same(wanted, mine)
      assert.is_true(#mine > 0)
      assert.same({}, trace:problems())
      assert.equal(0, trace:counts().lost)
      assert.equal(whole:counts().methods, trace:counts().methods)
      assert.equal(whole:counts().rundown, trace:counts().rundown)
      assert.is_true(#helper.read(path) < #helper.read(DEMO))
    end)
  end)

  it("gives everything when it is told nothing, and the same when it cuts again", function()
    helper.in_directory(function(directory)
      local path <const> = cut(directory)
      assert.same((samples_of(DEMO)), (samples_of(path)))
      local again <const> = directory .. "/again.nettrace"
      local _, status = helper.sonde("cut", path, "-o", again)
      assert.equal(0, status)
      assert.equal(helper.read(path), helper.read(again))
    end)
  end)

  it("keeps real losses and loses none", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/in.nettrace"
      helper.run(("gzip -dc %s > %s"):format(helper.data "real/net10-attach-killed.nettrace.gz",
        path))
      local _, status, err = helper.sonde("cut", path, "-o", directory .. "/out.nettrace")
      assert.equal(4, status)
      assert.matches("the trace has no end", err)
      local before, after = sonde.open(path), assert(sonde.open(directory .. "/out.nettrace"))
      assert.equal(before:counts().events, after:counts().events)
      assert.equal(before:counts().lost, after:counts().lost)
      assert.is_true(after:counts().ended)
    end)
  end)

  it("survives any byte changed and any cut", function()
    local core <const> = require "sonde.c.core"
    local bytes <const> = helper.read(helper.data "synth/v4-address-reuse.nettrace")
    local function run(text)
      local cutter <close> = core.cut { from_ns = 0, to_ns = 1000000 }
      local input <const> = core.input(text)
      repeat until cutter:pump(input) == nil
      cutter:finish()
    end
    for at = 1, #bytes do
      run(bytes:sub(1, at))
      run(bytes:sub(1, at - 1) .. "\xff" .. bytes:sub(at + 1))
    end
  end)

  it("gives all within its memory, or says that it was not enough", function()
    local core <const> = require "sonde.c.core"
    local bytes <const> = helper.read(helper.data "synth/v4-program-compressed.nettrace")
    local function run(limit)
      local cutter <close> = core.cut { limit = limit }
      local input <const> = core.input(bytes)
      local first, _, code = cutter:pump(input)
      if first == nil then return nil, code end
      local rest
      rest, _, code = cutter:finish()
      return rest and first .. rest, code
    end
    local whole <const> = assert(run(1 << 30))
    local enough = 0
    for limit = 0, 12000, 37 do
      local out, code = run(limit)
      if out then
        assert.equal(whole, out)
        enough = enough + 1
      else
        assert.equal("limit", code)
      end
    end
    assert.is_true(enough > 10 and enough < 300)
  end)

  it("says what it cannot cut", function()
    helper.in_directory(function(directory)
      local function refused(status, pattern, ...)
        local _, its, err = helper.sonde("cut", ...)
        assert.equal(status, its)
        assert.matches(pattern, err)
      end
      local out <const> = directory .. "/out"
      refused(2, "where to%?", DEMO)
      refused(2, "%-%-from is not before %-%-to", DEMO, "--from", "2s", "--to", "1s", "-o", out)
      refused(3, "No such file", directory .. "/none", "-o", out)
      refused(4, "only NetTrace 4 can be cut", helper.data "synth/v6-flush-flags.nettrace",
        "-o", out)
      assert.is_nil(helper.read(out))
    end)
  end)
end)
