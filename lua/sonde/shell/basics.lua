--- The words of the shell that are no reports.
-- @module sonde.shell.basics
local code <const> = require "sonde.shell.code"
local errors <const> = require "sonde.base.errors"
local layout <const> = require "sonde.base.table"
local manual <const> = require "sonde.shell.manual"
local scope <const> = require "sonde.report.scope"
local script <const> = require "sonde.shell.script"
local session <const> = require "sonde.shell.session"
local settings <const> = require "sonde.shell.settings"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"
local words <const> = require "sonde.shell.words"

local basics = {}

local COLUMNS <const> = { { title = "setting" }, { title = "value" }, { title = "choices" } }

--- Lists the settings, or one of them.
-- @tparam table shell
-- @tparam ?string name
function basics.list_settings(shell, name)
  local rows <const> = settings.rows(shell.session.values, shell.session:views(), name)
  if #rows == 0 then errors.usage(("no setting '%s'"):format(name), "o") end
  if rows[1][1] == "view" and rows[1][2] == "" then rows[1][2] = shell.session:view() end
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do row[i] = text.printable(cell) end
  end
  local lines <const> = layout.lines(COLUMNS, rows)
  for i, row in ipairs(rows) do
    if row.set then lines[i + 1] = shell.paint("bold", lines[i + 1]) end
  end
  lines[1] = shell.paint("dim", lines[1])
  shell.pager:print(table.concat(lines, "\n"))
end

-- What the settings leave, in one line: the answer to setting one of them.
local function state_line(current)
  local profile <const> = current:profile()
  local view <const> = not current.used.is_trace and current.values.view or nil
  local index <const> = scope.find_type(profile, view)
  if index == nil or #profile == 0 then return "no samples are left" end
  local words_left = scope.amount(profile, index)
  local whole <const> = current:whole():total(index, true)
  local left <const> = profile:total(index, true)
  if left == whole then return words_left end
  local unit <const> = profile:types()[index].unit
  return ("%s, %s of %s"):format(words_left, (units.percent(left, whole):gsub("^ +", "")),
    units.value(whole, unit))
end

--- Tells what the settings show now, where somebody watches.
-- @tparam table shell
function basics.tell_state(shell)
  if not shell.interactive then return end
  local done, line = errors.pcall(state_line, shell.session)
  shell:say(("%s: %s"):format(shell:state(), done and line or "no samples"))
end

--- Tells which views the input in use has.
-- @tparam table shell
function basics.tell_views(shell)
  local views <const> = shell.session:views()
  if #views > 0 then shell:say("views: " .. table.concat(views, " ")) end
end

local SILENT <const> = { rows = true, cum = true, by = true, label = true, unit = true,
  relative = true, normalize = true, wide = true }

--- Sets a setting.
-- @tparam table shell
-- @tparam string name
-- @tparam string value
function basics.set(shell, name, value)
  shell.session:set(name, value)
  if not SILENT[settings.get(name).name] then basics.tell_state(shell) end
end

--- Unsets the filters.
-- @tparam table shell
function basics.clear(shell)
  shell.session:clear()
  basics.tell_state(shell)
end

--- Looks through a file that was written when names are pseudonyms, and removes
-- it when something is left in it that must not be shown.
-- @tparam table shell
-- @tparam string path
-- @tparam ?string form of the redactor's check; by the name otherwise
function basics.check_written(shell, path, form)
  local redactor <const> = shell.script_about.redactor
  if redactor == nil then return end
  local module <const> = form == nil and require("sonde.report").for_path(path)
  local file <const> = assert(io.open(path, "rb"))
  local bytes <const> = file:read("a")
  file:close()
  local clean, message, why = redactor:check(bytes, form or module and module.name)
  if clean then return end
  os.remove(path)
  errors.raise { message = message, code = why }
end

words.add("o", {
  aliases = { "options" }, usage = "o", summary = "the settings, their values and choices",
  help = { "NAME alone shows one setting, NAME=VALUE sets it, NAME= unsets it.",
    "The name of a view alone (alloc, inuse_space) shows that view." },
  run = function(shell, rest) basics.list_settings(shell, rest ~= "" and rest or nil) end,
})

words.add("undo", {
  usage = "undo", summary = "the settings before the last change",
  run = function(shell)
    if not shell.session:undo() then errors.usage("nothing to undo", "o") end
    basics.tell_state(shell)
  end,
})

words.add("redo", {
  usage = "redo", summary = "takes an undo back",
  run = function(shell)
    if not shell.session:redo() then errors.usage("nothing to redo", "o") end
    basics.tell_state(shell)
  end,
})

-- What the prompt calls an input: a variable by its name, all else by its file.
local function name_of(expression, object)
  if expression:find("^[%a_][%w_]*$") then return expression end
  local notes <const> = type(object.notes) == "function" and object:notes() or object
  local name <const> = type(notes.name) == "string" and notes.name:match("[^/]*$")
  return name and name ~= "" and name or expression
end

