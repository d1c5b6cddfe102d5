--- Decides: policies, targets and samples in, firings out.
-- It knows neither processes nor the clock: time is what the samples say, so
-- watching and replaying run the same code. Each target's samples come in the
-- order of time; one that comes late is counted and left out.
-- @module sonde.policy.engine
local errors <const> = require "sonde.base.errors"
local limits <const> = require "sonde.policy.limits"
local targets <const> = require "sonde.policy.targets"
local trigger <const> = require "sonde.policy.trigger"
local units <const> = require "sonde.base.units"

local engine = {}

local Engine <const> = {}
Engine.__index = Engine

--- A new engine.
-- @tparam table opts
--   `policies` (as `sonde.policy.load` gives them), `tell` (called with every
--   decision: `{ policy, time, pid, start, name, fired, reason, is_target }`),
--   `is_recorded` (facts of targets may be missing), `clock` (`wall_offset`
--   nanoseconds from a sample's time to Unix time, `is_local`), `saved` (what
--   `engine:save` gave), `fails` (called with policy and message when a
--   function of a policy fails), `may_act` (called with policy and key: true, or
--   false and why not)
-- @treturn Engine
function engine.new(opts)
  local self <const> = setmetatable({
    policies = opts.policies, tell = opts.tell, is_recorded = opts.is_recorded or false,
    clock = opts.clock or { wall_offset = 0, is_local = false }, targets = {}, late = 0,
    fails = opts.fails or function(policy, message) policy.stopped = message end,
    saved = opts.saved or {}, accounts = {}, may_act = opts.may_act, shared = {},
  }, Engine)
  for _, policy in ipairs(self.policies) do
    local kept <const> = self.saved[policy.name]
    self.accounts[policy] = limits.account(policy.limits, kept and kept.all)
  end
  return self
end

local function say(self, target, rule, time, fired, reason)
  self.tell { policy = rule.policy, time = time, pid = target.facts.pid,
    start = target.facts.start, name = target.facts.name, fired = fired, reason = reason,
    key = target.key, is_target = rule.instance ~= nil }
end

-- Calls a part of a policy: it may be its writer's function, or a pattern that
-- takes too long on a text that somebody else wrote.
local function guarded(self, policy, fn, a, b, c, d)
  local done <const>, first <const>, second <const> = errors.pcall(fn, a, b, c, d)
  if done then return first, second end
  if errors.is_failure(first) then return self.fails(policy, first.message) end
  self.fails(policy, tostring(first))
end

