--- `sonde info PID`: facts of a process and its environment.
-- @module sonde.cmd.info
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"
local secrets <const> = require "sonde.base.secrets"
local text <const> = require "sonde.base.text"

local ORDER <const> = {
  "schema", "pid", "start_time", "started", "name", "user", "parent", "state", "threads", "cpu_ns",
  "program", "command_line", "directory", "container", "inner_pid", "runtime", "version",
  "entry_assembly", "architecture", "rid", "system", "cookie", "socket", "can", "reasons",
  "environment",
}

local STATES <const> = {
  R = "running", S = "sleeping", D = "waiting for a device", T = "stopped",
  t = "stopped by a debugger", Z = "ended", I = "idle",
}

local function process_facts(facts, pid, show)
  local proc <const> = require "sonde.process.proc"
  local uv <const> = require "sonde.base.uv"
  local stat <const> = proc.stat(pid)
  local status <const> = stat and proc.status(pid)
  if status == nil then return end
  facts.pid, facts.start_time, facts.name = pid, stat.start_time, stat.name
  facts.started = os.date("!%Y-%m-%dT%H:%M:%SZ", proc.started_at(stat.start_time))
  facts.user, facts.parent, facts.threads = proc.user(status.uid), stat.parent, stat.threads
  facts.state = STATES[stat.state] or stat.state
  facts.cpu_ns = stat.cpu_ns
  facts.program = proc.program(pid)
  local words <const> = proc.command_line(pid)
  facts.command_line = json.array(show and words or secrets.words(words))
  facts.directory = uv.fs_readlink(("/proc/%d/cwd"):format(pid))
  facts.container = proc.container(pid)
  facts.architecture = proc.architecture(pid)
  if status.nested then facts.inner_pid = status.inner_pid end
end

local function masked(environment, show)
  local shown = {}
  for name, value in pairs(environment) do
    shown[name] = show and value or secrets.value(name, value)
  end
  return json.object(shown)
end

local RUNTIME_FACTS <const> = {
  "version", "entry_assembly", "architecture", "rid", "system", "cookie",
}

local function runtime_facts(facts, target, env)
  facts.runtime, facts.socket = "dotnet", target.endpoint.path
  local info, message, code, hint = target:info()
  if info == nil then
    env:warn(message, code, hint)
    facts.can, facts.reasons = json.array {}, { record = message, dump = message }
    return false
  end
  for _, name in ipairs(RUNTIME_FACTS) do facts[name] = info[name] or facts[name] end
  facts.pid = facts.pid or info.pid
  facts.can, facts.reasons = json.array { "record", "dump" }, json.object {}
  return true
end

-- What the runtime has now, or else what the process was started with.
local function environment_of(target, answers)
  local environment = answers and target:environment() or nil
  if environment then return environment end
  return target.pid and require("sonde.process.proc").environment(target.pid) or {}
end

-- Facts of a process that offers nothing, with why.
local function facts_without(pid, message, args, env)
  local facts = { schema = 1, can = json.array {}, reasons = { record = message, dump = message } }
  process_facts(facts, pid, args.show_secrets)
  local environment <const> = require("sonde.process.proc").environment(pid)
  facts.environment = masked(environment or {}, args.show_secrets)
  env:say(message)
  return facts
end

local function facts_of(args, env)
  local what <const> = args.target or args.process
  local pid <const> = not args.socket and math.tointeger(tonumber(what))
  if pid then
    local targets <const> = require "sonde.targets"
    local target, message, code = targets.open(pid)
    if target == nil and code ~= "not_found" then return facts_without(pid, message, args, env) end
  end
  local target <const> = live.target(args)
  local facts = { schema = 1 }
  if target.pid then process_facts(facts, target.pid, args.show_secrets) end
  local answers <const> = runtime_facts(facts, target, env)
  facts.environment = masked(environment_of(target, answers), args.show_secrets)
  return facts
end

local function line(out, name, value)
  if value ~= nil then out:write(("%-15s %s\n"):format(name, text.printable(tostring(value)))) end
end

local function write_facts(facts, out)
  local units <const> = require "sonde.base.units"
  line(out, "process", facts.pid and ("%d (%s)"):format(facts.pid, facts.name or "?") or nil)
  line(out, "started", facts.started and facts.started:gsub("T", " "):gsub("Z", " UTC"))
  line(out, "user", facts.user)
  line(out, "parent", facts.parent)
  line(out, "state", facts.state and ("%s, %d threads, %s of CPU so far"):format(facts.state,
    facts.threads, units.duration(facts.cpu_ns)))
  line(out, "program", facts.program)
  line(out, "command line", facts.command_line and table.concat(facts.command_line, " "))
  line(out, "directory", facts.directory)
  line(out, "container", facts.container)
  line(out, "inner pid", facts.inner_pid)
  line(out, "runtime", facts.runtime and (".NET " .. (facts.version or "")))
  line(out, "entry assembly", facts.entry_assembly)
  line(out, "architecture", facts.rid or facts.architecture)
  line(out, "cookie", facts.cookie)
  line(out, "socket", facts.socket)
  line(out, "can", #facts.can > 0 and table.concat(facts.can, " ") or "nothing")
  out:write("environment\n")
  local names = {}
  for name in pairs(facts.environment) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    out:write(("   %s=%s\n"):format(text.printable(name), text.printable(facts.environment[name])))
  end
end

return common.verb {
  name = "info",
  summary = "facts of a running process, and its environment",
  arguments = { live.target_argument },
  options = function()
    return options.join(live.target_options, { common.json,
      { name = "show_secrets", type = "boolean", help = "show passwords and tokens as they are" } })
  end,
  examples = { "sonde info 4242", "sonde info Api --json" },
  run = function(args, env)
    local facts <const> = facts_of(args, env)
    if args.json then
      env.out:write(json.encode(facts, ORDER), "\n")
    else
      write_facts(facts, env.out)
    end
    return #facts.can > 0 and errors.exit.done or errors.exit.target
  end,
}
