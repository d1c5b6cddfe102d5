--- The help of the shell. What it says of words comes from their declarations,
-- what it says of Lua from the comments in the modules' own text, so neither
-- can fall behind.
-- @module sonde.shell.manual
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"
local reports <const> = require "sonde.report"
local settings <const> = require "sonde.shell.settings"
local text <const> = require "sonde.base.text"
local words <const> = require "sonde.shell.words"

local manual = {}

-- The classes that users meet: their names in the text of their modules.
local CLASSES <const> = {
  profile = { "sonde.profile", "Profile" },
  trace = { "sonde.dotnet.questions sonde.dotnet.trace", "Trace" },
  diff = { "sonde.diff", "Diff" },
  sonde = { "sonde", "sonde" },
}
CLASSES.whole, CLASSES.before, CLASSES.after = CLASSES.profile, CLASSES.profile, CLASSES.profile

-- Methods of C have no text here.
local C_METHODS <const> = {
  profile = {
    { "types", "the sample types: { type, unit }" },
    { "info", "time_ns, duration_ns, period, default_type, comments, …" },
    { "frames", "columns over all frames: n name system_name file line module address location" },
    { "samples", "iterates over stack (frame numbers, innermost first), values, labels" },
    { "total", "the sum of a sample type (index or name)" },
    { "graph", "nodes and edges: { type, by, edges }" },
    { "calltree", "the tree of calls as columns: { type, min, by, inverted }" },
    { "label_sets", "the sets of labels" },
    { "mappings", "binaries and libraries" },
    { "encode", "the bytes of a pprof file: { gzip }" },
  },
}

local TOPICS <const> = {
  lua = [[
Whatever is no word is Lua 5.4. An expression prints its value; a list of
records prints as a table.

   trace          the trace that is in use
   profile        its profile: what view, filters and the other settings choose
   whole          the same before filters
   before, after  with two inputs: the profile of each; diff is their difference
   inputs         what was opened
   _, __          the last value, and the one before it
   sonde          the module: sonde.open, sonde.diff, …

   profile:focus("Json"):top{ n = 5 }
   for _, row in ipairs(_) do print(row.name, row.flat) end
   trace:gcs()
   diff:write "diff.svg"

= EXPRESSION is always Lua, should a word have the same name. A variable of
yours that is called like a word comes first when it stands alone.

help profile, help trace, help diff list methods; help profile:top tells one.]],
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
  if choices then lines[2] = "   one of: " .. text.printable(table.concat(choices, " ")) end
  if option.name == "view" and shell.session.used.is_trace then
    for _, row in ipairs(require("sonde.cmd.common").views) do
      lines[#lines + 1] = ("   %s%s"):format(pad(row[1], 14), row[2])
    end
  end
  local value <const> = shell.session.values[option.name]
  if value ~= nil then lines[#lines + 1] = "   now: " .. text.printable(tostring(value)) end
  return table.concat(lines, "\n")
end

local function text_of(modules)
  local texts = {}
  for module in modules:gmatch("%S+") do
    local path <const> = package.searchpath(module, package.path)
    local file <const> = path and io.open(path, "r")
    if file then
      texts[#texts + 1] = file:read("a")
      file:close()
    end
  end
  return table.concat(texts, "\n")
end

-- The comments of a class's functions, in the order of its text: each
-- `{ name, lines of its comment }`.
local function comments_of(modules, class)
  local found, comment = {}, nil
  for line in text_of(modules):gmatch("([^\n]*)\n") do
    local started <const> = line:match("^%-%-%- (.*)$")
    if started then
      comment = { started }
    elseif comment and line:find("^%-%- ") then
      comment[#comment + 1] = line:sub(4)
      local name <const> = line:match("^%-%- @function " .. class .. "[:.]([%w_]+)")
      if name then found[#found + 1] = { name, comment } end
    else
      local name <const> = line:match("^function " .. class .. "[:.]([%w_]+)%(")
      if name and comment and name:sub(1, 1) ~= "_" then found[#found + 1] = { name, comment } end
      comment = nil
    end
  end
  return found
end

-- The first sentence of a comment.
local function summary_of(comment)
  local said = {}
  for _, line in ipairs(comment) do
    if line:find("^@") then break end
    said[#said + 1] = line
  end
  return (table.concat(said, " "):match("^(.-)%.%f[%s\0]") or table.concat(said, " "))
end

local function of_class(name)
  local modules, class = table.unpack(CLASSES[name])
  local separator <const> = class == "sonde" and "." or ":"
  local lines = { ("%s%s"):format(name, separator == ":" and ": its methods" or ": its functions") }
  for _, entry in ipairs(comments_of(modules, class)) do
    lines[#lines + 1] = ("   %s%s"):format(pad(separator .. entry[1], 16), summary_of(entry[2]))
  end
  for _, row in ipairs(C_METHODS[name] or {}) do
    lines[#lines + 1] = ("   %s%s"):format(pad(separator .. row[1], 16), row[2])
  end
  return table.concat(lines, "\n")
end

-- ldoc's tags in words.
local function plain(line)
  line = line:gsub("^@tparam (%S+) (%S+)", "   %2 (%1)"):gsub("^@treturn (%S+)", "   gives %1")
  return (line:gsub("^@param (%S+)", "   %1"):gsub("^@return", "   gives"))
end

local function of_method(name, method)
  local class <const> = CLASSES[name]
  if class == nil then return nil end
  for _, entry in ipairs(comments_of(class[1], class[2])) do
    if entry[1] == method then
      local lines = { ("%s%s%s"):format(name, class[2] == "sonde" and "." or ":", method) }
      for _, line in ipairs(entry[2]) do
        if not line:find("^@function") then lines[#lines + 1] = plain(line) end
      end
      return table.concat(lines, "\n")
    end
  end
  for _, row in ipairs(C_METHODS[name] or {}) do
    if row[1] == method then return ("%s:%s\n%s"):format(name, row[1], row[2]) end
  end
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
  local names = {}
  for name in pairs(TOPICS) do names[#names + 1] = name end
  for name in pairs(CLASSES) do names[#names + 1] = name end
  table.sort(names)
  return names
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
  if report and not (CLASSES[topic] and not shell.session.used.is_trace) then
    local page <const> = of_report(report)
    return topic == "diff" and page .. "\n\n" .. of_class "diff" or page
  end
  if words.get(topic) then return of_word(words.get(topic)) end
  if settings.get(topic) then return of_setting(shell, settings.get(topic)) end
  if CLASSES[topic] then return of_class(topic) end
  local name, method = topic:match("^([%a_]+)[:.]([%w_]+)%(?%)?$")
  return name and of_method(name, method) or not_known(topic)
end

return manual
