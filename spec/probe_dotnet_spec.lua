-- Stacks of probes in .NET processes: methods are named by the runtime itself, or
-- by the dump of code that it writes, with nothing set when it was started.
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local probes <const> = require "spec.support.probes"
local proc <const> = require "sonde.process.proc"

local SECOND <const> = 1000000000

-- A process that burns and writes files in methods of known names.
local function with_target(use)
  probes.needed()
  local process <close> = dotnet.start("mixed", "10.0", { args = { "60" } })
  process.stdin:write "go\n"
  use(process)
end

-- Probes until there are so many hits; the report.
local function report_of(process, opts, least)
  opts.process, opts.stacks = tostring(process.pid), true
  local probe <close> = assert(require("sonde").probe(opts))
  local deadline <const> = loop.after(30 * SECOND)
  repeat
    probe:wait(SECOND // 5)
    local n = 0
    for _, row in ipairs(probe:counts()) do n = n + row.count end
  until n >= least or loop.now() > deadline
  return probe:stop()
end

-- The stacks as texts, innermost frame first.
local function stacks_of(report)
  local list = {}
  for _, func in ipairs(report:functions()) do
    for _, stack in ipairs(func:stacks_by_hits()) do
      local names = {}
      for i, frame in ipairs(stack.user) do names[i] = frame.name end
      list[#list + 1] = table.concat(names, "\n")
    end
  end
  return list
end

-- Which of its threads runs when a few samples are taken is chance.
local BURNS <const> = "Targets%.Mixed%.Program%.(%a+)"

local function any(list, pattern)
  for _, text in ipairs(list) do
    if text:find(pattern) then return true end
  end
  return false
end

describe("stacks of a .NET process", function()
  it("name the methods that called a native function", function()
    with_target(function(process)
      local library <const> = assert(proc.mapped(process.pid, "/libSystem.Native.so"))
      local report <const> = report_of(process, { binary = library,
        functions = "^SystemNative_PWrite$" }, 5)
      local stacks <const> = stacks_of(report)
      -- What stands between the two is inlined sooner or later.
      assert(any(stacks, "^SystemNative_PWrite\n.*System%.IO%..*\nTargets%.Mixed%.Program%.Writer"),
        stacks[1])
      assert.same({}, report.missing)
      local frames <const> = report:func(0):stacks_by_hits()[1].user
      assert.equal("user", frames[2].type)
      assert.equal(-1, frames[2].function_id)
    end)
  end)

  it("name what burns, between the runtime's own code and the thread's start", function()
    with_target(function(process)
      local report <const> = report_of(process, { perf = "cpu-clock" }, 30)
      local stacks <const> = stacks_of(report)
      assert(any(stacks, BURNS .. "\n.*libcoreclr%.so%+0x%x+\n"), stacks[1])
      assert.matches(BURNS, (report:profile():render "folded"))
    end)
  end)

  it("are named by its jitdump when the runtime does not answer", function()
    with_target(function(process)
      local target <const> = assert(require("sonde.dotnet.target").of_pid(process.pid))
      local files <const> = assert(target:perfmap "jitdump")
      local seen <const> = require("sonde.probe.processes").look(process.pid)
      local names <const> = require("sonde.probe.jit").of(seen)
      names.runtime = false
      local report <const> = report_of(process, { perf = "cpu-clock" }, 20)
      assert(target:perfmap "off")
      local hit = false
      for _, stack in ipairs(report:func(0):stacks_by_hits()) do
        for _, frame in ipairs(stack.user) do
          local name <const> = frame.name:match(BURNS)
          local code <const> = name and names:find(frame.address - 1)
          hit = hit or code and code.name:find(name, 1, true) ~= nil
        end
      end
      for _, path in ipairs(files) do os.remove(path) end
      assert.is_true(hit)
    end)
  end)

  it("say that the names are gone with the process", function()
    with_target(function(process)
      local probe <close> = assert(require("sonde").probe { process = tostring(process.pid),
        perf = "cpu-clock", stacks = true })
      probe:wait(SECOND)
      process:close()
      local report <const> = probe:stop()
      assert.matches("ended before its runtime could be asked", report.missing[1])
    end)
  end)
end)

describe("sonde probe", function()
  it("writes the methods of a .NET process", function()
    with_target(function(process)
      local library <const> = assert(proc.mapped(process.pid, "/libSystem.Native.so"))
      local out, status, err = helper.sonde("probe", "-b", library, "-p", tostring(process.pid),
        "-f", "^SystemNative_PWrite$", "--stacks", "--duration", "2s")
      assert(status == 0, err)
      assert.matches("Targets.Mixed.Program.Writer  (target-mixed)", out, 1, true)
    end)
  end)
end)
