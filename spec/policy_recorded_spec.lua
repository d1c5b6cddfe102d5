-- Policies tried on traces and on stores of captures, and by specs of users.
local helper <const> = require "spec.support.helper"
local policy <const> = require "sonde.policy"

local SECOND <const> = 1000000000

local function compile(text)
  local one <const> = assert(policy.compile(text, "p.lua"))
  one.name = "p"
  return one
end

-- A trace of ../shared, unpacked into the directory.
local function trace_in(directory, name)
  local from <const> = helper.shared("traces/net10/" .. name .. ".nettrace.xz")
  helper.needs "xz"
  local path <const> = ("%s/%s.nettrace"):format(directory, name)
  helper.run(("xz -dc '%s' > '%s'"):format(from, path))
  return path
end

describe("a policy on a trace", function()
  it("sees its exceptions", function()
    helper.in_directory(function(directory)
      local path <const> = trace_in(directory, "exceptions")
      local firings <const>, decisions <const> = assert(policy.try("exception_storm", path,
        { args = { count = "5" } }))
      assert.equal(1, #firings)
      assert.matches("5 times within", firings[1].reason)
      assert.is_true(firings[1].pid > 0)
      assert.matches("it fired 1 time", decisions[#decisions].reason)
      local out, status = helper.sonde("policy", "test", "exception_storm", "--set", "count=5",
        "--replay", path, "--json")
      assert.equal(0, status)
      assert.equal(#decisions, #helper.json_lines(out))
    end)
  end)

  it("sees processor time and pauses", function()
    local function firing(name, trigger)
      return assert(policy.try(compile(([[return { summary = "s", trigger = %s }]])
        :format(trigger)), helper.data(name)))[1]
    end
    -- The program is busy on more than one thread from its start.
    local busy <const> = firing("demo.nettrace", '{ metric = "cpu", above = 100, ["for"] = "2s" }')
    assert.equal("3 target-cpu", ("%g %s"):format(busy.time_s, busy.name))
    assert.is_nil(firing("demo.nettrace", '{ metric = "cpu", above = 1000 }'))
    -- 5.4 ms of pauses within the first second.
    local paused <const> = firing("cases/45-nt-gc-pause-interleaved/gc.nettrace",
      '{ metric = "gc_pause_share", above = 0.1 }')
    assert.equal("gc_pause_share above 0.1: 0.54", paused.reason)
  end)

  it("sees collections and counters", function()
    helper.in_directory(function(directory)
      local function fires(name, trigger)
        return #assert(policy.try(compile(([[return { summary = "s", trigger = %s }]])
          :format(trigger)), trace_in(directory, name))) > 0
      end
      assert.is_true(fires("gc-verbose", '{ metric = "heap", above = 100000 }'))
      assert.is_true(fires("gc-verbose", '{ metric = "gc_pause_share", above = 0.1 }'))
      assert.is_true(fires("counters", '{ metric = "System.Runtime/working-set", above = 1 }'))
      assert.is_false(fires("counters", '{ metric = "gc_pause_share", above = 99 }'))
    end)
  end)

  it("that is damaged is told of", function()
    helper.in_directory(function(directory)
      helper.write(directory .. "/a.nettrace", "\x1f\x8bxx")
      local done, message = policy.try("cpu_spike", directory .. "/a.nettrace")
      assert.is_nil(done)
      assert.matches("a%.nettrace", message)
      local _, status, err = helper.sonde("policy", "test", "cpu_spike", "--replay",
        helper.data "synth/v4-cut-in-event-block.nettrace")
      assert.is_true(status ~= 0)
      assert.matches("v4%-cut", err)
      done, message = policy.try("cpu_spike", directory .. "/none.csv")
      assert.is_nil(done)
      assert.matches("none%.csv", message)
    end)
  end)
end)

describe("a policy on a store of captures", function()
  it("sees what checkpoints say of each process", function()
    if not pcall(require, "sonde.c.sqlite") then return helper.skip "libsqlite3 was missing" end
    helper.in_directory(function(directory)
      local path <const> = directory .. "/c.db"
      local store <const> = assert(require("sonde.capture.store").open(path))
      assert(store:capture { id = "c", root_pid = 7, started_at = 1 })
      local function checkpoint(n, records)
        for _, record in ipairs(records) do record.name = "api" end
        assert(store:write { capture = "c",
          parts = { { kind = "process_tree", records = records } },
          checkpoint = { id = "k" .. n, taken_at = (1767225600 + n * 10) * SECOND,
            reason = "periodic" } })
      end
      for n = 0, 3 do
        checkpoint(n, { { key = "7:70", pid = 7, cpu_time_ns = n * 9 * SECOND, threads = 3,
          memory_bytes = 1000 * n, state = "running" } })
      end
      checkpoint(4, { { key = "7:70", pid = 7, state = "exited" },
        { key = "7:99", pid = 7, cpu_time_ns = 0, memory_bytes = 1, state = "running" } })
      store:close()
      local function times(trigger)
        local list = {}
        for i, firing in ipairs(assert(policy.try(compile(([[return { summary = "s",
          trigger = %s, limits = { cooldown = "0s" } }]]):format(trigger)), path))) do
          list[i] = ("%g %d"):format(firing.time_s, firing.start)
        end
        return list
      end
      assert.same({ "20 70", "30 70" }, times [[{ metric = "cpu", above = 80, ["for"] = "10s",
        gap = "1m" }]])
      assert.same({ "30 70" }, times '{ metric = "memory", above = 2500 }')
      assert.same({ "40 70" }, times '{ exit = "any" }')
      assert.same({ "0 70", "40 99" }, times '{ start = true }')
    end)
  end)
end)

describe("a spec of a user", function()
  it("tries lines, files and policies by name", function()
    local firings <const> = assert(policy.try(compile [[return { summary = "s",
      trigger = { metric = "cpu", above = 80, ["for"] = "10s", gap = "20s" } }]],
      { "time_s,pid,start,name,metric,value", "0,1,1,Api,cpu,90", "11,1,1,Api,cpu,95" }))
    assert.equal(11, firings[1].time_s)
    local none, message, code = policy.try("cpu_spiek", {})
    assert.is_nil(none)
    assert.matches("did you mean", message)
    assert.equal("not_found", code)
    assert.equal(0, #assert(policy.try("cpu_spike", { "0,1,1,Api,cpu,1" })))
  end)
end)
