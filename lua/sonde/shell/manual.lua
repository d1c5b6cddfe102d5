--- The help of the shell. What it says of words comes from their declarations,
-- what it says of Lua from the comments in the modules' own text, so neither
-- can fall behind.
-- @module sonde.shell.manual
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"
local reference <const> = require "sonde.shell.reference"
local reports <const> = require "sonde.report"
local settings <const> = require "sonde.shell.settings"
local text <const> = require "sonde.base.text"
local words <const> = require "sonde.shell.words"

local manual = {}

local TOPICS <const> = {
  lua = [[
Whatever is no word is Lua 5.4. An expression prints its value; a list of
records prints as a table.

   trace          the trace that is in use
   profile        its profile: what view, filters and the other settings choose
   whole          the same before filters
   before, after  with two inputs: the profile of each; diff is their difference
   inputs         what was opened
   it             the last result that can be asked further
   _, __          the last value, and the one before it
   sonde          the module: sonde.open, sonde.diff, …
   target, targets, store, policy, policies
                  running processes, stores of captures, policies

   profile:focus("Json"):top{ n = 5 }
   for _, row in ipairs(_) do print(row.name, row.flat) end
   trace:gcs():where{ pause_ns = ">10ms" }:sort "-pause_ns"
   it:sum "pause_ns"
   diff:write "diff.svg"

= EXPRESSION is always Lua, should a word have the same name. A variable of
yours that is called like a word comes first when it stands alone.

help profile, trace, diff, rows, target, store, policy list methods; help profile:top
tells one, and help it those of the last value.]],
  patterns = [[
Patterns are regular expressions (PCRE2) that match a function's name, its
file or its module: focus=^System\.Text, ignore=(?i)json, top Json -Async.
Blanks need quotes: peek "Main(string[] args)".]],
}

