--- The registers that a Go program prints when it dies: one block for each thread.
-- @module sonde.golang.registers
local registers <const> = {}

-- Fewer lines that look so are something else.
local FEWEST <const> = 8

-- A register and its value, when the line is one.
local function parse(line)
  local name <const>, digits <const> = line:match("^%s*(%l[%l%d]*)%s+0x(%x+)%s*$")
  if name == nil or #name > 6 or #digits > 16 then return nil end
  return name, tonumber(digits, 16)
end

local function close(block, blocks)
  if block and #block.names >= FEWEST then blocks[#blocks + 1] = block end
end

--- Finds the blocks of registers in a text.
-- @tparam string text
-- @treturn {table,...} each `names` (in their order), `values` (by name: integers of
--   64 bits, above 2^63 negative)
-- @treturn string the text without them
function registers.of(text)
  local blocks, rest, block, held = {}, {}, nil, {}
  local function finish()
    close(block, blocks)
    if block and #block.names < FEWEST then table.move(held, 1, #held, #rest + 1, rest) end
    block, held = nil, {}
  end
  for line in text:gmatch("[^\n]*\n?") do
    local name, value = parse((line:gsub("\r?\n$", "")))
    if name and block and block.values[name] then finish() end
    if name then
      block = block or { names = {}, values = {} }
      block.names[#block.names + 1], block.values[name] = name, value
      held[#held + 1] = line
    else
      finish()
      rest[#rest + 1] = line
    end
  end
  finish()
  return blocks, table.concat(rest)
end

--- A block as an object for JSON: names to "0x…".
-- @tparam table block
-- @treturn table
function registers.object(block)
  local object = {}
  for name, value in pairs(block.values) do object[name] = ("0x%x"):format(value) end
  return object
end

return registers
