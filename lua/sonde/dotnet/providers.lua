--- Providers of events: as text, as tables, and what a session asks for when
-- it names none.
-- @module sonde.dotnet.providers
local dotnet <const> = require "sonde.dotnet"
local keywords <const> = require "sonde.dotnet.keywords"
local options <const> = require "sonde.base.options"

local providers = {}

--- Most verbose, which the method-load events need.
providers.VERBOSE = 5

--- What a session records when it names nothing: thread samples, and the loads
-- of modules and methods, without which their addresses have no names. Level 4
-- sends no method loads.
providers.DEFAULT = {
  { name = dotnet.PROVIDER_SAMPLE_PROFILER, keywords = 0, level = providers.VERBOSE },
  { name = dotnet.PROVIDER_RUNTIME, keywords = dotnet.KEYWORD_LOADER | dotnet.KEYWORD_JIT,
    level = providers.VERBOSE },
}

--- Keywords of the runtime's provider by name, as `dotnet-trace` knows them.
providers.KEYWORDS = keywords.of(dotnet.PROVIDER_RUNTIME)

--- Levels by name.
providers.LEVELS = {
  critical = 1, error = 2, warning = 3, informational = 4, info = 4, verbose = 5,
}

local function names_of(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function unknown(what, word, map)
  local near <const> = options.suggest(word, names_of(map))
  return nil, ("%s '%s' is not known%s"):format(what, word,
    near and (" (did you mean '%s'?)"):format(near) or "")
end

local function read_hex(text)
  local digits <const> = text:match("^0[xX](%x+)$") or text:match("^(%x+)$")
  return digits and #digits <= 16 and math.tointeger(tonumber("0x" .. digits)) or nil
end

-- "0x18", "18" (also hexadecimal), or names joined by "+".
local function read_keywords(text, provider)
  if text == "" or text == "*" then return text == "*" and -1 or 0 end
  if read_hex(text) then return read_hex(text) end
  local known <const>, mask = keywords.of(provider), 0
  for word in text:gmatch("[^+]+") do
    local value <const> = known[word:lower()] or read_hex(word)
    if value == nil then return unknown("keyword", word, known) end
    mask = mask | value
  end
  return mask
end

local function read_level(text)
  if text == "" then return providers.VERBOSE end
  local number <const> = math.tointeger(tonumber(text)) or providers.LEVELS[text:lower()]
  if number == nil then return unknown("level", text, providers.LEVELS) end
  if number < 0 or number > 5 then return nil, ("level %d is not one of 0 to 5"):format(number) end
  return number
end

--- Reads a provider from text: `NAME[:KEYWORDS[:LEVEL[:KEY=VALUE;…]]]`, with
-- keywords in hexadecimal or, of the runtime's providers, by name (`gc+jit`),
-- and levels 1 to 5 or by name. Keywords are none and the level is verbose
-- when they are left out.
-- @tparam string spec
-- @treturn ?table `name keywords level arguments`
-- @treturn ?string why not
function providers.parse(spec)
  local name, words, level, arguments = spec:match("^([^:]*):?([^:]*):?([^:]*):?(.*)$")
  if name == "" then return nil, ("'%s' names no provider"):format(spec) end
  local mask, wrong_keywords = read_keywords(words, name)
  if mask == nil then return nil, ("%s: %s"):format(name, wrong_keywords) end
  local number, wrong_level = read_level(level)
  if number == nil then return nil, ("%s: %s"):format(name, wrong_level) end
  if arguments == "" then arguments = nil end
  return { name = name, keywords = mask, level = number,
    arguments = arguments and arguments:match('^"(.*)"$') or arguments }
end

local FIELDS <const> = {
  name = "string", keywords = "number", level = "number", arguments = "string", only = "boolean",
  ids = "table",
}

local function check_field(i, key, value)
  if FIELDS[key] == nil then
    return nil, ("provider %d has an unknown field '%s'"):format(i, tostring(key))
  end
  if type(value) ~= FIELDS[key] then
    return nil, ("'%s' of provider %d must be a %s, not a %s"):format(key, i, FIELDS[key],
      type(value))
  end
  if FIELDS[key] == "number" and math.type(value) ~= "integer" then
    return nil, ("'%s' of provider %d must be a whole number"):format(key, i)
  end
  return true
end

local function complete(i, provider)
  if type(provider) == "string" then return providers.parse(provider) end
  if type(provider) ~= "table" then
    return nil, ("provider %d is a %s"):format(i, type(provider))
  end
  local copy = { keywords = 0 }
  for key, value in pairs(provider) do
    local good, why = check_field(i, key, value)
    if not good then return nil, why end
    copy[key] = value
  end
  if not copy.name or copy.name == "" then return nil, ("provider %d has no name"):format(i) end
  if copy.level == nil or copy.level == 0 then copy.level = providers.VERBOSE end
  return copy
end

--- Makes a session's list of providers complete: text is read, level 0 (or
-- none) becomes 5, keywords are 0 when left out.
-- @tparam ?{table|string,...} list `providers.DEFAULT` when nil or empty
-- @treturn ?{table,...} a new list
-- @treturn ?string why not
function providers.complete(list)
  if list == nil or #list == 0 then list = providers.DEFAULT end
  local completed = {}
  for i, provider in ipairs(list) do
    local one, why = complete(i, provider)
    if one == nil then return nil, why end
    completed[i] = one
  end
  return completed
end

--- Joins lists: of one provider the keywords are united and the highest level
-- counts; the later arguments win.
-- @tparam {table,...} ... lists as `complete` gives them
-- @treturn {table,...} a new list
function providers.join(...)
  local joined, at = {}, {}
  for _, list in ipairs { ... } do
    for _, provider in ipairs(list) do
      local own = at[provider.name]
      if own == nil then
        own = { name = provider.name, keywords = 0, level = 0 }
        joined[#joined + 1], at[provider.name] = own, own
      end
      own.keywords = own.keywords | provider.keywords
      own.level = math.max(own.level, provider.level)
      own.arguments = provider.arguments or own.arguments
      own.only, own.ids = provider.only, provider.ids
    end
  end
  return joined
end

--- A provider as text that `parse` reads.
-- @tparam table provider
-- @treturn string
function providers.format(provider)
  local text = ("%s:0x%x:%d"):format(provider.name, provider.keywords, provider.level)
  if provider.arguments then text = text .. ":" .. provider.arguments end
  return text
end

--- Is the sampler of stacks among these? Samples say where threads were; their
-- clocks, whether they ran there.
-- @tparam {table,...} list
-- @treturn boolean
function providers.have_sampler(list)
  for _, provider in ipairs(list) do
    if provider.name == dotnet.PROVIDER_SAMPLE_PROFILER then return true end
  end
  return false
end

return providers
