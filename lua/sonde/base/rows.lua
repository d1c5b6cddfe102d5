--- Rows: what every question that has several answers gives. A list of records
-- that can be filtered, sorted and summed:
--
--    for _, row in ipairs(trace:gcs():where{ pause_ns = ">10ms" }:sort "-pause_ns") do … end
--
-- A list stays what it is, with `#`, `ipairs` and `rows[1].name`; every method
-- gives new rows and leaves its receiver alone.
-- @module sonde.base.rows
local criteria <const> = require "sonde.base.criteria"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local rows = {}

local Rows <const> = {}
Rows.__index = Rows
Rows.__name = "sonde.rows"

-- What is known of rows beside their records: `print`, which gives their text, and
-- `columns`, the fields that somebody chose, in their order.
local about <const> = setmetatable({}, { __mode = "k" })

--- Makes rows of a list of records.
-- @tparam {table,...} list becomes the rows; its metatable is replaced
-- @tparam ?function print gives their text for people, such as a report's
-- @treturn Rows
function rows.of(list, print)
  if print then about[list] = { print = print } end
  return setmetatable(list, Rows)
end

-- Rows made of some records of others.
local function derived(self, list)
  local columns <const> = about[self] and about[self].columns
  if columns then about[list] = { columns = columns } end
  return setmetatable(list, Rows)
end

--- Are these rows?
-- @param value
-- @treturn boolean
function rows.is(value)
  return getmetatable(value) == Rows
end

--- The text that rows bring with them.
-- @tparam Rows list
-- @treturn ?string nil when they are records and nothing else
function rows.text(list)
  return about[list] and about[list].print and about[list].print()
end

--- The fields that were chosen by `select`, in that order.
-- @tparam Rows list
-- @treturn ?{string,...} nil when all are of interest
function rows.columns(list)
  return about[list] and about[list].columns
end

local function is_list_of_records(list)
  if type(list) ~= "table" or getmetatable(list) ~= nil or #list == 0 then return false end
  for i = 1, #list do
    local record <const> = list[i]
    if type(record) ~= "table" or #record > 0 or next(record) == nil then return false end
  end
  return true
end

--- Makes rows of a plain list of records; everything else stays as it is.
-- @param value
-- @return the same value
function rows.adopt(value)
  return is_list_of_records(value) and rows.of(value) or value
end

--- The names of the fields of some records.
-- @tparam {table,...} list
-- @treturn {string,...} sorted
function rows.fields(list)
  local names, seen = {}, {}
  for _, record in ipairs(list) do
    for name in pairs(record) do
      if type(name) == "string" and not seen[name] then
        seen[name] = true
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  return names
end

-- A field that no record has is a mistake when it is nearly one that some have.
-- Otherwise it is one that these records happen to be without.
local function check_field(list, name, where)
  for _, record in ipairs(list) do
    if record[name] ~= nil then return end
  end
  local near <const> = options.suggest(tostring(name), rows.fields(list))
  if near == nil then return end
  error(("no field '%s' in these rows, to '%s' (did you mean '%s'?)"):format(
    text.printable(tostring(name)), where, near), 0)
end

-- What says of a record whether it fits.
local function judge_of(list, wanted, where)
  if type(wanted) == "table" then
    for name in pairs(wanted) do check_field(list, name, where) end
  end
  return criteria.judge(wanted, where)
end

