--- A JSON writer. Integers are written exactly, keys in a stable order, the
-- output is always valid UTF-8, and what JSON cannot say (NaN, infinity) is
-- null. Reading JSON is dkjson's business.
-- @module sonde.base.json
local text <const> = require "sonde.base.text"

local json = {}

local MAX_DEPTH <const> = 200

--- A value that is written as null inside a table, where nil would vanish.
json.null = setmetatable({}, { __tostring = function() return "null" end })

local ARRAY <const> = {}
local OBJECT <const> = {}

--- Marks a table as an array, so that an empty one is `[]`.
-- @tparam table list
-- @treturn table the same
function json.array(list)
  return setmetatable(list, ARRAY)
end

--- Marks a table as an object, so that an empty one is `{}`.
-- @tparam table map
-- @treturn table the same
function json.object(map)
  return setmetatable(map, OBJECT)
end

local ENCODED <const> = {}

--- A value that is JSON already, which is written as it stands: for what is long and
-- repeats itself.
-- @tparam string words
-- @treturn table
function json.encoded(words)
  return setmetatable({ words }, ENCODED)
end

local ESCAPES <const> = {
  ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f",
  ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
}

local function escape(c)
  return ESCAPES[c] or ("\\u%04x"):format(c:byte())
end

--- A string as JSON. Invalid bytes become U+FFFD; "</" is written "<\/", the
-- same to a reader, so that no text can end a script element around it.
-- @tparam string s
-- @treturn string with its quotes
function json.string(s)
  s = text.utf8(s)
  if s:find('[%c"\\]') then s = s:gsub('[%c"\\]', escape) end
  if s:find("</", 1, true) then s = s:gsub("</", "<\\/") end
  return '"' .. s .. '"'
end

--- An unsigned id as it is written: a number, or "0x…" where it has all 64
-- bits, which readers would take for another one.
-- @tparam ?integer id
-- @treturn ?integer|string
function json.id(id)
  if id == nil or id >= 0 then return id end
  return ("0x%x"):format(id)
end

--- A number as JSON: integers exactly, other numbers with as few digits as
-- give the same double back.
-- @tparam number n
-- @treturn string
function json.number(n)
  if math.type(n) == "integer" then return ("%d"):format(n) end
  if n ~= n or n == math.huge or n == -math.huge then return "null" end
  for digits = 15, 16 do
    local short = ("%." .. digits .. "g"):format(n)
    if tonumber(short) == n then return short end
  end
  return ("%.17g"):format(n)
end

-- Marked tables say what they are; of the others, those whose only keys are
-- 1..n with n > 0 are arrays.
local function is_array(value)
  local mark <const> = getmetatable(value)
  if mark == ARRAY then return true end
  if mark == OBJECT then return false end
  local n = #value
  if n == 0 then return false end
  for _ in pairs(value) do
    n = n - 1
    if n < 0 then return false end
  end
  return n == 0
end

local function by_text(a, b)
  return tostring(a) < tostring(b)
end

-- The keys of an object: those of `order` first, then the others sorted.
local function ordered_keys(value, order)
  local keys, seen = {}, {}
  for _, key in ipairs(order or {}) do
    if value[key] ~= nil then keys[#keys + 1], seen[key] = key, true end
  end
  local first <const> = #keys
  local rest = {}
  for key in pairs(value) do
    if not seen[key] then rest[#rest + 1] = key end
  end
  table.sort(rest, by_text)
  table.move(rest, 1, #rest, first + 1, keys)
  return keys
end

local write

local function write_table(pieces, value, order, depth)
  if depth > MAX_DEPTH then error("table nested too deep for JSON (a cycle?)", 0) end
  if getmetatable(value) == ENCODED then
    pieces[#pieces + 1] = value[1]
    return
  end
  if is_array(value) then
    pieces[#pieces + 1] = "["
    for i = 1, #value do
      if i > 1 then pieces[#pieces + 1] = "," end
      write(pieces, value[i], order, depth + 1)
    end
    pieces[#pieces + 1] = "]"
    return
  end
  local separator = "{"
  for _, key in ipairs(ordered_keys(value, order)) do
    pieces[#pieces + 1] = separator .. json.string(tostring(key)) .. ":"
    write(pieces, value[key], order, depth + 1)
    separator = ","
  end
  pieces[#pieces + 1] = separator == "{" and "{}" or "}"
end

function write(pieces, value, order, depth)
  local kind <const> = type(value)
  if value == nil or value == json.null then
    pieces[#pieces + 1] = "null"
  elseif kind == "string" then
    pieces[#pieces + 1] = json.string(value)
  elseif kind == "number" then
    pieces[#pieces + 1] = json.number(value)
  elseif kind == "boolean" then
    pieces[#pieces + 1] = tostring(value)
  elseif kind == "table" then
    write_table(pieces, value, order, depth)
  else
    error("a " .. kind .. " has no form in JSON", 0)
  end
end

--- Writes a value as JSON, on one line.
-- @param value nil, `json.null`, boolean, number, string, or table of such
-- @tparam ?{string,...} order keys that come first in an object, in this
--   order; the others follow sorted
-- @treturn string
function json.encode(value, order)
  local pieces = {}
  write(pieces, value, order, 1)
  return table.concat(pieces)
end

return json
