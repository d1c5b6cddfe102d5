--- Says in plain words what a policy would do.
-- @module sonde.policy.explain
local errors <const> = require "sonde.base.errors"
local action <const> = require "sonde.policy.action"
local limits <const> = require "sonde.policy.limits"
local targets <const> = require "sonde.policy.targets"
local trigger <const> = require "sonde.policy.trigger"
local words <const> = require "sonde.policy.words"

local explain = {}

local function add(lines, title, list)
  for i, text in ipairs(list) do
    lines[#lines + 1] = ("%-8s %s"):format(i == 1 and title or "", text)
  end
end

local function args_of(policy)
  local list = {}
  for name, value in pairs(policy.args) do
    list[#list + 1] = ("%s = %s"):format(name, value == "" and '""' or tostring(value))
  end
  table.sort(list)
  return list
end

--- The words.
-- @tparam table policy
-- @treturn {string,...} lines
function explain.lines(policy)
  local lines <const> = { ("%s: %s"):format(policy.name, policy.summary) }
  add(lines, "args", args_of(policy))
  add(lines, "who", { targets.explain(policy.targets) })
  add(lines, "when", { ("%s; looked at every %s"):format(trigger.explain(policy.trigger),
    words.duration(policy.interval)) })
  add(lines, "what", action.explain_all(policy.actions))
  add(lines, "limits", limits.explain(policy.limits))
  return lines
end

--- Which of some processes a policy is about.
-- @tparam table policy
-- @tparam {table,...} rows facts of processes
-- @treturn {table,...} `{ row, fits, why }`
function explain.matches(policy, rows)
  local list = {}
  for i, row in ipairs(rows) do
    local done <const>, fits <const>, why <const> = errors.pcall(targets.judge, policy.targets,
      row, false)
    list[i] = { row = row, fits = done and fits or false, why = done and why or fits }
  end
  return list
end

return explain