local function pad(cell, width)
  return cell .. (" "):rep(math.max(1, width - #cell))
end

local function report_lines()
  local lines = {}
  for i, name in ipairs(reports.names()) do
    lines[i] = ("   %s%s"):format(pad(name, 14), reports.get(name).summary)
  end
  return lines
end

local function basic_lines()
  local lines = {}
  for i, word in ipairs(words.list()) do
    lines[i] = ("   %s%s"):format(pad(word.usage, 14), word.summary)
  end
  return lines
end

-- Names in lines that fit.
local function wrapped(names, indent, width)
  local lines, line = {}, indent
  for _, name in ipairs(names) do
    if #line + #name + 1 > width then
      lines[#lines + 1] = line
      line = indent
    end
    line = line .. (line == indent and "" or " ") .. name
  end
  lines[#lines + 1] = line
  return lines
end

local function main_names()
  local names = {}
  for i, option in ipairs(settings.declared) do names[i] = option.name end
  return names
end

local function append(lines, more)
  table.move(more, 1, #more, #lines + 1, lines)
end

local function overview()
  local lines = { "Reports, such as top20 -cum, peek RE, tree RE -RE, top > FILE, tree | less:" }
  append(lines, report_lines())
  lines[#lines + 1] = "Settings, such as focus=Json, view=alloc (o lists them, : clears filters):"
  append(lines, wrapped(main_names(), "   ", 90))
  lines[#lines + 1] = "Words:"
  append(lines, basic_lines())
  lines[#lines + 1] = "All else is Lua: profile:top{ n = 5 }, trace:gcs(), #profile."
  lines[#lines + 1] = "help WORD tells more of one; so do help lua and help patterns."
  return table.concat(lines, "\n")
end

local function option_line(option)
  local flag = "-" .. option.name
  if option.type ~= "boolean" then
    flag = ("%s=%s"):format(flag, option.argname or options.types[option.type].argname or "TEXT")
  end
  local help = option.help
  if option.choices then
    help = ("%s: %s"):format(help, table.concat(option.choices, ", "))
  end
  return ("   %s%s"):format(pad(flag, 18), help)
end

local function of_report(module)
  local lines = { ("%s: %s"):format(module.name, module.summary), "" }
  local pattern <const> = options.index(module.options).pattern and " RE" or ""
  local filters <const> = module.takes == "profile" and " [RE | -RE]..." or ""
  local target <const> = module.binary and " > FILE" or " [> FILE]"
  lines[#lines + 1] = ("   %s%s%s [options]%s"):format(module.name, pattern, filters, target)
  lines[#lines + 1] = ""
  for _, option in ipairs(module.options) do
    if option.name ~= "pattern" then lines[#lines + 1] = option_line(option) end
  end
  return table.concat(lines, "\n")
end

local function of_word(word)
  local lines = { ("%s: %s"):format(word.usage, word.summary) }
  for _, line in ipairs(word.help or {}) do lines[#lines + 1] = "   " .. line end
  return table.concat(lines, "\n")
end

local function of_setting(shell, option)
  local lines = { ("%s: %s"):format(option.name, option.help) }
  local choices <const> = settings.choices(option, shell.session:views())
  if choices and #choices > 0 then
    lines[2] = "   one of: " .. text.printable(table.concat(choices, " "))
  end
  if option.name == "view" and shell.session.used.is_trace then
    for _, view in ipairs(require("sonde.dotnet.views").list()) do
      lines[#lines + 1] = ("   %s%s"):format(pad(view.name, 14), view.title)
    end
  end
  local value <const> = shell.session.values[option.name]
  if value ~= nil then lines[#lines + 1] = "   now: " .. text.printable(tostring(value)) end
  return table.concat(lines, "\n")
end

local function not_known(topic)
  local names <const> = words.names()
  for _, list in ipairs { settings.names(), manual.topics() } do
    table.move(list, 1, #list, #names + 1, names)
  end
  local near <const> = #topic > 2 and options.suggest(topic, names)
  errors.usage(("no help for '%s'"):format(topic), near and "help " .. near or "help")
end

--- What help exists of beside words and settings.
-- @treturn {string,...}
function manual.topics()
  local names <const> = reference.names()
  for name in pairs(TOPICS) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- A verb of the command has its own help.
local function of_verb(name)
  local verb <const> = require("sonde.cli").verb(name)
  if verb == nil then return nil end
  local out <const> = require("sonde.report.sink").collector()
  verb.start({ "--help" }, { out = out })
  return (out:text():gsub("\n$", ""))
end

-- A word and what Lua has of the same name.
local function of_word_and_more(name, page)
  local more <const> = reference.page(name)
  return more and page .. "\n\n" .. more or page
end

-- What the name of a value stands for: `it`, or a variable of the user's.
local function class_of(shell, name)
  if reference.has(name) then return name end
  return reference.of_value(rawget(shell.session.env, name)) or name == "it" and "rows"
end

local function of_lua(shell, topic)
  local name <const>, method <const> = topic:match "^([%a_][%w_]*)[:.]([%w_]+)%(?%)?$"
  if name then
    local class <const> = class_of(shell, name)
    return class and reference.method(class, method, name)
  end
  local class <const> = class_of(shell, topic)
  return class and reference.page(class)
end

--- A page of help.
-- @tparam table shell
-- @tparam string topic "" for the overview
-- @treturn string
function manual.page(shell, topic)
  if topic == "" then return overview() end
  if TOPICS[topic] then return TOPICS[topic] end
  local stem <const> = topic:match("^([%a_]+)%d+$") or topic
  local report <const> = words.report(topic) or words.report(stem)
  if report and not (reference.has(topic) and not shell.session.used.is_trace) then
    local page <const> = of_report(report)
    return topic == "diff" and of_word_and_more(topic, page) or page
  end
  if words.get(topic) then return of_word_and_more(topic, of_word(words.get(topic))) end
  if settings.get(topic) then return of_setting(shell, settings.get(topic)) end
  return of_lua(shell, topic) or of_verb(topic) or not_known(topic)
end

return manual
