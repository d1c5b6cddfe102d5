--- Watches processes with policies: as they come and go, one apart from the
-- other.
-- @module sonde.policy.watch
local act <const> = require "sonde.policy.act"
local artifacts <const> = require "sonde.policy.artifacts"
local attach <const> = require "sonde.policy.attach"
local ends <const> = require "sonde.policy.ends"
local engine <const> = require "sonde.policy.engine"
local facts <const> = require "sonde.policy.facts"
local glance <const> = require "sonde.policy.glance"
local loop <const> = require "sonde.base.loop"
local presence <const> = require "sonde.policy.presence"
local uv <const> = require "sonde.base.uv"

local watch = {}

local SECOND <const> = 1000000000

-- How long actions that still run are waited for at the end.
local LAST_ACTIONS <const> = 60 * SECOND

local Watch <const> = {}
Watch.__index = Watch

local function interval_of(policies)
  local least = math.huge
  for _, policy in ipairs(policies) do least = math.min(least, policy.interval) end
  return math.tointeger(least)
end

local function unix_ns()
  local seconds, micros = uv.gettimeofday()
  return seconds * SECOND + micros * 1000
end

-- Time that only goes on: a clock that is put back or forth moves what is due by
-- the clock, and neither the samples nor the cooldowns.
local function steady_ns(self)
  return self.began + (loop.now() - self.began_steady)
end

-- How many targets a policy acts for.
local function n_acting(self, policy)
  local n = 0
  for _, one in pairs(self.acting) do
    if one.policy == policy then n = n + 1 end
  end
  return n
end

local function may_act(self, policy, key)
  if self.acting[policy.name .. " " .. key] then
    return false, "its actions for this process still run"
  end
  if n_acting(self, policy) >= policy.limits.concurrency then
    return false, ("its actions run for %d process%s, the limit"):format(
      policy.limits.concurrency, policy.limits.concurrency == 1 and "" or "es")
  end
  return true
end

local function folder_of(self, policy)
  local known <const> = self.folders[policy.name] or artifacts.folder(self.directory, policy)
  self.folders[policy.name], known.limits = known, policy.limits
  return known
end

local function run_actions(self, firing, id)
  local known <const> = self.attached[firing.key]
  local _ <close> = setmetatable({}, { __close = function() self.acting[id] = nil end })
  local done, message, code = act.run(firing, { folder = folder_of(self, firing.policy),
    ring = known and known.attachment and known.attachment.rings[firing.policy],
    say = function(text) self.say { kind = "log", firing = firing, text = text } end })
  self.say { kind = "acted", firing = firing, results = done.results, removed = done.removed,
    message = message, code = code }
end

