-- Sampling of running processes by the kernel.
local helper <const> = require "spec.support.helper"
local dotnet <const> = require "spec.support.dotnet"
local loop <const> = require "sonde.base.loop"
local programs <const> = require "spec.support.native"
local sample <const> = require "sonde.probe.sample"
local sonde <const> = require "sonde"
local symbols <const> = require "sonde.symbols"

local sh <const> = programs.sh

-- Skips where the kernel does not let us sample at all.
local function needs_samples()
  programs.module()
  local sampling, message = sample.open { pid = require("sonde.process.proc").self().pid }
  if sampling == nil then helper.skip(message) end
  sampling:close()
end

-- A program of spec/targets/native that runs while `use` does.
local function running(source, build, use)
  helper.in_directory(function(directory)
    local program <const> = directory .. "/program"
    sh(build:format(program, "spec/targets/native/" .. source))
    local process <close> = dotnet.spawn({ program }, { env = dotnet.OWN_ENVIRONMENT })
    assert(process:line "^ready", "it did not start")
    use(process, program)
  end)
end

local CXX <const> = "g++ -O2 -o %s %s -lpthread"

-- The share of samples with a frame of this name, in percent, and the number.
local function share(profile, name)
  local frames <const> = profile:frames()
  local hits, total = 0, 0
  for stack, values in profile:samples() do
    local hit = false
    for _, frame in ipairs(stack) do hit = hit or frames.name[frame] == name end
    total = total + values[1]
    if hit then hits = hits + values[1] end
  end
  return hits * 100 / total, total
end

-- Each sample with the set of what a pattern takes out of its frames' names.
local function named_stacks(profile, pattern)
  local frames <const> = profile:frames()
  local each <const>, state, first = profile:samples()
  return function(...)
    local stack, values = each(...)
    if stack == nil then return nil end
    local names = {}
    for _, frame in ipairs(stack) do
      names[frames.name[frame]:match(pattern) or ""] = true
    end
    return names, values
  end, state, first
end

-- Of samples that are enough for it, a quarter is in `seldom`.
local function check_shares(profile, often, seldom)
  local much, n = share(profile, often)
  local little <const> = share(profile, seldom)
  assert(n >= 50, n)
  -- Three standard deviations of what chance does with so many samples.
  local off <const> = 300 * math.sqrt(0.25 * 0.75 / n) + 2
  assert(math.abs(much - 75) < off, ("%s: %.1f %% of %d"):format(often, much, n))
  assert(math.abs(little - 25) < off, ("%s: %.1f %% of %d"):format(seldom, little, n))
end

-- Samples until there are enough, however busy the machine is.
local function sampled(pid, opts)
  local sampling <const> = assert(sample.open { pid = pid, frequency = 499, duration = "6s",
    event = opts and opts.event })
  sampling:run(function(counts)
    if counts.samples >= 600 then sampling:stop() end
  end)
  local counts <const> = sampling:counts()
  local profile <const> = sampling:profile()
  sampling:close()
  return profile, counts
end

local function check_complete(counts)
  local user <const> = counts.complete + counts.remembered + counts.spliced
    + counts.chain + counts.cut
  assert(user > 0)
  assert(counts.cut / user < 0.02, ("%d of %d are cut"):format(counts.cut, user))
  assert.equal(0, counts.lost)
  assert.equal(0, counts.damaged)
end

