--- `sonde top PID`: what a running process does now, as it changes.
-- @module sonde.cmd.top_live
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"
local top_table <const> = require "sonde.cmd.top_table"

local MS <const>, SECOND <const> = 1000000, 1000000000
local FOREVER <const> = 10 * 365 * 24 * 3600 * SECOND
local SIGNALS <const> = { 2, 15, 1 }

-- Rows of a block when there is no terminal.
local ROWS <const> = 20

local SHORTEST <const>, LONGEST <const> = 250 * MS, 64 * SECOND

local ORDER <const> = {
  "schema", "time", "pid", "view", "interval_ns", "name", "flat", "cum", "unit", "thread_id",
  "events", "lost",
}

local BY <const> = { "function", "thread", "type" }

-- Rows of types are what these views have.
local HAS_TYPES <const> = { alloc = true, exception = true }

local declared <const> = {
  { name = "view", type = "string", argname = "VIEW", default = "oncpu",
    choices = { "oncpu", "cpu", "wall", "running", "alloc", "exception", "contention" },
    help = "what is measured: oncpu (or cpu: by the threads' clocks) wall running alloc"
      .. " exception contention" },
  { name = "interval", type = "duration", default = SECOND, default_text = "1s", min = SHORTEST,
    help = "how long each look takes" },
  { name = "by", type = "string", choices = BY, default = "function",
    help = "a row for each function, thread, or type (of objects and exceptions)" },
  { name = "cum", type = "boolean", help = "sort by the value with callees" },
  { name = "n", type = "integer", short = "n", min = 0,
    help = "rows to show, 0 for all; what fits on a terminal, 20 otherwise" },
  { name = "once", type = "boolean", help = "show one interval and end" },
  { name = "count", type = "integer", min = 1, help = "end after so many intervals" },
  { name = "duration", type = "duration", min = 1, help = "end after this time" },
  common.json,
}

local FILTERS <const> = { "focus", "ignore", "hide", "show" }

local Json <const> = {}
Json.__index = Json

