-- Registers that a dying Go program prints behind its goroutines.
local helper <const> = require "spec.support.helper"
local registers <const> = require "sonde.golang.registers"
local sonde <const> = require "sonde"

local AMD64 <const> = { "rax", "rbx", "rcx", "rdx", "rdi", "rsi", "rbp", "rsp", "r8", "rip" }

local function block(names, value)
  local lines = {}
  for i, name in ipairs(names) do lines[i] = ("%-6s 0x%x\n"):format(name, value + i) end
  return table.concat(lines)
end

local DUMP <const> = "SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\ngoroutine 1 [running]:\nmain.main()\n"
  .. "\t/x/main.go:3 +0x1d\n\n"

describe("registers", function()
  it("are fields, with 64 bits", function()
    local text <const> = DUMP .. block(AMD64, 100):gsub("0x65\n", "0xfffffffffffffff0\n")
    local dump <const> = assert(sonde.open { bytes = text, name = "dump" })
    local found <const> = dump:registers()
    assert.equal(1, #found)
    assert.same(AMD64, found[1].names)
    assert.equal(-16, found[1].values.rax)
    assert.equal(110, found[1].values.rip)
    helper.in_directory(function(at)
      helper.write(at .. "/d.txt", text)
      local row <const> = helper.json_lines((helper.sonde("dump", at .. "/d.txt", "--json")))[1]
      assert.equal("0xfffffffffffffff0", row.registers.rax)
      assert.equal("0x6e", row.registers.rip)
      local out <const> = helper.sonde("dump", at .. "/d.txt")
      assert.matches("| 10 registers, at 0x6e; --json shows them\n", out, 1, true)
      assert.is_nil(out:find("rbx", 1, true))
    end)
  end)

  it("come in a block for each thread", function()
    local blocks, rest = registers.of("a\n" .. block(AMD64, 0) .. "-----\n" .. block(AMD64, 50))
    assert.equal(2, #blocks)
    assert.equal(51, blocks[2].values.rax)
    assert.equal("a\n-----\n", rest)
    blocks = registers.of(block(AMD64, 0) .. block(AMD64, 50))
    assert.equal(2, #blocks)
  end)

  it("are no other lines that look so", function()
    for _, text in ipairs { "", "x 0x1\n", block({ "a", "b", "c" }, 1), "rax    0x\nrbx 1\n",
      block({ "Aa", "Bb", "Cc", "Dd", "Ee", "Ff", "Gg", "Hh" }, 1) } do
      local blocks, rest = registers.of(text)
      assert.same({ 0, text }, { #blocks, rest })
    end
  end)
end)