describe("sampling", function()
  it("a C++ program finds true shares and whole stacks without frame pointers", function()
    helper.needs "g++"
    needs_samples()
    running("burn.cc", CXX, function(process, program)
      local profile, counts = sampled(process.pid)
      check_shares(profile, "often", "seldom")
      check_complete(counts)
      assert(share(profile, "Worker::turn") > 95)
      assert(share(profile, "compare") > 10)
      local main <const> = profile:mappings()[1]
      assert.equal(program, main.file)
      local image <close> = assert(symbols.native().image(program))
      assert.equal(image:info().build_id or "", main.build_id)
      local threads = {}
      for _, _, labels in profile:samples() do threads[labels.thread[1]] = true end
      assert.is_true(threads.burner)
    end)
  end)

  it("a stripped program tells its functions apart by where they begin", function()
    helper.needs "g++"
    needs_samples()
    running("burn.cc", CXX .. " -s", function(process)
      local profile, counts = sampled(process.pid)
      check_complete(counts)
      local names = {}
      for _, name in ipairs(profile:frames().name) do
        if name:find "^program%+0x%x+$" then names[#names + 1] = name end
      end
      assert(#names >= 4, #names)
    end)
  end)

  it("a Go program reaches the goroutine's start, from assembly too", function()
    helper.needs "go"
    needs_samples()
    running("burn.go", "go build -o %s %s", function(process)
      local profile, counts = sampled(process.pid)
      check_shares(profile, "main.often", "main.seldom")
      check_complete(counts)
    end)
  end)

  it("a Go program is sampled by the command, too, which could ask it for its profile", function()
    helper.needs "go"
    needs_samples()
    running("burn.go", "go build -o %s %s", function(process, program)
      local path <const> = program .. ".pb.gz"
      local _, status, err = helper.sonde("record", "-p", tostring(process.pid), "--native",
        "--duration", "1s", "-o", path)
      assert(status == 0, err)
      assert(share(assert(sonde.open(path)), "main.often") > 20)
    end)
  end)

  it("a .NET program shows native and managed frames in one stack", function()
    needs_samples()
    local process <close> = dotnet.start("cpu", "10.0", { args = { "100000" }, wait = false })
    loop.sleep(1500000000)
    local profile, counts = sampled(process.pid)
    check_complete(counts)
    local frames <const> = profile:frames()
    local mixed = false
    for stack in profile:samples() do
      local managed, native = false, false
      for _, frame in ipairs(stack) do
        managed = managed or frames.name[frame]:find("Targets.Cpu.Burn.", 1, true) ~= nil
        native = native or frames.module[frame]:find("libcoreclr.so", 1, true) ~= nil
      end
      mixed = mixed or managed and native
    end
    assert.is_true(mixed)
    local alpha <const>, beta <const> = share(profile, "Targets.Cpu.Burn.Alpha"),
      share(profile, "Targets.Cpu.Burn.Beta")
    assert(alpha > beta and beta > 5, ("%.1f %%, %.1f %%"):format(alpha, beta))
  end)

  it("a .NET program's methods get the time that their threads' clocks say", function()
    needs_samples()
    local process <close> = dotnet.start("mixed", "10.0", { args = { "2" } })
    local sampling <const> = assert(sample.open { pid = process.pid, frequency = 499 })
    process.stdin:write "\n"
    local truth
    loop.task(function()
      truth = process:line("^{", 60)
      sampling:stop()
    end)
    sampling:run()
    check_complete(sampling:counts())
    local profile <const> = sampling:profile()
    sampling:close()
    assert.is_true(dotnet.has_no_sessions(process.pid))
    -- Burn is called by these two alone. Its loop is replaced while it runs, whose
    -- frame lies on that of the body it was called as.
    local ns <const>, burns, astray = { Steady = 0, Quarter = 0 }, 0, 0
    for names, values in named_stacks(profile, "^Targets%.Mixed%.Program%.(%w+)$") do
      for name in pairs(ns) do
        if names[name] then ns[name] = ns[name] + values[2] end
      end
      if names.Burn then burns = burns + values[1] end
      if names.Burn and not (names.Steady or names.Quarter) then astray = astray + values[1] end
    end
    assert(burns > 30, burns)
    assert(astray <= 2 + burns / 200, ("%d of %d"):format(astray, burns))
    for name, sum in pairs(ns) do
      local ms <const> = tonumber(truth:match(('"%s":([%%d.]+)'):format(name)))
      -- What chance does with so many samples, beside the 5 percent.
      local most <const> = 0.05 + 3 / math.sqrt(ms / 1000 * 499)
      assert(math.abs(sum / 1e6 / ms - 1) < most,
        ("%s: %.0f of %.0f ms"):format(name, sum / 1e6, ms))
    end
  end)

  it("a .NET program's methods have names when it has ended", function()
    needs_samples()
    local process <close> = dotnet.start("cpu", "10.0", { args = { "100000" }, wait = false })
    loop.sleep(1000000000)
    local sampling <const> = assert(sample.open { pid = process.pid, frequency = 499 })
    local killed = false
    local reason <const> = sampling:run(function(counts)
      if counts.samples >= 50 and not killed then
        process:kill(9)
        killed = true
      end
    end)
    assert.equal("ended", reason)
    local profile <const> = sampling:profile()
    sampling:close()
    assert(share(profile, "Targets.Cpu.Burn.Alpha") > 10)
  end)

  it("names code of JIT compilers by the map they write", function()
    helper.needs "node"
    needs_samples()
    helper.in_directory(function(directory)
      local script <const> = directory .. "/fib.js"
      helper.write(script, "function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1)"
        .. " + fibonacci(n - 2) }\nconsole.log('ready'); for (;;) fibonacci(25)\n")
      local node <const> = sh("command -v node"):match "%S+"
      -- It leaves a log where it runs.
      local process <close> = dotnet.spawn({ node, "--perf-basic-prof", script },
        { cwd = directory })
      assert(process:line "^ready", "node did not start")
      local profile <const> = sampled(process.pid)
      os.remove(("/tmp/perf-%d.map"):format(process.pid))
      local hits = 0
      for _, name in ipairs(profile:frames().name) do
        if name:find("fibonacci", 1, true) then hits = hits + 1 end
      end
      assert(hits > 0)
    end)
  end)

  it("ends with the process", function()
    helper.needs "g++"
    needs_samples()
    running("burn.cc", CXX, function(process)
      local sampling <const> = assert(sample.open { pid = process.pid, duration = "30s" })
      local killed = false
      local reason <const> = sampling:run(function()
        if not killed then process:kill(9) end
        killed = true
      end)
      assert.equal("ended", reason)
      sampling:close()
    end)
  end)

  it("names what it cannot sample", function()
    programs.module()
    local sampling, message, code = sample.open { pid = (1 << 22) + 1 }
    assert.is_nil(sampling)
    assert.truthy(message:find("no process", 1, true))
    assert.equal("not_found", code)
    assert.error_matches(function() sample.open { event = "nothing" } end, "event")
  end)

  it("takes a process apart whose program was deleted or replaced", function()
    helper.needs "g++"
    needs_samples()
    running("burn.cc", CXX, function(process, program)
      os.remove(program)
      helper.write(program, "another")
      local profile <const> = sampled(process.pid)
      check_shares(profile, "often", "seldom")
    end)
  end)
end)

describe("sonde record --native", function()
  it("writes what the output's name says, and the same again from its file", function()
    helper.needs "g++"
    needs_samples()
    running("burn.cc", CXX, function(process, program)
      local folder <const> = program:match "^(.*)/"
      for _, name in ipairs { "cpu.folded", "cpu.pb.gz", "cpu.html" } do
        local path <const> = folder .. "/" .. name
        local _, status, err = helper.sonde("record", "-p", tostring(process.pid), "--native",
          "--duration", "1s", "--frequency", "499", "-o", path)
        assert(status == 0, err)
        assert.truthy(err:find("reach the thread's start", 1, true), err)
        assert.truthy(helper.read(path):find("Worker::turn", 1, true) or name == "cpu.pb.gz"
          or name == "cpu.html")
      end
      assert(share(assert(sonde.open(folder .. "/cpu.pb.gz")), "Worker::turn") > 90)
    end)
  end)

  it("names the methods of a .NET program that it starts and that ends", function()
    needs_samples()
    local program <const> = dotnet.program("cpu", "10.0")
    helper.in_directory(function(directory)
      local path <const> = directory .. "/cpu.pb.gz"
      local _, status, err = helper.sonde("record", "--native", "-o", path, "--", program, "40")
      assert(status == 0, err)
      assert(share(assert(sonde.open(path)), "Targets.Cpu.Burn.Alpha") > 10)
    end)
  end)

  it("ends with Ctrl-C and keeps what it has", function()
    helper.needs "g++"
    needs_samples()
    running("burn.cc", CXX, function(process, program)
      local path <const> = program .. ".folded"
      -- It says that it samples right before it hears signals.
      local command <const> = ("%s record -p %d --native -o %s >%s.log 2>&1 & pid=$!;"
        .. " for i in $(seq 300); do grep -q sampling %s.log && break; sleep 0.1; done; sleep 2;"
        .. " kill -INT $pid; wait $pid; echo status=$?; cat %s.log"):format(helper.command,
        process.pid, path, path, path, path)
      local out <const> = sh(command)
      assert.truthy(out:find("status=0", 1, true), out)
      assert.truthy(out:find("Ctrl-C", 1, true), out)
      assert.truthy(helper.read(path):find("Worker::turn", 1, true))
    end)
  end)

  it("finds a process by its name and samples the machine", function()
    helper.needs "g++"
    needs_samples()
    helper.in_directory(function(directory)
      local program <const> = directory .. "/sondeburner"
      sh(CXX:format(program, "spec/targets/native/burn.cc"))
      local process <close> = dotnet.spawn { program }
      assert(process:line "^ready")
      local path <const> = directory .. "/cpu.pb.gz"
      local _, status, err = helper.sonde("record", "sondeburner", "--native", "--duration", "1s",
        "-o", path)
      assert(status == 0, err)
      _, status, err = helper.sonde("record", "--system", "--duration", "1s", "-o", path)
      assert(status == 0, err)
      local out <const> = helper.sonde("report", "tags", path)
      assert.truthy(out:find(("sondeburner (%d)"):format(process.pid), 1, true), out)
    end)
  end)

  it("says which options do not go together", function()
    local _, status, err = helper.sonde("record", "-p", "1", "--native", "--provider", "X")
    assert.equal(2, status)
    assert.truthy(err:find("--native does not go with --provider", 1, true), err)
    _, status = helper.sonde("record", "-p", "1", "--system")
    assert.equal(2, status)
    _, status, err = helper.sonde("record", "-p", "1", "--native", "--event", "nothing")
    assert.equal(2, status)
    assert.truthy(err:find("--event", 1, true), err)
  end)
end)
