--- Figures of /proc: of every process, at nearly no cost.
-- @module sonde.policy.source.process
local proc <const> = require "sonde.process.proc"
local usage <const> = require "sonde.process.usage"

-- It needs no answer of the process, so the round in which that came has figures.
local process = { name = "process", is_instant = true }

local SECOND <const> = 1000000000

-- Growth is told of no shorter time: the clock of processes ticks each 10 ms.
local LEAST_TIME <const> = SECOND // 10

-- What is read, and by what name.
local READ <const> = {
  stat = proc.stat, memory = usage.memory, io = usage.io, switches = usage.switches,
  descriptors = usage.descriptors, group = usage.group,
}

-- What each figure is of what was read. A value that only grows is told as its
-- growth a second.
local FIGURES <const> = {
  cpu = { read = "stat", field = "cpu_ns", grows = true, scale = 100 / SECOND },
  threads = { read = "stat", field = "threads" },
  memory = { read = "memory", field = "resident" },
  virtual_memory = { read = "memory", field = "size" },
  fds = { read = "descriptors" },
  read_bytes = { read = "io", field = "read", grows = true },
  write_bytes = { read = "io", field = "written", grows = true },
  context_switches = { read = "switches", grows = true },
  cgroup_memory = { read = "group", field = "used" },
  cgroup_memory_share = { read = "group", field = "share" },
}

--- The names of its figures: `cpu` (percent of one processor), `memory`
-- (resident bytes), `threads`, `fds`, `read_bytes`, `cgroup_memory_share` (percent
-- of what its control group may take) and so on.
process.METRICS = {}
for name in pairs(FIGURES) do process.METRICS[#process.METRICS + 1] = name end
table.sort(process.METRICS)

local Source <const> = {}
Source.__index = Source

--- Can it say something of these figures?
-- @tparam table wanted set of names
-- @treturn boolean
function process.offers(wanted)
  for name in pairs(wanted) do
    if FIGURES[name] then return true end
  end
  return false
end

-- Figures that are asked for equally often are due together.
local function group_of(groups, every)
  for _, group in ipairs(groups) do
    if group.asked == every then return group end
  end
  -- Rounds are not quite on time.
  groups[#groups + 1] = { asked = every, every = every - every // 10, next = 0 }
  return groups[#groups]
end

--- Opens it for a target.
-- @tparam table facts `pid start`
-- @tparam table wanted how often, by name: nanoseconds
-- @tparam function feed called with a name and its value
-- @tparam ?table opts `since`: when the process began, if it came a moment ago
-- @treturn table
function process.open(facts, wanted, feed, opts)
  local groups, last = {}, {}
  for _, name in ipairs(process.METRICS) do
    if wanted[name] then
      local group <const> = group_of(groups, math.type(wanted[name]) and wanted[name] or 0)
      group[#group + 1] = { name = name, figure = FIGURES[name] }
      -- All that grows was nothing when it began.
      if opts and opts.since then last[name] = { value = 0, at = opts.since } end
    end
  end
  return setmetatable({ pid = facts.pid, groups = groups, feed = feed, last = last }, Source)
end

local function growth(self, name, value, now)
  local last <const> = self.last[name]
  if last == nil then
    self.last[name] = { value = value, at = now }
    return nil
  end
  local time <const> = now - last.at
  if time < LEAST_TIME then return nil end
  local grown <const> = (value - last.value) / (time / SECOND)
  last.value, last.at = value, now
  return grown
end

local function tell(self, one, read, now)
  local figure <const> = one.figure
  local from <const> = figure.read
  if read[from] == nil then read[from] = READ[from](self.pid) or false end
  local value = read[from]
  if value and figure.field then value = value[figure.field] end
  if value and figure.grows then value = growth(self, one.name, value, now) end
  if value then self.feed(one.name, figure.scale and value * figure.scale or value) end
end

--- Reads the figures that are due.
-- @tparam integer now nanoseconds
-- @tparam ?table stat of `proc.stat`, when it was read just now
-- @tparam ?integer read_at when it was, on the same clock; `now` is when it should be
function Source:poll(now, stat, read_at)
  local read
  for _, group in ipairs(self.groups) do
    if now >= group.next then
      group.next = now + group.every
      read = read or { stat = stat }
      for _, one in ipairs(group) do tell(self, one, read, read_at or now) end
    end
  end
end

--- Tells the use of the processor before it is due.
-- @tparam integer now nanoseconds
-- @tparam table stat of `proc.stat`
function Source:early(now, stat)
  for _, group in ipairs(self.groups) do
    for _, one in ipairs(group) do
      if one.name == "cpu" then tell(self, one, { stat = stat }, now) end
    end
  end
end

--- Nothing is held.
function Source.close()
end

return process
