--- `sonde watch POLICY…`: captures when it matters.
-- @module sonde.cmd.watch
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local talk <const> = require "sonde.cmd.watch_talk"

local SIGHUP <const>, SIGINT <const>, SIGTERM <const> = 1, 2, 15
local SIGNAL_NAMES <const> = { [10] = "SIGUSR1", [12] = "SIGUSR2" }

local SECOND <const> = 1000000000

-- How often what has to outlive us is written down, besides when a policy fired.
local SAVE_EVERY <const> = 10 * SECOND

local DIRECTORY <const> = "sonde-artifacts"

local function load_all(args)
  local policy <const> = require "sonde.policy"
  local set <const> = require("sonde.cmd.policy_args").of(args)
  local list, by_name = {}, {}
  for i, word in ipairs(args.policies) do
    local loaded, message, code = policy.load(word, { trust = args.trust, args = set })
    if loaded == nil then return nil, message, code end
    local other <const> = by_name[loaded.name]
    -- Artifacts and counts are kept by the name.
    if other then
      return nil, ("two policies are called '%s': %s and %s"):format(loaded.name, other.path,
        loaded.path), "malformed"
    end
    list[i], by_name[loaded.name] = loaded, loaded
  end
  return list
end

-- The process that a word names, by pid or name: it must be there.
local function pid_of(word)
  local pid <const> = math.tointeger(tonumber(word))
  if pid then
    local stat, message, code = require("sonde.process.proc").stat(pid)
    if stat == nil then errors.raise { message = message, code = code, hint = "sonde ps" } end
    return pid
  end
  return common.check(require("sonde.targets").open(word)).pid
end

-- Which processes the command line is about.
local function selector(args)
  local pids, name = {}, nil
  for _, word in ipairs(args.pid or {}) do pids[pid_of(word)] = true end
  if args.name then name = require("sonde.base.pattern").matcher(args.name, "--name") end
  local tree <const> = args.tree and pid_of(args.tree)
  if next(pids) == nil and name == nil and tree == nil then
    local own <const> = require("sonde.base.uv").os_getpid()
    return function(facts) return facts.pid ~= own end
  end
  local proc <const> = require "sonde.process.proc"
  return function(facts)
    return pids[facts.pid] or name and name(facts.name)
      or tree and (facts.pid == tree or proc.descends(facts.pid, tree)) or false
  end
end

local function recorder(path)
  if path == nil then return nil, function() end end
  local timeline <const> = require "sonde.policy.timeline"
  local file, message, number = io.open(path, "ab")
  if file == nil then errors.raise { message = message, code = errors.system_code(number) } end
  if file:seek "end" == 0 then file:write(timeline.HEADER, "\n") end
  return function(time, facts, name, value)
    if type(value) == "table" then value = value.type or value.name or value.path end
    file:write(timeline.line(time, facts.pid, facts.start, facts.name, name, value))
  end, function() file:close() end
end

local function heed_signals(watch, args, env)
  local stops = 0
  return loop.on_signals({ SIGHUP, SIGINT, SIGTERM, 10, 12 }, function(number)
    if SIGNAL_NAMES[number] then return watch:signal(SIGNAL_NAMES[number]) end
    if number ~= SIGHUP then
      stops = stops + 1
      return watch:stop()
    end
    local policies <const>, message <const> = load_all(args)
    if policies == nil then
      env:say("not reloaded, the old policies stay: " .. message)
    else
      watch:reload(policies)
      env:say(("reloaded %d polic%s"):format(#policies, #policies == 1 and "y" or "ies"))
    end
  end)
end

local function run(args, env)
  local state <const> = require "sonde.policy.state"
  local directory <const> = args.output or DIRECTORY
  local policies <const> = common.check(load_all(args))
  local select <const> = selector(args)
  local record <const>, close_record <const> = recorder(args.record_metrics)
  local watch <const> = require("sonde.policy.watch").new {
    policies = policies, select = select, directory = directory, record = record,
    saved = state.load(directory), say = talk.teller(args, env),
  }
  local release <const> = heed_signals(watch, args, env)
  local saved_at = loop.now()
  local show <const> = talk.status_line(args, env)
  talk.begin(policies, directory, args, env)
  watch:run(args.duration and loop.after(args.duration), function()
    show(watch)
    if not watch:take_news() and loop.now() - saved_at < SAVE_EVERY then return end
    saved_at = loop.now()
    local saved, message = state.save(directory, watch)
    if not saved then env:say("the state is not saved: " .. message) end
  end)
  show(nil)
  watch:close()
  release()
  close_record()
  local saved, message, code = state.save(directory, watch)
  if not saved then env:warn("the state is not saved: " .. message, code) end
  talk.finish(watch, args, env)
end

return common.verb {
  name = "watch",
  summary = "watch processes with policies, and capture when it matters",
  arguments = { { name = "policies", many = true, optional = true,
    help = "policies: files, or names of those that come with sonde" } },
  options = function()
    return options.join({
      { name = "pid", short = "p", type = "string", many = true, argname = "PID|NAME",
        help = "watch this process only; may be repeated" },
      { name = "name", type = "pattern", help = "only processes whose name matches" },
      { name = "tree", type = "string", argname = "PID|NAME",
        help = "only this process and what it started" },
      { name = "all", type = "boolean", help = "all that the policies are about (the default)" },
      { name = "duration", type = "duration", min = 1, help = "end after this time" },
      { name = "output", short = "o", type = "path", argname = "DIR",
        help = "folder for artifacts and what has to be remembered (sonde-artifacts)" },
      { name = "record_metrics", type = "path", argname = "FILE",
        help = "write all samples to this timeline, for sonde policy test --replay" },
      { name = "status", type = "boolean", help = "say how the watch of the folder -o stands" },
    }, require("sonde.cmd.policy_args").options, { common.json })
  end,
  examples = {
    "sonde watch cpu_spike exception_storm",
    "sonde watch mine.lua -p Api --duration 1h -o captures",
    "sonde watch --status",
  },
  run = function(args, env)
    if args.status then return talk.show_status(args.output or DIRECTORY, args, env) end
    if #(args.policies or {}) == 0 then
      errors.usage("which policies?", "sonde policy list")
    end
    run(args, env)
    return errors.exit.done
  end,
}
