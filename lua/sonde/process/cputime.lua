--- Reads the clocks of a process's threads while something else goes on.
-- @module sonde.process.cputime
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"

local cputime = {}

local MS <const> = 1000000

-- The more threads, the less often: 3 us each, so never more than some
-- percent of a processor.
local PERIODS <const> = { { 1000, 250 * MS }, { 100, 100 * MS }, { 0, 50 * MS } }

-- New threads are looked for at each of so many rounds.
local LOOK_EVERY <const> = 4

local Clock <const> = {}
Clock.__index = Clock

local function inner_id(self, tid)
  if not self.nested then return tid end
  return proc.inner_thread(self.pid, tid) or tid
end

local function open_thread(self, tid)
  local fd <const> = uv.fs_open(("/proc/%d/task/%d/schedstat"):format(self.pid, tid), "r", 0)
  if fd == nil then return end
  local name <const> = proc.thread_name(self.pid, tid)
  local id <const> = inner_id(self, tid)
  self.threads[tid] = { fd = fd, id = id }
  self.count = self.count + 1
  if name then self.named(id, name) end
end

local function close_thread(self, tid)
  uv.fs_close(self.threads[tid].fd)
  self.threads[tid] = nil
  self.count = self.count - 1
end

local function look_for_threads(self)
  for _, tid in ipairs(proc.thread_ids(self.pid)) do
    if self.threads[tid] == nil then open_thread(self, tid) end
  end
end

local function read_thread(self, tid, thread)
  local text <const> = uv.fs_read(thread.fd, 64, 0)
  local run, wait = (text or ""):match("^(%d+) (%d+)")
  if run == nil then
    close_thread(self, tid)
    return
  end
  if text == thread.text then return end
  thread.text = text
  self.read(thread.id, self.now, math.tointeger(tonumber(run)), math.tointeger(tonumber(wait)))
end

--- Reads all clocks once.
function Clock:round()
  self.now = uv.hrtime()
  if self.rounds % LOOK_EVERY == 0 then look_for_threads(self) end
  self.rounds = self.rounds + 1
  local list = {}
  for tid in pairs(self.threads) do list[#list + 1] = tid end
  for _, tid in ipairs(list) do read_thread(self, tid, self.threads[tid]) end
end

local function period_of(count)
  for _, row in ipairs(PERIODS) do
    if count >= row[1] then return row[2] end
  end
end

local function run(self)
  while not self.ended do
    if not loop.sleep(period_of(self.count)) then return end
    if not self.ended then self:round() end
  end
end

--- Begins to read clocks: once now, then every 50 ms, less often when there
-- are many threads.
-- @tparam integer pid
-- @tparam function read gets thread id (as the process itself knows it), time
--   of `loop.now`, and nanoseconds on a processor and ready for one; only when
--   they have changed
-- @tparam function named gets thread id and name, once for each thread
-- @treturn Clock
function cputime.start(pid, read, named)
  local status <const> = proc.status(pid)
  local self <const> = setmetatable({ pid = pid, read = read, named = named, threads = {},
    count = 0, rounds = 0, nested = status ~= nil and status.nested }, Clock)
  self:round()
  self.task = loop.task(run, self)
  return self
end

--- Reads once more and ends.
function Clock:finish()
  if self.ended then return end
  self.ended = true
  self.rounds = 0
  self:round()
  for tid in pairs(self.threads) do uv.fs_close(self.threads[tid].fd) end
  self.threads = {}
  self.task:cancel()
end

return cputime
