--- Options, declared once.
-- One declaration validates an API call, becomes an option of the command, a
-- line of its help and a row of the documentation. A declaration is a list
-- of tables:
--
--    { name = "show_from",      -- key in the API; the command's --show-from
--      type = "pattern",        -- see `options.types`
--      help = "drop the frames above the outermost match",
--      argname = "RE",          -- in help; the type has one by default
--      short = "n",             -- one letter: -n
--      aliases = { "x" },       -- further names
--      choices = { "a", "b" },  -- the only values; also in help
--      synonyms = { aa = "a" }, -- other words for values
--      default = "a",
--      many = true,             -- may be repeated; the value is a list
--      min = 1, max = 100 }     -- of numbers
--
-- @module sonde.base.options
local errors <const> = require "sonde.base.errors"
local units <const> = require "sonde.base.units"

local options = {}

local function number_in_range(option, value)
  if option.min and value < option.min then
    return nil, ("must be at least %s"):format(option.min)
  end
  if option.max and value > option.max then
    return nil, ("must be at most %s"):format(option.max)
  end
  return value
end

-- Patterns are compiled only to learn whether they can be; who uses one
-- compiles it again. The library is loaded with the first pattern.
local function pattern_is_good(text)
  local rex <const> = require "rex_pcre2"
  local ok, message = errors.pcall(rex.new, text)
  if ok then return text end
  message = tostring(message):gsub("^.-:%d+: ", "")
  return nil, "is not a regular expression: " .. message
end

--- The types. Each has the Lua type of its value, a name for help, `scan`
-- (text of the command line to value, or nil and why not) and, where the Lua
-- type does not say enough, `check`.
options.types = {
  string = { lua = "string", scan = function(text) return text end },
  path = { lua = "string", argname = "FILE", scan = function(text) return text end },
  boolean = { lua = "boolean" },
  integer = {
    lua = "number", argname = "N",
    scan = function(text)
      local value = text:match("^[+-]?%d+$") and math.tointeger(tonumber(text))
      if value then return value end
      return nil, "is not a whole number"
    end,
    check = function(value)
      if math.type(value) == "integer" then return value end
      return nil, "must be a whole number"
    end,
  },
  -- All 64 bits: above 2^63 they are negative in Lua.
  id = {
    lua = "number", argname = "ID",
    scan = function(text)
      local value = text:match("^0x%x+$") and #text <= 18 and math.tointeger(tonumber(text))
        or text:match("^%d+$") and units.scan_unsigned(text)
      if value then return value end
      return nil, "is not an id such as 4242 or 0xffff800012340000"
    end,
    check = function(value)
      if math.type(value) == "integer" then return value end
      return nil, "must be a whole number"
    end,
  },
  number = {
    lua = "number", argname = "X",
    scan = function(text)
      local value = tonumber(text)
      if value and value == value then return value end
      return nil, "is not a number"
    end,
  },
  pattern = {
    lua = "string", argname = "RE", scan = pattern_is_good, check = pattern_is_good,
  },
  duration = {
    lua = "number", argname = "TIME", accepts_text = true,
    scan = function(text) return units.scan_duration(text) end,
  },
  size = {
    lua = "number", argname = "SIZE", accepts_text = true,
    scan = function(text) return units.scan_size(text) end,
  },
  count = {
    lua = "number", argname = "N", accepts_text = true,
    scan = function(text) return units.scan_count(text) end,
  },
  percent = {
    lua = "number", argname = "PERCENT", accepts_text = true,
    scan = function(text) return units.scan_percent(text) end,
  },
  table = { lua = "table" },
  ["function"] = { lua = "function" },
}

