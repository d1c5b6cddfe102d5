--- What a process does now: one profile after the other, each of an interval.
--
--    local live = assert(target:live{ view = "oncpu", interval = "1s" })
--    while true do
--      local window = assert(live:next())
--      print(window.profile:top{ n = 5 })
--    end
--
-- Each interval is a session of its own, without a rundown: the next one is
-- open before the last one is stopped, so nothing that a method's name needs
-- is missed, memory stays flat, and each profile is as good as one of a
-- recording. What methods are called is known by a rundown-only session, and
-- each interval adds the methods that were compiled in it.
-- @module sonde.dotnet.live
local core <const> = require "sonde.c.core"
local dotnet <const> = require "sonde.dotnet"
local loop <const> = require "sonde.base.loop"
local names <const> = require "sonde.dotnet.names"
local options <const> = require "sonde.base.options"
local proc <const> = require "sonde.process.proc"
local providers <const> = require "sonde.dotnet.providers"

local live = {}

local MS <const>, SECOND <const> = 1000000, 1000000000

-- When more frames than this have no name, methods were missed, and they are
-- asked for again. Where that does not help it is done ever more rarely.
local MANY_UNNAMED <const> = 0.01
local ASK_AGAIN <const> = 15 * SECOND

local SAMPLER <const> = { name = dotnet.PROVIDER_SAMPLE_PROFILER, keywords = 0,
  level = providers.VERBOSE }
local CODE <const> = dotnet.KEYWORD_LOADER | dotnet.KEYWORD_JIT

local function runtime(keywords)
  return { name = dotnet.PROVIDER_RUNTIME, keywords = keywords | CODE, level = providers.VERBOSE }
end

-- What each view is made of.
local VIEWS <const> = {
  oncpu = { providers = { SAMPLER, runtime(0) }, clock = true, groups = { "samples" } },
  wall = { providers = { SAMPLER, runtime(0) }, groups = { "samples" } },
  running = { providers = { SAMPLER, runtime(0) }, groups = { "samples" } },
  alloc = { providers = { runtime(providers.KEYWORDS.gc) }, groups = { "alloc" } },
  exception = { providers = { runtime(providers.KEYWORDS.exception) }, groups = { "exception" } },
  contention = { providers = { runtime(providers.KEYWORDS.contention) },
    groups = { "contention" } },
}

--- The views that there are.
live.VIEWS = { "oncpu", "wall", "running", "alloc", "exception", "contention" }

--- Options of `Target:live`.
live.options = {
  { name = "view", type = "string", choices = live.VIEWS, default = "oncpu",
    help = "what is measured" },
  { name = "interval", type = "duration", min = 100 * MS, default = SECOND, default_text = "1s",
    help = "how long each look takes" },
}

local Live <const> = {}
Live.__index = Live
Live.__name = "sonde.live"

local function start_session(self)
  local what <const> = VIEWS[self.view]
  local session, message, code, hint, hresult = self.target:trace {
    providers = what.providers, groups = what.groups, rundown = false,
    cpu_time = what.clock, timeline = what.clock, names = { trace = self.known },
  }
  if session == nil then return nil, message, code, hint, hresult end
  self.session, self.session_view = session, self.view
  return true
end

local function learn(self)
  local known, message, code, hint, hresult = names.of(self.target, { fresh = self.known ~= nil })
  if known == nil then return nil, message, code, hint, hresult end
  local all <const> = core.trace { groups = {} }
  all:learn(known.trace)
  self.known = all
  return true
end

--- Begins to look: `Target:live`.
-- @tparam Target target
-- @tparam ?table given `view interval`
-- @treturn ?Live
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult
function live.start(target, given)
  local opts <const> = options.check(live.options, given, "target:live")
  local self <const> = setmetatable({ target = target, view = opts.view,
    interval = opts.interval, ask_at = 0, ask_again = ASK_AGAIN }, Live)
  local done, message, code, hint, hresult = learn(self)
  if done then done, message, code, hint, hresult = start_session(self) end
  if not done then return nil, message, code, hint, hresult end
  return self
