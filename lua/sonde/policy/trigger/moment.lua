--- Triggers of the clock: `{ every = "15m" }`, `{ daily = "02:30" }`,
-- `{ cron = "*/5 8-18 * * 1-5" }`.
-- @module sonde.policy.trigger.moment
local check <const> = require "sonde.policy.check"
local words <const> = require "sonde.policy.words"

local moment = {}

local SECOND <const> = 1000000000
local MINUTE <const> = 60 * SECOND
local DAY <const> = 24 * 60 * MINUTE

-- A minute that went by unseen, while the machine slept, is made up for when it
-- is not longer ago than this.
local LATEST_MINUTES <const> = 5

-- The fields of a cron line: name, least, most.
local CRON <const> = {
  { "minute", 0, 59 }, { "hour", 0, 23 }, { "day", 1, 31 }, { "month", 1, 12 }, { "weekday", 0, 7 },
}

-- "*/5", "1-5", "3": adds what it stands for to the set.
local function scan_item(text, field, set)
  local range, step = text:match("^([%d*-]+)/?(%d*)$")
  if range == nil or text:sub(-1) == "/" then return false end
  local from, to
  if range == "*" then
    from, to = field[2], field[3]
  else
    from, to = range:match("^(%d+)-(%d+)$")
    from = math.tointeger(tonumber(from or range:match("^%d+$")))
    to = math.tointeger(tonumber(to)) or from
  end
  step = step == "" and 1 or math.tointeger(tonumber(step))
  if from == nil or from < field[2] or to > field[3] or to < from or step < 1 then return false end
  for i = from, to, step do set[i] = true end
  return true
end

local function scan_cron(text)
  local fields <const> = {}
  for word in text:gmatch("%S+") do fields[#fields + 1] = word end
  if #fields ~= #CRON then return nil, "needs five fields: minute hour day month weekday" end
  local sets = { any_day = fields[3] == "*", any_weekday = fields[5] == "*" }
  for i, field in ipairs(CRON) do
    local set = {}
    for item in fields[i]:gmatch("[^,]+") do
      if not scan_item(item, field, set) then
        return nil, ("the %s '%s' is not one of %d to %d"):format(field[1], fields[i], field[2],
          field[3])
      end
    end
    sets[field[1]] = set
  end
  sets.weekday[0] = sets.weekday[0] or sets.weekday[7]
  return sets
end

-- As cron has it: a day and a weekday that are both given are alternatives.
local function is_cron_day(sets, date)
  local day <const>, weekday <const> = sets.day[date.day], sets.weekday[date.wday - 1]
  if sets.any_day or sets.any_weekday then return day and weekday end
  return day or weekday
end

local function is_cron(sets, date)
  return sets.minute[date.min] and sets.hour[date.hour] and sets.month[date.month]
    and is_cron_day(sets, date)
end

local function scan_time(text)
  local hour, minute = text:match("^(%d%d?):(%d%d)$")
  hour, minute = tonumber(hour), tonumber(minute)
  if hour == nil or hour > 23 or minute > 59 then return nil, "is not a time such as 02:30" end
  return hour, minute
end

local Instance <const> = {}
Instance.__index = Instance

local function new(spec)
  return setmetatable({ spec = spec, channels = {}, is_timed = true }, Instance)
end

local function minute_of(clock, time)
  return (time + clock.wall_offset) // MINUTE
end

local function date_of(clock, minute)
  return os.date(clock.is_local and "*t" or "!*t", minute * 60)
end

-- Once a day, when the clock passes the time. On the day on which an hour is left
-- out that is the hour's end; when an hour comes twice the first one counts.
local function is_first_of_day(self, clock, minute)
  local spec <const> = self.spec
  local date <const>, before <const> = date_of(clock, minute), date_of(clock, minute - 1)
  local at <const> = spec.hour * 60 + spec.minute
  if date.hour * 60 + date.min < at or self.day == date.yday then return false end
  if before.yday == date.yday and before.hour * 60 + before.min >= at then return false end
  self.day = date.yday
  return true
end

-- Whether a minute of the wall clock is one of those asked for.
local function is_due(spec, clock, minute)
  return is_cron(spec.sets, date_of(clock, minute))
end

local function tick_every(self, time)
  self.next = self.next or time + self.spec.every
  if time < self.next then return nil end
  -- Not behind by more than one: what was missed is not made up for.
  self.next = math.max(self.next + self.spec.every, time)
  return "fires", ("every %s"):format(words.duration(self.spec.every))
end

--- Time has come this far.
-- @tparam integer time nanoseconds
-- @tparam table clock `wall_offset` (what makes it Unix time), `is_local`
-- @treturn ?string "fires"
-- @treturn ?string why
function Instance:tick(time, clock)
  if self.spec.every then return tick_every(self, time) end
  local minute <const> = minute_of(clock, time)
  local from <const> = self.minute and math.max(self.minute + 1, minute - LATEST_MINUTES) or minute
  self.minute = minute
  for each = from, minute do
    local due <const> = self.spec.daily and is_first_of_day(self, clock, each)
      or self.spec.sets and is_due(self.spec, clock, each)
    if due then
      return "fires", "it is " .. os.date(clock.is_local and "%H:%M" or "!%H:%M", each * 60)
    end
  end
end

function Instance.fired()
end

--- How near it is.
-- @treturn string
function Instance:state()
  return "its time has not come: " .. self.spec.text
end

local function check_every(given, where, problems)
  local spec <const> = check.fields({ { name = "every", type = "duration", min = SECOND,
    max = 365 * DAY, required = true } }, given, where, problems)
  spec.text = "every " .. words.duration(type(spec.every) == "number" and spec.every or 0)
  return spec
end

local function check_daily(given, where, problems)
  local spec <const> = check.fields({ { name = "daily", type = "string", required = true } },
    given, where, problems)
  if type(spec.daily) ~= "string" then return spec end
  spec.hour, spec.minute = scan_time(spec.daily)
  if spec.hour == nil then problems:add(where .. ".daily", spec.minute, spec.daily) end
  spec.text = "every day at " .. spec.daily
  return spec
end

local function check_cron(given, where, problems)
  local spec <const> = check.fields({ { name = "cron", type = "string", required = true } },
    given, where, problems)
  if type(spec.cron) ~= "string" then return spec end
  local sets <const>, message <const> = scan_cron(spec.cron)
  if sets == nil then problems:add(where .. ".cron", message, spec.cron) end
  spec.sets, spec.text = sets, ("whenever '%s' (cron) comes up"):format(spec.cron)
  return spec
end

local function explain(spec)
  return spec.text
end

--- The triggers.
-- @treturn {table,...}
function moment.triggers()
  return {
    { key = "every", summary = "again and again, this far apart", check = check_every,
      explain = explain, new = new },
    { key = "daily", summary = "once a day, at this time", check = check_daily,
      explain = explain, new = new },
    { key = "cron", summary = "when a line of cron says", check = check_cron,
      explain = explain, new = new },
  }
end

return moment
