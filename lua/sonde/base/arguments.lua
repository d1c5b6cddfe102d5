--- The command line of one verb, read by its declaration.
-- A verb declares `arguments` (positional: `name help`, and `optional` or
-- `many`) and `options` (`sonde.base.options`); the parser, its messages and
-- its help come from these.
-- @module sonde.base.arguments
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"

local arguments = {}

local HELP_WIDTH <const> = 92
local HELP_COLUMN <const> = 28
local SURPLUS <const> = "surplus"

-- How an option is shown, and its other spellings, which work and are left
-- out of the help: argparse would give each a line of its own.
local function flags_of(option)
  local flags = {}
  if option.short then flags[1] = "-" .. option.short end
  if #option.name > 1 then flags[#flags + 1] = options.flag(option.name) end
  for _, alias in ipairs(option.aliases or {}) do flags[#flags + 1] = options.flag(alias) end
  return flags[1], table.concat(flags, " ", 2)
end

local function help_of(option, others)
  local help = option.help
  if option.choices then help = help .. ": " .. table.concat(option.choices, ", ") end
  local default <const> = option.default_text or option.choices and option.default
  if default then help = ("%s (default %s)"):format(help, default) end
  if others ~= "" then help = ("%s; also %s"):format(help, others) end
  return help
end

local function add_spelling(parser, option, flags, help)
  if option.type == "boolean" then return parser:flag(flags, help):target(option.name) end
  local kind <const> = options.types[option.type]
  local added <const> = parser:option(flags, help):target(option.name)
  if option.many then added:count("*") end
  return added:argname(option.argname or kind.argname or "TEXT")
end

local function add_option(parser, option)
  local flag, others = flags_of(option)
  add_spelling(parser, option, flag, help_of(option, others))
  if others ~= "" then add_spelling(parser, option, others):hidden(true) end
end

local function synopsis(verb, path)
  local words = { "sonde" }
  if path ~= "" then words[2] = path end
  for _, argument in ipairs(verb.arguments) do
    local word = argument.name:upper()
    if argument.many then word = word .. "..." end
    words[#words + 1] = argument.optional and ("[%s]"):format(word) or word
  end
  words[#words + 1] = "[options]"
  return "Usage: " .. table.concat(words, " ")
end

local function epilog(verb)
  if verb.examples == nil then return nil end
  return "Examples:\n   " .. table.concat(verb.examples, "\n   ")
end

--- The parser of a verb.
-- @tparam table verb its declaration
-- @tparam string path how it is called: "top", "report tree"
-- @treturn table of argparse
function arguments.parser(verb, path)
  local argparse <const> = require "argparse"
  local parser <const> = argparse("sonde " .. path, verb.description or verb.summary, epilog(verb))
  parser:usage(synopsis(verb, path)):add_help("-h --help")
  parser:help_max_width(HELP_WIDTH):help_description_margin(HELP_COLUMN)
  for _, argument in ipairs(verb.arguments) do
    local added = parser:argument(argument.name, argument.help)
    if argument.optional then added:args(argument.many and "*" or "?")
    elseif argument.many then added:args("+") end
  end
  -- Takes what is too many, so that the message can name it.
  parser:argument(SURPLUS):args("*"):hidden(true)
  for _, option in ipairs(verb.options) do add_option(parser, option) end
  return parser
end

-- argparse ends the process for --help; here it raises what to print.
local function asks_for_help(words)
  for _, word in ipairs(words) do
    if word == "--" then return false end
    if word == "-h" or word == "--help" then return true end
  end
  return false
end

-- argparse's words, as the first line of a message of ours. It suggests names
-- that are one letter off; ours are further.
local function usage_message(verb, message)
  message = message:gsub("\nDid you mean (.-)%?$", " (did you mean %1?)"):gsub("\n", " ")
  local unknown <const> = message:match("^unknown option '(%-%-[^']*)'$")
  if unknown == nil then return message end
  local names = {}
  for name in pairs(options.index(verb.options)) do names[#names + 1] = options.flag(name) end
  table.sort(names)
  local near <const> = options.suggest(unknown, names)
  return near and ("%s (did you mean '%s'?)"):format(message, near) or message
end

local function scan_all(option, given)
  if not option.many then
    local value, message = options.scan(option, given)
    return value, message
  end
  local list = {}
  for i, text in ipairs(given) do
    local value, message = options.scan(option, text)
    if value == nil then return nil, message end
    list[i] = value
  end
  return list
end

-- Texts to values; what was not given gets its default.
local function convert(verb, raw, hint)
  for _, option in ipairs(verb.options) do
    local given <const> = raw[option.name]
    if given == nil or option.many and #given == 0 then
      raw[option.name] = option.default
    elseif option.type ~= "boolean" then
      local value, message = scan_all(option, given)
      if value == nil then
        errors.usage(("%s %s"):format(options.flag(option.name), message), hint)
      end
      raw[option.name] = value
    end
  end
  return raw
end

-- The flags that take a value.
local function valued_flags(verb)
  local flags = {}
  for _, option in ipairs(verb.options) do
    if option.type ~= "boolean" then
      if option.short then flags["-" .. option.short] = true end
      flags[options.flag(option.name)] = true
      for _, alias in ipairs(option.aliases or {}) do flags[options.flag(alias)] = true end
    end
  end
  return flags
end

-- A negative number behind a flag is its value, and no option as argparse
-- takes it for: what is wrong with the value is told by who reads it.
local function join_negative(verb, words)
  local flags <const> = valued_flags(verb)
  local joined, i = {}, 1
  while i <= #words do
    local word <const>, value <const> = words[i], words[i + 1]
    if word == "--" then return table.move(words, i, #words, #joined + 1, joined) end
    if flags[word] and value and value:find("^%-%.?%d") then
      joined[#joined + 1] = word .. (word:sub(1, 2) == "--" and "=" or "") .. value
      i = i + 2
    else
      joined[#joined + 1] = word
      i = i + 1
    end
  end
  return joined
end

-- What no words at all mean; nil when that lacks something. A parser takes as long to
-- make as what a short verb does.
local function nothing_given(verb)
  local raw = {}
  for _, argument in ipairs(verb.arguments) do
    if not argument.optional then return nil end
    raw[argument.name] = argument.many and {} or nil
  end
  return raw
end

--- Reads a command line. Wrong ones raise a usage failure.
-- @tparam table verb its declaration
-- @tparam string path how it is called
-- @tparam {string,...} words
-- @treturn table values by the names of arguments and options; or nil
-- @treturn ?string the help that was asked for
function arguments.read(verb, path, words)
  local raw = #words == 0 and nothing_given(verb) or nil
  local hint <const> = ("sonde help %s"):format(path)
  if raw then return convert(verb, raw, hint) end
  local parser <const> = arguments.parser(verb, path)
  if asks_for_help(words) then return nil, parser:get_help() .. "\n" end
  local ok
  ok, raw = parser:pparse(join_negative(verb, words))
  if not ok then errors.usage(usage_message(verb, raw), hint) end
  local surplus <const> = raw[SURPLUS][1]
  if surplus then errors.usage(("one argument too many: '%s'"):format(surplus), hint) end
  raw[SURPLUS] = nil
  return convert(verb, raw, hint)
end

return arguments
