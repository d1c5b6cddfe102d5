--- Tries policies on what was recorded: the same decisions as live, with the
-- recording's own clock, and without any action.
-- @module sonde.policy.replay
local action <const> = require "sonde.policy.action"
local engine <const> = require "sonde.policy.engine"
local timeline <const> = require "sonde.policy.timeline"

local replay = {}

local function decision_of(told)
  return {
    policy = told.policy.name, time_s = told.time / 1e9, pid = told.pid, start = told.start,
    name = told.name, fired = told.fired, reason = told.reason,
    cost = told.fired and action.cost_of(told.policy.actions) or nil,
  }
end

local function new_engine(policies, decisions, opts)
  return engine.new {
    policies = policies, is_recorded = true, clock = opts.clock, saved = opts.saved,
    tell = function(told) decisions(decision_of(told)) end,
  }
end

-- Feeds all rows. The name is part of a target: an `exec` makes another one.
local function feed_rows(decide, rows, problems)
  local known <const> = {}
  local time, pid, start, name, metric, value = rows(problems)
  while time do
    local at <const> = known[pid]
    local key
    if at and at.start == start then
      key = at.key
    else
      -- The same pid with another start time is another process.
      if at then decide:remove(at.key) end
      key = decide:add({ pid = pid, start = start, name = name }, time)
      known[pid] = { start = start, key = key }
    end
    decide:feed(key, time, metric, value)
    time, pid, start, name, metric, value = rows(problems)
  end
end

--- Replays a timeline.
-- @tparam {table,...} policies as `sonde.policy.load` gives them
-- @tparam function lines gives a line at each call
-- @tparam string name of the timeline, for messages
-- @tparam function tell called with each decision: `{ policy, time_s, pid,
--   start, name, fired, reason, cost }`; those that did not fire say why not
-- @tparam ?table opts `clock` (see `engine.new`)
-- @treturn table `{ problems = {messages}, late = n }`
function replay.run(policies, lines, name, tell, opts)
  local problems <const> = {}
  local decide <const> = new_engine(policies, tell, opts or {})
  feed_rows(decide, timeline.rows(lines, name), problems)
  decide:finish()
  return { problems = problems, late = decide.late }
end

return replay
