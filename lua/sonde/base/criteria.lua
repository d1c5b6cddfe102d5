--- Which records somebody wants, in the forms in which people say so: a pattern
-- for a text, ">10ms" or "5..9" for a number, a list of these, a function.
-- @module sonde.base.criteria
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local criteria = {}

-- A number as people write it: "10ms", "2k" and "2GiB" too; and whether it has a
-- unit, and is in nanoseconds or bytes.
local function scan_number(words)
  local plain <const> = math.tointeger(tonumber(words)) or tonumber(words)
  if plain then return plain, false end
  local time <const> = units.scan_duration(words)
  if time then return time, true end
  local count <const> = units.scan_count(words)
  if count then return count, false end
  return (units.scan_size(words)), true
end

local COMPARE <const> = {
  [">="] = function(a, b) return a >= b end, ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end, ["<"] = function(a, b) return a < b end,
  ["="] = function(a, b) return a == b end, ["~="] = function(a, b) return a ~= b end,
}

-- "5..9", "5.." and "..9", both ends included.
local function range_test(words)
  local low_text, high_text = words:match("^%s*(.-)%s*%.%.%s*(.-)%s*$")
  if low_text == nil or low_text == "" and high_text == "" then return nil end
  local low, has_unit = -math.huge, false
  local high, has_unit_too = math.huge, false
  if low_text ~= "" then low, has_unit = scan_number(low_text) end
  if high_text ~= "" then high, has_unit_too = scan_number(high_text) end
  if low == nil or high == nil then return nil end
  return function(value) return value >= low and value <= high end, has_unit or has_unit_too
end

local function number_test(words)
  local sign, rest = words:match("^%s*([<>~]?=?)%s*(.-)%s*$")
  local compare <const> = COMPARE[sign == "" and "=" or sign]
  if compare == nil then return range_test(words) end
  local number <const>, has_unit <const> = scan_number(rest)
  if number == nil then return range_test(words) end
  return function(value) return compare(value, number) end, has_unit
end

-- Units that the names of fields end with.
local SUFFIXES <const> = { ns = 1, us = 1000, ms = 1000000, s = 1000000000,
  minutes = 60 * 1000000000, bytes = 1 }

-- What one of a field is worth in nanoseconds or bytes: its name says so, or the
-- record's `unit`.
local function worth_of(record, name)
  return SUFFIXES[name:match("_(%a+)$")]
    or type(record.unit) == "string" and units.worth(record.unit) or 1
end

-- Does any text in a value match? Frames are records in a list in a record.
local function any_text(value, matches)
  if type(value) == "string" then return matches(value) end
  if type(value) ~= "table" then return value ~= nil and matches(tostring(value)) end
  for _, part in pairs(value) do
    if type(part) ~= "number" and any_text(part, matches) then return true end
  end
  return false
end

-- A text is a comparison where the record has a number, and a pattern elsewhere.
local function text_test(words, where)
  local of_number <const>, has_unit <const> = number_test(words)
  local of_text
  return function(value, record, name)
    if type(value) == "number" then
      if of_number == nil then
        error(("'%s' to '%s' is neither a number nor a range such as >10ms or 5..9"):format(
          text.printable(words), where), 0)
      end
      return of_number(has_unit and value * worth_of(record, name) or value)
    end
    if value == nil then return false end
    of_text = of_text or require("sonde.base.pattern").matcher(words, where)
    return any_text(value, of_text)
  end
end

local test_of

-- Any of several; or a range as stores take it.
local function table_test(list, where)
  if list.min ~= nil or list.max ~= nil then
    local low <const>, high <const> = list.min or -math.huge, list.max or math.huge
    return function(value)
      return type(value) == "number" and value >= low and value <= high
    end
  end
  local tests = {}
  for i, one in ipairs(list) do tests[i] = test_of(one, where) end
  return function(value, record, name)
    for _, test in ipairs(tests) do
      if test(value, record, name) then return true end
    end
    return false
  end
end

-- Of what is no truth value itself, whether it is there.
local function boolean_test(wanted)
  return function(value) return (value ~= nil and value ~= false) == wanted end
end

function test_of(wanted, where)
  local kind <const> = type(wanted)
  if kind == "function" then return wanted end
  if kind == "string" then return text_test(wanted, where) end
  if kind == "table" then return table_test(wanted, where) end
  if kind == "boolean" then return boolean_test(wanted) end
  return function(value) return value == wanted end
end

local function all_of(wanted, where)
  local tests = {}
  for name, value in pairs(wanted) do
    tests[#tests + 1] = { name, test_of(value, ("%s{ %s }"):format(where, name)) }
  end
  return function(record)
    for _, test in ipairs(tests) do
      if not test[2](record[test[1]], record, test[1]) then return false end
    end
    return true
  end
end

--- What says of a record whether it is wanted.
-- @tparam table|string|function wanted as for `Rows:where`
-- @tparam string where the method's name, for messages
-- @treturn function gets a record; raises for a bad pattern or comparison
function criteria.judge(wanted, where)
  if type(wanted) == "function" then return wanted end
  if type(wanted) == "table" then return all_of(wanted, where) end
  if type(wanted) == "string" then
    local matches <const> = require("sonde.base.pattern").matcher(wanted, where)
    return function(record) return any_text(record, matches) end
  end
  error(("bad argument to '%s' (fields, pattern or function expected, got %s)"):format(where,
    type(wanted)), 0)
end

return criteria
