--- Names that no other process has. Lua's own generator is not enough for them: the
-- host may have seeded it, and two processes that begin within a second, at the same
-- addresses, draw the same numbers.
-- @module sonde.base.unique
local unique = {}

--- Bytes that nobody foresees.
-- @tparam integer n
-- @treturn string
function unique.bytes(n)
  local file <close> = io.open("/dev/urandom", "rb")
  if file then file:setvbuf "no" end
  local bytes <const> = file and file:read(n)
  if bytes and #bytes == n then return bytes end
  -- Without the system's source Lua's own is what there is.
  local list = {}
  for i = 1, n do list[i] = math.random(0, 255) end
  return string.char(table.unpack(list))
end

--- The same in hexadecimal.
-- @tparam integer n bytes; twice as many digits
-- @treturn string
function unique.hex(n)
  return (unique.bytes(n):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

return unique
