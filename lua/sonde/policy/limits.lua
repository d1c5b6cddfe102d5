--- What a policy may cost: how often it fires, and how much it leaves behind.
-- Those of a target are kept by pid and start time, so that neither a process
-- that comes back nor a restart of ours begins them anew.
-- @module sonde.policy.limits
local check <const> = require "sonde.policy.check"
local units <const> = require "sonde.base.units"
local words <const> = require "sonde.policy.words"

local limits = {}

local SECOND <const> = 1000000000
local HOUR <const> = 3600 * SECOND
local DAY <const> = 24 * HOUR

--- Fields, with the defaults of a policy that says nothing.
limits.fields = {
  { name = "count", type = "integer", default = 5, min = 1,
    help = "most firings for a target in a window" },
  { name = "window", type = "duration", default = HOUR, min = 1, help = "that window" },
  { name = "cooldown", type = "duration", default = 60 * SECOND, min = 0,
    help = "time after a firing in which a target does not fire again" },
  { name = "once", type = "boolean", default = false, help = "fires once for each process" },
  { name = "total", type = "integer", min = 1, help = "most firings for all targets in a window" },
  { name = "concurrency", type = "integer", default = 1, min = 1,
    help = "most targets whose actions run at the same time" },
  { name = "disk", type = "size", default = 1 << 30, min = 1,
    help = "most that its artifacts take; the oldest are removed" },
  { name = "per_day", type = "size", min = 1, help = "most bytes that it writes in a day" },
  { name = "free", type = "size", default = 256 << 20, min = 0,
    help = "what stays free on the disk" },
  { name = "cost", type = "percent", default = 5, min = 0,
    help = "share of a processor by which recording may slow the target" },
  { name = "quiet", type = "string", help = "hours in which it does nothing: 22:00-06:00" },
}

local function scan_quiet(text)
  local h1, m1, h2, m2 = text:match("^(%d%d?):(%d%d)%-(%d%d?):(%d%d)$")
  h1, m1, h2, m2 = tonumber(h1), tonumber(m1), tonumber(h2), tonumber(m2)
  if h1 == nil or h1 > 23 or h2 > 24 or m1 > 59 or m2 > 59 then return nil end
  if h1 == h2 and m1 == m2 or h2 == 24 and m2 > 0 then return nil end
  return { from = h1 * 60 + m1, to = h2 * 60 + m2 }
end

--- Checks the part of a policy.
-- @param given
-- @tparam string where
-- @tparam table problems
-- @treturn table
function limits.check(given, where, problems)
  local spec <const> = check.fields(limits.fields, given or {}, where, problems)
  if spec.quiet then
    spec.quiet_hours = scan_quiet(spec.quiet)
    if spec.quiet_hours == nil then
      problems:add(where .. ".quiet", "is not a span of hours such as 22:00-06:00", spec.quiet)
    end
  end
  return spec
end

--- Says what the limits are.
-- @tparam table spec
-- @treturn {string,...}
function limits.explain(spec)
  local list = {}
  if spec.once then
    list[1] = "once for each process"
  else
    list[1] = ("at most %s in %s for each process, at least %s apart"):format(
      units.several(spec.count, "time"), words.duration(spec.window), words.duration(spec.cooldown))
  end
  if spec.total then
    list[#list + 1] = ("at most %s in %s for all together"):format(
      units.several(spec.total, "time"), words.duration(spec.window))
  end
  list[#list + 1] = ("for %s at a time"):format(
    units.several(spec.concurrency, "process", "processes"))
  list[#list + 1] = ("its artifacts take at most %s; the oldest are removed"):format(
    units.bytes(spec.disk))
  if spec.per_day then
    list[#list + 1] = ("it writes at most %s a day"):format(units.bytes(spec.per_day))
  end
  list[#list + 1] = ("it leaves %s of the disk free"):format(units.bytes(spec.free))
  list[#list + 1] = ("recording stops when it costs more than %s%% of a processor"):format(
    words.number(spec.cost))
  if spec.quiet then list[#list + 1] = "not from " .. spec.quiet:gsub("%-", " to ") end
  return list
end

local Account <const> = {}
Account.__index = Account

--- Keeps count: of one target, or of a policy.
-- @tparam table spec
-- @tparam ?table saved what `save` gave
-- @treturn table
function limits.account(spec, saved)
  return setmetatable({ spec = spec, times = saved or {} }, Account)
end

local function forget(self, before)
  local kept = {}
  for _, time in ipairs(self.times) do
    if time > before then kept[#kept + 1] = time end
  end
  self.times = kept
end

local function is_quiet(hours, minute)
  if hours.from <= hours.to then return minute >= hours.from and minute < hours.to end
  return minute >= hours.from or minute < hours.to
end

-- Firings of times to come are of a clock that was put back since.
local function latest(self, time)
  local times <const> = self.times
  while #times > 0 and times[#times] > time do table.remove(times) end
  return times[#times]
end

--- May a target fire now?
-- @tparam integer time nanoseconds
-- @treturn boolean
-- @treturn ?string why not
function Account:allows(time)
  local spec <const> = self.spec
  local last <const> = latest(self, time)
  if last == nil then return true end
  if spec.once then return false, "it fires once for each process, and did" end
  if time - last < spec.cooldown then
    return false, ("cooldown of %s until %s"):format(words.duration(spec.cooldown),
      words.instant(last + spec.cooldown))
  end
  forget(self, time - spec.window)
  if #self.times >= spec.count then
    return false, ("%d firings in %s are the limit"):format(spec.count,
      words.duration(spec.window))
  end
  return true
end

--- May the policy fire now, whatever the target?
-- @tparam integer time
-- @tparam table clock `wall_offset`, `is_local`
-- @treturn boolean
-- @treturn ?string why not
function Account:allows_any(time, clock)
  local spec <const> = self.spec
  if spec.quiet_hours then
    local seconds <const> = (time + clock.wall_offset) // SECOND
    local date <const> = os.date(clock.is_local and "*t" or "!*t", seconds)
    if is_quiet(spec.quiet_hours, date.hour * 60 + date.min) then
      return false, "quiet hours, " .. spec.quiet
    end
  end
  if spec.total == nil then return true end
  forget(self, time - spec.window)
  if #self.times < spec.total then return true end
  return false, ("%d firings of all targets in %s are the limit"):format(spec.total,
    words.duration(spec.window))
end

--- It fired.
-- @tparam integer time
function Account:count(time)
  self.times[#self.times + 1] = time
  local most <const> = math.max(self.spec.count, self.spec.total or 0) + 1
  if #self.times > most then table.remove(self.times, 1) end
end

--- What has to be remembered over a restart.
-- @treturn {integer,...}
function Account:save()
  return self.times
end

limits.DAY = DAY

return limits
