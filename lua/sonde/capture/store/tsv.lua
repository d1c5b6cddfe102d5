--- Rows as ClickHouse reads and writes them: values between tabs, escaped, so that
-- every byte and every 64-bit number passes.
-- @module sonde.capture.store.tsv
local tsv = {}

local ESCAPES <const> = { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n", ["\r"] = "\\r",
  ["\0"] = "\\0", ["\b"] = "\\b", ["\f"] = "\\f", ["'"] = "\\'" }

local BACK <const> = { t = "\t", n = "\n", r = "\r", ["0"] = "\0", b = "\b", f = "\f" }

local function cell(value)
  if value == nil then return "\\N" end
  if type(value) == "boolean" then return value and "1" or "0" end
  if type(value) == "number" then return ("%d"):format(value) end
  if value:find("[%z\b\t\n\f\r\\]") then return (value:gsub("[%z\b\t\n\f\r\\]", ESCAPES)) end
  return value
end

--- A row.
-- @param ... values; nil is NULL
-- @treturn string with its line end
function tsv.row(...)
  local cells = {}
  for i = 1, select("#", ...) do cells[i] = cell((select(i, ...))) end
  return table.concat(cells, "\t") .. "\n"
end

local function plain(text)
  if text == "\\N" then return nil end
  if text:find("\\", 1, true) then
    return (text:gsub("\\(.)", function(c) return BACK[c] or c end))
  end
  return text
end

--- Iterates over rows.
-- @tparam string text of an answer
-- @treturn function gives the values of a row, texts or nil, and their number `n`
function tsv.rows(text)
  local next_line <const> = text:gmatch("([^\n]*)\n")
  return function()
    local line <const> = next_line()
    if line == nil then return nil end
    local row, n = {}, 0
    for value in (line .. "\t"):gmatch("([^\t]*)\t") do
      n = n + 1
      row[n] = plain(value)
    end
    row.n = n
    return row
  end
end

--- A text as a literal of SQL.
-- @tparam string text
-- @treturn string
function tsv.quote(text)
  return "'" .. text:gsub("[%z\b\t\n\f\r\\']", ESCAPES) .. "'"
end

--- An integer as the unsigned number with its 64 bits.
-- @tparam integer value
-- @treturn string
function tsv.unsigned(value)
  if value >= 0 then return ("%d"):format(value) end
  local high <const> = (value >> 1) // 5
  return ("%d%d"):format(high, value - high * 10)
end

--- The integer with the 64 bits of an unsigned number.
-- @tparam string text
-- @treturn integer
function tsv.signed(text)
  local value = 0
  for digit in text:gmatch("%d") do value = value * 10 + math.tointeger(tonumber(digit)) end
  return value
end

--- A text in a URL.
-- @tparam string text
-- @treturn string
function tsv.percent(text)
  return (text:gsub("[^%w%-_.~]", function(c) return ("%%%02X"):format(c:byte()) end))
end

return tsv