end

--- Chooses another view. The interval begins anew at the next `turn`.
-- @tparam string view
function Live:set_view(view)
  self.view = options.check(live.options, { view = view }, "live:set_view").view
end

--- Chooses another interval.
-- @tparam integer ns
function Live:set_interval(ns)
  self.interval = options.check(live.options, { interval = ns }, "live:set_interval").interval
end

--- When the present interval is over.
-- @treturn integer a time of `loop.now`
function Live:deadline()
  return self.session.started_at + self.interval
end

--- Does the process still send?
-- @treturn boolean
function Live:is_open()
  return self.session:is_open()
end

-- Stops a session and gives what it saw.
local function finish(session)
  local asked <const> = loop.now()
  local done, message, code, hint = session:stop()
  local trace <const> = session:trace()
  -- A process that ends sends what it has, and that is shown.
  if not done and (trace == nil or session:counts().bytes == 0) then
    return nil, message, code, hint
  end
  return trace, math.max(1, math.min(asked, session.ended_at) - session.started_at)
end

-- Methods that were compiled meanwhile, and when there are many without a name
-- all of them again.
local function keep_names(self, trace, facts)
  self.known:learn(trace.core)
  local unnamed <const> = facts.unresolved - facts.guessed
  if facts.frames == 0 or unnamed <= MANY_UNNAMED * facts.frames
    or loop.now() < self.ask_at or not self.session:is_open() then
    return
  end
  learn(self)
  self.ask_at = loop.now() + self.ask_again
  self.ask_again = 2 * self.ask_again
end

-- A view that shares time out counts no frames; the one of samples does.
local function facts_of(trace, view, facts)
  if view ~= "oncpu" then return facts end
  local _, its = trace.core:profile { view = "samples", labels = false }
  return its
end

local function window_of(self, trace, view, duration)
  local profile, facts = trace.core:profile { view = view }
  if profile == nil then return nil, facts end
  facts = facts_of(trace, view, facts)
  local counts <const> = trace.core:counts()
  keep_names(self, trace, facts)
  return {
    view = view, profile = profile:set_view(view), duration_ns = duration,
    lost = counts.lost, events = counts.events, taken_at = os.time(),
    frames = facts.frames, unnamed = facts.unresolved - facts.guessed,
    threads = self.target.pid and proc.threads(self.target.pid) or {},
    ended = not self.session:is_open(),
  }
end

--- Ends the present interval and begins the next one.
-- @treturn ?table what happened: `view profile duration_ns taken_at` (Unix
--   time) `events lost frames unnamed threads` (of `proc.threads`) `ended` (the
--   process has, and there is no next one)
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Live:turn()
  local old <const>, view <const> = self.session, self.session_view
  local message, code, hint
  if old:is_open() then
    local started
    started, message, code, hint = start_session(self)
    if not started and old:is_open() and code ~= "no_endpoint" and code ~= "not_found" then
      old:stop()
      return nil, message, code, hint
    end
  end
  local trace, duration
  trace, duration, code, hint = finish(old)
  if trace == nil then return nil, duration, code, hint end
  return window_of(self, trace, view, duration)
end

--- Waits until the present interval is over, or the process has ended.
-- @treturn ?table as `turn` gives it
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Live:next()
  local _, message, code = self.session:wait {
    timeout = math.max(0, self:deadline() - loop.now()) }
  if code == "canceled" then return nil, message, code end
  return self:turn()
end

--- Ends looking.
-- @tparam ?table opts `timeout`
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Live:stop(opts)
  if not self.session:is_open() then return true end
  return self.session:stop(opts)
end

Live.__close = function(self) self:stop() end

function Live:__tostring()
  return ("live view of process %s: %s"):format(self.target.pid or "?", self.view)
end

return live
