--- Actions: what a policy does when it fires, in its order.
-- Each is a table with one field that names it. `on_failure = "stop"` (the rest is
-- left out; the default) or `"go_on"`; `as = "x"` keeps the result, which later
-- actions use as `%{x}`.
-- @module sonde.policy.action
local check <const> = require "sonde.policy.check"
local options <const> = require "sonde.base.options"

local action = {}

local COMMON <const> = {
  { name = "on_failure", type = "string", choices = { "stop", "go_on" }, default = "stop",
    help = "what a failure means for the actions after it" },
  { name = "as", type = "string", help = "keep the result under this name" },
}

--- The names of actions; each is a file of `sonde.policy.actions`.
action.NAMES = { "record", "checkpoint", "dump", "core", "counters", "run", "write", "move", "post",
  "push", "log" }

local is_known <const> = {}
for _, name in ipairs(action.NAMES) do is_known[name] = true end

local function module_of(name)
  return require("sonde.policy.actions." .. name)
end

local function unknown(given, where, problems)
  local names = {}
  for name in pairs(given) do names[#names + 1] = tostring(name) end
  table.sort(names)
  local near <const> = names[1] and options.suggest(names[1], action.NAMES)
  problems:add(where, near and ("'%s' is no action (did you mean '%s'?)"):format(names[1], near)
    or "names no action: one of " .. table.concat(action.NAMES, ", "), names[1])
end

-- `{ record = { … }, as = "trace" }`: one action, and what all of them have.
local function split(given)
  local rest, name = {}, nil
  for key, value in pairs(given) do
    if is_known[key] then name = key else rest[key] = value end
  end
  return name, rest
end

local function check_one(given, where, problems)
  if type(given) == "function" then return { call = given, on_failure = "stop" } end
  if type(given) ~= "table" then
    problems:add(where, ("must be a table or a function, not a %s"):format(type(given)))
    return nil
  end
  local name <const>, rest <const> = split(given)
  if name == nil then return unknown(given, where, problems) end
  local checked <const> = check.fields(COMMON, rest, where, problems)
  checked.name, checked.module = name, module_of(name)
  local at <const> = ("%s.%s"):format(where, name)
  local spec = given[name]
  local short <const> = checked.module.short
  if type(spec) == "string" and short then spec = { [short] = spec } end
  checked.spec = check.fields(checked.module.fields, spec, at, problems)
  if checked.module.check then checked.module.check(checked.spec, at, problems) end
  return checked
end

--- Checks the actions of a policy.
-- @param given a list; a function that returns one is asked when the policy fires
-- @tparam string where
-- @tparam table problems
-- @treturn table what `explain_all` and `sonde.policy.act` take
function action.check_all(given, where, problems)
  if type(given) == "function" then return { call = given } end
  local list = {}
  if given ~= nil and type(given) ~= "table" then
    problems:add(where, ("must be a list, not a %s"):format(type(given)))
    return list
  end
  for i, one in ipairs(given or {}) do
    list[i] = check_one(one, ("%s[%d]"):format(where, i), problems)
  end
  if given and #given == 0 and next(given) ~= nil then
    problems:add(where, "must be a list: { { record = { … } } }")
  end
  return list
end

--- Says what the actions do.
-- @tparam table actions
-- @treturn {string,...}
function action.explain_all(actions)
  if actions.call then return { "what its function says then" } end
  if #actions == 0 then return { "nothing: it only tells that it fired" } end
  local list = {}
  for i, one in ipairs(actions) do
    local text = one.call and "call its function" or one.module.explain(one.spec)
    if one.on_failure == "go_on" then text = text .. "; a failure of it does not matter" end
    list[i] = #actions > 1 and ("%d. %s"):format(i, text) or text
  end
  return list
end

--- What one firing costs at most, as far as it can be said beforehand.
-- @tparam table actions
-- @treturn table `bytes` (most that is written), `duration_ns`
function action.cost_of(actions)
  local bytes, duration = 0, 0
  for _, one in ipairs(actions) do
    local cost <const> = one.module and one.module.cost and one.module.cost(one.spec) or {}
    bytes = bytes + (cost.bytes or 0)
    duration = duration + (cost.duration_ns or 0)
  end
  return { bytes = bytes, duration_ns = duration }
end

return action
