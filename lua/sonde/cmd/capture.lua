--- `sonde capture`: what the processes of a tree do, kept in a store.
-- @module sonde.cmd.capture
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local started <const> = require "sonde.cmd.started"
local term <const> = require "sonde.base.term"
local units <const> = require "sonde.base.units"

local SECOND <const> = 1000000000

-- How often it is looked whether the process is still there.
local LOOK <const> = SECOND // 4

local SIGHUP <const>, SIGINT <const>, SIGTERM <const> = 1, 2, 15

local function names_of(text)
  local names = {}
  for _, word in ipairs(text) do
    for name in word:gmatch "[^,%s]+" do names[#names + 1] = name end
  end
  return names
end

local function root_of(args, program)
  if program then return program.pid end
  if args.pid == nil and args.id then return nil end
  if args.pid == nil then
    errors.usage("which process? give -p PID or a name, or a program behind --", "sonde ps")
  end
  local pid <const> = math.tointeger(tonumber(args.pid))
  if pid then return pid end
  return common.check(require("sonde.targets").open(args.pid)).pid
end

-- Those of the kind's parameters that the command line gave.
local function params_of(module, args)
  local params = { kind = module.name, tree = not args.root_only, reason = args.reason,
    timeout = args.timeout }
  for _, option in ipairs(module.params or {}) do
    local value <const> = args[option.name]
    if value ~= nil and not (type(value) == "table" and #value == 0) then
      params[option.name] = value
    end
  end
  return params
end

-- Every checkpoint of the command line, checked before anything is begun.
local function plan_of(args)
  local kind <const> = require "sonde.capture.kind"
  local plan = {}
  for i, name in ipairs(names_of(args.kind)) do
    local module, message = kind.get(name)
    if module == nil then errors.usage("--kind: " .. message) end
    local params <const> = params_of(module, args)
    local checked, why = kind.validate(module, params)
    if checked == nil then errors.usage(why, "sonde help capture") end
    plan[i] = params
  end
  return plan
end

local function tell(done, state, args, env)
  if args.json then
    env.out:write(json.encode({ schema = 1, checkpoint = done.id, kind = done.kind,
      parts = done.parts, failed = done.failed, error = done.error },
      { "schema", "checkpoint", "kind", "parts", "failed", "error" }), "\n")
    env.out:flush()
    return
  end
  -- On a terminal the status line tells of what went well.
  if env.terminal.err and args.every and done.failed == 0 then return end
  state.show(nil)
  env:say(("checkpoint %s: %s, %s%s"):format(done.id, done.kind,
    units.several(done.parts, "part"), done.failed > 0
      and ("; %d failed, the first: %s"):format(done.failed, done.error) or ""))
end

-- A checkpoint that the store refused: it may be written yet.
local function tell_refused(message, kept, state, env)
  state.show(nil)
  if not kept then state.lost = state.lost + 1 end
  env:say(message .. (kept and " (kept in memory, and tried again with the next checkpoint)"
    or ""))
end

-- What is left of the time, so that the last checkpoint does not outlive it by much.
local function timeout_of(params, state)
  if state.deadline == nil then return params.timeout end
  return math.min(params.timeout, math.max(SECOND, state.deadline - loop.now()))
end

-- A store's file that was moved away is gone on with under its name.
local function tell_moved(capture, state, env)
  if capture.store.n_files == state.n_files then return end
  state.n_files = capture.store.n_files
  state.show(nil)
  env:warn(("%s was moved or removed meanwhile: going on in a new one"):format(capture.store.name))
end

local function mark(capture, plan, state, args, env)
  for _, params in ipairs(plan) do
    if state.over:is_set() then return end
    local given = {}
    for name, value in pairs(params) do given[name] = value end
    given.timeout = timeout_of(params, state)
    local done, message, _, kept = capture:checkpoint(given)
    tell_moved(capture, state, env)
    if done then
      tell(done, state, args, env)
    else
      tell_refused(message, kept, state, env)
    end
  end
end

local function status(capture, state)
  local waiting <const>, bytes <const> = capture.store:waiting()
  state.show(("%s  %s checkpoints  %s records  %d processes%s%s"):format(
    units.duration(loop.now() - state.began), units.count(capture.n),
    units.count(capture.records), #capture.tree:rows(),
    capture.failures > 0 and ("  %s failed"):format(units.count(capture.failures)) or "",
    waiting > 0 and ("  %d batches (%s) wait for the store"):format(waiting, units.bytes(bytes))
      or ""))
end

-- Waits for the next checkpoint; false when none will come.
local function wait_until(at, capture, state)
  while loop.now() < at do
    if not capture:is_alive() then
      state.why = ("process %d has ended"):format(capture.root)
      return false
    end
    state.over:wait(math.min(at, loop.after(LOOK)))
    if state.over:is_set() then return false end
    status(capture, state)
  end
  return true
end

-- Checkpoints until there is a reason to end.
local function run(capture, plan, state, args, env)
  -- A program that we start has done nothing yet.
  local is_due = state.program ~= nil
  local at = state.began + (is_due and (args.every or args.duration) or 0)
  while wait_until(math.min(at, state.deadline or at), capture, state) do
    if state.deadline and loop.now() >= state.deadline and not is_due then
      state.why = "the time is over"
      return
    end
    is_due = false
    mark(capture, plan, state, args, env)
    if args.every == nil or state.over:is_set() then return end
    -- Those that were missed are not made up for.
    at = math.max(at + args.every, loop.now())
  end
end

local function heed(capture, state, env)
  local function finish()
    if not state.over:set() then return end
    state.why = "asked to end"
    capture:cancel "the capture was ended"
  end
  if state.program == nil then return loop.on_signals({ SIGHUP, SIGINT, SIGTERM }, finish) end
  return started.heed(state.program, {
    function()
      if not capture:is_alive() then return end
      env:say "waiting for the program to end; Ctrl-C again ends the capture"
    end, finish,
  })
end

-- Ends the capture and says how it went: whether there is anything of it.
local function finish_capture(capture, state, args, env)
  state.show(nil)
  if state.program then state.program:drain() end
  local done, message, code = capture:close()
  if not done then env:warn(message, code) end
  if not args.json then
    env:say(("%s in %s: %s"):format(units.several(capture.n, "checkpoint"),
      units.duration(loop.now() - state.began), state.why),
      "sonde captures " .. (args.store or ""))
  end
  if state.lost > 0 then
    env:warn(("%d checkpoints could not be kept"):format(state.lost), "unavailable")
  end
  return capture.records > capture.failures
end

local function guarded_run(capture, plan, state, args, env)
  local _ <close> = setmetatable({}, { __close = heed(capture, state, env) })
  if state.program then state.program:go() end
  run(capture, plan, state, args, env)
  local has_records <const> = finish_capture(capture, state, args, env)
  local result <const> = state.program and started.wait(state.program) or errors.exit.done
  return has_records and result or errors.exit.empty
end

local function check_command(args)
  if args.program == nil then return end
  if args.pid or args.id then errors.usage("-- CMD and a process: one of them") end
  if args.json then
    errors.usage("--json does not go with -- CMD: what the program writes is there too",
      "sonde query --json")
  end
  if args.every == nil and args.duration == nil then
    errors.usage("-- CMD: when? --every TIME, or --duration TIME for one checkpoint at its end")
  end
end

-- The program that -- CMD names, held until the capture is there. What it writes to
-- its standard error comes through us, for dumps that are printed there.
local function start_program(args, state, env)
  if args.program == nil then return nil end
  return common.check(require("sonde.process.launch").start(args.program, {
    stderr = function(text)
      state.show(nil)
      env.err:write(text)
      env.err:flush()
    end,
  }))
end

-- The parameters of every kind as options; a user's file that is no kind has none.
local function params_of_kinds()
  local kind <const> = require "sonde.capture.kind"
  local list = {}
  for _, name in ipairs(kind.all()) do
    local module <const> = kind.get(name)
    for _, option in ipairs(module and module.params or {}) do
      local own = {}
      for field, value in pairs(option) do own[field] = value end
      -- The command line says nothing of what it was not given.
      own.default, own.help = nil, ("%s: %s"):format(name, option.help or "")
      if own.type ~= "table" then list = options.join(list, { own }) end
    end
  end
  return list
end

-- The registry, when the command line says where a transport finds something.
local function transports_of(args)
  if args.stderr == nil then return nil end
  local registry <const> = require("sonde.capture.transport").default()
  registry:add(require("sonde.capture.transports.sigquit").new {
    output = function() return args.stderr end })
  return registry
end

local verb <const> = common.verb {
  name = "capture",
  summary = "keep what the processes of a tree do, checkpoint by checkpoint, in a store",
  arguments = {},
  options = function()
    local list = {
      { name = "pid", short = "p", type = "string", argname = "PID|NAME",
        help = "the process whose tree is captured" },
      { name = "store", type = "string", argname = "FILE",
        help = "the store ($SONDE_STORE, or captures.db)" },
      { name = "kind", type = "string", many = true, argname = "KINDS", default = { "stacks" },
        help = "what is recorded: stacks goprof nettrace process_tree, or a kind of yours;"
          .. " several with commas" },
      { name = "every", type = "duration", min = 1000000,
        help = "a checkpoint again and again, this far apart; one only otherwise" },
      { name = "duration", type = "duration", min = 1, help = "end after this time" },
      { name = "root_only", type = "boolean", help = "the process alone, without its tree" },
      { name = "id", type = "string",
        help = "go on with the capture of this id; its process, when none is given" },
      { name = "service", type = "string", help = "a name to find the capture by" },
      { name = "reason", type = "string", default = "periodic",
        help = "why: recorded with each checkpoint" },
      { name = "timeout", type = "duration", default = 30000000000, default_text = "30s", min = 1,
        help = "how long a checkpoint may take" },
      { name = "stderr", type = "path",
        help = "sigquit: the file that holds what the process writes to its standard error" },
      common.json,
    }
    -- What the verb itself has goes before parameters of that name.
    return options.join(params_of_kinds(), list)
  end,
  examples = {
    "sonde capture -p 4242 --kind stacks,goprof --every 10s --duration 5m",
    "sonde capture -p Api --kind nettrace --store incident.db",
    "sonde capture --kind stacks,process_tree --every 5s -- ./server --port 80",
  },
  run = function(args, env)
    check_command(args)
    local plan <const> = plan_of(args)
    local state <const> = { over = loop.event(), lost = 0,
      why = args.every and "the time is over" or "one checkpoint was asked for (--every)",
      show = term.status(env.err, env.terminal.err and not args.json) }
    local program <const> = start_program(args, state, env)
    local _ <close> = program
    local capture <const> = common.check(require("sonde").capture {
      root = root_of(args, program), store = args.store, id = args.id, service = args.service,
      kinds = names_of(args.kind), transports = transports_of(args) })
    if not args.json then env:say(("capture %s of process %d"):format(capture.id, capture.root)) end
    state.program, state.began = program, loop.now()
    -- The one checkpoint of a program is when the time is over, and takes its own.
    local is_when <const> = program and args.every == nil
    state.deadline = not is_when and args.duration and loop.after(args.duration) or nil
    return guarded_run(capture, plan, state, args, env)
  end,
}

local read_and_run <const> = verb.start

--- Runs the verb.
-- @tparam {string,...} words
-- @tparam table env
-- @treturn ?integer exit status
function verb.start(words, env)
  local own <const>, command <const> = started.split(words, "capture")
  return read_and_run(own, env, command)
end

return verb
