--- A terminal as a whole: what is drawn replaces what was there, and keys come
-- as they are typed. It gives the terminal back as it was, whatever happens.
-- @module sonde.base.screen
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local term <const> = require "sonde.base.term"
local text <const> = require "sonde.base.text"
local uv <const> = require "sonde.base.uv"

local screen = {}

local NORMAL <const>, RAW <const> = 0, 1   -- libuv's numbers of the modes
local SIGWINCH <const> = 28
local DEFAULT_ROWS <const> = 24

local ENTER <const> = "\27[?1049h\27[?25l"   -- other screen, no cursor
local LEAVE <const> = "\27[?25h\27[?1049l"

local STYLES <const> = { bold = "\27[1m", inverse = "\27[7m", dim = "\27[2m" }

-- What terminals send for keys that have no character.
local NAMES <const> = {
  ["\27[A"] = "up", ["\27[B"] = "down", ["\27[C"] = "right", ["\27[D"] = "left",
  ["\27OA"] = "up", ["\27OB"] = "down", ["\27OC"] = "right", ["\27OD"] = "left",
  ["\27[5~"] = "page up", ["\27[6~"] = "page down", ["\27[H"] = "home", ["\27[F"] = "end",
  ["\27OH"] = "home", ["\27OF"] = "end", ["\27"] = "escape", ["\r"] = "enter", ["\3"] = "Ctrl-C",
  ["\4"] = "Ctrl-D",
}

local Screen <const> = {}
Screen.__index = Screen

-- One key off the front of what was typed.
local function first_key(typed)
  local sequence <const> = typed:match("^\27[%[O][%d;]*[%a~]") or typed:match("^[\0-\127]")
    or typed:match("^[\192-\255][\128-\191]*") or typed:sub(1, 1)
  return NAMES[sequence] or sequence, typed:sub(#sequence + 1)
end

local function listen(self)
  local input <const> = core.isatty(0) and uv.new_tty(0, true) or nil
  if input == nil then return end
  input:set_mode(RAW)
  input:read_start(loop.guard(function(_, typed)
    self.typed = self.typed .. (typed or "\4")
    self.news:set()
  end))
  self.input = input
end

--- Takes the terminal over.
-- @param out a file handle that leads to it
-- @treturn Screen
function screen.open(out)
  local self <const> = setmetatable({ out = out, typed = "", news = loop.event(),
    colored = term.colored(1) }, Screen)
  listen(self)
  self.release = loop.on_signals({ SIGWINCH }, function()
    self.resized = true
    self.news:set()
  end)
  out:write(ENTER)
  out:flush()
  return self
end

--- Width and height.
-- @treturn integer columns
-- @treturn integer rows
function Screen.size()
  local columns, rows = core.columns(1)
  return columns or term.columns(1), rows or DEFAULT_ROWS
end

local function styled(self, line, width)
  if type(line) == "string" then return text.cut(line, width) end
  local words = text.cut(line[1], width)
  local style <const> = self.colored and STYLES[line.style]
  if not style then return words end
  if line.style == "inverse" then
    words = words .. (" "):rep(width - text.length(words))
  end
  return style .. words .. "\27[0m"
end

--- Draws lines from the top; those that do not fit are left out.
-- @tparam {string|table,...} lines printable texts, or tables of a text and
--   `style` (`bold inverse dim`)
function Screen:draw(lines)
  local width, height = self.size()
  local pieces = { "\27[H" }
  for i = 1, math.min(#lines, height) do
    pieces[#pieces + 1] = styled(self, lines[i], width) .. "\27[K"
    pieces[#pieces + 1] = i < math.min(#lines, height) and "\r\n" or ""
  end
  pieces[#pieces + 1] = "\27[J"
  self.out:write(table.concat(pieces))
  self.out:flush()
end

--- The next key.
-- @tparam integer deadline of `loop.now`
-- @treturn ?string a character, or `up down left right page up page down home
--   end escape enter Ctrl-C Ctrl-D resize`; nil when none came
function Screen:key(deadline)
  if self.typed == "" and not self.resized then
    self.news:wait(deadline)
    self.news = self.news:is_set() and loop.event() or self.news
  end
  if self.resized then
    self.resized = false
    return "resize"
  end
  if self.typed == "" then return nil end
  local key
  key, self.typed = first_key(self.typed)
  return key
end

--- Wakes who waits for a key: something else has happened.
function Screen:wake()
  self.news:set()
end

--- Gives the terminal back.
function Screen:close()
  if self.release == nil then return end
  self.release()
  self.release = nil
  if self.input then
    -- libuv's own reset knows only the first terminal that a process took over.
    self.input:set_mode(NORMAL)
    -- Whoever reads from the terminal next waits for it as usual.
    self.input:set_blocking(true)
    loop.close(self.input)
  end
  self.out:write(LEAVE)
  self.out:flush()
end

Screen.__close = Screen.close

return screen
