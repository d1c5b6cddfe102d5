--- Long output on a terminal, a screenful at a time: the rest waits until it
-- is asked for, and is forgotten with the next question. Nothing has to be
-- answered before the next prompt comes.
-- @module sonde.shell.pager
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local pager = {}

local Pager <const> = {}
Pager.__index = Pager

-- What stays free of a screen: the last prompt, and the two lines below.
local RESERVED <const> = 3

--- Begins.
-- @tparam table out what has `write` and `flush`
-- @tparam function size gives the width and height of the terminal; nothing
--   when there is none, and then nothing is held back
-- @tparam function paint as of `sonde.shell.style`
-- @treturn Pager
function pager.new(out, size, paint)
  return setmetatable({ out = out, size = size, paint = paint, rest = {}, at = 1 }, Pager)
end

-- Visible characters: colours take no room.
local function width_of(line)
  return text.length((line:gsub("\27%[[%d;]*m", "")))
end

-- The last line that still fits on the screen, from line `at` on.
local function last_on_screen(lines, at, columns, height)
  local used, last = 0, at
  for i = at, #lines do
    used = used + math.max(1, (width_of(lines[i]) + columns - 1) // columns)
    if used > height and i > at then break end
    last = i
  end
  return last
end

local function put(self, last)
  self.out:write(table.concat(self.rest, "\n", self.at, last), "\n")
  self.at = last + 1
end

local function turn(self)
  local columns, height = self.size()
  local n <const> = #self.rest
  local last = n
  if columns then
    last = last_on_screen(self.rest, self.at, columns, math.max(5, height - RESERVED))
  end
  put(self, last)
  if last < n then
    self.out:write(self.paint("dim", ("… %s more lines: Enter shows the next, more all shows all"):
      format(units.count(n - last))), "\n")
  end
  self.out:flush()
end

--- Prints lines; what does not fit waits.
-- @tparam string words without a line end behind them
function Pager:print(words)
  local lines = {}
  for line in (words .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
  self.rest, self.at = lines, 1
  turn(self)
end

--- Forgets what waits.
function Pager:forget()
  self.rest, self.at = {}, 1
end

--- Does anything wait?
-- @treturn boolean
function Pager:waits()
  return self.at <= #self.rest
end

--- Prints the next screenful of what waits, or all of it.
-- @tparam ?boolean all
-- @treturn boolean false when nothing waits
function Pager:more(all)
  if not self:waits() then return false end
  if all then
    put(self, #self.rest)
    self.out:flush()
  else
    turn(self)
  end
  return true
end

return pager
