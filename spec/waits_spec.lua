-- Where threads wait, by the kernel's records of switches; and what samples of
-- threads that run are worth, by the kernel's clocks.
local dkjson <const> = require "dkjson"
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local places <const> = require "sonde.probe.places"
local programs <const> = require "spec.support.native"
local sample <const> = require "sonde.probe.sample"
local sonde <const> = require "sonde"

-- Skips where the kernel does not let us look at switches.
local function needs_switches()
  programs.module()
  local sampling, message = sample.open { pid = require("sonde.process.proc").self().pid,
    off_cpu = true }
  if sampling == nil then helper.skip(message) end
  sampling:close()
end

-- Records a program from its start; its profile and what was said.
local function recorded(directory, ...)
  local program <const>, path = directory .. "/waits", directory .. "/off.pb.gz"
  programs.sh(("gcc -O2 -o %s spec/targets/native/waits.c -lpthread"):format(program))
  local words <const> = table.pack("record", "--native", "--off-cpu", "-o", path, ...)
  table.move({ "--", program }, 1, 2, #words + 1, words)
  local out, status, err = helper.sonde(table.unpack(words))
  assert.equal("ready\n", out)
  assert.equal(3, status, err)   -- the program's own
  return assert(sonde.open(path)), err
end

-- Times and nanoseconds of stacks with a frame, in one state; and the stacks.
local function waits(profile, name, state)
  local frames <const> = profile:frames()
  local times, ns, stacks = 0, 0, {}
  for stack, values, labels in profile:samples() do
    local names, hit = {}, false
    for i, frame in ipairs(stack) do
      names[i] = frames.name[frame]
      hit = hit or names[i] == name
    end
    if hit and labels.state[1] == state then
      times, ns = times + values[1], ns + values[2]
      stacks[#stacks + 1] = names
    end
  end
  return times, ns, stacks
end

describe("waits", function()
  it("are counted to the time, below the functions that wait", function()
    needs_switches()
    helper.in_directory(function(directory)
      local profile <const>, err = recorded(directory)
      local types = {}
      for _, row in ipairs(profile:types()) do types[#types + 1] = row.type .. "/" .. row.unit end
      assert.same({ "waits/count", "off_cpu/nanoseconds" }, types)
      local times, ns, stacks = waits(profile, "nap", "waiting")
      assert.equal(40, times)
      -- A sleep is never shorter; how much longer is the machine's matter.
      assert(ns >= 40 * 25000000, ns)
      local _, bells <const> = waits(profile, "await", "waiting")
      assert(bells > 0.9 * ns, bells)
      for _, stack in ipairs(stacks) do
        assert(stack[1]:find("schedule", 1, true), stack[1])
        assert.equal("_start", stack[#stack])
      end
      assert.truthy(err:find("of 2 threads", 1, true), err)
    end)
  end)

  it("are told with what ended them", function()
    needs_switches()
    if places.wakings() == nil then helper.skip("no tracefs") end
    helper.in_directory(function(directory)
      local profile <const> = recorded(directory, "--wakers")
      local _, _, stacks = waits(profile, "await", "waiting")
      local rung, interrupted, told = false, false, false
      for _, stack in ipairs(stacks) do
        local text <const> = table.concat(stack, " ")
        rung = rung or text:find("main.* ring .*%[woken by%] .* await") ~= nil
      end
      assert.is_true(rung)
      -- A timer's interrupt has nothing of the thread that it came upon.
      _, _, stacks = waits(profile, "nap", "waiting")
      for _, stack in ipairs(stacks) do
        local text <const> = table.concat(stack, " ")
        assert.is_nil(text:find("main.*%[woken by%]"), text)
        interrupted = interrupted or text:find("hrtimer.*%[woken by%] .* nap") ~= nil
        told = told or text:find("[woken by]", 1, true) ~= nil
      end
      -- Some virtual machines tell nothing of interrupts that find a processor idle.
      assert.equal(told, interrupted)
    end)
  end)

  it("says which options do not go together, and what is missing", function()
    for _, words in ipairs { { "--off-cpu", "--event", "cycles" }, { "--wakers" },
                             { "--off-cpu", "--frequency", "9" } } do
      local _, status, err = helper.sonde("record", "-p", "1", "--native", table.unpack(words))
      assert.equal(2, status, err)
    end
    local _, status, err = helper.sonde("record", "-p", "1", "--native", "--", "true")
    assert.equal(2, status, err)
    assert.truthy(err:find("one of them", 1, true), err)
  end)
end)

-- The runtime's own replacement of running code hides callers for a moment.
local SETTLED <const> = { DOTNET_TC_QuickJitForLoops = "0" }

-- Nanoseconds of a method with all it calls.
local function cum(profile, method)
  local frames <const> = profile:frames()
  local ns = 0
  for stack, values in profile:samples() do
    for _, frame in ipairs(stack) do
      if frames.name[frame] == method then
        ns = ns + values[2]
        break
      end
    end
  end
  return ns
end

describe("samples", function()
  it("are worth what the kernel's clocks say", function()
    programs.module()
    local process <close> = dotnet.start("mixed", "10.0", { args = { "5" }, env = SETTLED })
    local sampling, message = sample.open { pid = process.pid, frequency = 997, duration = "60s" }
    if sampling == nil then helper.skip(message) end
    local truth
    loop.task(function()
      truth = process:line("^{", 60)
      sampling:stop()
    end)
    process.stdin:write "\n"
    sampling:run()
    local profile <const> = sampling:profile()
    sampling:close()
    local total = 0
    for name, ms in pairs(assert(dkjson.decode(assert(truth))).cpu_ms) do
      local got <const> = cum(profile, "Targets.Mixed.Program." .. name) / 1e6
      total = total + ms
      -- 5 %, and three standard deviations of what chance does.
      local off <const> = 0.05 * ms + 3 * math.sqrt(ms) + 5
      assert(math.abs(got - ms) < off, ("%s: %.1f of %.1f ms"):format(name, got, ms))
    end
    -- Nothing that a thread used is left out.
    assert(profile:total "cpu" / 1e6 > total)
  end)

  it("begin with the program when it is started by us", function()
    helper.needs "g++"
    programs.module()
    helper.in_directory(function(directory)
      local program <const>, path = directory .. "/program", directory .. "/cpu.pb.gz"
      programs.sh(("g++ -O2 -o %s spec/targets/native/burn.cc -lpthread"):format(program))
      local out, status, err = helper.sonde("record", "--native", "--frequency", "997", "-o", path,
        "--", "env", "-u", "LD_PRELOAD", program, "1500")
      if err:find("cannot sample", 1, true) then helper.skip(err) end
      assert.equal(0, status, err)
      assert.equal("ready\n", out)
      assert.truthy(err:find("the process ended", 1, true), err)
      local profile <const> = assert(sonde.open(path))
      local turns <const> = cum(profile, "Worker::turn")
      assert(turns > 0.9 * profile:total "cpu")
      assert(math.abs(cum(profile, "often") / turns - 0.75) < 0.12)
    end)
  end)

  it("tells of a program that is not there", function()
    programs.module()
    helper.in_directory(function(directory)
      local _, status, err = helper.sonde("record", "--native", "-o", directory .. "/cpu.folded",
        "--", "/nowhere/at/all")
      assert(status ~= 0)
      assert.truthy(err:find("/nowhere/at/all", 1, true)
        or err:find("cannot sample", 1, true), err)
    end)
  end)
end)

describe("sonde diff --views", function()
  local function write(path, kind, unit, alpha, beta)
    local profile <const> = require("sonde.c.core").profile_new {
      types = { { "samples", "count" }, { kind, unit } }, default = kind }
    profile:add({ "alpha", "main" }, { 1, alpha }, {})
    profile:add({ "beta", "main" }, { 1, beta }, {})
    assert(profile:write(path))
  end

  it("compares two ways of measuring one thing", function()
    helper.in_directory(function(directory)
      local before <const>, after = directory .. "/a.pb.gz", directory .. "/b.pb.gz"
      write(before, "cpu", "nanoseconds", 750, 250)
      write(after, "oncpu", "nanoseconds", 600, 400)
      local function compare(views)
        return helper.sonde("diff", before, after, "--json", "--views", views)
      end
      local out, status, err = compare "cpu,oncpu"
      assert.equal(0, status, err)
      local rows = {}
      for _, line in ipairs(helper.lines(out)) do
        local row <const> = dkjson.decode(line)
        if row.name then rows[row.name] = row end
      end
      assert.same({ 750, 600 }, { rows.alpha.before, rows.alpha.after })
      assert.same({ 250, 400 }, { rows.beta.before, rows.beta.after })
      out, status, err = compare "cpu,samples"
      assert.equal("", out)
      assert.equal(2, status)
      assert.truthy(err:find("nanoseconds", 1, true), err)
      assert.equal(2, select(2, compare "cpu"))
      out, status, err = compare "cpu,nothing"
      assert.equal("", out)
      assert.equal(2, status)
      assert.truthy(err:find("nothing", 1, true), err)
    end)
  end)
end)
