--- Which processes there are: as they come, turn into others, and go.
-- What nobody watches is looked at now and then only.
-- @module sonde.policy.presence
local core <const> = require "sonde.c.core"
local facts <const> = require "sonde.policy.facts"
local proc <const> = require "sonde.process.proc"

local presence = {}

local SECOND <const> = 1000000000

-- How often a process that is not watched is looked at: another may have its pid.
local REST <const> = 5 * SECOND

-- A process that is younger may still become another program, and its runtime may
-- not have begun: so often it is asked again.
local YOUNG <const> = 3 * SECOND
local ASK_AGAIN <const> = SECOND // 2

-- Of so many that are watched the file stays open; of 1024 descriptors, which is what
-- a process has by default, most are left.
local MOST_KEPT <const> = 384

local Presence <const> = {}
Presence.__index = Presence

--- Begins to look.
-- @tparam table heard functions that are called with what is known of a process
--   (`pid start stat facts since`; `is_watched` is the listener's to set): `arrived`,
--   `changed` (its facts are others), `left` (`status`, when it was told)
-- @treturn Presence
function presence.new(heard)
  return setmetatable({ heard = heard, processes = {}, leaving = {}, round = 0,
    n_kept = 0 }, Presence)
end

-- When a process began, on the clock of `now`.
local function since_of(stat, now)
  return now - math.max(0, math.floor(proc.age(stat.start_time) * SECOND))
end

local FACTS <const> = { "name", "command_line", "runtime" }

-- What nobody has asked for has decided nothing.
local function is_same(old, fresh)
  for _, name in ipairs(FACTS) do
    local value <const> = facts.known(old, name)
    if value ~= nil and value ~= fresh[name] then return false end
  end
  return true
end

local function learn(known, stat, its, now)
  known.facts, known.threads = its, stat.threads
  known.is_young, known.ask = now - known.since < YOUNG, now + ASK_AGAIN
end

-- Most processes stay what they are. A runtime that begins has more threads than
-- before.
local function may_be_other(known, stat)
  local line <const> = facts.known(known.facts, "command_line")
  return stat.name ~= known.stat.name or stat.threads ~= known.threads
    or line ~= nil and line ~= table.concat(proc.command_line(stat.pid), " ")
end

local function review(self, known, stat, now)
  local old <const> = known.facts
  local fresh <const> = may_be_other(known, stat) and facts.of(stat) or old
  learn(known, stat, fresh, now)
  if not is_same(old, fresh) then self.heard.changed(known) end
end

local function arrive(self, stat, now)
  local known <const> = { pid = stat.pid, start = stat.start_time, stat = stat }
  if not stat.kernel and stat.state ~= "Z" then
    known.since = since_of(stat, now)
    learn(known, stat, facts.of(stat), now)
  end
  known.round, known.next = self.round, now + REST
  self.processes[stat.pid] = known
  if known.facts then self.heard.arrived(known) end
end

local function let_go(self, known)
  if known.kept == nil then return end
  known.kept:close()
  known.kept, self.n_kept = nil, self.n_kept - 1
end

local function keep(self, known)
  if known.kept or self.n_kept >= MOST_KEPT then return end
  known.kept = proc.keep(known.pid)
  if known.kept then self.n_kept = self.n_kept + 1 end
end

-- nil when it has gone.
local function stat_of(self, known)
  if not known.is_watched then let_go(self, known) else keep(self, known) end
  if known.kept == nil then return proc.stat(known.pid) end
  -- Who has not run meanwhile is as before: its clock costs less than its file.
  local cpu <const> = core.process_cpu(known.pid)
  if cpu and cpu == known.cpu then return known.stat end
  local stat <const> = known.kept:stat()
  known.cpu = stat and stat.state ~= "Z" and cpu or nil
  return stat
end

-- What a process that is watched did last may still be on its way: it leaves a
-- round later.
local function miss(self, known)
  let_go(self, known)
  if self.processes[known.pid] == known then self.processes[known.pid] = nil end
  if known.is_watched then
    self.leaving[#self.leaving + 1] = known
  elseif known.facts then
    self.heard.left(known)
  end
end

local function look_at(self, pid, now)
  local known = self.processes[pid]
  if known and not known.is_watched and not known.is_young and now < known.next then
    known.round = self.round
    return
  end
  local stat <const> = known and stat_of(self, known) or proc.stat(pid)
  if stat == nil then return end
  if known and known.start ~= stat.start_time then
    miss(self, known)
    known = nil
  end
  if known == nil then return arrive(self, stat, now) end
  if known.facts and stat.state == "Z" then return end   -- only its parent has not asked
  if known.facts and (known.is_young and now >= known.ask or stat.name ~= known.stat.name) then
    review(self, known, stat, now)
  end
  known.stat, known.round, known.next = stat, self.round, now + REST
end

--- Takes what was told of processes that have ended.
-- @tparam {[integer]=integer,...} statuses by pid
function Presence:ended(statuses)
  for pid, status in pairs(statuses) do
    local known <const> = self.processes[pid]
    if known then known.status = status end
  end
  for _, known in ipairs(self.leaving) do
    known.status = known.status or statuses[known.pid]
  end
end

-- The number that the newest process or thread has, as text.
local function newest()
  local line <const> = core.read_file("/proc/loadavg", 1 << 10)
  return line and line:match "(%d+)%s*$"
end

--- Looks who has come since, and at nobody else.
-- @tparam integer now nanoseconds
function Presence:look_for_new(now)
  local latest <const> = newest()
  if latest and latest == self.newest then return end
  self.newest = latest
  for _, pid in ipairs(proc.pids()) do
    if self.processes[pid] == nil then look_at(self, pid, now) end
  end
end

--- What a process says of itself now.
-- @tparam table known
-- @treturn ?table of `proc.stat`; nil when it has gone
function Presence:stat(known)
  local stat <const> = stat_of(self, known)
  if stat == nil or stat.start_time ~= known.start then return nil end
  known.stat = stat
  return stat
end

--- Looks no more.
function Presence:close()
  for _, known in pairs(self.processes) do let_go(self, known) end
end

--- Looks who is there.
-- @tparam integer now nanoseconds
function Presence:look(now)
  self.round = self.round + 1
  local leaving <const> = self.leaving
  self.leaving = {}
  for _, known in ipairs(leaving) do self.heard.left(known) end
  for _, pid in ipairs(proc.pids()) do look_at(self, pid, now) end
  for _, known in pairs(self.processes) do
    if known.round ~= self.round then miss(self, known) end
  end
end

return presence
