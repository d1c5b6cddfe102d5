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

--- The names of all samples that policies look at.
-- @tparam {table,...} policies
-- @treturn table set of names
function replay.wanted(policies)
  local trigger <const> = require "sonde.policy.trigger"
  local wanted <const> = {}
  for _, policy in ipairs(policies) do
    for _, channel in ipairs(trigger.new(policy.trigger).channels) do wanted[channel] = true end
    for _, name in ipairs(policy.metrics) do wanted[name] = true end
  end
  return wanted
end

--- Replays rows.
-- @tparam {table,...} policies
-- @tparam function rows as `sonde.policy.timeline.rows` gives
-- @tparam function tell see `run`
-- @tparam ?table opts `clock` (see `engine.new`)
-- @treturn table `{ problems = {messages}, late = n }`
function replay.rows(policies, rows, tell, opts)
  local problems <const> = {}
  local decide <const> = new_engine(policies, tell, opts or {})
  feed_rows(decide, rows, problems)
  decide:finish()
  return { problems = problems, late = decide.late }
end

--- Replays a timeline of lines.
-- @tparam {table,...} policies as `sonde.policy.load` gives them
-- @tparam function lines gives a line at each call
-- @tparam string name of the timeline, for messages
-- @tparam function tell called with each decision: `{ policy, time_s, pid,
--   start, name, fired, reason, cost }`; those that did not fire say why not
-- @tparam ?table opts `clock` (see `engine.new`)
-- @treturn table `{ problems = {messages}, late = n }`
function replay.run(policies, lines, name, tell, opts)
  return replay.rows(policies, timeline.rows(lines, name), tell, opts)
end

local SQLITE <const> = "SQLite format 3\0"
local TRACES <const> = { "Nettrace", "\x1f\x8b" }

-- What a recording is, by its first bytes: the module that opens it, if any.
local function kind_of(path)
  if path:find "^clickhouse://" then return "sonde.policy.recorded_capture" end
  local file <const>, message <const> = io.open(path, "rb")
  if file == nil then return nil, message end
  local head <const> = file:read(#SQLITE) or ""
  file:close()
  if head == SQLITE then return "sonde.policy.recorded_capture" end
  for _, magic in ipairs(TRACES) do
    if head:sub(1, #magic) == magic then return "sonde.policy.recorded_trace" end
  end
  return false
end

local function replay_lines(policies, path, tell)
  local file <close>, message <const> = io.open(path, "rb")
  if file == nil then return nil, message, "not_found" end
  return replay.run(policies, file:lines(), path, tell)
end

--- Replays a recording: a timeline, a trace, or a store of captures.
-- @tparam {table,...} policies
-- @tparam string path
-- @tparam function tell see `run`
-- @treturn ?table see `run`
-- @treturn ?string message
-- @treturn ?string code
function replay.open(policies, path, tell)
  local kind <const>, missing <const> = kind_of(path)
  if kind == nil then return nil, missing, "not_found" end
  if kind == false then return replay_lines(policies, path, tell) end
  local rows, facts, code = require(kind).open(path, replay.wanted(policies))
  if rows == nil then return nil, facts, code end
  local _ <close> = setmetatable({}, { __close = facts.close or function() end })
  local outcome <const> = replay.rows(policies, rows, tell,
    { clock = { wall_offset = facts.wall_offset, is_local = false } })
  table.insert(outcome.problems, facts.problem)
  return outcome
end

return replay