local function subscribe(target, rule)
  for _, channel in ipairs(rule.instance.channels) do
    local list <const> = target.by_channel[channel] or {}
    target.by_channel[channel] = list
    list[#list + 1] = rule
  end
  if rule.instance.is_timed then target.timed[#target.timed + 1] = rule end
  if rule.instance.is_called then target.called[#target.called + 1] = rule end
end

-- What processes of one name do together: of one that crashes again and again
-- each is another process.
local function shared_by_name(self, policy, name)
  local of_policy <const> = self.shared[policy] or {}
  self.shared[policy] = of_policy
  local key <const> = "name:" .. name
  local kept <const> = self.saved[policy.name]
  local one <const> = of_policy[name] or { instance = trigger.new(policy.trigger),
    account = limits.account(policy.limits, kept and kept[key]) }
  of_policy[name] = one
  return one.instance, one.account, key
end

local function add_rule(self, target, policy, time)
  local rule <const> = { policy = policy, fired = 0, refused = nil }
  if policy.stopped then return end
  local fits, why = guarded(self, policy, targets.judge, policy.targets, target.facts,
    self.is_recorded)
  if not fits then
    if why then say(self, target, rule, time, false, "no target: " .. why) end
    return
  end
  local kept <const> = self.saved[policy.name]
  if policy.per == "name" then
    rule.instance, rule.account, rule.saved_as = shared_by_name(self, policy, target.facts.name)
  else
    rule.instance = trigger.new(policy.trigger)
    rule.account = limits.account(policy.limits, kept and kept[target.key])
    rule.saved_as = target.key
  end
  target.rules[#target.rules + 1] = rule
  subscribe(target, rule)
  return rule
end

--- The key of a process.
-- @tparam integer pid
-- @tparam integer start its start time
-- @treturn string
function engine.key(pid, start)
  return ("%d:%d"):format(pid, start)
end

--- A target came.
-- @tparam table facts `pid start name …`
-- @tparam integer time
-- @treturn string its key
function Engine:add(facts, time)
  local key <const> = engine.key(facts.pid, facts.start)
  if self.targets[key] then return key end
  local target <const> = { key = key, facts = facts, rules = {}, by_channel = {}, timed = {},
    called = {}, latest = {} }
  self.targets[key] = target
  for _, policy in ipairs(self.policies) do add_rule(self, target, policy, time) end
  return key
end

-- Told once for each limit, not at every sample.
local function refuse(self, target, rule, time, why, against)
  if rule.refused == against then return end
  rule.refused = against
  say(self, target, rule, time, false, ("%s; but %s"):format((why:gsub("; now .*$", "")), against))
end

local function fire(self, target, rule, time, why)
  local all <const> = self.accounts[rule.policy]
  local allowed, against = rule.account:allows(time)
  if allowed then allowed, against = all:allows_any(time, self.clock) end
  if allowed and self.may_act then allowed, against = self.may_act(rule.policy, target.key) end
  if not allowed then return refuse(self, target, rule, time, why, against) end
  rule.account:count(time)
  all:count(time)
  rule.instance:fired(time)
  rule.fired, rule.refused = rule.fired + 1, nil
  say(self, target, rule, time, true, why)
end

local function conclude(self, target, rule, time, outcome, why)
  if outcome == "fires" then
    fire(self, target, rule, time, why)
  elseif outcome == "not" then
    rule.refused = nil
    say(self, target, rule, time, false, why)
  end
end

-- A policy that failed is stopped, and no other. What holds nothing of its writer's
-- (`is_plain`) cannot fail.
local function step(self, target, rule, time, method, value, channel)
  if rule.policy.stopped then return end
  local instance <const> = rule.instance
  local call <const> = instance[method]
  local outcome, why
  if instance.is_plain then
    outcome, why = call(instance, time, value, channel)
  else
    outcome, why = guarded(self, rule.policy, call, instance, time, value, channel)
  end
  if outcome then conclude(self, target, rule, time, outcome, why) end
end

-- All samples of an instant have come: what is asked by functions is asked.
local function end_round(self, target)
  if #target.called == 0 or target.time == nil then return end
  local facts <const> = setmetatable({ time_s = target.time / 1e9 }, { __index = target.facts })
  for name, value in pairs(target.facts) do
    if type(value) ~= "function" then facts[name] = value end
  end
  for name, value in pairs(target.latest) do facts[name] = value end
  setmetatable(facts, nil)
  for _, rule in ipairs(target.called) do
    step(self, target, rule, target.time, "round", facts)
  end
end

local function advance(self, target, time)
  end_round(self, target)
  target.time = time
  for _, rule in ipairs(target.timed) do step(self, target, rule, time, "tick", self.clock) end
end

--- A sample came.
-- @tparam string key of `add`
-- @tparam integer time nanoseconds
-- @tparam string channel what it is of: a metric, or something that happened
-- @param value
function Engine:feed(key, time, channel, value)
  local target <const> = self.targets[key]
  if target.time ~= time then
    if target.time and time < target.time then
      self.late = self.late + 1
      return
    end
    advance(self, target, time)
  end
  if #target.called > 0 then target.latest[channel] = value end
  local rules <const> = target.by_channel[channel]
  if rules == nil then return end
  for i = 1, #rules do step(self, target, rules[i], time, "feed", value, channel) end
end

--- Time went on for a target without a sample.
-- @tparam string key
-- @tparam integer time
function Engine:tick(key, time)
  local target <const> = self.targets[key]
  if target.time == nil or time > target.time then advance(self, target, time) end
end

local function conclude_all(self, target)
  end_round(self, target)
  for _, rule in ipairs(target.rules) do
    if rule.policy.stopped then
      say(self, target, rule, target.time or 0, false, "the policy is stopped: "
        .. rule.policy.stopped)
    else
      local times <const> = rule.fired == 0 and "it never fired"
        or "it fired " .. units.several(rule.fired, "time")
      say(self, target, rule, target.time or 0, false, ("%s; %s"):format(times,
        rule.instance:state()))
    end
  end
end

-- Firings that are to be remembered for as long as there is whom they are about.
local function keep(self, rule)
  local saved <const> = self.saved[rule.policy.name] or {}
  self.saved[rule.policy.name] = saved
  if rule.fired > 0 then saved[rule.saved_as] = rule.account:save() end
  return saved
end

-- Does a rule stay when a target's facts have changed? `before` is its old name.
local function stays(self, target, rule, before)
  local policy <const> = rule.policy
  if policy.stopped or policy.per == "name" and target.facts.name ~= before then return false end
  return guarded(self, policy, targets.judge, policy.targets, target.facts, self.is_recorded)
end

--- A target has become another: it runs another program, or more is known of it.
-- @tparam string key
-- @tparam table facts
-- @tparam integer time
-- @treturn ?table when other policies are about it than before: the new ones, for
--   `engine:start`
function Engine:review(key, facts, time)
  local target <const> = self.targets[key]
  local before <const>, old_rules <const> = target.facts.name, target.rules
  local stay, fresh, n = {}, {}, 0
  target.facts, target.rules = facts, {}
  target.by_channel, target.timed, target.called = {}, {}, {}
  for _, rule in ipairs(old_rules) do
    if stays(self, target, rule, before) then
      stay[rule.policy], n = rule, n + 1
      target.rules[n] = rule
      subscribe(target, rule)
    else
      keep(self, rule)[key] = nil
    end
  end
  for _, policy in ipairs(self.policies) do
    fresh[#fresh + 1] = not stay[policy] and add_rule(self, target, policy, time) or nil
  end
  return (#fresh > 0 or n < #old_rules) and fresh or nil
end

--- What `engine:review` gave sees the target start.
-- @tparam string key
-- @tparam table fresh
-- @tparam integer time
function Engine:start(key, fresh, time)
  for _, rule in ipairs(fresh) do
    for _, channel in ipairs(rule.instance.channels) do
      if channel == "start" then
        step(self, self.targets[key], rule, time, "feed", true, "start")
      end
    end
  end
end

--- A target is gone: its process has ended, and none has its key again. Of a
-- recorded one it is told how near it was.
-- @tparam string key
function Engine:remove(key)
  local target <const> = self.targets[key]
  if target == nil then return end
  if self.is_recorded then conclude_all(self, target) else end_round(self, target) end
  self.targets[key] = nil
  for _, rule in ipairs(target.rules) do keep(self, rule)[key] = nil end
end

--- The end: every target is told of once more, with how near it was.
function Engine:finish()
  local keys = {}
  for key in pairs(self.targets) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do conclude_all(self, self.targets[key]) end
end

--- What a target's policies want to be told.
-- @tparam string key
-- @treturn table by name, how often: the least interval of the policies that want it,
--   nanoseconds. Of a function of its trigger what the policy's `metrics` names
-- @treturn {table,...} the policies that are about it
function Engine:wants(key)
  local wanted, policies = {}, {}
  for _, rule in ipairs(self.targets[key].rules) do
    local policy <const> = rule.policy
    policies[#policies + 1] = policy
    local function want(name)
      wanted[name] = math.min(wanted[name] or math.maxinteger, policy.interval)
    end
    for _, channel in ipairs(rule.instance.channels) do want(channel) end
    for _, name in ipairs(policy.metrics) do want(name) end
  end
  return wanted, policies
end

--- What has to be remembered over a restart: by policy and target the times of
-- firings.
-- @treturn table plain
function Engine:save()
  for _, policy in ipairs(self.policies) do
    local saved <const> = self.saved[policy.name] or {}
    self.saved[policy.name] = saved
    saved.all = self.accounts[policy]:save()
  end
  for _, target in pairs(self.targets) do
    for _, rule in ipairs(target.rules) do keep(self, rule) end
  end
  return self.saved
end

--- Forgets what was saved of targets that are not here.
function Engine:forget_gone()
  for _, saved in pairs(self.saved) do
    for key in pairs(saved) do
      if key:find "^%d" and self.targets[key] == nil then saved[key] = nil end
    end
  end
end

return engine
