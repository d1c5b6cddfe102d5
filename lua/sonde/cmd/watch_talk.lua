--- What `sonde watch` says.
-- @module sonde.cmd.watch_talk
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local talk = {}

local ORDER <const> = { "time", "kind", "policy", "pid", "start", "name", "reason", "text",
  "results", "message", "code" }

local function fields_of(event)
  local firing <const>, facts <const> = event.firing or {}, event.firing or event.facts or {}
  return {
    time = os.date "!%Y-%m-%dT%H:%M:%SZ", kind = event.kind,
    policy = (event.policy or firing.policy or {}).name, pid = facts.pid, start = facts.start,
    name = facts.name, reason = firing.reason, text = event.text, message = event.message,
    code = event.code, results = event.results and json.array(event.results),
  }
end

local function who(event)
  local facts <const> = event.firing or event.facts
  return ("%s (%d)"):format(facts.name, facts.pid)
end

local Words <const> = {}

function Words.fired(event)
  return ("%s FIRED for %s: %s"):format(event.firing.policy.name, who(event), event.firing.reason)
end

function Words.log(event)
  return ("%s, %s: %s"):format(event.firing.policy.name, who(event), event.text)
end

function Words.acted(event)
  local parts = {}
  for i, result in ipairs(event.results) do
    parts[i] = result.failed and ("%s failed: %s"):format(result.action, result.failed)
      or result.path and ("%s wrote %s"):format(result.action, result.path) or result.action
  end
  local said <const> = table.concat(parts, "; ")
  if event.message and #parts == 0 then return "nothing was done: " .. event.message end
  return ("%s, %s: %s"):format(event.firing.policy.name, who(event), said)
end

function Words.stopped(event)
  return ("the policy %s is stopped: %s"):format(event.policy.name, event.text)
end

function Words.target(event)
  local names = {}
  for i, policy in ipairs(event.policies) do names[i] = policy.name end
  return ("watching %s: %s"):format(who(event), table.concat(names, ", "))
end

function Words.gone(event)
  return who(event) .. " is gone"
end

function Words.trouble(event)
  return ("%s: %s"):format(event.policy and event.policy.name or who(event), event.text)
end

-- Only in the log: a person is not told of everything that did not happen.
Words["not"] = function() end

-- On a busy machine processes come and go by the hundred, and most are nobody's
-- target: only who asked for some by name or pid wants to know why not.
local function is_noise(event, args)
  if event.kind ~= "not" or event.firing.is_target then return false end
  return not (args.pid or args.name or args.tree)
end

--- What is called with each thing that happens.
-- @tparam table args
-- @tparam table env
-- @treturn function
function talk.teller(args, env)
  local as_json <const> = args.json or not env.terminal.err
  return function(event)
    if is_noise(event, args) then return end
    if as_json then
      env.out:write(json.encode(fields_of(event), ORDER), "\n")
      env.out:flush()
      return
    end
    local said <const> = Words[event.kind](event)
    if said then env:say(os.date "%H:%M:%S " .. said) end
  end
end

--- The status line: on a terminal.
-- @tparam table args
-- @tparam table env
-- @treturn function called with the watch; with nil it goes away
function talk.status_line(args, env)
  if args.json then return function() end end
  local show <const> = require("sonde.base.term").status(env.err, env.terminal.err)
  return function(watch)
    if watch == nil then return show(nil) end
    local status <const> = watch:status()
    show(("watching %s; fired %s; %d acting; Ctrl-C ends"):format(
      units.several(status.targets, "process", "processes"),
      units.several(status.fired, "time"), status.acting))
  end
end

--- Says what is watched for.
-- @tparam {table,...} policies
-- @tparam string directory
-- @tparam table args
-- @tparam table env
function talk.begin(policies, directory, args, env)
  if args.json then return end
  local names = {}
  for i, policy in ipairs(policies) do names[i] = policy.name end
  env:say(("watching with %s; artifacts go to %s (-o)"):format(table.concat(names, ", "),
    directory))
end

--- Says what it came to.
-- @tparam Watch watch
-- @tparam table args
-- @tparam table env
function talk.finish(watch, args, env)
  if args.json then return end
  env:say(("fired %s"):format(units.several(watch.n_fired, "time")))
end

local function show_plain(data, is_alive, env)
  local status <const> = data.status
  env.out:write(("process %d %s; since %s; %s; fired %s\n"):format(data.pid,
    is_alive and "watches" or "watched, and has ended",
    os.date("%Y-%m-%d %H:%M:%S", status.since), units.several(status.targets, "target"),
    units.several(status.fired, "time")))
  for _, policy in ipairs(status.policies) do
    env.out:write(text.printable(("  %s: %s%s; %s"):format(policy.name,
      units.several(policy.targets, "target"),
      policy.stopped and ", STOPPED: " .. policy.stopped or "", policy.summary)), "\n")
  end
end

--- Says how the watch of a folder stands.
-- @tparam string directory
-- @tparam table args
-- @tparam table env
-- @treturn integer exit status
function talk.show_status(directory, args, env)
  local data <const>, message <const> = require("sonde.policy.state").read(directory)
  if data == nil then
    errors.raise { message = message, code = "not_found", hint = "sonde watch POLICY" }
  end
  local is_alive <const> = require("sonde.process.proc").is_alive(data.pid)
  if args.json then
    data.firings, data.running = nil, is_alive
    env.out:write(json.encode(data), "\n")
  else
    show_plain(data, is_alive, env)
  end
  return is_alive and errors.exit.done or errors.exit.empty
end

return talk
