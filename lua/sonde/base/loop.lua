--- The event loop and tasks.
-- A task is a coroutine of ours; inside one, waiting yields. Elsewhere, in a
-- main chunk or in a host's coroutine, waiting runs the loop until it is over.
-- In a callback of the running loop that is no task, nothing can wait, and
-- trying raises. Every wait has a deadline: a time of `loop.now`. Errors in
-- callbacks fail who waits for them, or are raised by whoever runs the loop.
-- @module sonde.base.loop
local errors <const> = require "sonde.base.errors"
local core <const> = require "sonde.c.core"
local uv <const> = require "sonde.base.uv"

local loop = {}

local MS <const> = 1000000

-- While somebody outside a task waits, Lua runs at least this often, so that
-- a host's Ctrl-C, which is a hook, is not held up by a silent system.
local HEARTBEAT_MS <const> = 250

local task_of <const> = setmetatable({}, { __mode = "k" })   -- coroutine to task
local ready, ready_first, ready_last = {}, 1, 0   -- who is to be resumed, in order
local flushing = false
local pending            -- an error that nobody waits for: { what }
local wake, beat         -- timers: for `ready`, and for waits outside tasks

--- The clock of deadlines.
-- @treturn integer nanoseconds
function loop.now()
  return uv.hrtime()
end

--- A deadline.
-- @tparam integer ns from now
-- @treturn integer a time of `loop.now`
function loop.after(ns)
  local now <const> = uv.hrtime()
  return ns > math.maxinteger - now and math.maxinteger or now + ns
end

