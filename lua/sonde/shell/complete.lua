--- What the word at the cursor may become: words, settings and their choices,
-- names of Lua and fields of its objects, functions of the profile.
-- @module sonde.shell.complete
local code <const> = require "sonde.shell.code"
local manual <const> = require "sonde.shell.manual"
local settings <const> = require "sonde.shell.settings"
local words <const> = require "sonde.shell.words"

local complete = {}

local MOST_FUNCTIONS <const> = 40   -- beyond, they are offered part by part

local SPECIAL <const> = "[%^%$%*%+%?%(%)%[%]%{%}%|\\]"

-- A function's name as a pattern that matches it; arguments and blanks left
-- out, since a word ends there.
local function as_pattern(name)
  name = name:match("^(.-)%(") or name
  name = name:match("^%S+") or name
  return (name:gsub(SPECIAL, "\\%0"))
end

-- The functions of a profile, each once, sorted.
local function function_names(shell)
  if shell.session:is_empty() then return {} end
  local profile <const> = shell.session:whole()
  local known <const> = shell.functions
  if known and known.profile == profile then return known.names end
  local seen, names = {}, {}
  local frames <const> = profile:frames()
  for i = 1, frames.n do
    local name <const> = as_pattern(frames.name[i])
    if name ~= "" and not seen[name] and not name:find("%c") then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  table.sort(names)
  shell.functions = { profile = profile, names = names }
  return names
end

