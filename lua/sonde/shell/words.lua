--- The words of the shell: pprof's and sonde's own. A line is a word when its
-- first word is one, a setting when it assigns to one, and Lua otherwise.
-- @module sonde.shell.words
local code <const> = require "sonde.shell.code"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"
local reports <const> = require "sonde.report"
local settings <const> = require "sonde.shell.settings"

local words = {}

-- Each word: `usage summary run(shell, rest)`; added by `words.add`.
local known <const> = {}
local order <const> = {}

--- Adds a word.
-- @tparam string name
-- @tparam table word `usage`, `summary`, `run`; `help` lines of more help,
--   `aliases`, `takes` (what completes its arguments: "functions", "words",
--   "names")
function words.add(name, word)
  word.name = name
  known[name] = word
  order[#order + 1] = word
  for _, alias in ipairs(word.aliases or {}) do known[alias] = word end
end

--- The words that are no reports, in the order in which help lists them.
-- @treturn {table,...}
function words.list()
  return order
end

local is_report <const> = {}
for _, name in ipairs(reports.names()) do is_report[name] = true end

--- The report that a word names.
-- @tparam string name
-- @treturn ?table its module
function words.report(name)
  return is_report[name] and reports.get(name) or nil
end

--- A word that is no report.
-- @tparam string name
-- @treturn ?table
function words.get(name)
  return known[name]
end

--- All words.
-- @treturn {string,...} sorted
function words.names()
  local names = reports.names()
  for name in pairs(known) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- "top20" is the word top with a number of rows.
local function split_count(name)
  if known[name] or is_report[name] then return name end
  local stem, digits = name:match("^([%a_]+)(%d+)$")
  if stem and is_report[stem] then return stem, digits end
end

local function assigned(line)
  local name, rest = line:match("^([%a_][%w_]*)%s*=(.*)$")
  if name and rest:sub(1, 1) ~= "=" then return name, rest:match("^%s*(.-)%s*$") end
end

-- What a word is followed by when it is Lua after all.
local function is_lua_after(rest)
  return rest:find("^%s*=") ~= nil or rest:find("^[^%s]") ~= nil
end

local function is_view(shell, name)
  if shell.session:knows(name) or code.keywords()[name] then return false end
  for _, view in ipairs(shell.session:views()) do
    if view == name then return true end
  end
  return false
end

--- Says what a line is.
-- @tparam table shell
-- @tparam string line without blanks around it
-- @treturn string "word", "report", "set", "ask", "clear", "lua" or "more"
-- @treturn ?string its name; the source of Lua
-- @treturn ?string what follows: arguments, the value
-- @treturn ?string the number of a word such as top20
function words.parse(shell, line)
  if line == "" then return "more" end
  if line == ":" then return "clear" end
  local first, second = line:byte(1, 2)
  if first == 61 and second ~= 61 then return "lua", (line:gsub("^=%s*", "")) end
  local name, value = assigned(line)
  if name and settings.get(name) then return "set", name, value end
  local word, rest = line:match("^([%a_][%w_]*)(.*)$")
  if word == nil or is_lua_after(rest) then return "lua", line end
  rest = rest:match("^%s*(.-)%s*$")
  if word == "sonde" and rest == "" then return "lua", line end
  if rest == "" and shell.session:has_own(word) then return "lua", line end
  local stem, digits = split_count(word)
  if stem then return known[stem] and "word" or "report", stem, rest, digits end
  if rest == "" and settings.get(word) then return "ask", word end
  if rest == "" and is_view(shell, word) then return "set", "view", word end
  return "lua", line
end

-- All that somebody may have meant by a word.
local function candidates()
  local names = words.names()
  table.move(settings.names(), 1, #settings.names(), #names + 1, names)
  return names
end

local function unknown(name)
  if require("sonde.cli").verb(name) then
    errors.usage(("'%s' is no word here, but a verb of the command"):format(name), "sonde " .. name)
  end
  local near <const> = options.suggest(name, candidates())
  if near == nil then
    errors.usage(("unknown word '%s'"):format(name), "help")
  end
  errors.usage(("unknown word '%s' (did you mean '%s'?)"):format(name, near), near)
end

-- A misspelt setting is an assignment that Lua would make without a word; it
-- is taken for one only when nothing is known by the name of its value.
local function check_assignment(shell, line)
  local name, value = assigned(line)
  if name == nil or shell.session:knows(name) then return end
  local near <const> = options.suggest(name, settings.names())
  if near == nil then return end
  if load(line) and not value:find("^[%a_][%w_]*$") then return end
  if value:find("^[%a_][%w_]*$") and (shell.session:knows(value) or code.keywords()[value]) then
    return
  end
  errors.usage(("unknown setting '%s' (did you mean '%s'?)"):format(name, near),
    ("%s=%s"):format(near, value))
end

--- Refuses a line of Lua that is none and most likely was meant for a word.
-- @tparam table shell
-- @tparam string line
function words.check_lua(shell, line)
  if line:find("\n", 1, true) then return end
  check_assignment(shell, line)
  local word, rest = line:match("^([%a_][%w_]*)%s*(.*)$")
  if word == nil or code.keywords()[word] or shell.session:knows(word) then return end
  if rest == "" or rest:find("^[%w_%-%^]") and not load(line) then
    unknown((word:gsub("%d+$", "")))
  end
end

local Arguments <const> = {}
Arguments.__index = Arguments

-- Splits at blanks; "a b" is one. `> FILE` and `| COMMAND` end the list.
local function tokens_of(rest)
  local list = {}
  local at = 1
  while true do
    at = rest:find("%S", at)
    if at == nil then return list end
    local tail <const> = rest:sub(at)
    if tail:find("^|%s") then
      list.pipe = tail:match("^|%s+(.-)%s*$")
      return list
    end
    if tail:find("^>") then
      list.path = tail:match("^>%s*(.-)%s*$")
      return list
    end
    local quoted <const> = tail:match('^"([^"]*)"%f[%s\0]')
    list[#list + 1] = quoted or tail:match("^%S+")
    at = at + (quoted and #quoted + 2 or #list[#list])
  end
end

local function joined(patterns)
  if #patterns == 0 then return nil end
  return table.concat(patterns, "|")
end

-- The option that "-cum", "--by" or "-by=module" names, and its value.
local function option_of(module, token)
  local dashes, name, value = token:match("^(%-%-?)([%a_][%w_%-]*)=?(.*)$")
  if name == nil then return nil end
  if name == "flat" then return { name = "cum", type = "boolean" }, "false" end
  local option <const> = options.index(module.options)[(name:gsub("-", "_"))]
  if option == nil and dashes == "--" then
    errors.usage(("unknown option '%s' to %s"):format(token, module.name), "help " .. module.name)
  end
  if option and token:find("=", 1, true) == nil then value = nil end
  return option, value
end

local function take_option(args, module, tokens, i)
  local option, value = option_of(module, tokens[i])
  if option == nil then return nil end
  if option.type == "boolean" then
    args.options[option.name] = value == nil or value == "true" or value == "1"
    return i
  end
  if value == nil then
    i = i + 1
    value = tokens[i]
  end
  if value == nil then
    errors.usage(("option -%s needs a value"):format(option.name), "help " .. module.name)
  end
  local scanned, message = options.scan(option, value)
  if scanned == nil then
    errors.usage(("-%s %s"):format(option.name, message), "help " .. module.name)
  end
  args.options[option.name] = scanned
  return i
end

local PATTERN <const> = { type = "pattern" }

local function check_pattern(pattern)
  local good, message = options.scan(PATTERN, pattern)
  if good == nil then errors.usage("a pattern that " .. message, "help patterns") end
end

-- A token that is no option: a number of rows, the report's own pattern, a
-- function to focus on, or with a minus one to leave out.
local function take_plain(args, module, token, wants_pattern)
  if token:find("^%d+$") and options.index(module.options).n then
    args.options.n = math.tointeger(tonumber(token))
    return wants_pattern
  end
  local pattern <const> = token:match("^%-(.+)$")
  check_pattern(pattern or token)
  if pattern then
    table.insert(args.ignore, pattern)
  elseif wants_pattern then
    args.options.pattern = token
  else
    table.insert(args.focus, token)
  end
  return false
end

--- Reads the arguments of a report as pprof does: `20`, `RE`, `-RE`, `-cum`,
-- `-by=module`, `> FILE`; and `| COMMAND`.
-- @tparam table module
-- @tparam string rest
-- @tparam ?string digits of a word such as top20
-- @treturn table `options focus ignore path pipe`
function words.arguments(module, rest, digits)
  local tokens <const> = tokens_of(rest)
  local args <const> = setmetatable({
    options = {}, focus = {}, ignore = {}, path = tokens.path, pipe = tokens.pipe,
  }, Arguments)
  if digits then args.options.n = math.tointeger(tonumber(digits)) end
  local wants_pattern = options.index(module.options).pattern ~= nil
  local i = 1
  while i <= #tokens do
    local taken <const> = tokens[i]:find("^%-") and take_option(args, module, tokens, i)
    if taken then i = taken
    else wants_pattern = take_plain(args, module, tokens[i], wants_pattern) end
    i = i + 1
  end
  if tokens.path == "" then errors.usage("> needs the name of a file", "> FILE") end
  return args
end

--- The filters of a report that was given its own: they take the place of
-- those that are set.
-- @tparam table args of `words.arguments`
-- @tparam table set the filters that are set
-- @treturn ?table nil when the report was given none
function words.filters(args, set)
  local focus <const>, ignore <const> = joined(args.focus), joined(args.ignore)
  if focus == nil and ignore == nil then return nil end
  local filters = {}
  for name, value in pairs(set) do filters[name] = value end
  filters.focus, filters.ignore = focus or filters.focus, ignore or filters.ignore
  return filters
end

return words
