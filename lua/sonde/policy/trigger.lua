--- Triggers: what a policy waits for.
-- A kind is chosen by the field that names it: `{ metric = … }`,
-- `{ exception = … }`, `{ every = … }`. An instance waits in one target: it has
-- `channels` (names of samples that it wants), `feed`, `fired`, `state`,
-- `holding` when it is of a state and not of an instant, and, when it is asked
-- by time, `tick` (`is_timed`) or `round` (`is_called`).
-- @module sonde.policy.trigger
local options <const> = require "sonde.base.options"

local trigger = {}

-- In one policy. Each is an object in each target.
local MOST <const> = 100

local kinds

local function load_kinds()
  kinds = { (require "sonde.policy.trigger.metric") }
  for _, name in ipairs { "occurrence", "moment", "combined" } do
    for _, kind in ipairs(require("sonde.policy.trigger." .. name).triggers()) do
      kinds[#kinds + 1] = kind
    end
  end
end

--- All kinds.
-- @treturn {table,...} `key summary`
function trigger.kinds()
  if kinds == nil then load_kinds() end
  return kinds
end

-- The word that was most likely meant to name a kind, and that kind.
local function guess(given)
  local keys = {}
  for i, kind in ipairs(kinds) do keys[i] = kind.key end
  for name in pairs(given) do
    local near <const> = options.suggest(tostring(name), keys)
    if near then return tostring(name), near end
  end
  return nil, table.concat(keys, ", ")
end

-- `{ exit = …, within = … }`: the key of one kind is there.
local function kind_of(given, where, problems)
  trigger.kinds()
  for _, kind in ipairs(kinds) do
    if given[kind.key] ~= nil then return kind end
  end
  local word <const>, near <const> = guess(given)
  problems:add(where, word and ("'%s' is no trigger (did you mean '%s'?)"):format(word, near)
    or "names no trigger: one of " .. near, word)
end

--- Checks a trigger.
-- @param given the part of the policy; a function is asked at every instant
-- @tparam string where
-- @tparam table problems see `sonde.policy.check`
-- @tparam table policy with `interval`, nanoseconds
-- @treturn ?table what `new` and `explain` take
function trigger.check(given, where, problems, policy)
  if type(given) == "function" then
    return { of = require("sonde.policy.trigger.call"), spec = { call = given } }
  end
  if type(given) ~= "table" then
    problems:add(where, ("must be a table or a function, not a %s"):format(type(given)))
    return nil
  end
  policy.n_triggers = (policy.n_triggers or 0) + 1
  if policy.n_triggers > MOST then
    if policy.n_triggers == MOST + 1 then
      problems:add(where, ("is one of more than %d triggers"):format(MOST))
    end
    return nil
  end
  local kind <const> = kind_of(given, where, problems)
  if kind == nil then return nil end
  return { of = kind, spec = kind.check(given, where, problems, policy) }
end

--- Says what a trigger waits for.
-- @tparam table checked
-- @treturn string
function trigger.explain(checked)
  return checked.of.explain(checked.spec)
end

--- Visits a trigger and the triggers in it.
-- @tparam table checked
-- @tparam function visit
function trigger.each(checked, visit)
  visit(checked)
  for _, part in ipairs(checked.spec.parts or {}) do trigger.each(part, visit) end
end

--- Waits in one target.
-- @tparam table checked
-- @treturn table an instance
function trigger.new(checked)
  return checked.of.new(checked.spec)
end

return trigger