local function input_of(shell, expression, line)
  local current <const> = shell.session
  local number <const> = ({ before = 1, after = 2 })[expression]
  if number and #current.inputs == 2 then return current.inputs[number] end
  for _, input in ipairs(current.inputs) do
    if expression == "trace" and input.is_trace and #current.inputs == 1 then return input end
  end
  local object <const> = current:value_of(expression)
  local input <const> = session.input(object, "", expression)
  input.name = name_of(expression, object)
  input.expression = current:name_value(expression, line)
  return input
end

words.add("open", {
  usage = "open FILE", takes = "files",
  summary = "opens a trace or profile, which the words and `profile` are about from then on",
  help = { "use before, use EXPRESSION go back to another; undo does too",
    'x = sonde.open "FILE" opens one for Lua alone' },
  run = function(shell, rest, line)
    if rest == "" then errors.usage("open needs the name of a file", "open api.nettrace") end
    local input <const> = shell.open(rest)
    input.expression = shell.session:name_value(
      script.opening(code.literal(rest), shell.script_about), line)
    shell.session:use(input)
    if not shell.interactive then return end
    shell:say(tostring(input.object))
    basics.tell_views(shell)
  end,
})

words.add("use", {
  usage = "use before|after|EXPRESSION", takes = "names",
  summary = "which trace or profile the words and `profile` are about",
  help = { "use before                  the first of two inputs",
    "use diff:profile()          after minus before, as a profile",
    'use sonde.open "x.nettrace"' },
  run = function(shell, rest, line)
    if rest == "" then errors.usage("use needs an expression", "help use") end
    shell.session:use(input_of(shell, rest, line))
    basics.tell_state(shell)
  end,
})

words.add("write", {
  usage = "write FILE", takes = "files", summary = "the profile, in the format that the name says",
  help = { "write flame.svg   write api.pb.gz   write api.folded",
    "NAME > FILE writes any report: top50 -cum > top.txt" },
  run = function(shell, rest, line)
    if rest == "" then errors.usage("write needs the name of a file", "write flame.svg") end
    shell.session:evaluate(("profile:write(%s)"):format(code.literal(rest)),
      { line = line, quiet = true })
    shell:say("wrote " .. rest)
  end,
})

words.add("save", {
  usage = "save [FILE]", takes = "files",
  summary = "the session as a Lua script that gives the same answers",
  help = { "Without FILE the script is shown. Run it with lua5.4 or sonde shell --script FILE;",
    "an argument takes the place of the recording: lua5.4 FILE other.nettrace" },
  run = function(shell, rest)
    local source <const> = script.text(shell.session, shell.script_about)
    local redactor <const> = shell.script_about.redactor
    if redactor then
      local clean, left, code_left = redactor:check(source)
      if not clean then errors.raise { message = left, code = code_left } end
    end
    if rest == "" then return shell.pager:print((source:gsub("\n$", ""))) end
    local done, message, why = require("sonde.base.files").write(rest, function(out)
      out:write(source)
      return true
    end)
    if not done then errors.raise { message = "cannot write: " .. message, code = why } end
    shell:say("wrote " .. rest)
  end,
})

words.add("replay", {
  usage = "replay FILE", takes = "files", summary = "runs a saved session on what is open here",
  help = { "The inputs of this shell take the place of the recordings of the session." },
  run = function(shell, rest, line)
    if rest == "" then errors.usage("replay needs the name of a file", "help replay") end
    shell.session:evaluate(("replay(%s)"):format(code.literal(rest)), { line = line, quiet = true })
  end,
})

words.add("sonde", {
  usage = "sonde VERB", takes = "verbs", summary = "a verb of the command: sonde ps",
  help = { "sonde ps                    the processes that can be looked into",
    "sonde record -p Api --duration 10s -o api.nettrace",
    "sonde counters Api          as they change; q or Ctrl-C ends it",
    "sonde query captures.db --kind stacks --by state",
    "targets(), target \"Api\", store \"captures.db\", policy \"cpu_spike\" are objects:",
    "help target, help store, help policy" },
  run = function(shell, rest, line)
    local parts = {}
    for i, word in ipairs(require("sonde.shell.verbs").split(rest)) do
      parts[i] = code.literal(word)
    end
    shell.session:evaluate(("verb(%s)"):format(table.concat(parts, ", ")),
      { line = line, quiet = true })
  end,
})

words.add("more", {
  usage = "more [all]", summary = "the rest of what did not fit on the screen; Enter does too",
  run = function(shell, rest)
    if not shell.pager:more(rest == "all") then errors.usage("nothing more to show", "help") end
  end,
})

words.add("traceback", {
  usage = "traceback", summary = "where the last error of Lua came from",
  run = function(shell)
    if shell.traceback == nil then errors.usage("there was no error of Lua", "help") end
    shell.pager:print(shell.traceback)
  end,
})

words.add("help", {
  usage = "help [WORD]", takes = "words", aliases = { "h" },
  summary = "the words; a word, a setting, or a method such as profile:top",
  run = function(shell, rest) shell.pager:print(manual.page(shell, rest)) end,
})

words.add("quit", {
  aliases = { "exit", "q" }, usage = "quit", summary = "ends the shell, as Ctrl-D does",
  run = function(shell) shell.over = true end,
})

return basics