local function chosen(list, judge, fits)
  local found = {}
  for _, record in ipairs(list) do
    if (judge(record) and true or false) == fits then found[#found + 1] = record end
  end
  return derived(list, found)
end

--- The rows that fit: `rows:where{ name = "Json", pause_ns = ">10ms" }`.
-- @tparam table|string|function wanted by field: a pattern (PCRE2) for a text; a
--   number, or text such as ">10ms", "<=2MiB", "5..9" for a number; a list of
--   any of these; true or false for whether it is there; a function of the value
--   and the record. All have to fit. A string alone is a pattern for any text of
--   a record; a function alone gets the record.
-- @treturn Rows
function Rows:where(wanted)
  return chosen(self, judge_of(self, wanted, "rows:where"), true)
end

--- The rows that do not fit.
-- @tparam table|string|function wanted as for `where`
-- @treturn Rows
function Rows:except(wanted)
  return chosen(self, judge_of(self, wanted, "rows:except"), false)
end

-- The order of values: numbers, then texts, then all else, then what is absent.
local CLASS <const> = { number = 1, string = 2, boolean = 3 }

local function class_of(value)
  return value == nil and 5 or CLASS[type(value)] or 4
end

local function compare(a, b)
  local x <const>, y <const> = class_of(a), class_of(b)
  if x ~= y then return x < y and -1 or 1 end
  if x == 5 or a == b then return 0 end
  if x > 2 then a, b = tostring(a), tostring(b) end
  if a == b then return 0 end
  return a < b and -1 or 1
end

local function key_of(list, field)
  local sign, name = field:match("^([-+]?)(.*)$")
  check_field(list, name, "rows:sort")
  return { name = name, descending = sign == "-" }
end

-- Absent values are last in both directions.
local function before(keys, a, b)
  for _, key in ipairs(keys) do
    local x <const>, y <const> = a[key.name], b[key.name]
    local order <const> = compare(x, y)
    if order ~= 0 then
      if key.descending and x ~= nil and y ~= nil then return order > 0 end
      return order < 0
    end
  end
end

--- The rows in another order; those that are equal keep theirs.
-- @param ... names of fields, `"-flat"` for the largest first; or one function
--   that says of two records whether the first comes first
-- @treturn Rows
function Rows:sort(...)
  local first <const> = ...
  if first == nil then error("'rows:sort' needs the name of a field, as in sort \"-flat\"", 2) end
  local keys, place, sorted = {}, {}, {}
  for i, field in ipairs(type(first) == "function" and {} or { ... }) do
    keys[i] = key_of(self, field)
  end
  for i, record in ipairs(self) do sorted[i], place[record] = record, i end
  table.sort(sorted, function(a, b)
    local result
    if #keys > 0 then
      result = before(keys, a, b)
    elseif first(a, b) then
      result = true
    elseif first(b, a) then
      result = false
    end
    if result ~= nil then return result end
    return place[a] < place[b]
  end)
  return derived(self, sorted)
end

--- The first rows.
-- @tparam ?integer n 10 when not given
-- @treturn Rows
function Rows:first(n)
  return derived(self, table.move(self, 1, math.min(n or 10, #self), 1, {}))
end

--- Some of the fields, which are shown in this order.
-- @param ... their names
-- @treturn Rows
function Rows:select(...)
  local names <const>, list = { ... }, {}
  for _, name in ipairs(names) do check_field(self, name, "rows:select") end
  for i, record in ipairs(self) do
    list[i] = {}
    for _, name in ipairs(names) do list[i][name] = record[name] end
  end
  about[list] = { columns = names }
  return rows.of(list)
end

--- The values of one field.
-- @tparam string name
-- @treturn table list; a record without the field adds nothing
function Rows:values(name)
  check_field(self, name, "rows:values")
  local list = {}
  for _, record in ipairs(self) do list[#list + 1] = record[name] end
  return list
end

--- The sum of one field.
-- @tparam string name
-- @treturn number
function Rows:sum(name)
  local sum = 0
  for _, value in ipairs(self:values(name)) do
    if type(value) == "number" then sum = sum + value end
  end
  return sum
end

-- Sums of times of day and the like say nothing.
local function is_summed(name)
  return not name:find("^start") and not name:find("^end") and not name:find("^first")
    and not name:find("^last") and not name:find("id$") and not name:find("_at$")
    and name ~= "number"
end

local function add_to(group, record, by)
  group.rows = group.rows + 1
  for name, value in pairs(record) do
    if name ~= by and type(value) == "number" and is_summed(name) then
      group[name] = (group[name] or 0) + value
    end
  end
  if group.unit == nil then group.unit = record.unit end
end

--- One row for each value of a field: how many rows have it, as `rows`, and the
-- sums of their numbers; the most rows first.
-- @tparam string by the field
-- @treturn Rows
function Rows:group(by)
  check_field(self, by, "rows:group")
  local list, known = {}, {}
  for _, record in ipairs(self) do
    local value = record[by]
    if type(value) == "table" then value = tostring(value) end
    if value ~= nil then
      local group = known[value]
      if group == nil then
        group = { [by] = value, rows = 0 }
        known[value], list[#list + 1] = group, group
      end
      add_to(group, record, by)
    end
  end
  local columns = { by, "rows" }
  for _, name in ipairs(rows.fields(list)) do
    if name ~= by and name ~= "rows" then columns[#columns + 1] = name end
  end
  about[list] = { columns = columns }
  return rows.of(list):sort("-rows", by)
end

--- The names of the fields.
-- @treturn {string,...} sorted
function Rows:fields()
  return rows.fields(self)
end

function Rows:__tostring()
  local words <const> = rows.text(self)
  if words then return words end
  return ("%s row%s: %s"):format(units.count(#self), #self == 1 and "" or "s",
    #self == 0 and "nothing" or table.concat(rows.fields(self), " "))
end

return rows