-- Number of single-letter edits (a swap of neighbours counts as one), given
-- up beyond `limit`.
local function distance(a, b, limit)
  if math.abs(#a - #b) > limit then return limit + 1 end
  local older, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local last = row
    row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      local best = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        best = math.min(best, older[j - 2] + 1)
      end
      row[j] = best
    end
    older = last
  end
  return row[#b]
end

--- The candidate that somebody who typed `word` most likely meant.
-- @tparam string word
-- @tparam {string,...} candidates
-- @treturn ?string nil when nothing is near
function options.suggest(word, candidates)
  local limit <const> = #word < 2 and 0 or #word < 5 and 1 or 2
  local best, best_at
  for _, candidate in ipairs(candidates) do
    local at = distance(word:lower(), candidate:lower(), limit)
    if #word >= 3 and candidate:sub(1, #word) == word then at = 0 end
    if at <= limit and (best_at == nil or at < best_at) then
      best, best_at = candidate, at
    end
  end
  return best
end

--- Joins declarations; an option named again replaces the earlier one.
-- @tparam {table,...} ... lists of declared options
-- @treturn {table,...} a new list
function options.join(...)
  local joined, at = {}, {}
  for _, list in ipairs { ... } do
    for _, option in ipairs(list) do
      local i = at[option.name] or #joined + 1
      joined[i], at[option.name] = option, i
    end
  end
  return joined
end

--- The declared options with these names, in the order of the names.
-- @tparam {table,...} declared
-- @tparam {string,...} names
-- @treturn {table,...} a new list
function options.select(declared, names)
  local by_name, picked = options.index(declared), {}
  for i, name in ipairs(names) do
    picked[i] = assert(by_name[name], name)
  end
  return picked
end

--- Finds options by any of their names.
-- @tparam {table,...} declared
-- @treturn table name to declaration, aliases included
function options.index(declared)
  local index = {}
  for _, option in ipairs(declared) do
    index[option.name] = option
    for _, alias in ipairs(option.aliases or {}) do index[alias] = option end
  end
  return index
end

local function is_choice(option, value)
  for _, choice in ipairs(option.choices) do
    if choice == value then return true end
  end
  return false
end

local function not_a_choice(option, value)
  local near = options.suggest(tostring(value), option.choices)
  if near then return ("is not known: '%s' (did you mean '%s'?)"):format(value, near) end
  return ("is not known: '%s' (one of %s)"):format(value, table.concat(option.choices, ", "))
end

local function judge(option, value)
  if option.synonyms then value = option.synonyms[value] or value end
  local kind <const> = options.types[option.type]
  if option.choices and not is_choice(option, value) then
    return nil, not_a_choice(option, value)
  end
  if kind.check then
    local message
    value, message = kind.check(value)
    if value == nil then return nil, message end
  end
  if kind.lua == "number" then return number_in_range(option, value) end
  return value
end

--- Reads an option's value from text, as the command does.
-- @tparam table option its declaration
-- @tparam string text
-- @return the value, or nil
-- @treturn ?string why not, to be put behind the option's name
function options.scan(option, text)
  local value, message = options.types[option.type].scan(text)
  if value == nil then return nil, ("%s: '%s'"):format(message, text) end
  return judge(option, value)
end

local function check_one(option, value)
  local kind <const> = options.types[option.type]
  if kind.accepts_text and type(value) == "string" then return options.scan(option, value) end
  if type(value) ~= kind.lua then
    return nil, ("must be a %s, not a %s"):format(kind.lua, type(value))
  end
  return judge(option, value)
end

local function check_value(option, value)
  if not option.many then return check_one(option, value) end
  if type(value) ~= "table" then value = { value } end
  local list = {}
  for i, item in ipairs(value) do
    local checked, message = check_one(option, item)
    if checked == nil then return nil, message end
    list[i] = checked
  end
  return list
end

--- Checks one value of an option.
-- @tparam table option its declaration
-- @param value as an API call gives it
-- @return the checked value, or nil
-- @treturn ?string why not, to be put behind the option's name
function options.value(option, value)
  return check_value(option, value)
end

local function names_of(declared)
  local names = {}
  for name in pairs(options.index(declared)) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- Validates the options of an API call.
-- Wrong use raises, at the caller's caller.
-- @tparam {table,...} declared
-- @tparam ?table given
-- @tparam string where the function's name, for the message
-- @treturn table a new table: checked values and defaults, under main names
function options.check(declared, given, where)
  if given ~= nil and type(given) ~= "table" then
    error(("bad options to '%s' (table expected, got %s)"):format(where, type(given)), 3)
  end
  local index <const> = options.index(declared)
  local checked = {}
  for name, value in pairs(given or {}) do
    local option = index[name]
    if option == nil then
      local near = options.suggest(tostring(name), names_of(declared))
      local hint = near and (" (did you mean '%s'?)"):format(near) or ""
      error(("unknown option '%s' to '%s'%s"):format(tostring(name), where, hint), 3)
    end
    local good, message = check_value(option, value)
    if good == nil then
      error(("bad option '%s' to '%s': %s"):format(tostring(name), where, message), 3)
    end
    checked[option.name] = good
  end
  for _, option in ipairs(declared) do
    if checked[option.name] == nil then checked[option.name] = option.default end
  end
  return checked
end

--- How an option's name is written on the command line.
-- @tparam string name
-- @treturn string "-n", "--show-from"
function options.flag(name)
  return (#name == 1 and "-" or "--") .. name:gsub("_", "-")
end

return options
