--- Runs the actions of a policy that fired, one after the other.
-- @module sonde.policy.act
local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"
local fill <const> = require "sonde.policy.fill"
local json <const> = require "sonde.base.json"

local act = {}

local DAY <const> = 86400

-- "api_4242_20260101_020304"
local function base_name(firing)
  return fill.file_name(("%s_%d_%s"):format(firing.name or "process", firing.pid,
    os.date("!%Y%m%d_%H%M%S", firing.at)))
end

local function new_context(firing, world)
  local base <const> = base_name(firing)
  local context = {
    facts = firing.facts, ring = world.ring, max_cost = firing.policy.limits.cost / 100,
    name = function(extension) return base .. extension end,
    place = function(name) return world.folder:place(name) end,
    target = function() return require("sonde.targets").open(firing.pid) end,
    say = world.say,
    values = { pid = firing.pid, name = firing.name, start = firing.start, reason = firing.reason,
      policy = firing.policy.name, time = os.date("!%Y-%m-%dT%H:%M:%SZ", firing.at) },
  }
  return context
end

-- A function in an action's place does nothing itself: it says what is to be
-- done, in the sandbox it came from.
local function resolve(one, context)
  if one.call == nil then return one end
  local check <const> = require "sonde.policy.check"
  local problems <const> = check.problems()
  local list <const> = require("sonde.policy.action").check_all({ (one.call(context.values)) },
    "actions", problems)
  if #problems.list > 0 then
    return nil, ("%s %s"):format(problems.list[1].where, problems.list[1].message), "malformed"
  end
  return list[1]
end

-- What others wrote, such as a line of a log or a process's own title, is no part
-- of a path: a name with "../" in it would lead out of the folder.
local function values_for_paths(values)
  local safe <const> = {}
  for name, value in pairs(values) do safe[name] = value end
  safe.name, safe.reason = fill.file_name(values.name or ""), fill.file_name(values.reason or "")
  return safe
end

local function fill_in(action, values)
  local spec <const> = fill.all(action.spec, values)
  for _, field in ipairs(action.module.fields) do
    if field.type == "path" and action.spec[field.name] then
      spec[field.name] = fill.all(action.spec[field.name], values_for_paths(values))
    end
  end
  return spec
end

local function run_one(one, context)
  local action, message, code = resolve(one, context)
  if action == nil then return nil, message or "its function gave no action", code end
  return action.module.run(fill_in(action, context.values), context)
end

local function guarded(one, context)
  local done <const>, result <const>, message <const>, code <const> = errors.pcall(run_one, one,
    context)
  if done then return result, message, code end
  if errors.is_failure(result) then return nil, result.message, result.code end
  return nil, tostring(result), "unavailable"
end

local function list_of(actions, context)
  if actions.call == nil then return actions end
  local check <const> = require "sonde.policy.check"
  local problems <const> = check.problems()
  local list <const> = require("sonde.policy.action").check_all(actions.call(context.values),
    "actions", problems)
  if #problems.list == 0 then return list end
  return nil, ("%s %s"):format(problems.list[1].where, problems.list[1].message), "malformed"
end

-- What was done, beside the artifacts: who fired, why, and what came of it.
local function write_manifest(firing, context, results)
  local path <const> = context.place(context.name ".json")
  files.write(path, function(out)
    out:write(json.encode({ policy = firing.policy.name, pid = firing.pid, start = firing.start,
      name = firing.name, time = context.values.time, reason = firing.reason,
      actions = json.array(results) }), "\n")
    return true
  end)
  return path
end

local function name_of(one)
  return one.name or "function"
end

local function run_all(list, context, results)
  for i, one in ipairs(list) do
    local result, message, code = guarded(one, context)
    results[i] = { action = name_of(one), failed = result == nil and message or nil,
      code = result == nil and code or nil, path = result and result.path,
      bytes = result and result.bytes }
    context.values[one.as or name_of(one)] = result or {}
    if result == nil and one.on_failure == "stop" then return message, code end
  end
end

local function settle(world, firing, results)
  local kept, bytes = {}, 0
  for _, result in ipairs(results) do
    if result.path then kept[result.path] = true end
    bytes = bytes + (result.bytes or 0)
  end
  world.folder:count(firing.at // DAY, bytes)
  return world.folder:prune(kept), bytes
end

--- Runs them. In a task: it waits for them.
-- @tparam table firing `policy facts pid start name reason at` (Unix time)
-- @tparam table world `folder` (see `sonde.policy.artifacts`), `say` (called with a
--   text), `ring`
-- @treturn table `{ results, bytes, removed }`
-- @treturn ?string message: why it stopped early
-- @treturn ?string code
function act.run(firing, world)
  local context <const> = new_context(firing, world)
  local made, message, code = world.folder:make()
  if not made then return { results = {}, bytes = 0, removed = {} }, message, code end
  local has_room <const>, why <const> = world.folder:has_room(firing.at // DAY)
  if not has_room then return { results = {}, bytes = 0, removed = {} }, why, "limit" end
  local list
  list, message, code = list_of(firing.policy.actions, context)
  if list == nil then return { results = {}, bytes = 0, removed = {} }, message, code end
  local results <const> = {}
  message, code = run_all(list, context, results)
  local removed <const>, bytes <const> = settle(world, firing, results)
  if #results > 0 then write_manifest(firing, context, results) end
  return { results = results, bytes = bytes, removed = removed }, message, code
end

return act
