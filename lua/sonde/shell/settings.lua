--- The settings of a shell: what is measured, which part of it, how it is
-- shown. They are the options of the command, declared where these are, with
-- pprof's names beside them. A set of values is never changed: setting one
-- gives a new set, so that going back is keeping the old ones.
-- @module sonde.shell.settings
local errors <const> = require "sonde.base.errors"
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local profiles <const> = require "sonde.profile"
local scope <const> = require "sonde.report.scope"

local settings = {}

-- Those that choose a profile of a trace.
local CHOOSING <const> = {
  { name = "view", aliases = { "sample_index" }, type = "string",
    help = "what is measured; a number counts from 0" },
  { name = "names", type = "string", choices = { "pretty", "full", "raw" }, default = "pretty",
    help = "how methods of a trace are named" },
  { name = "thread", type = "pattern", help = "only threads with this id, or whose name matches" },
  { name = "process", type = "pattern", help = "only the process with this id or name" },
  { name = "from", type = "duration", help = "leave out what was before this time" },
  { name = "to", type = "duration", help = "leave out what was after this time" },
}

for i = 2, #CHOOSING do CHOOSING[i].of_trace = true end

-- Those that every report takes which knows them; `option` is its name there.
local SHOWING <const> = options.join({
  { name = "rows", aliases = { "nodecount" }, type = "integer", min = 0, option = "n",
    help = "rows of a table, 0 for all" },
  { name = "cum", type = "boolean", default = false,
    help = "sort by the value with callees" },
}, nodes.options, options.select(scope.options, { "unit", "relative" }), {
  { name = "normalize", type = "boolean", default = false,
    help = "compare shares of each side's total instead of values" },
  { name = "wide", type = "boolean", default = false,
    help = "lines of a table as they are, not cut to the width of the terminal" },
})

--- The declared settings in the order in which they are listed.
settings.declared = options.join(CHOOSING, profiles.filters, SHOWING)

-- pprof's name for one that is called otherwise by the command.
local OTHER_NAMES <const> = {
  by = { "granularity" }, relative = { "relative_percentages" },
}

local index <const> = options.index(settings.declared)
for name, aliases in pairs(OTHER_NAMES) do
  for _, alias in ipairs(aliases) do index[alias] = index[name] end
end

--- The declaration of a setting.
-- @tparam string name or another name of it
-- @treturn ?table
function settings.get(name)
  return index[name]
end

--- All names, further ones included.
-- @treturn {string,...}
function settings.names()
  local names = {}
  for name in pairs(index) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- The first values.
-- @treturn table values by name; what is not set is nil
function settings.defaults()
  local values = {}
  for _, option in ipairs(settings.declared) do values[option.name] = option.default end
  return values
end

local function with(values, name, value)
  local copy = {}
  for key, old in pairs(values) do copy[key] = old end
  copy[name] = value
  return copy
end

local TRUE <const> = { ["true"] = true, ["1"] = true, on = true, yes = true, [""] = true }
local FALSE <const> = { ["false"] = true, ["0"] = true, off = true, no = true }

local function scan(option, text)
  if option.type ~= "boolean" then return options.scan(option, text) end
  if TRUE[text] then return true end
  if FALSE[text] then return false end
  return nil, ("is true or false: '%s'"):format(text)
end

-- People who know Lua put quotes around a text.
local function unquoted(text)
  return text:match("^\"(.*)\"$") or text:match("^'(.*)'$") or text
end

--- Sets one from text; an empty text, or its default, unsets it. A wrong one
-- is a usage failure.
-- @tparam table values
-- @tparam string name
-- @tparam string text
-- @treturn table new values
function settings.set(values, name, text)
  local option <const> = index[name]
  text = unquoted(text)
  if text == "" and option.type ~= "boolean" then
    return with(values, option.name, option.default)
  end
  local value, message = scan(option, text)
  if value == nil then
    errors.usage(("%s %s"):format(option.name, message), "help " .. option.name)
  end
  return with(values, option.name, value)
end

--- Unsets all filters.
-- @tparam table values
-- @treturn table new values
function settings.clear(values)
  local copy = with(values, "", nil)
  for _, option in ipairs(profiles.filters) do copy[option.name] = nil end
  return copy
end

--- The filters that are set, as `Profile:where` takes them.
-- @tparam table values
-- @treturn table
function settings.filters(values)
  local set = {}
  for _, option in ipairs(profiles.filters) do set[option.name] = values[option.name] end
  return set
end

--- The options that `Trace:profile` takes.
-- @tparam table values
-- @treturn table
function settings.choice(values)
  local chosen = {}
  for _, option in ipairs(CHOOSING) do
    if values[option.name] ~= option.default then chosen[option.name] = values[option.name] end
  end
  return chosen
end

--- What is set of the options of a report.
-- @tparam table values
-- @tparam table module the report
-- @treturn table by the report's names
function settings.for_report(values, module)
  local own = {}
  local known <const> = options.index(module.options)
  for _, option in ipairs(SHOWING) do
    local name <const> = option.option or option.name
    local value <const> = values[option.name]
    if known[name] and value ~= known[name].default then own[name] = value end
  end
  return own
end

--- Are two sets of values equal?
-- @tparam table a
-- @tparam table b
-- @treturn boolean
function settings.equal(a, b)
  for _, option in ipairs(settings.declared) do
    if a[option.name] ~= b[option.name] then return false end
  end
  return true
end

local function shown(option, value)
  if value == nil then return "" end
  if option.type == "duration" then return require("sonde.base.units").duration(value) end
  return tostring(value)
end

--- What can be chosen for a setting.
-- @tparam table option
-- @tparam {string,...} views what the input offers for `view`
-- @treturn ?{string,...} nil when it is no choice
function settings.choices(option, views)
  if option.name == "view" then return views end
  if option.type == "boolean" then return { "true", "false" } end
  return option.choices
end

--- The settings as rows for people.
-- @tparam table values
-- @tparam {string,...} views
-- @tparam ?string only the name of one
-- @treturn {table,...} each `{ name, value, what it can be, set }`
function settings.rows(values, views, only)
  local rows = {}
  for _, option in ipairs(settings.declared) do
    if only == nil or index[only] == option then
      local choices <const> = settings.choices(option, views)
      local value <const> = values[option.name]
      rows[#rows + 1] = {
        option.name, shown(option, value),
        choices and table.concat(choices, " ") or option.help,
        set = value ~= nil and value ~= option.default,
      }
    end
  end
  return rows
end

return settings
