--- `sonde record`: records a running process, or a program from its start.
-- @module sonde.cmd.record
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"

local SIGINT <const>, SIGTERM <const>, SIGHUP <const> = 2, 15, 1

local SECOND <const> = 1000000000

-- A program that has not become a .NET one by then is told of, not given up.
local EXPECTED_START <const> = 10 * SECOND
local FOREVER <const> = 10 * 365 * 24 * 3600 * SECOND

-- A rundown may come on top of what `--max-size` allows.
local ROOM_FOR_RUNDOWN <const> = 1 << 30

local declared <const> = {
  { name = "profile", type = "string", many = true, argname = "NAME",
    help = "what to record: cpu alloc gc exceptions contention jit http db threadpool startup full,"
      .. " or a file of yours; may be repeated (default cpu)" },
  { name = "provider", type = "string", many = true, argname = "SPEC",
    help = "a provider to record, NAME[:KEYWORDS[:LEVEL[:KEY=VALUE;…]]]; may be repeated" },
  { name = "duration", type = "duration", min = 1, help = "stop after this time" },
  { name = "until", type = "pattern",
    help = "stop at the first event whose PROVIDER/NAME matches" },
  { name = "until_lua", type = "string", argname = "EXPR",
    help = "stop at the first event for which this Lua expression is true;"
      .. " it sees event.provider name id thread time_ns payload" },
  { name = "max_size", type = "size", default = 1 << 30, default_text = "1GiB", min = 1,
    help = "stop when the stream is this large; the rundown still comes" },
  { name = "buffer", type = "size", default = 256 << 20, default_text = "256MiB", min = 1 << 20,
    help = "memory that the process may use for events that wait" },
  { name = "rundown", type = "boolean", help = "name methods also where the profile does without" },
  { name = "no_rundown", type = "boolean",
    help = "do not have methods described at the end: stacks may stay without names" },
  { name = "assembly", type = "string", argname = "NAME",
    help = "with -- CMD: the entry assembly to record, of all that the program starts" },
  { name = "output", short = "o", type = "path", argname = "FILE",
    help = "write to this file; its name chooses the format (default NAME_TIME.nettrace)" },
  { name = "format", short = "f", type = "string", many = true, argname = "NAME",
    help = "write this format too, beside the output; may be repeated" },
}

