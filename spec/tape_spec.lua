local core <const> = require "sonde.c.core"
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"

local MS <const> = 1000000
local DEMO <const> = helper.read(helper.data "demo.nettrace")

-- What a tape gives for each input.
local function pump(tape, bytes)
  local pieces, input = {}, core.input(bytes)
  while true do
    local piece, message, code = tape:pump(input)
    if piece == nil then return table.concat(pieces), message, code end
    pieces[#pieces + 1] = piece
  end
end

local function opened(bytes, name)
  local trace, message = sonde.open { bytes = bytes, name = name or "part" }
  assert.is_nil(message)
  assert.same({}, trace:problems())
  assert.equal(0, trace:counts().disordered)
  return trace
end

local function samples_of(trace)
  local folded <const> = trace:profile({ view = "samples", names = "raw" }):render("folded")
  local sums = {}
  for line in folded:gmatch "[^\n]+" do
    local stack, n = line:match "^(.*) (%d+)$"
    sums[stack] = (sums[stack] or 0) + tonumber(n)
  end
  return sums
end

local function has_samples(trace)
  local counts <const> = trace:counts()
  return counts.samples_external + counts.samples_managed > 0
end

-- Cuts the demo into segments of about so many bytes.
local function segments(size)
  local tape <close> = core.tape()
  local list, pieces = {}, {}
  local at = 1
  while at <= #DEMO do
    pieces[#pieces + 1] = pump(tape, DEMO:sub(at, at + size - 1))
    if at == 1 then pieces[#pieces + 1] = assert(tape:learn(DEMO)) end
    at = at + size
    if at <= #DEMO then
      local tail <const>, head <const> = tape:split()
      pieces[#pieces + 1] = tail
      list[#list + 1] = table.concat(pieces)
      pieces = { head }
    end
  end
  pieces[#pieces + 1] = assert(tape:finish())
  list[#list + 1] = table.concat(pieces)
  return list
end

describe("a tape", function()
  it("makes segments that open on their own and have everything together", function()
    for _, size in ipairs { 100000, 250001, #DEMO } do
      local sums, events = {}, 0
      for i, bytes in ipairs(segments(size)) do
        local trace <const> = opened(bytes, "segment " .. i)
        assert.equal(0, trace:counts().lost)
        assert.equal("complete", trace:counts().rundown)
        events = events + trace:counts().events
        if has_samples(trace) then
          for stack, n in pairs(samples_of(trace)) do sums[stack] = (sums[stack] or 0) + n end
        end
      end
      assert.same(samples_of(opened(DEMO)), sums)
      assert.is_true(events >= opened(DEMO):counts().events)
    end
  end)

  it("keeps the last stretch of time, as a cut of it would", function()
    for _, ms in ipairs { 100, 700, 3000, 100000 } do
      local tape <close> = core.tape { span_ns = ms * MS }
      assert.equal("", (pump(tape, DEMO)))
      local pieces = {}
      assert.is_true(tape:save(function(piece) pieces[#pieces + 1] = piece end) > 0)
      local trace <const> = opened(table.concat(pieces))
      local last <const> = opened(DEMO):counts().last_ns
      assert.equal(last, trace:counts().last_ns)
      assert.equal(0, trace:counts().lost)
      assert.equal(1214, trace:counts().methods)
      local wanted <const> = sonde.open({ bytes = DEMO, name = "demo" },
        { from = math.max(0, last - ms * MS) })
      if has_samples(wanted) then
        assert.same(samples_of(wanted), samples_of(trace))
      end
    end
  end)

  it("never holds more than it may", function()
    local tape <close> = core.tape { span_ns = 100000 * MS, most = 100000 }
    pump(tape, DEMO)
    assert.is_true(tape:info().held <= 250000)   -- stacks of an open region stay
    local pieces = {}
    assert(tape:save(function(piece) pieces[#pieces + 1] = piece end))
    opened(table.concat(pieces))
    local small <close> = core.tape { limit = 200000 }
    local _, message, code = pump(small, DEMO)
    assert.matches("memory", message)
    assert.equal("limit", code)
  end)

  it("survives every damage", function()
    for seed = 1, 300 do
      math.randomseed(seed)
      local at <const> = math.random(1, 200000)
      local bytes <const> = DEMO:sub(1, at - 1)
        .. string.char(math.random(0, 255)):rep(math.random(1, 4)) .. DEMO:sub(at + 1, at + 60000)
      local ring <close> = core.tape { span_ns = math.random(1, 2000) * MS }
      local tape <close> = core.tape()
      pump(ring, bytes)
      pump(tape, bytes)
      if ring:info().begun then
        ring:save(function() end)
        ring:learn(bytes)
      end
      if tape:info().begun then
        tape:learn(bytes)
        tape:split()
      end
      tape:finish()
    end
    math.randomseed(os.time())
  end)
end)

local function record(directory, ...)
  return dotnet.sonde(directory, "record", ...)
end

local function exceptions_in(path)
  local trace, message = sonde.open(path)
  assert.is_nil(message)
  assert.equal(0, trace:counts().lost)
  local n = 0
  for _, row in ipairs(trace:exceptions()) do n = n + row.count end
  return n, trace
end

-- Throws until so many segments were finished. One thread has a buffer of its
-- own, and the names of a segment are waited for.
local function throw_into(process, directory, n)
  for i = 1, n do
    assert.matches("^ok throw", process:command "throw 5000")
    local path <const> = ("%s/out.%04d.nettrace"):format(directory, i)
    for _ = 1, 1000 do
      if helper.read(path) then break end
      loop.sleep(20 * MS)
    end
  end
end

local function named(trace)
  for _, method in ipairs(trace:methods()) do
    if method.name == "Main" then return true end
  end
  return false
end

describe("sonde record", function()
  it("--rotate leaves segments that each open on their own", function()
    helper.in_directory(function(directory)
      local process <close> = dotnet.start("idle", "10.0")
      local recorder <close> = record(directory, tostring(process.pid), "--profile", "exceptions",
        "--rotate", "1MiB", "-o", directory .. "/out.nettrace")
      recorder:await "recording process"
      throw_into(process, directory, 3)
      recorder:kill(2)
      assert.equal(0, recorder:wait(), recorder.said())
      local n <const> = tonumber(recorder.said():match "wrote (%d+) segments")
      assert.is_true(n > 3)
      assert.matches("names were taken %d+ times? meanwhile: ", recorder.said())
      local total = 0
      for i = 1, n do
        local its, trace = exceptions_in(("%s/out.%04d.nettrace"):format(directory, i))
        total = total + its
        assert.is_true(named(trace), "segment " .. i)
      end
      assert.equal(15000, total)
      assert.is_true(dotnet.has_no_sessions(process.pid))
    end)
  end)

  it("--keep deletes the oldest segments", function()
    helper.in_directory(function(directory)
      local process <close> = dotnet.start("idle", "8.0")
      local recorder <close> = record(directory, tostring(process.pid), "--profile", "exceptions",
        "--rotate", "1MiB", "--keep", "2", "-o", directory .. "/out.nettrace")
      recorder:await "recording process"
      throw_into(process, directory, 3)
      recorder:kill(2)
      assert.equal(0, recorder:wait(), recorder.said())
      local n <const> = tonumber(recorder.said():match "wrote (%d+) segments?, 2 of them kept")
      assert.equal(("err\nout.%04d.nettrace\nout.%04d.nettrace\n"):format(n - 1, n),
        (helper.run("ls " .. directory)))
    end)
  end)

  it("--ring writes the last stretch at a signal, at the end, and when the process dies", function()
    helper.in_directory(function(directory)
      local process <close> = dotnet.start("idle", "10.0")
      local recorder <close> = record(directory, tostring(process.pid), "--profile", "exceptions",
        "--ring", "60s", "-o", directory .. "/out.nettrace")
      recorder:await "recording process"
      assert.matches("^ok throw", process:command "throw 100")
      loop.sleep(500 * MS)   -- the runtime sends its buffers ten times a second
      recorder:kill(10)
      recorder:await "wrote .*out.0001.nettrace"
      local n, trace = exceptions_in(directory .. "/out.0001.nettrace")
      assert.equal(100, n)
      assert.is_true(named(trace))
      assert.matches("^ok throw", process:command "throw 50")
      loop.sleep(500 * MS)
      process:kill(9)
      assert.equal(4, recorder:wait(), recorder.said())
      n, trace = exceptions_in(directory .. "/out.nettrace")
      assert.equal(150, n)
      assert.is_true(named(trace))
    end)
  end)

  it("knows what goes together", function()
    local function refused(pattern, ...)
      local _, status, err = helper.sonde("record", "-p", "1", ...)
      assert.equal(2, status, err)
      assert.matches(pattern, err)
    end
    refused("%-%-keep goes with %-%-rotate", "--keep", "3")
    refused("one of them", "--ring", "60s", "--rotate", "64MiB")
    refused("traces only", "--ring", "60s", "-f", "svg")
    refused("NAME.nettrace", "--ring", "60s", "-o", "x.svg")
  end)
end)