-- Runs in whatever called us; what takes time is a task.
local function decided(self, decision)
  local known <const> = self.attached[decision.key]
  local firing <const> = { policy = decision.policy, pid = decision.pid, start = decision.start,
    name = decision.name, reason = decision.reason, fired = decision.fired, key = decision.key,
    is_target = decision.is_target,
    at = (decision.time + self.clock.wall_offset) // SECOND, facts = known and known.facts or {} }
  if not decision.fired then return self.say { kind = "not", firing = firing } end
  self.n_fired = self.n_fired + 1
  self.has_news = true
  self.say { kind = "fired", firing = firing }
  if #firing.policy.actions == 0 and firing.policy.actions.call == nil then return end
  local id <const> = ("%s %s"):format(decision.policy.name, decision.key)
  self.acting[id] = { policy = decision.policy, task = loop.task(run_actions, self, firing, id) }
end

local function new_engine(self)
  return engine.new {
    policies = self.policies, clock = self.clock, saved = self.saved,
    tell = function(decision) decided(self, decision) end,
    may_act = function(policy, key) return may_act(self, policy, key) end,
    fails = function(policy, message)
      policy.stopped = message
      self.say { kind = "stopped", policy = policy, text = message }
    end,
  }
end

-- Samples that came in the same round have the round's time: a run of samples
-- must not depend on how fast we are.
local function feeder(self, known)
  return function(name, value)
    local time <const> = known.attachment and math.max(self.at, known.last or 0) or self.at
    known.last = time
    if name == "cpu" then known.cpu_told = value end
    if self.record then self.record(time, known.facts, name, value) end
    self.engine:feed(known.key, time, name, value)
  end
end

-- Listens to what the policies of a process want.
local function listen(self, known)
  local wanted <const>, policies <const> = self.engine:wants(known.key)
  known.is_watched = #policies > 0
  if not known.is_watched then return end
  facts.complete(known.facts)
  known.feed, known.threshold = feeder(self, known), glance.threshold(policies)
  known.attachment = attach.new(known.facts, wanted, known.feed, {
    policies = policies, interval = self.interval,
    -- What it used before we came says nothing of now.
    since = known.has_come and known.since or nil,
    trouble = function(text) self.say { kind = "trouble", facts = known.facts, text = text } end,
  })
  self.say { kind = "target", facts = known.facts, policies = policies }
end

local function fall_silent(known)
  if known.attachment then known.attachment:close() end
  known.attachment, known.feed, known.is_watched, known.threshold = nil, nil, false, nil
end

local function begin(self, known)
  known.key = self.engine:add(known.facts, self.at)
  listen(self, known)
end

local function arrived(self, known)
  known.has_come = not self.is_first
  self.attached[engine.key(known.pid, known.start)] = known
  if not self.select(known.facts) then return end
  begin(self, known)
  if known.feed and not self.is_first then known.feed("start", true) end
end

local function left(self, known)
  self.attached[engine.key(known.pid, known.start)] = nil
  if known.key == nil then return end
  if known.feed then
    known.feed("exit", known.status or "unknown")
    fall_silent(known)
    self.say { kind = "gone", facts = known.facts }
  end
  self.engine:remove(known.key)
end

-- Another program runs in the process, or its runtime has begun: other policies may
-- be about it now.
local function changed(self, known)
  local is_selected <const> = self.select(known.facts)
  if known.key == nil then
    if is_selected then arrived(self, known) end
  elseif not is_selected then
    fall_silent(known)
    self.engine:remove(known.key)
    known.key = nil
  else
    local fresh <const> = self.engine:review(known.key, known.facts, self.at)
    if fresh == nil then return end
    fall_silent(known)
    listen(self, known)
    self.engine:start(known.key, fresh, self.at)
  end
end

-- Whoever cannot hear of what a policy waits for says so.
local function hear_ends(self)
  if self.ends then return end
  local warnings
  self.ends, warnings = ends.listen(self.policies)
  for _, one in ipairs(warnings) do
    self.say { kind = "trouble", policy = one.policy, text = one.text }
  end
end

--- Gets ready to watch.
-- @tparam table opts `policies`; `select` (called with facts: is it to be
--   watched?), `directory` of artifacts, `say` (called with what happens: `{ kind,
--   firing | policy | facts, text, … }`, kinds `fired not acted log stopped
--   target gone trouble`), `saved` (of `watch:save`), `record` (called with
--   each sample: time, facts, name, value)
-- @treturn Watch
function watch.new(opts)
  local self <const> = setmetatable({
    policies = opts.policies, select = opts.select or function() return true end,
    directory = opts.directory, say = opts.say, saved = opts.saved or {}, record = opts.record,
    attached = {}, acting = {}, folders = {}, n_fired = 0, is_first = true,
    has_news = false, threshold = glance.threshold(opts.policies),
    interval = interval_of(opts.policies), ended = loop.event(), began = unix_ns(),
    began_steady = loop.now(), clock = { wall_offset = 0, is_local = true },
  }, Watch)
  self.engine = new_engine(self)
  self.presence = presence.new {
    arrived = function(known) arrived(self, known) end,
    changed = function(known) changed(self, known) end,
    left = function(known) left(self, known) end,
  }
  hear_ends(self)
  return self
end

-- The time of a round: that for which it was planned, unless it is far from it,
-- so that ten rounds of a second are ten seconds, however late each began.
local function round_time(self)
  local now <const>, planned <const> = steady_ns(self), (self.time or 0) + self.interval
  self.clock.wall_offset = unix_ns() - now
  return math.abs(now - planned) < self.interval // 2 and planned or now
end

-- A round: who is there, what they say, what follows.
local function round(self)
  self.time = round_time(self)
  self.at = self.time
  local read_at <const> = steady_ns(self)
  if self.ends then self.presence:ended((self.ends:take()) or {}) end
  self.presence:look(read_at)
  self.is_first = false
  for _, known in pairs(self.attached) do
    if known.attachment then
      known.attachment:poll(self.time, known.stat, read_at)
      self.engine:tick(known.key, self.time)
    end
  end
end

-- Between two rounds: what fires at once need not wait for the next.
local function look_between(self)
  self.at = steady_ns(self)
  self.presence:look_for_new(self.at)
  for _, known in pairs(self.attached) do
    if known.threshold and known.attachment and glance.is_busy(known, self.at) then
      local stat <const> = self.presence:stat(known)
      if stat then known.attachment:early(self.at, stat) end
    end
  end
end

-- Waits for the next round, and glances meanwhile.
local function wait_for(self, time, each)
  while self.threshold and not self.ended:is_set() and loop.after(glance.EVERY * 3 // 2) < time do
    if self.ended:wait(loop.after(glance.EVERY)) then return end
    look_between(self)
    if each and self.has_news then each(self) end
  end
  self.ended:wait(time)
end

--- A signal came, for policies that wait for it.
-- @tparam string name
function Watch:signal(name)
  for _, known in pairs(self.attached) do
    if known.feed then known.feed("signal", name) end
  end
end

--- Watches until it is stopped.
-- @tparam ?integer deadline a time of the loop
-- @tparam ?function each called after every round
function Watch:run(deadline, each)
  local next_round = loop.now()
  while not self.ended:is_set() and (deadline == nil or loop.now() < deadline) do
    round(self)
    if each then each(self) end
    -- Rounds that are late are left out, not made up for.
    next_round = math.max(next_round + self.interval, loop.now())
    wait_for(self, math.min(next_round, deadline or next_round), each)
  end
end

--- Stops watching, at the end of the round.
function Watch:stop()
  self.ended:set()
end

--- Waits for actions that still run, and lets go of the targets.
-- @tparam ?integer timeout nanoseconds
function Watch:close(timeout)
  local deadline <const> = loop.after(timeout or LAST_ACTIONS)
  for _, one in pairs(self.acting) do one.task:join(deadline) end
  for _, known in pairs(self.attached) do
    if known.attachment then known.attachment:close() end
  end
  if self.ends then self.ends:close() end
  self.presence:close()
  -- What was closed says good-bye in tasks.
  loop.sleep(SECOND // 5)
end

--- Watches with other policies from now on. Counts and cooldowns stay.
-- @tparam {table,...} policies
function Watch:reload(policies)
  self.saved = self.engine:save()
  self.policies, self.interval = policies, interval_of(policies)
  self.engine = new_engine(self)
  self.time = steady_ns(self)
  self.at, self.threshold = self.time, glance.threshold(policies)
  hear_ends(self)
  for _, known in pairs(self.attached) do
    fall_silent(known)
    known.key = nil
    if self.select(known.facts) then begin(self, known) end
  end
end

--- Has it fired since this was asked last?
-- @treturn boolean
function Watch:take_news()
  local news <const> = self.has_news
  self.has_news = false
  return news
end

--- What has to be remembered over a restart.
-- @treturn table plain
function Watch:save()
  if not self.is_first then self.engine:forget_gone() end   -- who is here is known
  return self.engine:save()
end

--- How it stands.
-- @treturn table `since targets fired acting policies` (each `name summary
--   stopped targets`)
function Watch:status()
  local n, by_policy = 0, {}
  for key, known in pairs(self.attached) do
    if known.attachment then
      n = n + 1
      local _, policies = self.engine:wants(key)
      for _, policy in ipairs(policies) do by_policy[policy] = (by_policy[policy] or 0) + 1 end
    end
  end
  local policies, acting = {}, 0
  for i, policy in ipairs(self.policies) do
    policies[i] = { name = policy.name, summary = policy.summary, stopped = policy.stopped,
      targets = by_policy[policy] or 0 }
  end
  for _ in pairs(self.acting) do acting = acting + 1 end
  return { since = self.began // SECOND, targets = n, fired = self.n_fired, acting = acting,
    policies = policies }
end

return watch