-- The recordings and providers that the command line names, as one.
local function wanted(args)
  local recordings <const> = require "sonde.dotnet.recordings"
  local providers <const> = require "sonde.dotnet.providers"
  local names = args.profile or {}
  if #names == 0 and #(args.provider or {}) == 0 then names = { "cpu" } end
  local lists, rundown, view = {}, #names == 0, nil
  for i, name in ipairs(names) do
    local found, message, code = recordings.get(name)
    if found == nil then
      if code == "not_found" then errors.usage("--profile: " .. message, "sonde help record") end
      errors.raise { message = message, code = code }
    end
    lists[i] = found.providers
    rundown, view = rundown or found.rundown, view or found.view
  end
  if #(args.provider or {}) > 0 then
    local own, why = providers.complete(args.provider)
    if own == nil then errors.usage("--provider: " .. why, "sonde help record") end
    lists[#lists + 1] = own
  end
  return { names = names, providers = providers.join(table.unpack(lists)), view = args.view or view,
    rundown = (rundown or args.rundown or false) and not args.no_rundown }
end

local function default_output(name)
  return os.date((name or "process"):gsub("[^%w._-]", "_") .. "_%Y%m%d_%H%M%S.nettrace")
end

-- Only a NetTrace file takes the stream itself; for other formats the trace
-- that was decoded meanwhile is written when the recording is over.
local function is_raw(path)
  return path:find("%.nettrace$") ~= nil or require("sonde.report").for_path(path) == nil
end

-- The reports that `-f` names, each with the file it goes to.
local function further_formats(args)
  local list = {}
  for i, name in ipairs(args.format or {}) do
    local module, message = require("sonde.report").get(name)
    if module == nil then errors.usage("--format: " .. message) end
    if #module.extensions == 0 then
      errors.usage(("--format: %s is no format of a file"):format(name), "sonde report " .. name)
    end
    list[i] = { module = module,
      path = args.output:gsub("%.nettrace$", "") .. "." .. module.extensions[1] }
  end
  return list
end

-- What ends the recording by an event: options of the session.
local function stop_at_event(args, stop)
  if args.until_lua then
    local is_true, why = require("sonde.dotnet.expression").compile(args.until_lua)
    if is_true == nil then errors.usage("--until-lua: " .. why) end
    return nil, function(event)
      if is_true(event) then stop() end
    end
  end
  if args["until"] == nil then return end
  local matches <const> = require("sonde.base.pattern").matcher(args["until"], "until")
  local function want(provider, name, id)
    return matches(provider .. "/" .. (name ~= "" and name or tostring(id)))
  end
  return want, stop
end

-- The trace in another format.
local function write_converted(trace, want, path, args, env)
  local reports <const> = require "sonde.report"
  local module <const> = reports.for_path(path)
  local object = trace
  if reports.needs(module, {}) == "profile" then
    object = common.check(trace:profile { view = want.view, names = args.names })
  end
  common.write_report(module, object, { output = path }, env)
end

local function write_results(recording, want, args, env)
  local talk <const> = require "sonde.cmd.record_talk"
  local trace <const> = recording.session:trace()
  if trace == nil then return end
  talk.health(recording.session, trace, want, env)
  if not recording.raw then write_converted(trace, want, args.output, args, env) end
  for _, further in ipairs(recording.formats) do
    write_converted(trace, want, further.path, args, env)
  end
end

local function finish(recording, want, args, env, outcome)
  if recording.session == nil then
    if recording.wanted:is_set() then
      errors.raise { message = "not recorded: stopped before it began", code = "canceled",
        status = errors.exit.given_up }
    end
    errors.raise { message = outcome.message, code = outcome.code, hint = outcome.hint }
  end
  require("sonde.cmd.record_talk").stopped(recording, outcome.reason, args, env)
  write_results(recording, want, args, env)
  if recording.given_up then
    errors.raise { message = "given up before the stream had ended; what had come is kept",
      status = errors.exit.given_up }
  end
  if outcome.message then
    errors.raise { message = outcome.message, code = outcome.code, hint = outcome.hint }
  end
  return errors.exit.done
end

local STOPPING <const> = "stopping; Ctrl-C again does not wait for the names of methods"

-- Signals are reasons to stop: the first ends the recording as it should be
-- ended, the second gives up waiting for that.
local function heed_signals(recording, env)
  local total = 0
  return require("sonde.base.loop").on_signals({ SIGINT, SIGTERM, SIGHUP }, function(number)
    total = total + 1
    if total > 1 then return recording:give_up() end
    recording:stop(number == SIGINT and "Ctrl-C" or "a signal asked for it")
    if recording.session then env:say(STOPPING) end
  end)
end

-- Of a program that we started, signals are its own; what a terminal sends it
-- has already. It ends by them or not, and the recording with it. After that
-- come the two steps of every recording.
local function pass_signals(launched, recording, env)
  local core <const> = require "sonde.c.core"
  local total = 0
  return require("sonde.base.loop").on_signals({ SIGINT, SIGTERM, SIGHUP }, function(number)
    total = total + 1
    if not core.signal_by_kernel(number) then launched:signal(number) end
    if total == 1 then
      env:say "waiting for the program to end; Ctrl-C again stops recording it"
    elseif total == 2 then
      recording:stop "Ctrl-C"
      env:say(STOPPING)
    else
      recording:give_up()
    end
  end)
end

-- Samples say where threads were; their clocks, whether they ran there.
local function has_sampler(list)
  local dotnet <const> = require "sonde.dotnet"
  for _, provider in ipairs(list) do
    if provider.name == dotnet.PROVIDER_SAMPLE_PROFILER then return true end
  end
  return false
end

-- A recording that is ready to run.
local function prepare(target, want, args, env)
  local talk <const> = require "sonde.cmd.record_talk"
  local show <const> = require("sonde.base.term").status(env.err, env.terminal.err)
  local recording
  local wants, on_event = stop_at_event(args, function() recording:stop "event" end)
  recording = require("sonde.dotnet.recording").new(target, {
    duration = args.duration, max_size = args.max_size,
    session = {
      providers = want.providers, rundown = want.rundown, buffer_mb = args.buffer >> 20,
      output = is_raw(args.output) and args.output or nil, want = wants, on_event = on_event,
      cpu_time = has_sampler(want.providers), timeline = want.view == "oncpu",
      max_bytes = args.max_size + ROOM_FOR_RUNDOWN,
    },
  }, {
    started = function() talk.start(recording, want, args, env) end,
    looked = function() show(talk.status(recording)) end,
  })
  recording.raw, recording.formats = is_raw(args.output), further_formats(args)
  recording.show = show
  return recording
end

local function run_to_end(recording)
  local reason, message, code, hint = recording:run()
  recording.show(nil)
  return { reason = reason, message = message, code = code, hint = hint }
end

local function attach(args, env)
  local target <const> = live.target(args)
  local want <const> = wanted(args)
  args.output = args.output or default_output(target.name)
  local recording <const> = prepare(target, want, args, env)
  local release <const> = heed_signals(recording, env)
  local outcome <const> = run_to_end(recording)
  release()
  return finish(recording, want, args, env, outcome)
end

-- The runtime that the program starts.
local function await_runtime(launched, args, env)
  local loop <const> = require "sonde.base.loop"
  local target, message, code = launched:target(loop.after(EXPECTED_START))
  if code == "timeout" then
    env:say(("%s has not started a .NET runtime%s: it is no .NET program, or diagnostics are off"):
      format(args.command[1], launched.others > 0 and " of that name" or ""))
    target, message, code = launched:target(loop.after(FOREVER))
  end
  if target then return target end
  errors.raise { code = code, status = errors.exit.target,
    message = ("%s: not recorded: %s"):format(args.command[1], message) }
end

local function start_program(args, env)
  if args.target or args.process or args.socket then
    errors.usage("-- CMD and a process: one of them")
  end
  local launched, message, code = require("sonde.dotnet.launch").start(args.command,
    { assembly = args.assembly })
  if launched == nil then errors.raise { message = message, code = code } end
  local _ <close> = launched
  local loop <const> = require "sonde.base.loop"
  local want <const> = wanted(args)
  local target <const> = await_runtime(launched, args, env)
  args.output = args.output or default_output(target.name)
  local recording <const> = prepare(target, want, args, env)
  local tell <const> = recording.hooks.started
  function recording.hooks.started()
    tell()
    target:resume()
  end
  local release <const> = pass_signals(launched, recording, env)
  local outcome <const> = run_to_end(recording)
  if recording.session == nil then target:resume() end
  local done, failure = pcall(finish, recording, want, args, env, outcome)
  if not done and (recording.session == nil or not errors.is_failure(failure)) then
    error(failure, 0)
  end
  if not done then env:say(failure.message, failure.hint) end
  if recording.given_up then return errors.exit.given_up end
  local status <const> = launched:wait(loop.after(FOREVER))
  release()
  return status
end

local program_words   -- what stood behind "--" of the command line, if anything

local verb <const> = common.verb {
  name = "record",
  summary = "record a running process, or a program from its start",
  arguments = { live.target_argument },
  options = function()
    return options.join(live.target_options, declared,
      options.select(common.view_options, { "view", "names" }))
  end,
  examples = {
    "sonde record -p Api                          # Ctrl-C ends it",
    "sonde record -p 4242 --duration 30s -o api.nettrace",
    "sonde record -p Api --profile alloc --duration 10s -o alloc.svg",
    "sonde record -p Api --duration 10s -o api.pb.gz --view oncpu",
    "sonde record -p Api --provider System.Net.Http:*:4 --until 'Http/RequestFailed'",
    "sonde record -o start.nettrace -- dotnet app.dll --port 80",
  },
  run = function(args, env)
    args.command = program_words
    if args.command then return start_program(args, env) end
    if args.assembly then errors.usage("--assembly goes with -- CMD") end
    return attach(args, env)
  end,
}

-- What follows "--" is the program's, and is not read here.
local read_and_run <const> = verb.start

--- Runs the verb.
-- @tparam {string,...} words
-- @tparam table env
-- @treturn ?integer exit status
function verb.start(words, env)
  local own, command = words, nil
  for i, word in ipairs(words) do
    if word == "--" then
      own, command = table.move(words, 1, i - 1, 1, {}), table.move(words, i + 1, #words, 1, {})
      break
    end
  end
  if command and #command == 0 then errors.usage("-- without a program", "sonde help record") end
  program_words = command
  return read_and_run(own, env)
end

return verb
