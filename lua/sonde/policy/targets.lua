--- Which processes a policy is about.
-- @module sonde.policy.targets
local check <const> = require "sonde.policy.check"
local options <const> = require "sonde.base.options"
local pattern <const> = require "sonde.base.pattern"
local words <const> = require "sonde.policy.words"

local targets = {}

--- Fields; each is a fact of a process. Patterns may be a list: one of them.
targets.fields = {
  { name = "runtime", type = "string", choices = { "dotnet", "go", "native" }, many = true,
    help = "what runs it" },
  { name = "name", type = "pattern", many = true, help = "entry assembly or program" },
  { name = "command_line", type = "pattern", many = true, help = "its words, with blanks between" },
  { name = "user", type = "pattern", many = true, help = "whose it is" },
  { name = "container", type = "pattern", many = true, help = "id of its container" },
  { name = "arch", type = "pattern", many = true, help = "x64, arm64, …" },
  { name = "version", type = "pattern", many = true, help = "of its runtime" },
  { name = "environment", type = "table", help = "what variables match, by their names" },
  { name = "pid", type = "integer", many = true, help = "its id" },
}

local ORDER <const> = {
  "pid", "runtime", "name", "command_line", "user", "container", "arch", "version",
}

local NOUNS <const> = { command_line = "command line", arch = "architecture",
  version = "runtime version" }

local function is_pattern(name)
  for _, field in ipairs(targets.fields) do
    if field.name == name then return field.type == "pattern" end
  end
end

local function matcher_of(name, wanted, where)
  if not is_pattern(name) then
    return function(value)
      for _, one in ipairs(wanted) do
        if one == value then return true end
      end
      return false
    end
  end
  local matchers <const> = {}
  for i, source in ipairs(wanted) do matchers[i] = pattern.matcher(source, where .. "." .. name) end
  return function(value)
    for _, matches in ipairs(matchers) do
      if matches(tostring(value)) then return true end
    end
    return false
  end
end

local function check_environment(given, where, problems)
  local rows = {}
  for name, source in pairs(given) do
    if type(name) ~= "string" or type(source) ~= "string" then
      problems:add(where .. ".environment", "must give a pattern for each name of a variable")
      return rows
    end
    local good <const>, message <const> = options.value({ type = "pattern" }, source)
    if good then
      rows[#rows + 1] = { name = name, source = source,
        matches = pattern.matcher(source, where .. ".environment") }
    else
      problems:add(("%s.environment.%s"):format(where, name), message, name)
    end
  end
  table.sort(rows, function(a, b) return a.name < b.name end)
  return rows
end

--- Checks the part of a policy.
-- @param given a table, a function of a process's facts, or nil for all
-- @tparam string where
-- @tparam table problems
-- @treturn table what `explain` and `judge` take
function targets.check(given, where, problems)
  if given == nil then return { rows = {} } end
  if type(given) == "function" then return { rows = {}, call = given } end
  local spec <const> = check.fields(targets.fields, given, where, problems)
  local rows = {}
  for _, name in ipairs(ORDER) do
    local wanted <const> = spec[name]
    if wanted then
      rows[#rows + 1] = { name = name, wanted = wanted,
        matches = matcher_of(name, wanted, where) }
    end
  end
  return { rows = rows, environment = spec.environment
    and check_environment(spec.environment, where, problems) }
end

local function wanted_words(row)
  local list = {}
  for i, one in ipairs(row.wanted) do
    list[i] = is_pattern(row.name) and ("/%s/"):format(one) or tostring(one)
  end
  return words.list(list, "or")
end

--- Says which processes.
-- @tparam table checked
-- @treturn string
function targets.explain(checked)
  if checked.call then return "processes that its function accepts" end
  local parts = {}
  for _, row in ipairs(checked.rows) do
    parts[#parts + 1] = ("%s %s %s"):format(NOUNS[row.name] or row.name,
      is_pattern(row.name) and "matches" or "is", wanted_words(row))
  end
  for _, row in ipairs(checked.environment or {}) do
    parts[#parts + 1] = ("variable %s matches /%s/"):format(row.name, row.source)
  end
  if #parts == 0 then return "every process" end
  return "processes whose " .. words.list(parts)
end

local function value_of(facts, name)
  local value <const> = facts[name]
  if name == "command_line" and type(value) == "table" then return table.concat(value, " ") end
  return value
end

local function judge_environment(checked, facts)
  local environment = facts.environment
  if type(environment) == "function" then environment = environment() end
  for _, row in ipairs(checked.environment or {}) do
    if environment then
      local value <const> = environment[row.name]
      if value == nil then return false, ("variable %s is not set"):format(row.name) end
      if not row.matches(value) then
        return false, ("variable %s does not match /%s/"):format(row.name, row.source)
      end
    end
  end
  return true
end

local function call_it(checked, facts)
  local whole <const> = {}   -- facts that nobody has asked for yet, too
  for name, value in pairs(facts) do whole[name] = value end
  local fits <const>, why <const> = checked.call(whole)
  if fits == true then return true end
  return false, type(why) == "string" and why or "its function does not accept it"
end

--- Is a process one of them? A fact that a recorded timeline does not hold is
-- not held against it.
-- @tparam table checked
-- @tparam table facts by the names of `targets.fields`
-- @tparam boolean is_recorded facts that are missing were not recorded
-- @treturn boolean
-- @treturn ?string why not
function targets.judge(checked, facts, is_recorded)
  if checked.call then return call_it(checked, facts) end
  for _, row in ipairs(checked.rows) do
    local value <const> = value_of(facts, row.name)
    if value == nil and not is_recorded then
      return false, ("%s is not known"):format(NOUNS[row.name] or row.name)
    end
    if value ~= nil and not row.matches(value) then
      return false, ("%s '%s' %s %s"):format(NOUNS[row.name] or row.name, tostring(value),
        is_pattern(row.name) and "does not match" or "is not", wanted_words(row))
    end
  end
  return judge_environment(checked, facts)
end

return targets
