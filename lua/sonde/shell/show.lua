--- Values as text for people: an object by its own words, a list of records as
-- a table, any other table as its keys and values; limited in depth and length.
-- @module sonde.shell.show
local fit <const> = require "sonde.shell.fit"
local layout <const> = require "sonde.base.table"
local records <const> = require "sonde.base.rows"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local show = {}

local MAX_ROWS <const> = 1000      -- of one table; a loop can print more
local MAX_CELL <const> = 60        -- characters, unless it is the last column
local MAX_LINE <const> = 400
local MAX_NESTED <const> = 6       -- values of a table inside a table
local A_YEAR <const> = 365 * 86400 * 1000000000   -- nanoseconds: more is a date

local MAYBE_HEXADECIMAL <const> = { id = true, start = true, limit = true }

-- What a record is known by comes first, texts last; columns alike are by name.
local FIRST <const> = { "number", "depth", "id", "name", "type", "namespace", "signature",
  "provider", "thread", "process", "unit", "flat", "cum", "self", "total", "before", "after",
  "change", "count" }
local rank <const> = {}
for i, name in ipairs(FIRST) do rank[name] = i end

-- Values that are in the unit of their record.
local OF_UNIT <const> = { flat = true, cum = true, self = true, total = true, value = true,
  before = true, after = true, change = true }

-- Times since 1970 whose names do not say so.
local IS_TIME <const> = { first = true, last = true }

-- Integers that people read in hexadecimal.
local HEXADECIMAL <const> = { address = true, ip = true, method_id = true, module_id = true,
  assembly_id = true, hresult = true, keywords = true }

local function by_rank(a, b)
  local x <const>, y <const> = rank[a] or math.huge, rank[b] or math.huge
  if x ~= y then return x < y end
  return tostring(a) < tostring(b)
end

-- Has the value words of its own?
local function speaks(value)
  local meta <const> = getmetatable(value)
  return type(meta) == "table" and meta.__tostring ~= nil
end

-- All lines fit to be shown; the line breaks and tabs of a text stay.
local function lines_of(value)
  if not value:find("[%c\x80-\xff]") then return value end
  return (value:gsub("[^\n\t]+", text.printable))
end