function Json:show(window)
  local rows, about = top_table.rows(window, self.how)
  for i = 1, math.min(#rows, self.most or #rows) do
    local row <const> = rows[i]
    row.schema, self.begun = not self.begun and 1 or nil, true
    row.time = os.date("!%Y-%m-%dT%H:%M:%SZ", window.taken_at)
    row.pid, row.view, row.interval_ns = self.target.pid, window.view, window.duration_ns
    row.unit, row.lost = about.unit, window.lost
    self.env.out:write(json.encode(row, ORDER), "\n")
  end
  self.env.out:flush()
end

local Blocks <const> = {}
Blocks.__index = Blocks

function Blocks:show(window)
  local out <const> = self.env.out
  local rows, about = top_table.rows(window, self.how)
  local most <const> = self.most or ROWS
  if self.begun then out:write "\n" end
  self.begun = true
  out:write(os.date("%H:%M:%S", window.taken_at), "  ", self.title, "  ",
    top_table.headline(window, about), "\n")
  local shown <const> = table.move(rows, 1, math.min(#rows, most), 1, {})
  for _, line in ipairs(top_table.lines(window, shown, about, self.how)) do
    out:write(line, "\n")
  end
  if #shown < #rows then out:write(("… %d more\n"):format(#rows - #shown)) end
  out:flush()
end

local Full <const> = {}
Full.__index = Full

local HELP <const> = {
  "c  CPU, by the threads' clocks        w  wall time, waits included",
  "a  allocations                        e  exceptions",
  "l  lock contention                    s  sort by own value or with callees (total)",
  "b  rows by function, thread, type     +  -  longer, shorter intervals",
  "up down, page up, page down, home     scroll",
  "space  hold what is shown             h  these keys         q  end",
  "",
  "OWN is what happened in the function itself, TOTAL also what it called. CPU and",
  "times are shares of one processor: two busy threads are 200 %.",
}

local KEYS <const> = "c cpu  w wall  a alloc  e exceptions  l locks  s sort  b by  +/- interval"
  .. "  space hold  h help  q quit"

local function body(self, window)
  local rows, about = top_table.rows(window, self.how)
  if self.most then rows = table.move(rows, 1, math.min(#rows, self.most), 1, {}) end
  self.first = math.max(1, math.min(self.first, #rows))
  local lines <const> = top_table.lines(window, table.move(rows, self.first, #rows, 1, {}), about,
    self.how)
  lines[1] = #rows > 0 and { lines[1], style = "inverse" } or lines[1]
  return lines, top_table.headline(window, about)
end

-- Everything that is on the screen, of the newest interval.
function Full:show(window)
  self.window = window or self.window
  local shown <const> = self.window
  local lines, headline = {}, "looking …"
  if self.help then lines = HELP
  elseif shown then lines, headline = body(self, shown) end
  local state <const> = ("sorted by %s, every %s%s"):format(self.how.sort,
    require("sonde.base.units").duration(self.live.interval), self.held and ", held" or "")
  local all = { { ("%s  %s"):format(self.title, state), style = "bold" }, headline,
    { KEYS, style = "dim" }, "" }
  table.move(lines, 1, #lines, #all + 1, all)
  self.screen:draw(all)
end

-- Chooses another view; what is shown goes on until it has something.
local function view(name)
  return function(self)
    self.live:set_view(name)
    if self.how.by == "type" and not HAS_TYPES[name] then self.how.by = "function" end
    self.window, self.changed = nil, true
  end
end

local function next_by(self)
  local at <const> = { ["function"] = "thread", type = "function",
    thread = HAS_TYPES[self.live.view] and "type" or "function" }
  self.how.by, self.first = at[self.how.by], 1
end

local function change_interval(factor)
  return function(self)
    self.live:set_interval(math.max(SHORTEST, math.min(LONGEST,
      math.floor(self.live.interval * factor))))
  end
end

local function scroll(step)
  return function(self)
    local _, height = self.screen.size()
    self.first = self.first + (step == 0 and -self.first or math.abs(step) == 1 and step
      or step * (height - 6) // 10)
  end
end

local function quit(self) self.over = true end

local ON_KEY <const> = {
  c = view "oncpu", w = view "wall", a = view "alloc", e = view "exception", l = view "contention",
  s = function(self) self.how.sort = self.how.sort == "own" and "total" or "own" end,
  b = next_by, t = next_by, ["+"] = change_interval(2), ["-"] = change_interval(0.5),
  up = scroll(-1), down = scroll(1), ["page up"] = scroll(-10), ["page down"] = scroll(10),
  home = scroll(0), h = function(self) self.help = not self.help end,
  [" "] = function(self) self.held = not self.held end,
  q = quit, ["Ctrl-C"] = quit, ["Ctrl-D"] = quit, escape = function(self) self.help = false end,
}
ON_KEY["?"], ON_KEY["="] = ON_KEY.h, ON_KEY["+"]

-- Serves keys until the interval is over.
function Full:wait(deadline)
  local loop <const> = require "sonde.base.loop"
  while not self.over and not self.changed and self.live:is_open() and loop.now() < deadline do
    local key <const> = self.screen:key(math.min(deadline, loop.after(SECOND)))
    if key then
      if ON_KEY[key] then ON_KEY[key](self) end
      self:show()
    end
    deadline = math.min(deadline, self.live:deadline())
  end
  return self.changed
end

function Full:wake()
  self.screen:wake()
end

-- Without a terminal there is nothing to do meanwhile but to wait for the end.
local function just_wait(self, deadline)
  local loop <const> = require "sonde.base.loop"
  while not self.over and self.live:is_open() and loop.now() < deadline do
    self.news:wait(math.min(deadline, loop.after(100 * MS)))
  end
end

Json.wait, Blocks.wait = just_wait, just_wait
function Json:wake() self.news:set() end
Blocks.wake = Json.wake

local function new_display(target, looking, args, env)
  local kind <const> = args.json and Json or env.terminal.out and not args.once and Full or Blocks
  local loop <const> = require "sonde.base.loop"
  local info <const> = target:info()
  local name = info and info.entry_assembly or target.name
  local self <const> = setmetatable({ target = target, live = looking, env = env, first = 1,
    news = loop.event(), most = args.n,
    how = { by = args.by, sort = args.cum and "total" or "own" },
    title = text.printable(("%s (%s)"):format(name, target.pid or "?")),
  }, kind)
  if args.json and (args.n or 0) == 0 or args.n == 0 then self.most = nil end
  if args.n == 0 and kind == Blocks then self.most = math.maxinteger end
  if kind == Full then self.screen = require("sonde.base.screen").open(env.out) end
  return self
end

local function filtered(window, args)
  local wanted = {}
  for _, name in ipairs(FILTERS) do wanted[name] = args[name] end
  if next(wanted) then window.profile = common.check(window.profile:where(wanted)) end
  return window
end

-- Shows one interval after the other until there is a reason to end.
local function run(display, args)
  local loop <const> = require "sonde.base.loop"
  local looking <const> = display.live
  local limit <const> = loop.after(args.duration or FOREVER)
  local most <const> = args.once and 1 or args.count or math.maxinteger
  local shown = 0
  if display.screen then display:show() end
  while not display.over and shown < most and loop.now() < limit do
    local broken <const> = display:wait(math.min(limit, looking:deadline()))
    if display.over then break end
    local window <const> = common.check(looking:turn())
    display.changed = false
    if not broken and not display.held then
      display:show(filtered(window, args))
      shown = shown + 1
    end
    if window.ended then return shown, true end
  end
  return shown, false
end

local function watch(target, looking, args, env)
  local display <const> = new_display(target, looking, args, env)
  local release <const> = require("sonde.base.loop").on_signals(SIGNALS, function()
    display.over = true
    display:wake()
  end)
  local _ <close> = setmetatable({}, { __close = function()
    release()
    if display.screen then display.screen:close() end
  end })
  return run(display, args)
end

local function check(args)
  if args.view == "cpu" then args.view = "oncpu" end
  if args.by == "type" and not HAS_TYPES[args.view] then
    errors.usage(("--by type: view %s has no types"):format(args.view), "--view alloc")
  end
end

return common.verb {
  name = "top",
  path = "top",
  summary = "what a running process does now, as it changes",
  arguments = { live.target_argument },
  options = function()
    return options.join(live.target_options, declared,
      options.select(require("sonde.profile").filters, FILTERS))
  end,
  examples = {
    "sonde top Api                                # on a terminal; h shows the keys",
    "sonde top -p 4242 --view alloc --by type",
    "sonde top -p 4242 --once -n 10",
    "sonde top -p Api --json --count 5",
  },
  run = function(args, env)
    check(args)
    local target <const> = live.target(args)
    local looking <close> = common.check(target:live { view = args.view, interval = args.interval })
    local shown, ended = watch(target, looking, args, env)
    if ended then env:say(("process %s (%s) has ended"):format(target.pid or "?", target.name)) end
    return shown > 0 and errors.exit.done or errors.exit.empty
  end,
}
