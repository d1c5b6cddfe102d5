-- What a watch sees between its rounds.
local core <const> = require "sonde.c.core"
local dotnet <const> = require "spec.support.dotnet"
local glance <const> = require "sonde.policy.glance"
local policy <const> = require "sonde.policy"
local proc <const> = require "sonde.process.proc"
local source <const> = require "sonde.policy.source.process"

local SECOND <const> = 1000000000

local function compile(trigger, more)
  return assert(policy.compile(('return { summary = "s", trigger = %s, %s }'):format(trigger,
    more or ""), "p.lua"))
end

local function burn(seconds)
  local over <const> = os.clock() + seconds
  repeat until os.clock() > over
end

describe("a glance", function()
  it("is for policies that fire at the first sample of cpu, from the least on", function()
    local function threshold(...) return (glance.threshold { ... }) end
    local at_80 <const> = compile '{ metric = "cpu", above = 80 }'
    assert.equal(80, threshold(at_80))
    assert.equal(50, threshold(at_80,
      compile '{ any = { { metric = "cpu", above = 50 }, { start = true } } }'))
    assert.is_nil(threshold(
      compile '{ metric = "cpu", above = 5, ["for"] = "10s" }',
      compile '{ metric = "cpu", above = 5, stat = "p95", over = "1m" }',
      compile '{ metric = "cpu", below = 5 }',
      compile '{ metric = "memory", above = 5 }',
      compile('{ metric = "cpu", above = 5 }', 'interval = "10s"')))
  end)

  it("sees who has become busy, and says it once", function()
    local known <const> = { pid = proc.self().pid, threshold = 5 }
    assert.is_false(glance.is_busy(known, 0))
    burn(0.1)
    assert.is_true(glance.is_busy(known, SECOND // 5))
    known.cpu_told = 50
    burn(0.1)
    assert.is_false(glance.is_busy(known, SECOND * 2 // 5))
    local idle <close> = dotnet.spawn { "/bin/sh", "-c", "echo ready; read line" }
    assert.is_string(idle:line "ready")
    known.pid, known.glanced, known.cpu_told = idle.pid, nil, nil
    assert.is_false(glance.is_busy(known, 0))
    assert.is_false(glance.is_busy(known, 100 * SECOND))
  end)

  it("knows the processor time of processes that are there", function()
    local own <const> = proc.self().pid
    local before <const> = core.process_cpu(own)
    burn(0.05)
    local grown <const> = core.process_cpu(own) - before
    assert(grown >= SECOND // 25 and grown < 10 * SECOND, grown)
    assert.is_nil(core.process_cpu(0x3fffff0))
  end)

  it("gives a sample of cpu before it is due, and of nothing else", function()
    local told = {}
    local one <const> = source.open({ pid = proc.self().pid }, { cpu = SECOND, threads = SECOND },
      function(name, value) told[#told + 1] = ("%s %d"):format(name, math.floor(value + 0.5)) end)
    one:poll(0, { cpu_ns = 0, threads = 3 }, 0)
    one:early(SECOND // 2, { cpu_ns = SECOND // 4, threads = 4 })
    one:poll(SECOND, { cpu_ns = SECOND // 2, threads = 5 }, SECOND)
    assert.same({ "threads 3", "cpu 50", "cpu 50", "threads 5" }, told)
  end)
end)