local function scalar(value, key)
  if type(value) == "string" then return text.printable(value) end
  if math.type(value) == "integer" and type(key) == "string" then
    if value > A_YEAR and (key:find("_ns$") or key:find("_at$") or IS_TIME[key]) then
      return os.date("!%Y-%m-%d %H:%M:%S UTC", value // 1000000000)
    end
    if key:find("_ns$") then return units.duration(value) end
    if key == "bytes" or key:find("_bytes$") then return units.bytes(value) end
    if HEXADECIMAL[key] or MAYBE_HEXADECIMAL[key] and value >= 1 << 40 then
      return ("0x%x"):format(value)
    end
  end
  if speaks(value) then return text.printable((tostring(value):match("^[^\n]*"))) end
  return tostring(value)
end

local nested

local function pair_text(key, value, depth)
  local words <const> = nested(value, depth, key)
  if math.type(key) == "integer" then return words end
  return ("%s = %s"):format(scalar(key), words)
end

-- A stack by the names of its functions, innermost first; nil for another list.
local function stack_text(list)
  local first <const> = list[1]
  if type(first) ~= "table" or type(first.func) ~= "string" then return nil end
  local names = {}
  for i = 1, math.min(#list, MAX_NESTED) do
    names[i] = text.printable(tostring(list[i].func))
  end
  if #list > MAX_NESTED then names[#names + 1] = "…" end
  return table.concat(names, " < ")
end

-- A value inside a table: on one line.
function nested(value, depth, key)
  if type(value) == "string" then return ('"%s"'):format(text.printable(value)) end
  if records.is(value) then return ("{ %d rows }"):format(#value) end
  if type(value) ~= "table" or speaks(value) then return scalar(value, key) end
  if next(value) == nil then return "{}" end
  local stack <const> = stack_text(value)
  if stack then return stack end
  if depth <= 0 then return #value > 0 and ("{ %d values }"):format(#value) or "{ … }" end
  local parts, n = {}, 0
  for inner, item in pairs(value) do
    n = n + 1
    if n <= MAX_NESTED then parts[n] = pair_text(inner, item, depth - 1) end
  end
  if n > MAX_NESTED then parts[MAX_NESTED + 1] = ("… %d more"):format(n - MAX_NESTED) end
  return ("{ %s }"):format(table.concat(parts, ", "))
end

local function is_record(value)
  return type(value) == "table" and not speaks(value) and next(value) ~= nil and #value == 0
end

local function are_records(list)
  for i = 1, math.min(#list, MAX_ROWS) do
    if not is_record(list[i]) then return false end
  end
  return #list > 0
end

local function is_number(list, n, key)
  for i = 1, n do
    local value <const> = list[i][key]
    if value ~= nil then return type(value) == "number" end
  end
  return false
end

-- The keys of all records that are shown; and which of them have numbers.
local function columns_of(list, n)
  local keys, numeric = {}, {}
  for i = 1, n do
    for key in pairs(list[i]) do
      if numeric[key] == nil then
        numeric[key] = is_number(list, n, key)
        keys[#keys + 1] = key
      end
    end
  end
  table.sort(keys, function(a, b)
    local x <const>, y <const> = rank[a] == nil, rank[b] == nil
    if x and y and numeric[a] ~= numeric[b] then return numeric[a] end
    return by_rank(a, b)
  end)
  return keys, numeric
end

local function cell(value, key, most, record)
  if value == nil then return "" end
  local unit <const> = record and OF_UNIT[key] and record.unit
  if type(unit) == "string" and math.type(value) == "integer" then
    return units.value(value, unit)
  end
  local words <const> = type(value) == "table" and not speaks(value) and nested(value, 1)
    or scalar(value, key)
  return fit.cut(text.utf8(words), most)
end

local function more_line(n, shown)
  if n <= shown then return nil end
  return ("… and %s more of %s"):format(units.count(n - shown), units.count(n))
end

-- The unit needs no column of its own where all values are shown with it.
local function without_unit(keys)
  local shown = false
  for _, key in ipairs(keys) do
    shown = shown or OF_UNIT[key] or type(key) == "string" and key:find("_ns$") ~= nil
  end
  for i, key in ipairs(keys) do
    if shown and key == "unit" then return table.remove(keys, i) end
  end
end

local function table_lines(list, width)
  local n <const> = math.min(#list, MAX_ROWS)
  local keys, numeric = columns_of(list, n)
  local chosen <const> = records.is(list) and records.columns(list)
  if chosen then keys = chosen else without_unit(keys) end
  local columns, rows = {}, {}
  for i, key in ipairs(keys) do
    columns[i] = { title = scalar(key), right = numeric[key], expendable = HEXADECIMAL[key] }
  end
  for i = 1, n do
    local row = {}
    for j, key in ipairs(keys) do
      row[j] = cell(list[i][key], key, j == #keys and MAX_LINE or MAX_CELL, list[i])
    end
    rows[i] = row
  end
  local left_out <const> = fit.to_width(columns, rows, width)
  local lines <const> = layout.lines(columns, rows)
  lines[#lines + 1] = left_out
  lines[#lines + 1] = more_line(#list, n)
  return lines, true
end

local function list_lines(list)
  local lines = {}
  local n <const> = math.min(#list, MAX_ROWS)
  for i = 1, n do
    lines[i] = ("%d  %s"):format(i, text.cut(text.utf8(nested(list[i], 1)), MAX_LINE))
  end
  lines[#lines + 1] = more_line(#list, n)
  return lines
end

-- Keys of any kind, in an order that is the same every time.
local function by_key(a, b)
  if type(a) ~= type(b) then return type(a) < type(b) end
  if type(a) == "number" then return a < b end
  return by_rank(a, b)
end

local function map_lines(map)
  local keys, rows = {}, {}
  for key in pairs(map) do keys[#keys + 1] = key end
  table.sort(keys, by_key)
  for i = 1, math.min(#keys, MAX_ROWS) do
    local key <const> = keys[i]
    rows[i] = { text.cut(text.utf8(scalar(key)), MAX_CELL), cell(map[key], key, MAX_LINE) }
  end
  local lines <const> = layout.lines({ { title = "" }, { title = "" } }, rows)
  table.remove(lines, 1)
  lines[#lines + 1] = more_line(#keys, #rows)
  return lines
end

local function of_table(value, width)
  if next(value) == nil then return records.is(value) and "no rows" or "{}" end
  local lines, has_titles
  if #value == 0 then lines = map_lines(value)
  elseif are_records(value) then lines, has_titles = table_lines(value, width)
  else lines = list_lines(value) end
  return table.concat(lines, "\n"), has_titles
end

--- A value as text, without a line end behind it.
-- @param value
-- @tparam ?integer width of the screen that a table shall fit
-- @treturn string
-- @treturn ?boolean whether its first line holds the titles of a table
function show.text(value, width)
  if type(value) == "string" then return (lines_of(value):gsub("\n$", "")) end
  local words <const> = records.is(value) and records.text(value)
  if words then return (lines_of(words):gsub("\n$", "")) end
  if type(value) == "table" and (records.is(value) or not speaks(value)) then
    return of_table(value, width)
  end
  return (lines_of(tostring(value)):gsub("\n$", ""))
end

--- Several values: short ones on one line, as `print` puts them; without those at
-- the end that are nil.
-- @tparam table values packed, with `n`
-- @tparam ?integer width as of `show.text`
-- @treturn string
-- @treturn ?boolean as of `show.text`
function show.all(values, width)
  local n = values.n
  -- What might have gone wrong and has not is no answer.
  while n > 1 and values[n] == nil do n = n - 1 end
  if n == 1 then return show.text(values[1], width) end
  local parts, separator = {}, "\t"
  for i = 1, n do
    parts[i] = show.text(values[i], width)
    if parts[i]:find("\n", 1, true) or #parts[i] > MAX_CELL then separator = "\n" end
  end
  return table.concat(parts, separator)
end

return show
