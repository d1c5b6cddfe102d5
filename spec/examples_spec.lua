-- Each example is run as its users would run it.
local helper <const> = require "spec.support.helper"

local DEMO <const> = helper.data "demo.nettrace"
local EXCEPTIONS <const> = helper.data "real/sdk-exceptions.nettrace.gz"
local BEFORE <const> = helper.data "cases/30-diff-percentages/before.folded"
local AFTER <const> = helper.data "cases/30-diff-percentages/after.folded"

local PATHS <const> = ("LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s;;'"):format(
  helper.module:gsub("sonde/c/core", "?"))

local function example(name, ...)
  local words = { PATHS, "lua5.4", "examples/" .. name .. ".lua" }
  for _, word in ipairs { ... } do words[#words + 1] = helper.quote(word) end
  return helper.run(table.concat(words, " "))
end

local function good(out, status, err)
  assert.equal("", err)
  assert.equal(0, status)
  return out
end

describe("the example", function()
  it("where_time_went", function()
    assert.matches("Burn%.Alpha", good(example("where_time_went", DEMO)))
    assert.matches("gone_fn", good(example("where_time_went", BEFORE, "3")))
  end)

  it("who_calls", function()
    local out <const> = good(example("who_calls", DEMO, "Burn\\.Alpha"))
    assert.matches("Targets%.Cpu%.Burn%.Alpha%S*: %d+ nanoseconds with its callees", out)
    assert.matches("\n   from Targets", out)
  end)

  it("exceptions", function()
    local out <const> = good(example("exceptions", EXCEPTIONS))
    assert.matches("  1000  System%.InvalidOperationException: no 0", out)
    assert.matches("   500  Targets%.Alloc%.TicketException", out)
    assert.matches("    25  System%.FormatException", out)
  end)

  it("gc_pauses", function()
    local out <const> = good(example("gc_pauses", EXCEPTIONS))
    assert.matches("^21 collections, 9%.%d+ ms in all, the longest 2%.5%d ms", out)
    assert.matches("\n     7  induced", out)
  end)

  it("what_changed", function()
    local out <const> = good(example("what_changed", BEFORE, AFTER))
    assert.matches("%+150 count +new  new_fn", out)
    assert.matches("%-60 count +gone  gone_fn", out)
  end)

  it("flame_graph", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/x.svg"
      good(example("flame_graph", DEMO, "SyncWorker", path))
      assert.matches("<svg", helper.read(path))
    end)
  end)

  it("before_exception", function()
    local out <const> = good(example("before_exception", EXCEPTIONS, "50"))
    assert.matches("0%.000 ms  thread %d+  Exception", out)
    assert.equal("no exception\n", good(example("before_exception", DEMO)))
  end)

  it("budget", function()
    good(example("budget", DEMO, "Burn\\.Gamma", "20"))
    local out, status = example("budget", DEMO, "Burn\\.Alpha", "20")
    assert.equal(1, status)
    assert.matches("of a budget of 20 %%", out)
  end)

  it("own_samples", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/sizes.pb.gz"
      local line <const> = "find spec/support -type f -printf '%%s %%p\\n' | %s lua5.4"
        .. " examples/own_samples.lua %s"
      local out <const> = good(helper.run(line:format(PATHS, path)))
      assert.matches("support", out)
      assert.matches("size", (helper.sonde("top", path)))
    end)
  end)

  it("can_i_trust_it", function()
    assert.matches("24578 events, 0 lost", good(example("can_i_trust_it", DEMO)))
    local killed <const> = helper.data "real/net10-attach-killed.nettrace.gz"
    assert.matches("^incomplete: .*ends early", good(example("can_i_trust_it", killed)))
  end)

  it("what_it_waited_for", function()
    if not pcall(require, "sonde.c.sqlite") then helper.skip "this build has no SQLite" end
    helper.needs "eu-stack"
    local dotnet <const> = require "spec.support.dotnet"
    local process <close> = dotnet.spawn { "sleep", "600" }
    helper.in_directory(function(directory)
      local out <const> = good(example("what_it_waited_for", tostring(process.pid),
        directory .. "/c.db"))
      assert.matches("checkpoint 2: 1 dumps, %d failed", out)
      assert.matches("in %d records", out)
    end)
  end)

  it("threads_in_time", function()
    local out <const> = good(example("threads_in_time", DEMO))
    assert.is_true(#helper.lines(out) > 20)
    assert.matches("in Alpha", out)
  end)
end)

describe("the examples", function()
  it("begin with a question and have 6 to 40 lines", function()
    local out <const> = helper.run("ls examples/*.lua")
    local count = 0
    for _, path in ipairs(helper.lines(out)) do
      local text <const> = helper.read(path)
      local _, lines = text:gsub("\n", "")
      assert(lines >= 6 and lines <= 40, path)
      assert(text:match("^%-%- [^\n]*") and text:match("^[^?]+%?"):find("^%-%- "), path)
      count = count + 1
    end
    assert.is_true(count >= 10)
  end)

  it("of the demo run", function()
    local out, status = helper.run("sh examples/demo.sh " .. helper.command)
    assert.equal(0, status)
    assert.matches("Burn%.Alpha", out)
    assert.matches("xdg%-open build/demo%.svg", out)
  end)
end)
