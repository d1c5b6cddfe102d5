--- The shell itself: reads lines, runs each, tells what went wrong in one
-- line, and goes on.
-- @module sonde.shell.loop
local ask <const> = require "sonde.shell.ask"
local basics <const> = require "sonde.shell.basics"
local code <const> = require "sonde.shell.code"
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"
local fit <const> = require "sonde.shell.fit"
local options <const> = require "sonde.base.options"
local pager <const> = require "sonde.shell.pager"
local settings <const> = require "sonde.shell.settings"
local show <const> = require "sonde.shell.show"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"
local words <const> = require "sonde.shell.words"

local loop = {}

local Shell <const> = {}
Shell.__index = Shell

local SIGINT <const> = 2
local MIN_WIDTH <const> = 40   -- of a screen that tables are made to fit
local MAX_STATE <const> = 30   -- characters of the filters, and of the input, in a prompt

--- Says something that is no result.
-- @tparam string message
function Shell:say(message)
  self.env.out:flush()
  self.env.err:write(self.paint_err("dim", text.printable(message)), "\n")
end

-- Every report says when its profile was taken and what is to be said of it.
-- Whoever asks one question after the other reads that once.
local function without_repeats(self, head)
  local lines = {}
  for line in head:gmatch("[^\n]+") do
    local is_once <const> = line:find("^Note: ") or line:find("^Time: ")
    if not (is_once and self.seen[line]) then lines[#lines + 1] = self.paint("dim", line) end
    self.seen[line] = true
  end
  return table.concat(lines, "\n") .. "\n"
end

-- The width that tables are to fit; nil where lines stay as they are.
local function width_of(self)
  local columns <const> = self.size and self.size()
  return columns and not self.session.values.wide and math.max(columns, MIN_WIDTH) or nil
end

local function cut_lines(rows, width)
  if width == nil then return rows end
  return (rows:gsub("[^\n]+", function(line) return fit.cut(text.utf8(line), width) end))
end

local function for_terminal(self, printed, has_titles, width)
  local head, showing, rows = printed:match("^(Type: .-\n)(Showing [^\n]*\n)(.*)$")
  if head then return without_repeats(self, head) .. showing .. cut_lines(rows, width) end
  if not has_titles then return printed end
  local titles, rest = printed:match("^([^\n]*)(.*)$")
  return self.paint("dim", titles) .. rest
end

--- Prints values.
-- @tparam table values packed
function Shell:display(values)
  if values.n == 0 then return end
  local width <const> = width_of(self)
  local printed, has_titles = show.all(values, width)
  if self.interactive then printed = for_terminal(self, printed, has_titles, width) end
  self.pager:print(printed)
end

local function filter_words(values)
  local parts = {}
  local set <const> = settings.filters(values)
  for _, option in ipairs(settings.declared) do
    local value <const> = set[option.name]
    if value then
      parts[#parts + 1] = value == true and option.name or option.name .. "=" .. value
    end
  end
  if #parts == 0 then return nil end
  local joined <const> = text.printable(table.concat(parts, " "))
  if #joined <= MAX_STATE then return joined end
  return units.several(#parts, "filter")
end

--- What is shown now, in a few words: "wall", "after alloc focus=Json".
-- @treturn string
function Shell:state()
  local session <const>, parts = self.session, {}
  if #session.inputs == 2 or session.used ~= session.inputs[1] then
    parts[1] = text.cut(text.printable(session.used.name), MAX_STATE)
  end
  if not session:is_empty() then
    parts[#parts + 1] = text.cut(text.utf8(text.printable(session:view())), MAX_STATE)
  end
  parts[#parts + 1] = filter_words(session.values)
  return table.concat(parts, " ")
end

-- One line for one error; what helps on the next.
local function tell(self, message, hint)
  local where <const> = self.number and ("line %d: "):format(self.number) or ""
  self.env.out:flush()
  self.env.err:write(self.paint_err("error", "sonde:"), " ", where,
    text.printable((message:gsub("%s*\n%s*", "; "))), "\n")
  if hint then self.env.err:write(self.paint_err("dim", "try: " .. text.printable(hint)), "\n") end
end

-- Where an error of typed Lua is, in words that fit what was typed.
local function plain_message(raised)
  local is_plain <const> = type(raised) == "table" and getmetatable(raised) == nil
  local message <const> = is_plain and show.text(raised) or tostring(raised)
  return (message:gsub("^line:1: ", ""):gsub("^line:(%d+): ", "line %1: "))
end

-- A method that is nearly one of what people call methods of.
local function near_method(message)
  local wanted <const> = message:match("call a nil value %(method '([%w_]+)'%)$")
  local reference <const> = wanted and require("sonde.shell.reference")
  for _, class in ipairs(wanted and { "rows", "profile", "trace", "target", "store" } or {}) do
    local near <const> = options.suggest(wanted, reference.methods(class))
    if near then return ("help %s:%s"):format(class, near) end
  end
end

-- The name that an error of Lua is about is often one that is near another.
local function hint_for(self, message)
  local name <const> = message:match("global '([%w_]+)'")
  local near <const> = name and options.suggest(name, self.session:object_names())
  return near or near_method(message) or "help lua"
end

-- Hints of the library are commands; here they are words.
local function hint_of(self, failure)
  local view <const> = failure.hint and failure.hint:match("^sonde top .* %-%-view (%S+)$")
  if view then return "view=" .. view end
  if failure.hint then return failure.hint end
  if failure.code ~= "no_samples" then return "help" end
  if next(settings.filters(self.session.values)) then return ":" end
  return failure.message:find("nothing is left", 1, true) and "help patterns" or "view"
end

-- Tells an error and gives the status that it means. A signal other than
-- Ctrl-C ends the shell, and so does Ctrl-C where nobody types.
local function handle(self, raised)
  if errors.is_interrupt(raised) then
    if not self.interactive or core.caught_signal() ~= SIGINT then error(raised, 0) end
    self.env.err:write("\n", self.paint_err("error", "interrupted"), "\n")
    return errors.exit.done
  end
  if errors.is_failure(raised) then
    if raised.broken_pipe then error(raised, 0) end
    if not raised.quiet then tell(self, raised.message, hint_of(self, raised)) end
    return raised.status
  end
  local message <const> = plain_message(raised.message)
  self.traceback = raised.trace
  tell(self, message, hint_for(self, message))
  return errors.exit.empty
end

-- Ctrl-C interrupts what somebody asked for, and nothing of what the shell does
-- between two lines: a second one while the first is told would end the shell.
local function interruptible(fn)
  return function(...)
    core.heed_signals(true)
    local result <const> = fn(...)
    core.heed_signals(false)
    return result
  end
end

-- An error of Lua keeps where it came from, without the shell's own calls.
local function with_trace(raised)
  core.heed_signals(false)
  if errors.is_failure(raised) or errors.is_interrupt(raised) then return raised end
  local trace <const> = debug.traceback(plain_message(raised), 2)
  return { message = raised, trace = (trace:gsub("\n[^\n]*sonde/shell/[^\n]*.*$", "")) }
end

local RUN <const> = {
  more = function(self) self.pager:more() end,
  clear = function(self) basics.clear(self) end,
  set = function(self, _, name, value) basics.set(self, name, value) end,
  ask = function(self, _, name)
    if settings.get(name).type == "boolean" then return basics.set(self, name, "true") end
    basics.list_settings(self, name)
  end,
  word = function(self, line, name, rest) words.get(name).run(self, rest, line) end,
  report = function(self, line, name, rest, digits)
    ask.run(self, words.report(name), rest, digits, line)
  end,
  lua = function(self, _, source)
    words.check_lua(self, source)
    self:display(self.session:evaluate(source))
  end,
}

local function trimmed(line)
  return (line:match("^%s*(.-)%s*$"))
end

local execute <const> = interruptible(function(self, line)
  line = trimmed(line)
  require("sonde.shell").env = self.env
  local kind, name, rest, digits = words.parse(self, line)
  if kind ~= "more" and name ~= "more" then self.pager:forget() end
  RUN[kind](self, line, name, rest, digits)
end)

-- The sessions of the line that was interrupted: nobody has them any more, and the
-- processes would be sampled for ever.
local function sessions()
  local module <const> = package.loaded["sonde.dotnet.session"]
  return module, module and module.all()
end

local function close_sessions(before)
  local module <const> = sessions()
  if module then module.close_all(before) end
end

--- Runs a line, or several lines of Lua. Errors are told, not raised.
-- @tparam string line
-- @treturn integer the exit status that it means: 0 when it worked
function Shell:run(line)
  local _, before = sessions()
  local done, raised = xpcall(execute, with_trace, self, line)
  core.heed_signals(false)   -- an error for lack of memory meets no handler
  if done then return errors.exit.done end
  if errors.is_interrupt(raised) then close_sessions(before) end
  return handle(self, raised)
end

-- Whether more lines are needed: only Lua goes on over several.
local function is_incomplete(self, line)
  local parsed, kind, source = errors.pcall(words.parse, self, trimmed(line))
  if not parsed or kind ~= "lua" then return false end
  local chunk, _, early = code.compile(source, self.session.env)
  return chunk == nil and early == true
end

-- Reads one line; of several that were pasted at once, the next.
local function next_line(self, prompt)
  if #self.pasted == 0 then
    local line <const> = self.reader:read(self.paint("prompt", prompt .. ">") .. " ")
    if line == nil then return nil end
    for part in (line .. "\n"):gmatch("(.-)\r?\n") do table.insert(self.pasted, part) end
  end
  if self.number then self.number = self.number + 1 end
  local line <const> = table.remove(self.pasted, 1)
  self.reader:remember(line)
  return line
end

-- Reads one command, which may be several lines.
local next_command <const> = interruptible(function(self)
  local command = next_line(self, self:state())
  while command and is_incomplete(self, command) do
    local more <const> = next_line(self, ">")
    if more == nil then return command end
    command = command .. "\n" .. more
  end
  return command
end)

-- Ctrl-C at the prompt gives the line up, and no more.
local function give_up_line(self, raised)
  self.pasted = {}
  if not self.interactive or not errors.is_interrupt(raised) or core.caught_signal() ~= SIGINT then
    error(raised.trace or raised, 0)
  end
  self.env.err:write("\n")
end

--- Reads and runs until the end.
-- @tparam ?boolean strict stop at the first error
-- @treturn integer the status of the first error
function Shell:loop(strict)
  local status = errors.exit.done
  while not self.over and not (strict and status ~= errors.exit.done) do
    local done, command = xpcall(next_command, with_trace, self)
    core.heed_signals(false)
    if not done then
      give_up_line(self, command)
    elseif command == nil then
      if self.interactive then self.env.err:write("\n") end
      return status
    else
      local one <const> = self:run(command)
      if status == errors.exit.done then status = one end
    end
  end
  return status
end

--- Makes a shell.
-- @tparam table about `session`, `reader` (of `sonde.shell.lines`), `env` (of
--   `sonde.cli`), `open` (gives an input of the session for a path),
--   `interactive`, `paint` and `paint_err` (of `sonde.shell.style`), `size` (of
--   the terminal), `script_about` (for `save`), `number` (0: messages name the
--   line)
-- @treturn Shell
function loop.new(about)
  local self <const> = setmetatable(about, Shell)
  self.pager = pager.new(self.env.out, self.size or function() end, self.paint)
  self.pasted, self.seen = {}, {}
  self.session.globals.replay = function(path)
    return require("sonde.shell.replay").run(self, path)
  end
  return self
end

return loop
