-- Names in stacks of processes that lived for a moment, became another program, or
-- loaded libraries after they were first looked at: in probes and in samples.
local dotnet <const> = require "spec.support.dotnet"   -- its `spawn` runs any program
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local native <const> = require "spec.support.native"
local probes <const> = require "spec.support.probes"

local MS <const> = 1000000

-- A program, or a library, whose function that calls umask has this name.
local function build(directory, step, more)
  helper.needs "gcc"
  local to <const> = ("%s/%s"):format(directory, step)
  native.sh(("gcc -O0 -g -fno-omit-frame-pointer -DSTEP=%s %s -o %s spec/targets/native/stages.c"
    .. " -ldl"):format(step, more or "", to))
  return to
end

local function libc_of(program)
  return native.sh(("ldd %s"):format(program)):match("(/%S*libc%.so%S*)")
end

-- Of each stack two frames outside of the probed function, and how often.
local function callers(report)
  local list = {}
  for _, func in ipairs(report:functions()) do
    for _, stack in ipairs(func:stacks_by_hits()) do
      local user <const> = stack.user
      local text <const> = ("%s %s"):format(user[2] and user[2].name, user[3] and user[3].name)
      list[text] = (list[text] or 0) + stack.count
    end
  end
  return list
end

-- Probes umask of the C library while `act` runs.
local function of_umask(program, act)
  return probes.run({ binary = libc_of(program), functions = "^umask$", stacks = true }, act)
end

describe("stacks of probes name", function()
  before_each(probes.needed)

  it("programs that ended before anybody looked, with their libraries", function()
    helper.in_directory(function(directory)
      local program <const> = build(directory, "only_step")
      local report <const> = of_umask(program, function()
        native.sh(("for i in 1 2 3 4 5 6 7 8 9 10; do %s; done"):format(program))
      end)
      assert.equal(10, callers(report)["only_step main"])
      for _, stack in ipairs(report:func(0):stacks_by_hits()) do
        if stack.user[2].name == "only_step" then assert.equal(program, stack.binary) end
      end
    end)
  end)

  it("each program that one process was", function()
    helper.in_directory(function(directory)
      local first <const>, second <const> = build(directory, "first_step"),
        build(directory, "second_step")
      local report <const> = of_umask(first, function()
        native.sh(("%s exec %s exec %s exec %s"):format(first, second, first, second))
      end)
      local found <const> = callers(report)
      assert.same({ 2, 2 }, { found["first_step main"], found["second_step main"] })
    end)
  end)

  it("libraries that were loaded after the first hit", function()
    helper.in_directory(function(directory)
      local program <const> = build(directory, "early_step")
      local library <const> = build(directory, "late_step", "-DLIBRARY -shared -fPIC")
      local found
      local report <const> = of_umask(program, function(probe)
        local target <close> = dotnet.spawn { program, "load", library }
        assert(target:line "^ready")
        probe:look()
        target.stdin:write "\n"
        assert(target:line "^did")
      end)
      found = callers(report)
      assert.equal(1, found["early_step main"])
      assert.equal(1, found["late_step load"])
    end)
  end)

  it("the same where the kernel tells nothing, as long as processes are there", function()
    helper.in_directory(function(directory)
      local program <const> = build(directory, "early_step")
      local library <const> = build(directory, "late_step", "-DLIBRARY -shared -fPIC")
      local probe <close> = assert(require("sonde").probe { binary = libc_of(program),
        functions = "^umask$", stacks = true })
      probe.seen:close()
      probe.seen.why = "not allowed"
      local target <close> = dotnet.spawn { program, "load", library }
      assert(target:line "^ready")
      probe:look()
      target.stdin:write "\n"
      assert(target:line "^did")
      native.sh(program)
      local report <const> = probe:stop()
      local found <const> = callers(report)
      assert.equal(1, found["late_step load"])
      -- Others on this machine may end meanwhile too.
      assert.matches("^%d+ processes ended before anybody could look.*%(not allowed%)",
        report.missing[1])
    end)
  end)

  it("no process for ever that was never hit", function()
    helper.in_directory(function(directory)
      local program <const> = build(directory, "only_step")
      local tracker <close> = assert(native.module().tracker())
      native.sh(("for i in 1 2 3; do %s; done"):format(program))
      tracker:take()
      local ended <const> = tracker:ended()
      assert(#ended >= 3, #ended)
      local maps <const> = tracker:maps(ended[#ended])
      assert(#maps[1].mappings > 0)
      for _, pid in ipairs(ended) do tracker:drop(pid) end
      assert.same({}, tracker:ended())
      assert.same({}, tracker:maps(ended[#ended]))
    end)
  end)
end)

local function names_of(profile)
  local hits, frames = {}, profile:frames()
  for stack, values in profile:samples() do
    local once = {}
    for _, frame in ipairs(stack) do once[frames.name[frame]] = true end
    for name in pairs(once) do hits[name] = (hits[name] or 0) + values[1] end
  end
  return hits
end

describe("samples of the machine name", function()
  local function sampling_of_all(opts)
    native.module()
    local sampling, message = require("sonde.probe.sample").open(opts)
    if sampling == nil then helper.skip(message) end
    return sampling
  end

  it("programs that ended before their first sample was taken", function()
    helper.in_directory(function(directory)
      local program <const> = build(directory, "burning_step")
      local sampling <const> = sampling_of_all { frequency = 999, duration = "10ms" }
      native.sh(("for i in 1 2 3 4 5; do %s burn; done"):format(program))
      sampling:run()
      local hits <const> = names_of(sampling:profile())
      sampling:close()
      assert((hits.burn or 0) >= 5, tostring(hits.burn))
      assert((hits.main or 0) >= hits.burn)
    end)
  end)

  it("programs that were there before and ended before their first sample", function()
    helper.needs "g++"
    helper.in_directory(function(directory)
      local program <const> = directory .. "/burner"
      native.sh(("g++ -O2 -o %s spec/targets/native/burn.cc -lpthread"):format(program))
      local process <close> = dotnet.spawn { program }
      assert(process:line "^ready")
      local sampling <const> = sampling_of_all { frequency = 999, duration = "10ms" }
      -- Nobody takes samples meanwhile.
      native.sh(("sleep 0.5; kill -9 %d"):format(process.pid))
      loop.sleep(20 * MS)
      process:close()
      sampling:run()
      local hits <const> = names_of(sampling:profile())
      sampling:close()
      assert((hits.often or 0) >= 10, tostring(hits.often))
    end)
  end)
end)
