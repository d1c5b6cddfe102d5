--- The counters of a process on a terminal: a table that is redrawn, and keys.
-- @module sonde.cmd.counters_screen
local counters_table <const> = require "sonde.cmd.counters_table"
local loop <const> = require "sonde.base.loop"
local screen <const> = require "sonde.base.screen"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local counters_screen = {}

local SECOND <const> = 1000000000

local KEYS <const> = "up down, page up, page down, home  scroll    space  hold    q  end"

-- Lines above the rows: title, keys, titles of columns.
local HEAD <const> = 3

local Display <const> = {}
Display.__index = Display

--- Draws the newest values.
-- @tparam Counters counters
-- @tparam table env `out` is drawn to
-- @tparam table self of `open`
function Display.show(counters, env, self)
  self.drawn_at = loop.now()
  if not self.held then self.lines = counters_table.lines(counters:rows(), (self.screen.size())) end
  self:draw(env)
end

function Display:draw(env)
  local rows <const> = #self.lines - 1
  self.first = math.max(1, math.min(self.first, rows))
  local all = { { self.title .. (self.held and ", held" or ""), style = "bold" },
    { self.notes[#self.notes] or KEYS, style = "dim" },
    { rows > 0 and self.lines[1] or "nothing has come yet", style = "inverse" } }
  for i = self.first, rows do all[#all + 1] = self.lines[i + 1] end
  self.screen.out = env.out
  self.screen:draw(all)
end

--- Something to tell: on the screen now, and again when the screen has gone.
-- @tparam string message
function Display:note(message)
  self.notes[#self.notes + 1] = text.printable(message)
end

local function scroll(lines, pages)
  return function(self)
    local _, height = self.screen.size()
    self.first = self.first + lines + pages * math.max(1, height - HEAD)
  end
end

local ON_KEY <const> = {
  up = scroll(-1, 0), down = scroll(1, 0), ["page up"] = scroll(0, -1),
  ["page down"] = scroll(0, 1),
  home = function(self) self.first = 1 end,
  [" "] = function(self) self.held = not self.held end,
  q = function(self) self.quit() end,
}
ON_KEY["Ctrl-C"], ON_KEY["Ctrl-D"] = ON_KEY.q, ON_KEY.q

local function serve_keys(self)
  while not self.closed do
    local key <const> = self.screen:key(loop.after(SECOND))
    local act <const> = key and not self.closed and ON_KEY[key]
    if act then act(self) end
    if act or key == "resize" and not self.closed then self.redraw() end
  end
end

--- Gives the terminal back, and says what was noted.
function Display:close()
  self.closed = true
  self.screen:close()
  self.screen:wake()
  for _, message in ipairs(self.notes) do self.env:say(message) end
end

--- Takes the terminal over.
-- @tparam Counters counters
-- @tparam table env
-- @tparam table opts `title`; functions `quit`, called when the user wants to end,
--   and `redraw`, which calls `show`
-- @treturn table the display: `show` draws, `note`, `close`, `drawn_at`
function counters_screen.open(counters, env, opts)
  local self <const> = setmetatable({ env = env, quit = opts.quit, redraw = opts.redraw,
    first = 1, notes = {}, screen = screen.open(env.out),
    title = text.printable(("%s  every %s"):format(opts.title,
      units.duration(counters.interval))) }, Display)
  Display.show(counters, env, self)
  loop.task(serve_keys, self)
  return self
end

return counters_screen
