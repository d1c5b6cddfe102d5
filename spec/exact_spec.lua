-- Programs that know what they did, recorded: the counts have to be theirs.
local dkjson <const> = require "dkjson"
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"

local SECOND <const> = 1000000000

-- Runs a target under `sonde record`; what it printed last, decoded, and its
-- trace.
local function launch(directory, name, version, args, ...)
  local path <const> = directory .. "/out.nettrace"
  local words = { "record", "-o", path, ... }
  words[#words + 1] = "--"
  words[#words + 1] = dotnet.program(name, version)
  table.move(args, 1, #args, #words + 1, words)
  local out, status, err = helper.sonde(table.unpack(words))
  assert.equal(0, status, err)
  local lines <const> = helper.lines(out)
  return dkjson.decode(lines[#lines]), path
end

describe("a recording of a program that counts", function()
  -- From .NET 9 on, `throw;` is no exception of its own.
  for version, thrown in pairs { ["8.0"] = 2, ["10.0"] = 1 } do
    it("has every exception: .NET " .. version, function()
      helper.in_directory(function(directory)
        local truth, path = launch(directory, "alloc", version, {}, "--profile", "exceptions")
        local trace <const> = assert(sonde.open(path))
        local counts = {}
        for _, row in ipairs(trace:exceptions()) do counts[row.type] = row.count end
        assert.equal(0, trace:counts().lost)
        assert.equal(truth.invalid_operation, counts["System.InvalidOperationException"])
        assert.equal(truth.ticket, counts["Targets.Alloc.TicketException"])
        assert.equal(thrown * truth.format_thrown_twice, counts["System.FormatException"])
      end)
    end)
  end

  it("has 5,000 numbered events, each once and in order", function()
    helper.in_directory(function(directory)
      local truth, path = launch(directory, "eventsource", "10.0", { "5000" }, "--provider",
        "Targets-Plain:*:5", "--provider", "Targets-Rich:*:5")
      local expected = 0
      for event in assert(sonde.events(path, { provider = "^Targets-" })) do
        local payload <const> = event.payload[""] or event.payload
        -- Where the format of a payload is not known to its end, its bytes are there.
        local seq <const> = payload.seq or payload.Seq or ("<I4"):unpack(payload.raw)
        assert.equal(expected, seq)
        expected = expected + 1
      end
      assert.equal(truth.events, expected)
      assert.equal(5000, expected)
    end)
  end)
end)

-- Milliseconds on a processor by function, with what it calls: the runtime
-- stops loops in functions of its own.
local function oncpu_ms(profile, pattern)
  local sum = 0
  for _, node in ipairs(profile:graph { type = "oncpu" }.nodes) do
    if node.name:find(pattern) then sum = sum + node.cum end
  end
  return sum / 1e6
end

-- A session that has seen enough, however busy the machine is.
local function record_samples(target, n, seconds)
  local session <const> = assert(target:trace { cpu_time = true, timeline = true })
  local limit <const> = loop.after(seconds * SECOND)
  while session:counts().samples < n and loop.now() < limit do
    session:wait { timeout = "100ms" }
  end
  assert(session:stop())
  return session
end

describe("the view oncpu of a program that knows its processor time", function()
  it("has a loop of 60, 30 and 10 percent within 3 points", function()
    local process <close> = dotnet.start("cpu", "10.0", { args = { "100000" }, wait = false })
    local target
    for _ = 1, 500 do
      target = sonde.target(process.pid)
      if target then break end
      loop.sleep(SECOND // 50)
    end
    loop.sleep(SECOND)   -- compiled by then
    local session <const> = record_samples(target, 15000, 12)
    local profile <const> = assert(session:trace():profile { view = "oncpu" })
    local ms, all = {}, 0
    for name in pairs { Alpha = 60, Beta = 30, Gamma = 10 } do
      ms[name] = oncpu_ms(profile, "Burn%." .. name)
      all = all + ms[name]
    end
    for name, percent in pairs { Alpha = 60, Beta = 30, Gamma = 10 } do
      local its <const> = 100 * ms[name] / all
      assert.is_true(math.abs(its - percent) < 3, ("%s: %.1f%%"):format(name, its))
    end
  end)

  for _, version in ipairs { "8.0", "10.0" } do
    it("has what each method took, waits apart: .NET " .. version, function()
      local process <close> = dotnet.start("mixed", version, { args = { "5" } })
      local target <const> = assert(sonde.target(process.pid))
      local session <const> = assert(target:trace { cpu_time = true, timeline = true })
      process.stdin:write "go\n"
      local line
      local answer <const> = loop.task(function() line = process:line("^{", 60) end)
      assert(answer:join(loop.after(60 * SECOND)))
      assert(session:stop())
      local truth <const> = dkjson.decode(line)
      local profile <const> = assert(session:trace():profile { view = "oncpu" })
      local off, all = 0, 0
      for name, ms in pairs(truth.cpu_ms) do
        local mine <const> = oncpu_ms(profile, "Program%." .. name .. "%(")
        off, all = off + math.abs(mine - ms), all + ms
      end
      -- 4 to 6 percent on a quiet machine; what is off is the place, not the sum.
      assert.is_true(off < 0.15 * all, ("%.0f of %.0f ms off"):format(off, all))
      -- The one that is busy a quarter of its time is shown so, and so is its waiting.
      local quarter <const> = oncpu_ms(profile, "Program%.Quarter%(")
      local share <const> = 100 * truth.cpu_ms.Quarter / truth.wall_ms
      assert.is_true(math.abs(100 * quarter / truth.wall_ms - share) < 3,
        ("%.0f ms of %.0f"):format(quarter, truth.cpu_ms.Quarter))
      assert.is_true(oncpu_ms(profile, "Program%.Waiter%(") < 0.1 * truth.wall_ms)
    end)
  end
end)
