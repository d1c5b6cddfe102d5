--- What recording costs a process: the processor time of the threads that its
-- runtime has for it (sampling, which stops the other threads as long as it
-- takes, and writing the stream), while others may have theirs too. What the
-- program's own threads spend on making events is not seen apart.
-- @module sonde.dotnet.cost
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"

local cost = {}

local SECOND <const> = 1000000000

-- All of them have this name, and so has the diagnostics server, which
-- describes the methods at the end.
local NAME <const> = ".NET EventPipe"

-- Threads of a session begin with it, and those of others at any time.
local LOOK_FOR_NEW <const> = 5 * SECOND

-- The share is that of the last so many looks, of at least a second together.
local WINDOW <const> = 2 * SECOND

local Cost <const> = {}
Cost.__index = Cost

local function run_time(pid, tid)
  local file <const> = io.open(("/proc/%d/task/%d/schedstat"):format(pid, tid))
  if file == nil then return nil end
  local text <const> = file:read "l"
  file:close()
  return math.tointeger(tonumber((text or ""):match "^(%d+)"))
end

local function look_for_threads(self)
  self.looked_at = loop.now()
  for tid, name in pairs(proc.thread_names(self.pid)) do
    if name == NAME and self.threads[tid] == nil then
      -- One that began since then did so for a session.
      self.threads[tid] = self.begun and 0 or run_time(self.pid, tid)
    end
  end
end

local function read_threads(self)
  for tid, before in pairs(self.threads) do
    local now <const> = run_time(self.pid, tid)
    if now == nil then
      self.threads[tid] = nil
    elseif now > before then
      self.ns = self.ns + now - before
      self.threads[tid] = now
    end
  end
end

--- Begins to measure; before the session starts.
-- @tparam integer pid
-- @treturn Cost `ns`: processor time so far
function cost.start(pid)
  local self <const> = setmetatable({ pid = pid, threads = {}, ns = 0, marks = {},
    started_at = loop.now() }, Cost)
  look_for_threads(self)
  self.begun = true
  return self
end

--- Looks at the clocks. To be called some times a second.
-- @treturn ?number share of one processor over the last two seconds; nil before
--   there is a second to judge by
function Cost:look()
  local now <const> = loop.now()
  if now - self.looked_at > LOOK_FOR_NEW or not self.found then
    look_for_threads(self)
    -- The session's threads come some time after its start.
    self.found = now - self.started_at > SECOND
  end
  read_threads(self)
  local marks <const> = self.marks
  marks[#marks + 1] = { at = now, ns = self.ns }
  while #marks > 2 and now - marks[2].at >= WINDOW do table.remove(marks, 1) end
  if now - marks[1].at < SECOND then return nil end
  return (self.ns - marks[1].ns) / (now - marks[1].at)
end

--- Share of one processor since the start.
-- @treturn number
function Cost:share()
  return self.ns / math.max(1, loop.now() - self.started_at)
end

return cost
