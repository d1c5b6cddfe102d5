--- Checks the parts of a policy: what is wrong is collected, not raised, so
-- that a writer sees all of it at once.
-- @module sonde.policy.check
local options <const> = require "sonde.base.options"

local check = {}

local Problems <const> = {}
Problems.__index = Problems

--- A collection of problems.
-- @treturn table `list` is what `add` was given
function check.problems()
  return setmetatable({ list = {} }, Problems)
end

--- Adds one.
-- @tparam string where the part, as it is written: `trigger.metric`
-- @tparam string message
-- @tparam ?string word the word in the source that is wrong, to find its line
function Problems:add(where, message, word)
  self.list[#self.list + 1] = { where = where, message = message, word = word }
end

local function names_of(declared)
  local names = {}
  for i, option in ipairs(declared) do names[i] = option.name end
  return names
end

local function unknown(name, declared, where, problems)
  local names <const> = names_of(declared)
  local near <const> = options.suggest(tostring(name), names)
  problems:add(("%s.%s"):format(where, name), near and ("is not known (did you mean '%s'?)")
    :format(near) or ("is not known (one of %s)"):format(table.concat(names, ", ")),
    tostring(name))
end

-- A function in the place of a value is the writer's own affair; where one
-- may stand is declared.
local function value_of(option, value, where, problems)
  if option.may_call and type(value) == "function" then return value end
  local good, message = options.value(option, value)
  if good == nil then problems:add(where, message, option.name) end
  return good
end

--- Checks a table against declared fields.
-- @tparam {table,...} declared as `sonde.base.options` declares them; with
--   `may_call` a function may stand for the value, with `required` it must be
--   there
-- @param given
-- @tparam string where
-- @tparam table problems
-- @treturn table checked values, with defaults
function check.fields(declared, given, where, problems)
  local checked <const> = {}
  if type(given) ~= "table" then
    problems:add(where, ("must be a table, not a %s"):format(type(given)))
    return checked
  end
  local index <const> = options.index(declared)
  for name, value in pairs(given) do
    local option <const> = index[name]
    if option == nil then
      unknown(name, declared, where, problems)
    else
      checked[option.name] = value_of(option, value, ("%s.%s"):format(where, name), problems)
    end
  end
  for _, option in ipairs(declared) do
    if checked[option.name] == nil then checked[option.name] = option.default end
    if option.required and given[option.name] == nil then
      problems:add(where, ("needs '%s'"):format(option.name))
    end
  end
  return checked
end

return check
