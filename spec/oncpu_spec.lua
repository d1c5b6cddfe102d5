local dkjson <const> = require "dkjson"
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

-- Nanoseconds on a processor by function, or by another grouping; with what
-- was called, since the runtime stops a loop of .NET 10 in `Thread.PollGC`.
local function cum(profile, pattern, by)
  local sum = 0
  for _, node in ipairs(profile:graph { type = "oncpu", by = by }.nodes) do
    if node.name:find(pattern) then sum = sum + node.cum end
  end
  return sum
end

-- What a process's first thread has used so far.
local function main_thread_ns(pid)
  local text <const> = helper.read(("/proc/%d/task/%d/schedstat"):format(pid, pid))
  return math.tointeger(tonumber(text:match "^%d+"))
end

describe("the view oncpu", function()
  it("gives a loop of known shares its shares", function()
    local process <close> = dotnet.start("cpu", "10.0", { args = { "100000" }, wait = false })
    helper.in_directory(function(directory)
      local path <const> = directory .. "/out.nettrace"
      require("sonde.base.loop").sleep(500000000)
      local _, status, err = helper.sonde("record", "-p", tostring(process.pid), "--duration", "4s",
        "-o", path)
      assert.equal(0, status, err)
      local trace <const> = assert(sonde.open(path))
      assert.equal(0, #trace:problems())
      local profile <const> = assert(trace:profile { view = "oncpu" })
      local alpha, beta, gamma = cum(profile, "Burn%.Alpha"), cum(profile, "Burn%.Beta"),
        cum(profile, "Burn%.Gamma")
      local all <const> = alpha + beta + gamma
      assert.is_true(math.abs(100 * alpha / all - 60) < 6)
      assert.is_true(math.abs(100 * beta / all - 30) < 6)
      assert.is_true(math.abs(100 * gamma / all - 10) < 6)
      -- The names of threads come along.
      local names = {}
      for _, thread in ipairs(trace:threads()) do names[thread.name or ""] = true end
      assert.is_true(names[".NET TP Worker"])
      -- Whoever does not know the provider sees self-described events.
      local out <const> = helper.sonde("events", path, "--provider", "^Sonde$", "--name",
        "ThreadCpu", "--json")
      local first <const> = dkjson.decode(helper.lines(out)[1])
      assert.matches("^0x%x+$", first.payload.Time)
      assert.matches("^0x%x+$", first.payload.RunNs)
    end)
  end)

  it("shows what a program used that mostly waits", function()
    local process <close> = dotnet.start("idle", "10.0")
    local target <const> = assert(sonde.target(process.pid))
    process:command "burn 100"
    local before <const> = main_thread_ns(process.pid)
    local session <const> = assert(target:trace { cpu_time = true, timeline = true })
    for _ = 1, 4 do
      process:command "burn 100"
      session:wait { timeout = "300ms" }
    end
    assert(session:stop())
    local used <const> = main_thread_ns(process.pid) - before
    local profile <const> = assert(session:trace():profile { view = "oncpu" })
    -- Of the thread its clock's time exactly, and most of it where it was spent.
    local main <const> = cum(profile, "^target%-idle$", "label:thread")
    assert.is_true(math.abs(main - used) < 0.02 * used + 2000000, main - used)
    assert.is_true(cum(profile, "Program%.Burn") > 0.6 * main)
    assert.is_true(profile:total "blocked" > profile:total "oncpu")
    assert.is_true(cum(profile, "Sleeper") < 5000000)
  end)

  it("is what a pprof file can be recorded of", function()
    local process <close> = dotnet.start("idle", "8.0")
    helper.in_directory(function(directory)
      local path <const> = directory .. "/out.pb.gz"
      local _, status, err = helper.sonde("record", "-p", tostring(process.pid), "--duration", "1s",
        "-o", path, "--view", "oncpu")
      assert.equal(0, status, err)
      local types <const> = assert(sonde.open(path)):types()
      assert.same({ type = "oncpu", unit = "nanoseconds" }, types[1])
    end)
  end)

  it("says what a trace without clocks lacks", function()
    local trace <const> = assert(sonde.open(helper.data "demo.nettrace"))
    local profile, message, code = trace:profile { view = "oncpu" }
    assert.is_nil(profile)
    assert.matches("no ThreadCpu events %(Sonde%)", message)
    assert.equal("no_samples", code)
  end)
end)
