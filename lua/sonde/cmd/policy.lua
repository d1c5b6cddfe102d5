--- `sonde policy list|show|check|explain|test`: policies, without running them.
-- @module sonde.cmd.policy
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"

local ORDER <const> = {
  "schema", "time_s", "pid", "start", "name", "policy", "fired", "reason", "cost", "bytes",
  "duration_s",
}

-- Loads the policy that is named; says all that is wrong with it.
local function load(args, env)
  local policy <const> = require "sonde.policy"
  if args.policy == nil then
    errors.usage(("which policy? sonde policy %s POLICY"):format(args.action), "sonde policy list")
  end
  local loaded, message, code, problems = policy.load(args.policy, { trust = args.trust,
    args = require("sonde.cmd.policy_args").of(args) })
  if loaded then return loaded end
  for i = 1, #(problems or {}) - 1 do env:say(problems[i]) end
  errors.raise { message = problems and problems[#problems] or message,
    code = code, status = code == "malformed" and errors.exit.empty or nil,
    hint = code == "not_found" and "sonde policy list" or nil }
end

-- The lines of the list; a method of the verb, for the shell.
local function table_lines(rows)
  local lines = {}
  for i, row in ipairs(rows) do
    lines[i] = { text.printable(row.name), text.printable(row.summary or row.problem) }
  end
  return require("sonde.base.table").lines({ { title = "POLICY" }, { title = "WHAT IT IS FOR" } },
    lines)
end

local Action <const> = {}

function Action.list(args, env)
  local rows <const> = require("sonde.policy").list()
  if args.json then
    for _, row in ipairs(rows) do env.out:write(json.encode(row), "\n") end
    return errors.exit.done
  end
  for _, line in ipairs(table_lines(rows)) do env.out:write(line, "\n") end
end

function Action.show(args, env)
  env.out:write(load(args, env).source)
end

-- A good policy may wait for what it will never see here.
local function warn_of_ends(loaded, env)
  for _, one in ipairs(require("sonde.policy.ends").warnings { loaded }) do
    env:say(("%s: %s"):format(loaded.name, one.text))
  end
end

function Action.check(args, env)
  local loaded <const> = load(args, env)
  env.out:write(("%s: a good policy\n"):format(loaded.path))
  warn_of_ends(loaded, env)
end

local function write_matches(loaded, env)
  local explain <const> = require "sonde.policy.explain"
  local rows <const> = require("sonde.targets").list { all = true }
  local fits, first_why = 0, nil
  for _, match in ipairs(explain.matches(loaded, rows)) do
    if match.fits then
      fits = fits + 1
      env.out:write(("now      process %d %s\n"):format(match.row.pid,
        text.printable(match.row.name or "")))
    else
      first_why = first_why or ("%s (process %d)"):format(match.why, match.row.pid)
    end
  end
  if fits == 0 then
    env.out:write(("now      none of the %d processes here; of the first: %s\n"):format(#rows,
      text.printable(first_why or "there is none")))
  end
end

function Action.explain(args, env)
  local loaded <const> = load(args, env)
  for _, line in ipairs(require("sonde.policy.explain").lines(loaded)) do
    env.out:write(text.printable(line), "\n")
  end
  write_matches(loaded, env)
  warn_of_ends(loaded, env)
end

local function replay_it(loaded, path, tell)
  local replay <const> = require "sonde.policy.replay"
  if path == "-" then return replay.run({ loaded }, io.stdin:lines(), "standard input", tell) end
  return common.check(replay.open({ loaded }, path, tell))
end

local function write_decision(decision, args, env, is_first)
  if args.json then
    local cost <const> = decision.cost
    env.out:write(json.encode({
      schema = is_first and 1 or nil, policy = decision.policy, time_s = decision.time_s,
      pid = decision.pid, start = decision.start, name = decision.name, fired = decision.fired,
      reason = decision.reason, cost = cost and json.object { bytes = cost.bytes,
        duration_s = cost.duration_ns / 1e9 } or nil,
    }, ORDER), "\n")
    return
  end
  env.out:write(text.printable(("%10ss  %-7s %d/%d %s: %s"):format(
    (("%.3f"):format(decision.time_s):gsub("%.?0+$", "")), decision.fired and "FIRED" or "not",
    decision.pid, decision.start, decision.name, decision.reason)), "\n")
end

local function sum_up(fired, cost, env)
  local units <const> = require "sonde.base.units"
  env:say(("it would have fired %s, for at most %s on disk and %s of recording"):format(
    units.several(fired, "time"), units.bytes(cost.bytes), units.duration(cost.duration_ns)))
end

function Action.test(args, env)
  if args.replay == nil then
    errors.usage("on what? give --replay FILE",
      ("sonde policy test %s --replay timeline.csv"):format(args.policy or "POLICY"))
  end
  local loaded <const> = load(args, env)
  local fired, is_first, cost = 0, true, { bytes = 0, duration_ns = 0 }
  local outcome <const> = replay_it(loaded, args.replay, function(decision)
    write_decision(decision, args, env, is_first)
    is_first = false
    if not decision.fired then return end
    fired = fired + 1
    cost.bytes = cost.bytes + decision.cost.bytes
    cost.duration_ns = cost.duration_ns + decision.cost.duration_ns
  end)
  if not args.json then sum_up(fired, cost, env) end
  if outcome.late > 0 then
    env:say(("%d samples came after later ones and were left out"):format(outcome.late))
  end
  for _, problem in ipairs(outcome.problems) do env:warn(problem, "malformed") end
  return fired > 0 and errors.exit.done or errors.exit.empty
end

local verb <const> = common.verb {
  name = "policy",
  summary = "policies: list, show, check, explain one, or test it on a recorded timeline",
  arguments = {
    { name = "action", choices = { "list", "show", "check", "explain", "test" },
      help = "list, show, check, explain or test" },
    { name = "policy", optional = true,
      help = "a file, or the name of one that comes with sonde" },
  },
  options = options.join(require("sonde.cmd.policy_args").options, {
    { name = "replay", type = "path", argname = "RECORDING",
      help = "with test: lines of time_s,pid,start,name,metric,value (- is stdin), a trace, or a"
        .. " store of captures" },
    common.json,
  }),
  examples = {
    "sonde policy list",
    "sonde policy explain cpu_spike --set cpu=50",
    "sonde policy test mine.lua --replay timeline.csv",
  },
  run = function(args, env)
    local action <const> = Action[args.action]
    if action == nil then
      errors.usage(("'%s' is neither list, show, check, explain nor test"):format(args.action),
        "sonde help policy")
    end
    return action(args, env) or errors.exit.done
  end,
}

verb.table_lines = table_lines

return verb
