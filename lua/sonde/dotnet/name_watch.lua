--- What a process's methods are called, from now until somebody stops asking: for
-- stacks that are taken meanwhile by others than the runtime.
--
--    local watch = assert(require("sonde.dotnet.name_watch").start(pid))
--    watch:wait(deadline)              -- the methods that there are have names
--    … take stacks …
--    local known = watch:stop(deadline)
--
-- A rundown tells the methods that there are, before the stacks are taken, so
-- that it is not seen in them. A session that has nothing but the events of the
-- loader and the JIT compiler tells those that come, also when the process ends.
-- So nothing but the end of that session is waited for at last.
-- @module sonde.dotnet.name_watch
local dotnet <const> = require "sonde.dotnet"
local loop <const> = require "sonde.base.loop"
local names <const> = require "sonde.dotnet.names"
local providers <const> = require "sonde.dotnet.providers"

local name_watch = {}

local SECOND <const> = 1000000000
local TIMEOUT <const> = 30 * SECOND   -- of a runtime that hardly answers

local NEW_CODE <const> = { name = dotnet.PROVIDER_RUNTIME, level = providers.VERBOSE,
  keywords = dotnet.KEYWORD_LOADER | dotnet.KEYWORD_JIT }

local NameWatch <const> = {}
NameWatch.__index = NameWatch
NameWatch.__name = "sonde.name_watch"

-- The session is there before the rundown, so that no method is missed.
local function begin(self)
  local session <const>, message = self.target:trace { providers = { NEW_CODE }, groups = {},
    rundown = false, stackwalk = false, timeout = TIMEOUT }
  self.session, self.message = session, message
  if session and self.closed then session:close() end
  if session and not self.closed then
    self.known, self.message = names.of(self.target, { fresh = true, timeout = TIMEOUT })
  end
  self.ready:set()
end

--- Begins, without waiting for the process.
-- @tparam integer pid
-- @treturn ?NameWatch nil when it is no .NET process that answers
function name_watch.start(pid)
  local target <const> = require("sonde.dotnet.target").of_pid(pid)
  if target == nil then return nil end
  local self <const> = setmetatable({ target = target, ready = loop.event() }, NameWatch)
  self.task = loop.task(begin, self)
  return self
end

--- Waits until the methods that there are have names, or that has failed.
-- @tparam integer deadline
-- @treturn boolean whether it is over
function NameWatch:wait(deadline)
  self.ready:wait(deadline)
  return self.ready:is_set()
end

--- Begins to end, without waiting.
function NameWatch:begin_stop()
  if self.session then self.session:begin_stop() end
end

--- Ends.
-- @tparam integer deadline
-- @treturn ?Names of `sonde.dotnet.names`
-- @treturn ?string message
function NameWatch:stop(deadline)
  if not self:wait(deadline) then
    self:close()
    return nil, "the runtime did not tell its methods in time"
  end
  if self.session == nil then return nil, self.message end
  -- A process that has ended cut its stream; what came is true.
  self.session:stop { timeout = math.max(1, deadline - loop.now()) }
  if self.known == nil then return nil, self.message end
  return names.joined { self.known.trace, self.session.decoder }
end

--- Ends, whatever state it is in, and waits no more than a second for that.
function NameWatch:close()
  self.closed = true
  if self.session == nil then return end
  self.session:begin_stop()
  self.session:wait_stopped { timeout = SECOND }
  self.session:close()
end

return name_watch
