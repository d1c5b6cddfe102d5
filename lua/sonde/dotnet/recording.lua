--- A recording: a session that is watched over until there is a reason to
-- stop, and brought to its end.
-- @module sonde.dotnet.recording
local loop <const> = require "sonde.base.loop"

local recording = {}

local MS <const> = 1000000
local SECOND <const> = 1000 * MS

-- How often a recording is looked at: for its size, and to be shown.
local LOOK <const> = 100 * MS

-- How often its cost is.
local LOOK_AT_COST <const> = 500 * MS

-- A rundown is waited for as long as it makes progress.
local NO_PROGRESS <const> = 30 * SECOND
local LONGEST_RUNDOWN <const> = 600 * SECOND

local FOREVER <const> = 10 * 365 * 24 * 3600 * SECOND

local Recording <const> = {}
Recording.__index = Recording

--- Makes a recording that is to be run.
-- @tparam Target target
-- @tparam table opts `session` (options of `Target:trace`), `duration` (ns from
--   the start of the stream), `max_size` (bytes after which it is stopped),
--   `max_cost` (share of one processor that it may cost the process)
-- @tparam ?table hooks functions `started(recording)`, `looked(recording)`
-- @treturn Recording
function recording.new(target, opts, hooks)
  return setmetatable({ target = target, opts = opts, hooks = hooks or {},
    wanted = loop.event() }, Recording)
end

--- Gives a reason to stop. The first one counts. While the session has not
-- begun, its start is given up.
-- @tparam string reason
function Recording:stop(reason)
  if self.wanted:set(reason) and self.starting then self.starting:cancel(reason) end
end

--- Stops waiting for the rundown: what has arrived is all.
function Recording:give_up()
  self:stop "given up"
  self.given_up = true
  if self.session and self.session:is_open() then self.session:abandon "given up" end
end

-- A start can be canceled only as a task.
local function start(self)
  self.starting = loop.task(function() return self.target:trace(self.opts.session) end)
  local result <const> = table.pack(self.starting:join(loop.after(FOREVER)))
  self.starting = nil
  self.session = result[2]
  return table.unpack(result, 2, result.n)
end

-- What it costs the process, up to the reason to stop.
local function look_at_cost(self)
  if self.cost == nil or loop.now() < (self.cost_due or 0) then return end
  self.cost_due = loop.now() + LOOK_AT_COST
  local share <const> = self.cost:look()
  if share and self.opts.max_cost and share > self.opts.max_cost then
    self.cost_at_stop = share
    self:stop "cost"
  end
end

local function look(self)
  look_at_cost(self)
  if self.hooks.looked then self.hooks.looked(self) end
  if self.opts.max_size and self.session.bytes >= self.opts.max_size then self:stop "size" end
  if not self.session:is_open() then self:stop "ended" end
end

local function wait_for_reason(self)
  local deadline <const> = self.session.started_at + (self.opts.duration or FOREVER)
  loop.task(function()
    self.session:wait { timeout = FOREVER }
    self:stop "ended"
  end)
  while not self.wanted:is_set() do
    self.wanted:wait(loop.after(math.max(0, math.min(LOOK, deadline - loop.now()))))
    look(self)
    if loop.now() >= deadline then self:stop "duration" end
  end
  return select(2, self.wanted:wait(0))
end

-- Waits for the rundown while it comes.
local function wait_for_end(self)
  local session <const> = self.session
  local limit <const> = loop.after(LONGEST_RUNDOWN)
  local bytes, moved = session.bytes, loop.now()
  session:begin_stop()
  while not session:wait_stopped { timeout = LOOK } do
    if session.bytes > bytes then bytes, moved = session.bytes, loop.now() end
    if self.hooks.looked then self.hooks.looked(self) end
    if self.given_up then return end
    if loop.now() - moved > NO_PROGRESS or loop.now() > limit then return end
  end
end

--- Runs it to its end. `cost_share` (of one processor), `cost_ns` and
-- `rundown_ns` are then what it cost the process, as far as that is seen.
-- @treturn ?string reason for stopping: `duration size ended cost`, or what was
--   given to `stop`; nil when no session could be started
-- @treturn ?string message of what went wrong
-- @treturn ?string code
-- @treturn ?string hint
function Recording:run()
  if self.target.pid then self.cost = require("sonde.dotnet.cost").start(self.target.pid) end
  local session, message, code, hint = start(self)
  if session == nil then return nil, message, code, hint end
  if self.hooks.started then self.hooks.started(self) end
  local reason <const> = wait_for_reason(self)
  self.stopping_since = loop.now()
  if self.cost then
    self.cost:look()
    self.cost_share, self.cost_ns = self.cost:share(), self.cost.ns
  end
  wait_for_end(self)
  local _, why, kind, help = session:stop { timeout = 0 }
  if self.cost then
    self.cost:look()
    self.rundown_ns = self.cost.ns - self.cost_ns
  end
  if self.hooks.looked then self.hooks.looked(self) end
  return reason, why, kind, help
end

return recording