-- Milliseconds until a deadline, for libuv's timers, which never fire early.
local function ms_until(deadline)
  local left <const> = deadline - uv.hrtime()
  if left <= 0 then return 0 end
  return math.min(left // MS + 1, 1 << 31)
end

local function keep_error(what)
  pending = pending or { what }
end

local function raise_pending()
  if pending == nil then return end
  local what <const> = pending[1]
  pending = nil
  error(what, 0)
end

-- An interrupt that already ended what ran when it came, by its hook.
local function forget_interrupt()
  local what <const> = pending and pending[1]
  if errors.is_interrupt(what) then pending = nil end
end

local flush

local driving = false   -- a wait of ours runs the loop

local closing = false   -- handles were closed and libuv has not yet let them go

-- luv crashes when the state ends while a handle is on its way out, so we
-- give libuv the turn that it needs for that.
local function let_go()
  if closing and not uv.loop_mode() then
    closing = false
    uv.run "nowait"
  end
end

--- Closes a handle of libuv. Use this instead of the handle's own method.
-- @param handle
function loop.close(handle)
  if handle:is_closing() then return end
  handle:close()
  closing = true
  if not flushing then let_go() end
end

-- Wraps what libuv calls. An error in a bare callback would end the process;
-- here it fails `event`, or else waits for who runs the loop.
local function guard(fn, event)
  return function(...)
    local done, what = pcall(fn, ...)
    if not done and event then
      event:fail(what)
    elseif not done then
      keep_error(what)
    end
    done, what = pcall(flush)
    if not done then keep_error(what) end
    -- A turn begins with the timers that are due, and would then wait for a
    -- descriptor, though what somebody waits for may have happened.
    if driving then uv.stop() end
  end
end

--- Wraps a callback for libuv so that no error of it ends the process.
-- @tparam function fn
-- @treturn function
function loop.guard(fn)
  return guard(fn)
end

-- Puts a task in line to be resumed. When nobody of ours runs the loop, a
-- timer sees to it that the host's run does it.
local function schedule(task, ...)
  if task.scheduled or task.finished then return end
  task.scheduled = table.pack(...)
  ready_last = ready_last + 1
  ready[ready_last] = task
  if flushing then return end
  wake = wake or uv.new_timer()
  if not wake:is_active() then wake:start(0, 0, guard(function() end)) end
end

function flush()
  if flushing then return end
  flushing = true
  local _ <close> = setmetatable({}, { __close = function() flushing = false end })
  while ready_first <= ready_last do
    local task <const> = ready[ready_first]
    ready[ready_first] = nil
    ready_first = ready_first + 1
    local given <const> = task.scheduled
    task.scheduled = nil
    task:resume(table.unpack(given, 1, given.n))
  end
  ready_first, ready_last = 1, 0
end

local Event <const> = {}
Event.__index = Event

--- Something that happens once, for any number to wait for.
-- @treturn Event
function loop.event()
  return setmetatable({ waiters = {} }, Event)
end

local function wake_all(event)
  local waiters <const> = event.waiters
  event.waiters = {}
  for _, task in ipairs(waiters) do schedule(task) end
end

--- It happens. Only the first time counts.
-- @param ... what those who wait get
-- @treturn boolean whether this was the first time
function Event:set(...)
  if self.values or self.failure then return false end
  self.values = table.pack(...)
  wake_all(self)
  return true
end

--- It fails: those who wait raise.
-- @param what the error
function Event:fail(what)
  if self.values or self.failure then return end
  self.failure = { what }
  if #self.waiters == 0 and not self.driven then keep_error(what) end
  wake_all(self)
end

--- Has it happened?
-- @treturn boolean
function Event:is_set()
  return self.values ~= nil
end

local function outcome(event)
  if event.failure then error(event.failure[1], 0) end
  return true, table.unpack(event.values, 1, event.values.n)
end

local function is_over(event)
  return event.values ~= nil or event.failure ~= nil
end

local function leave(event, task)
  for i, waiter in ipairs(event.waiters) do
    if waiter == task then return table.remove(event.waiters, i) end
  end
end

-- Waits in a task.
local function suspend(task, event, deadline)
  if task.canceled then return nil, task.canceled, "canceled" end
  event.waiters[#event.waiters + 1] = task
  task.timer = task.timer or uv.new_timer()
  uv.update_time()
  task.timer:start(ms_until(deadline), 0, guard(function() schedule(task) end))
  task.waiting = true
  coroutine.yield()
  task.waiting = false
  task.timer:stop()
  leave(event, task)
  if is_over(event) then return outcome(event) end
  if task.canceled then return nil, task.canceled, "canceled" end
  return nil, "timed out", "timeout"
end

local poller, poller_handle   -- all descriptors that are waited for, as one
local awaited <const> = {}     -- descriptor to event
local n_awaited = 0

local watched <const> = {}   -- signal number to { seen =, call = }
local signal_fd              -- readable after a signal

local function tell_signals()
  core.signal_calm()
  poller:arm(signal_fd, "r")
  for number, watcher in pairs(watched) do
    local count <const> = core.signal_count(number)
    while watcher.seen < count do
      watcher.seen = watcher.seen + 1
      watcher.call(number, watcher.seen)
    end
  end
end

local function tell_ready()
  for _, fd in ipairs(poller:ready()) do
    if fd == signal_fd then
      tell_signals()
    elseif awaited[fd] then
      awaited[fd]:set()
    end
  end
end

local function start_poller()
  if poller then return end
  poller = assert(core.poller())
  poller_handle = assert(uv.new_poll(poller:fd()))
  poller_handle:start("r", guard(tell_ready))
  poller_handle:unref()
end

-- Makes the loop notice signals at once.
local function hear_signals()
  if signal_fd then return end
  start_poller()
  signal_fd = core.signal_fd()
  if signal_fd then poller:arm(signal_fd, "r") end
end

local leaving <const> = setmetatable({}, { __close = function()
  driving = false
  let_go()
end })

-- Waits outside of tasks, running the loop.
local function drive(event, deadline)
  local _ <close> = leaving
  beat = beat or uv.new_timer()
  hear_signals()
  forget_interrupt()
  raise_pending()
  event.driven = true
  flush()
  driving = true
  while not is_over(event) and uv.hrtime() < deadline do
    uv.update_time()
    -- Again and again: when it is due before the turn begins, once would be too
    -- early for the turn, which would last for ever.
    beat:start(math.min(ms_until(deadline), HEARTBEAT_MS), HEARTBEAT_MS, guard(function() end))
    uv.run "once"
    raise_pending()
    flush()
  end
  beat:stop()
  if is_over(event) then return outcome(event) end
  return nil, "timed out", "timeout"
end

--- Waits until it has happened.
-- @tparam integer deadline
-- @return true and what it was set with; or nil
-- @treturn ?string message
-- @treturn ?string code `timeout` or `canceled`
function Event:wait(deadline)
  if is_over(self) then return outcome(self) end
  local task <const> = task_of[coroutine.running()]
  if task then return suspend(task, self, deadline) end
  if uv.loop_mode() then
    error("cannot wait in a callback of the event loop; start a task there", 2)
  end
  return drive(self, deadline)
end

local Task <const> = {}
Task.__index = Task

-- Runs a task until it waits or ends.
function Task:resume(...)
  local result <const> = table.pack(core.resume(self.coroutine, ...))
  if coroutine.status(self.coroutine) ~= "dead" then return end
  self.finished = true
  if self.timer then loop.close(self.timer) end
  local closed, what = coroutine.close(self.coroutine)
  if not result[1] then
    self.done:fail(result[2])
  elseif not closed then
    self.done:fail(what)
  else
    self.done:set(table.unpack(result, 2, result.n))
  end
end

--- Starts a task. It begins to run when the loop runs.
-- @tparam function fn
-- @param ... its arguments
-- @treturn Task
function loop.task(fn, ...)
  local task <const> = setmetatable({ coroutine = coroutine.create(fn), done = loop.event() }, Task)
  task_of[task.coroutine] = task
  schedule(task, ...)
  return task
end

--- Waits until a task has ended.
-- @tparam integer deadline
-- @return true and what it returned; or nil. Its error is raised.
-- @treturn ?string message
-- @treturn ?string code `timeout` or `canceled`
function Task:join(deadline)
  return self.done:wait(deadline)
end

--- Ends a task's waiting: that, and all its further waits, return nil with
-- the message and the code `canceled`, so that it unwinds as it would after
-- any failure.
-- @tparam ?string message
function Task:cancel(message)
  self.canceled = self.canceled or message or "canceled"
  if self.waiting then schedule(self) end
end

--- Lets time pass.
-- @tparam integer ns
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code `canceled`
function loop.sleep(ns)
  local _, message, code = loop.event():wait(loop.after(ns))
  if code == "canceled" then return nil, message, code end
  return true
end

-- A host's run of the loop goes on as long as a descriptor is waited for.
local function count_awaited(change)
  n_awaited = n_awaited + change
  if n_awaited == 0 then poller_handle:unref() else poller_handle:ref() end
end

local Watch <const> = {}
Watch.__index = Watch
Watch.__close = function(self) self:close() end

--- Watches a descriptor. It stays the caller's, and must stay open until the
-- watch is closed.
-- @tparam integer fd
-- @treturn Watch
function loop.watch(fd)
  start_poller()
  return setmetatable({ fd = fd }, Watch)
end

--- Waits until the descriptor can be read from or written to. Only one can
-- wait for a descriptor at a time.
-- @tparam string how "r" or "w"
-- @tparam integer deadline
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Watch:wait(how, deadline)
  local fd <const>, event <const> = self.fd, loop.event()
  local armed, message, code = poller:arm(fd, how)
  if not armed then return armed == false or nil, message, code end
  awaited[fd] = event
  count_awaited(1)
  local _ <close> = setmetatable({}, { __close = function()
    awaited[fd] = nil
    count_awaited(-1)
  end })
  return event:wait(deadline)
end

--- Stops watching.
function Watch:close()
  if self.fd then poller:disarm(self.fd) end
  self.fd = nil
end

--- Calls a function for each of some signals that comes, instead of what the
-- signal does otherwise. For the command alone: a library leaves its host's
-- signals be.
-- @tparam {integer,...} numbers
-- @tparam function call gets the number and how often it came
-- @treturn function ends it
function loop.on_signals(numbers, call)
  hear_signals()
  for _, number in ipairs(numbers) do
    assert(core.watch_signal(number))
    watched[number] = { seen = 0, call = call }
  end
  return function()
    for _, number in ipairs(numbers) do
      watched[number] = nil
      core.release_signal(number)
    end
  end
end

--- Ends all that `on_signals` began, for who goes on after a verb that gave up.
function loop.release_signals()
  for number in pairs(watched) do
    watched[number] = nil
    core.release_signal(number)
  end
end

return loop
