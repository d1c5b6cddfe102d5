-- Folded stacks.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.profiles"

local function read(name)
  return assert(core.folded_decode(assert(helper.read(helper.data("cases/" .. name)))))
end

describe("folded stacks", function()
  it("divide at the last blank only", function()
    local p <const> = read "27-folded-blanks-and-brackets/in.folded"
    assert.same({
      "[ET NET 0];java main;read loop 42 17",
      "java-main 25607;([JIT app cache]);String.hashCode 3",
      "a;b;name ending in 7 7",
      " lead;tail 4",
      "a;;b 1",
      ";root 6",
      "void exec<void (*)()>(void (*)());operator() (int) 8",
      "a;b_[k] 9",
    }, profiles.unfold(p))
    assert.equal(55, p:total())
    assert.same({ { type = "samples", unit = "count" } }, p:types())
    assert.same({}, p:info().warnings)
  end)

  it("keep every byte of a name", function()
    local p <const> = read "29-svg-illegal-characters/in.folded"
    local lines <const> = profiles.unfold(p)
    assert.equal(12, #lines)
    assert.equal(78, p:total())
    assert.equal("main;nul\0in name 1", lines[1])
    assert.equal("main;esc\27[31mred 2", lines[2])
    assert.equal("main;&lt;already&gt; 9", lines[9])
    assert.equal("main;</script><b> 12", lines[12])
  end)

  it("sum up", function()
    assert.equal(120, read("30-diff-percentages/before.folded"):total())
    assert.equal(240, read("30-diff-percentages/after.folded"):total())
    assert.equal(10000, read("30-diff-percentages/before-1khz.folded"):total())
  end)

  it("tell which lines were skipped, and why", function()
    local p <const> = assert(core.folded_decode(
      "a;b 1\nno count\n\n17\na;b 2\nc 99999999999999999999\n"))
    assert.same({ "a;b 3" }, profiles.unfold(p))
    assert.same({
      "line 2 is skipped: no count at its end",
      "line 4 is skipped: no blank and count at its end",
      "line 6 is skipped: the count does not fit 64 bits",
    }, p:info().warnings)
    local many <const> = assert(core.folded_decode("a 1\n" .. ("x\n"):rep(25)))
    assert.equal(11, #many:info().warnings)
    assert.equal("15 more lines are skipped", many:info().warnings[11])
  end)

  it("keep 64 bits and a stack without frames", function()
    local p <const> = assert(core.folded_decode("a 9007199254740993\r\nb -9223372036854775808\n 5"))
    assert.same({ "a 9007199254740993", "b -9223372036854775808", " 5" }, profiles.unfold(p))
    assert.equal(5, p:calltree({}).bare)
  end)

  it("are refused when there are none", function()
    for text, reason in pairs {
      [""] = "no folded stacks: there is no text",
      ["\n \n"] = "no folded stacks: there is no text",
      ["hello world\n"] = "no folded stacks: line 1 is skipped: no count at its end",
    } do
      local p <const>, message <const>, code <const> = core.folded_decode(text)
      assert.is_nil(p)
      assert.equal(reason, message)
      assert.equal("malformed", code)
    end
  end)

  it("stay within their limit", function()
    local text = {}
    for i = 1, 500 do text[i] = ("main;f%d;g%d %d"):format(i, i, i) end
    local p <const>, _, code <const> =
      core.folded_decode(table.concat(text, "\n"), { limit = 10000 })
    assert.is_nil(p)
    assert.equal("limit", code)
  end)
end)
