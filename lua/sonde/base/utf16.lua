--- Text in UTF-16, as PowerShell writes what another program printed, and the
-- marks that tell how a text is encoded.
-- @module sonde.base.utf16
local utf16 = {}

-- The marks at a text's beginning, and how units of two bytes are read.
local MARKS <const> = { ["\xff\xfe"] = "<", ["\xfe\xff"] = ">" }

-- Without a mark: so many units at the beginning that are all of ASCII.
local ASCII <const> = {
  ["<"] = "^" .. ("[\t\r\n -~]%z"):rep(8), [">"] = "^" .. ("%z[\t\r\n -~]"):rep(8),
}

--- The mark of UTF-8 that some editors put before a text.
utf16.UTF8_MARK = "\xef\xbb\xbf"

--- Is it text in UTF-16?
-- @tparam string head the first bytes of data
-- @treturn ?string "<" or ">", the order of a unit's bytes
function utf16.order(head)
  local marked <const> = MARKS[head:sub(1, 2)]
  if marked then return marked end
  for order, pattern in pairs(ASCII) do
    if head:find(pattern) then return order end
  end
end

-- What two halves of a character stand for.
local function join(high, low)
  return utf8.char(0x10000 + ((utf8.codepoint(high, 1, 1, true) & 0x3ff) << 10
    | utf8.codepoint(low, 1, 1, true) & 0x3ff))
end

-- So many units are read at once.
local RUN <const> = 200

--- The same text in UTF-8.
-- @tparam string bytes
-- @tparam string order as `utf16.order` gives it
-- @treturn string a byte that is left over at the end is dropped
function utf16.decode(bytes, order)
  local pieces = {}
  local at <const>, last <const> = MARKS[bytes:sub(1, 2)] and 3 or 1, #bytes & ~1
  local format <const> = order .. ("I2"):rep(RUN)
  for from = at, last, RUN * 2 do
    local units <const> = (last - from + 1) // 2
    local shape <const> = units >= RUN and format or order .. ("I2"):rep(units)
    local values <const> = table.pack(shape:unpack(bytes, from))
    pieces[#pieces + 1] = utf8.char(table.unpack(values, 1, values.n - 1))
  end
  return (table.concat(pieces)
    :gsub("(\xed[\xa0-\xaf][\x80-\xbf])(\xed[\xb0-\xbf][\x80-\xbf])", join))
end

return utf16