local function starting_with(names, prefix)
  local found = {}
  for _, name in ipairs(names) do
    if name:sub(1, #prefix) == prefix then found[#found + 1] = name end
  end
  return found
end

-- Of many names only the next part: System. to System.Text.
local function by_parts(names, prefix)
  if #names <= MOST_FUNCTIONS then return names end
  local seen, parts = {}, {}
  for _, name in ipairs(names) do
    local part <const> = name:match("^[^.]*%.", #prefix + 1)
    local shown <const> = part and name:sub(1, #prefix) .. part or name
    if not seen[shown] then
      seen[shown] = true
      parts[#parts + 1] = shown
    end
  end
  return parts
end

-- A name that holds the text somewhere is offered when it is the only one:
-- readline would put the common beginning of several in the text's place.
local function only_holder(names, part)
  local found
  local lower <const> = part:lower()
  for _, name in ipairs(names) do
    if name:lower():find(lower, 1, true) then
      if found then return {} end
      found = name
    end
  end
  return { found }
end

local function functions(shell, prefix)
  local names <const> = function_names(shell)
  local found <const> = starting_with(names, prefix)
  if #found > 0 then return by_parts(found, prefix) end
  return prefix == "" and {} or only_holder(names, prefix)
end

local function add_keys(found, value)
  if type(value) ~= "table" then return end
  for key in next, value do
    if type(key) == "string" and key:find("^[%a_][%w_]*$") and key:sub(1, 2) ~= "__" then
      found[key] = true
    end
  end
end

-- The fields of a value: its own, and those of its class.
local function fields_of(value, is_call)
  local found = {}
  local meta <const> = getmetatable(value)
  local class = type(meta) == "table" and meta.__index or nil
  if type(class) == "function" then class = meta.__members and meta.__members(value) end
  if not is_call then add_keys(found, value) end
  add_keys(found, class)
  local names = {}
  for key in pairs(found) do
    local field <const> = type(value) == "table" and rawget(value, key)
      or type(class) == "table" and class[key]
    if not is_call or type(field) == "function" then names[#names + 1] = key end
  end
  table.sort(names)
  return names
end

local function field(value, name)
  if type(value) == "table" then return rawget(value, name) end
  return nil
end

-- "profile:to" to the methods of the profile. Nothing is called for it but
-- what the names of the shell stand for.
local function members(shell, path)
  local base, separator, last = path:match("^(.*)([.:])([%w_]*)$")
  if base == nil then return nil end
  local value
  for name in base:gmatch("[%a_][%w_]*") do
    if value == nil then value = shell.session.env[name] else value = field(value, name) end
    if value == nil then return {} end
  end
  local names = {}
  for _, name in ipairs(starting_with(fields_of(value, separator == ":"), last)) do
    names[#names + 1] = base .. separator .. name
  end
  return names
end

local function lua_names(shell)
  local names <const> = shell.session:object_names()
  for _, list in ipairs { shell.session.env, shell.session.globals, _G, code.keywords() } do
    for key in next, list do
      if type(key) == "string" then names[#names + 1] = key end
    end
  end
  return names
end

local function sorted_once(names)
  table.sort(names)
  local once = {}
  for _, name in ipairs(names) do
    if name ~= once[#once] then once[#once + 1] = name end
  end
  return once
end

local function lua(shell, path)
  return members(shell, path) or sorted_once(starting_with(lua_names(shell), path))
end

local function first_words(shell, prefix)
  local names = words.names()
  for _, name in ipairs(settings.names()) do names[#names + 1] = name .. "=" end
  for _, view in ipairs(shell.session:views()) do names[#names + 1] = view end
  table.move(shell.session:object_names(), 1, #shell.session:object_names(), #names + 1, names)
  local found <const> = starting_with(names, prefix)
  if prefix == "" then return sorted_once(found) end
  table.move(starting_with(lua_names(shell), prefix), 1, #lua_names(shell), #found + 1, found)
  return sorted_once(found)
end

local function choices(shell, name, prefix)
  local option <const> = settings.get(name)
  local list <const> = settings.choices(option, shell.session:views())
  if list then return starting_with(list, prefix) end
  return option.type == "pattern" and functions(shell, prefix) or {}
end

local function report_options(module, prefix)
  local names = {}
  for _, option in ipairs(module.options) do
    names[#names + 1] = "-" .. option.name .. (option.type == "boolean" and "" or "=")
  end
  table.sort(names)
  return starting_with(names, prefix)
end

local function option_choices(module, token)
  local name, prefix = token:match("^%-+([%a_]+)=(.*)$")
  for _, option in ipairs(name and module.options or {}) do
    if option.name == name and option.choices then
      local found = {}
      for i, choice in ipairs(starting_with(option.choices, prefix)) do
        found[i] = ("-%s=%s"):format(name, choice)
      end
      return found
    end
  end
end

local function report_argument(shell, module, token)
  if token:find("^%-") then
    local found <const> = option_choices(module, token) or report_options(module, token)
    if #found > 0 then return found end
    local negated = {}
    for i, name in ipairs(functions(shell, token:sub(2))) do negated[i] = "-" .. name end
    return negated
  end
  return module.takes == "profile" and functions(shell, token) or {}
end

local function help_topics(prefix)
  local names = words.names()
  for _, list in ipairs { settings.names(), manual.topics() } do
    table.move(list, 1, #list, #names + 1, names)
  end
  return sorted_once(starting_with(names, prefix))
end

-- What is wanted of rows, or of a call that is given a file or a process.
local OUTSIDE <const> = { "fields", "methods", "record" }

-- Inside a quoted text, the functions; elsewhere, names.
local function lua_at(shell, before)
  local candidates_of <const> = require "sonde.shell.candidates"
  for _, name in ipairs(OUTSIDE) do
    local part <const>, found <const> = candidates_of[name](shell.session.env, before)
    if part then return part, found end
  end
  local part <const>, found <const> = candidates_of.of_call(before)
  if part then return part, found end
  local quoted <const> = before:match("[\"']([^\"']*)$")
  local _, n = before:gsub("[\"']", "")
  if quoted and n % 2 == 1 then return quoted, functions(shell, quoted) end
  local path <const> = before:match("[%w_.:]*$")
  if path == "" then return path, {} end
  return path, lua(shell, path)
end

-- The token of a word's argument, and all that it may become.
local function word_argument(shell, word, rest)
  local token <const> = rest:match("%S*$") or ""
  if word.takes == "files" then
    return rest, require("sonde.shell.candidates").files(rest)
  end
  if word.takes == "verbs" then return require("sonde.shell.candidates").verb(rest) end
  if word.takes == "words" then return token, members(shell, token) or help_topics(token) end
  if word.takes == "names" then return lua_at(shell, rest) end
  return token, {}
end

-- The token before the cursor, and all that it may become.
local function candidates(shell, before)
  local name, value = before:match("^%s*([%a_][%w_]*)=([^=].*)$")
  if name == nil then name, value = before:match("^%s*([%a_][%w_]*)=()$"), "" end
  if name and settings.get(name) then return value, choices(shell, name, value) end
  local first <const> = before:match("^%s*([%a_]*[%w_]*)$")
  if first then return first, first_words(shell, first) end
  local word, rest = before:match("^%s*([%a_]+)%d*%s+(.*)$")
  local token <const> = rest and (rest:match("%S*$") or "")
  local path <const> = rest and rest:match("^[^\"']*>%s*(%S*)$")
  if word and path and words.report(word) then
    return path, require("sonde.shell.candidates").files(path)
  end
  if word and words.report(word) then
    return token, report_argument(shell, words.report(word), token)
  end
  if word and words.get(word) then return word_argument(shell, words.get(word), rest) end
  return lua_at(shell, before)
end

--- Completes.
-- @tparam table shell
-- @tparam string line
-- @tparam integer from where readline's word begins
-- @tparam integer to where it ends, which is before the cursor
-- @treturn {string,...} what may stand in place of readline's word
-- @treturn string what follows it when it is the only one
function complete.find(shell, line, from, to)
  local token, found = candidates(shell, line:sub(1, to))
  -- Readline's word may begin later than ours, at any of its break characters,
  -- or earlier.
  local begin <const> = to - #token + 1
  local results = {}
  for i, name in ipairs(found) do
    results[i] = begin >= from and line:sub(from, begin - 1) .. name or name:sub(from - begin + 1)
  end
  local only <const> = #found == 1 and found[1] or ""
  local is_word <const> = words.get(only) or words.report(only)
    or line:find("^%s*sonde%s") and only:find("[^/]$")
  return results, is_word and " " or ""
end

return complete
