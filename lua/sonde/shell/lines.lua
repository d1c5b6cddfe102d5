--- Where the lines of a shell come from: a terminal, with lua-readline when it
-- is there and without when it is not, or any other input.
-- @module sonde.shell.lines
local errors <const> = require "sonde.base.errors"
local core <const> = require "sonde.c.core"

local lines = {}

local KEPT_LINES <const> = 1000     -- of the history file
local SIGCONT <const> = 18
local HEARTBEAT_MS <const> = 250    -- so that no signal is missed for longer

local function quote(path)
  return "'" .. path:gsub("'", "'\\''") .. "'"
end

--- The file of the history.
-- @tparam function getenv
-- @treturn ?string nil when there is no home
function lines.history_path(getenv)
  local state, home = getenv "XDG_STATE_HOME", getenv "HOME"
  if state == nil or state:sub(1, 1) ~= "/" then
    if home == nil or home == "" then return nil end
    state = home .. "/.local/state"
  end
  return state .. "/sonde/history"
end

local History <const> = {}
History.__index = History

-- Opens the file for appending. A new one is for its user's eyes only, and so
-- is its folder.
local function open_to_append(path)
  if core.path_info(path) == nil then
    os.execute(("umask 077; { mkdir -p %s && : >>%s; } 2>/dev/null"):format(
      quote(path:match("^(.*)/")), quote(path)))
  end
  return (io.open(path, "a"))
end

local function read_all(path)
  local list = {}
  local file <const> = io.open(path, "r")
  if file == nil then return list end
  for line in file:lines() do list[#list + 1] = line end
  file:close()
  return list
end

-- Keeps the file from growing for ever. It is renamed into place, so that two
-- shells that end at once lose nothing but each other's last lines.
local function trim(path, list)
  local kept <const> = table.move(list, #list - KEPT_LINES + 1, #list, 1, {})
  local done <const> = require("sonde.base.files").write(path, function(file)
    return file:write(table.concat(kept, "\n"), "\n")
  end)
  return done and kept or list
end

--- The history: what earlier shells kept; each line is written at once, so
-- that no way to end a shell loses any.
-- @tparam ?string path
-- @treturn History with `list`
function lines.history(path)
  local list = path and read_all(path) or {}
  if #list > 2 * KEPT_LINES then list = trim(path, list) end
  return setmetatable({ path = path, list = list }, History)
end

--- Adds a line, unless it is the last one again or begins with a blank.
-- @tparam string line
-- @treturn boolean whether it was added
function History:add(line)
  if line == "" or line:find("^%s") or line == self.list[#self.list] then return false end
  self.list[#self.list + 1] = line
  if self.path and self.file == nil then self.file = open_to_append(self.path) or false end
  if self.file then
    self.file:write(line, "\n")
    self.file:flush()
  end
  return true
end

local function plain_reader(history, put)
  return {
    read = function(_, prompt)
      put(prompt)
      return (io.read("l"))
    end,
    remember = function(_, line) history:add(line) end,
    close = function() end,
  }
end

-- Colours inside a prompt, marked as taking no room.
local function marked(prompt)
  return (prompt:gsub("\27%[[%d;]*m", "\1%0\2"))
end

local Readline <const> = {}
Readline.__index = Readline

-- The modes that readline gives the terminal, for when a stopped shell goes on
-- and whoever had the terminal meanwhile has left it in others.
local function raw_again()
  os.execute("stty -icanon -echo -icrnl min 1 time 0 lnext undef </dev/tty 2>/dev/null")
end

-- Between two keys it is we who wait, so an interrupt gets through. The line
-- is then given up by beginning a new one: lua-readline cannot let go of a
-- line that has begun, it would leave the terminal raw.
function Readline:read(prompt)
  local line, done
  local function begin()
    self.readline.handler_install(marked(prompt), function(text)
      line, done = text, true
      self.readline.handler_remove()
    end)
  end
  begin()
  self.begun = true
  local continued = core.signal_count(SIGCONT)
  while not done do
    if core.wait_input(0, HEARTBEAT_MS) then self.readline.read_char() end
    if not done and core.signal_count(SIGCONT) ~= continued then
      continued = core.signal_count(SIGCONT)
      raw_again()
      begin()
    end
  end
  self.begun = false
  return line
end

function Readline:remember(line)
  if self.history:add(line) then self.readline.add_history(line) end
end

-- What readline does at the end of a line, for a line that does not end.
function Readline:close()
  if self.begun then os.execute(("stty %s </dev/tty 2>/dev/null"):format(self.modes)) end
end

-- The modes of the terminal, to give them back.
local function terminal_modes()
  local pipe <const> = io.popen("stty -g </dev/tty 2>/dev/null", "r")
  local modes <const> = pipe and pipe:read("l")
  if pipe then pipe:close() end
  return modes and modes:match("^[%x:]+$") or "sane"
end

local function with_readline(readline, history, complete)
  local self <const> = setmetatable({
    readline = readline, history = history, modes = terminal_modes(),
  }, Readline)
  core.watch_signal(SIGCONT)
  readline.set_options { auto_add = false, histfile = "" }
  readline.set_readline_name "sonde"
  for _, line in ipairs(history.list) do readline.add_history(line) end
  readline.set_complete_function(function(line, from, to)
    -- An error must not pass through readline's C.
    local done, found, append = pcall(complete, line, from, to - 1)
    readline.set_completion_append_character(done and append or "")
    return done and found or {}
  end)
  return self
end

-- lua-readline is optional; a broken one is as good as none.
local function probe()
  local found, readline = errors.pcall(require, "readline")
  if not found or type(readline) ~= "table" then return nil end
  return type(readline.handler_install) == "function" and readline or nil
end

--- Reads from the terminal.
-- @tparam History history
-- @tparam function complete gets a line and the first and last place of the
--   word at the cursor; gives what the word may become, and what follows it
-- @tparam function put writes a prompt, for terminals without readline
-- @tparam function getenv
-- @treturn table with `read(prompt)` (nil at the end), `remember(line)`, `close`
-- @treturn boolean whether lines can be edited
function lines.terminal(history, complete, put, getenv)
  local dumb <const> = getenv "TERM" == "dumb" or getenv "TERM" == nil
  local readline <const> = not dumb and probe() or nil
  if readline == nil then return plain_reader(history, put), false end
  return with_readline(readline, history, complete), true
end

--- Reads lines of a file, for a shell without a terminal.
-- @param file
-- @treturn table as of `lines.terminal`
function lines.file(file)
  return {
    read = function() return (file:read("l")) end,
    remember = function() end,
    close = function() end,
  }
end

--- Gives lines of a list.
-- @tparam {string,...} list
-- @treturn table as of `lines.terminal`
function lines.list(list)
  local i = 0
  return {
    read = function()
      i = i + 1
      return list[i]
    end,
    remember = function() end,
    close = function() end,
  }
end

return lines
