--- `sonde record`: records a running process, or a program from its start.
-- @module sonde.cmd.record
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"
local run <const> = require "sonde.cmd.record_run"
local started <const> = require "sonde.cmd.started"

local SIGINT <const>, SIGTERM <const>, SIGHUP <const> = 2, 15, 1

local SECOND <const> = 1000000000

-- A program that has not become a .NET one by then is told of, not given up.
local EXPECTED_START <const> = 10 * SECOND
local FOREVER <const> = 10 * 365 * 24 * 3600 * SECOND

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
  { name = "max_size", type = "size", default_text = "1GiB", min = 1,
    help = "stop when the stream is this large; the rundown still comes" },
  { name = "max_cost", type = "percent", argname = "PERCENT", min = 0,
    help = "stop when sampling and sending take the process more of one processor than this" },
  { name = "rotate", type = "size", argname = "SIZE", min = 1 << 20,
    help = "write segments of about this size, NAME.0001.nettrace and so on; each opens alone" },
  { name = "keep", type = "integer", argname = "N", min = 1,
    help = "with --rotate: keep only the last N segments" },
  { name = "ring", type = "duration", argname = "TIME", min = 1,
    help = "keep the last of this time only, in memory, and write it at the end; SIGUSR1, and Enter"
      .. " at a terminal, write it meanwhile to NAME.0001.nettrace and so on" },
  { name = "buffer", type = "size", default = 256 << 20, default_text = "256MiB", min = 1 << 20,
    help = "memory that the process may use for events that wait" },
  { name = "rundown", type = "boolean", help = "name methods also where the profile does without" },
  { name = "no_rundown", type = "boolean",
    help = "do not have methods described at the end: stacks may stay without names" },
  { name = "assembly", type = "string", argname = "NAME",
    help = "with -- CMD and --listen: the entry assembly to record, of all that start" },
  { name = "listen", type = "path", argname = "PATH",
    help = "serve processes that connect to this socket, as DOTNET_DiagnosticPorts=PATH tells"
      .. " them, from their start on; each gets a file of its own in the folder -o" },
  { name = "output", short = "o", type = "path", argname = "FILE",
    help = "write to this file; its name chooses the format (default NAME_TIME.nettrace)" },
  { name = "format", short = "f", type = "string", many = true, argname = "NAME",
    help = "write this format too, beside the output; may be repeated" },
}

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

-- The program's own first; after that come the two steps of every recording.
local function pass_signals(launched, recording, env)
  return started.heed(launched, {
    function() env:say "waiting for the program to end; Ctrl-C again stops recording it" end,
    function()
      recording:stop "Ctrl-C"
      env:say(STOPPING)
    end,
    function() recording:give_up() end,
  })
end

local function attach(args, env)
  local target <const> = live.target(args)
  local want <const> = run.wanted(args)
  args.output = args.output or run.default_output(target.name)
  local recording <const> = run.prepare(target, want, args, env)
  local release <const> = heed_signals(recording, env)
  local let_go <const> = require("sonde.cmd.record_tape").heed(recording, env, true)
  local outcome <const> = run.to_end(recording)
  release()
  let_go()
  return run.finish(recording, want, args, env, outcome)
end

-- The runtime that the program starts.
local function await_runtime(launched, args, env)
  local loop <const> = require "sonde.base.loop"
  local target, message, code = launched:target(loop.after(EXPECTED_START))
  if code == "timeout" then
    env:say(("%s has not started a .NET runtime%s: it is no .NET program, or diagnostics are off"):
      format(args.program[1], launched.others > 0 and " of that name" or ""))
    target, message, code = launched:target(loop.after(FOREVER))
  end
  if target then return target end
  errors.raise { code = code, status = errors.exit.target,
    message = ("%s: not recorded: %s"):format(args.program[1], message) }
end

local function start_program(args, env)
  if args.target or args.process or args.socket then
    errors.usage("-- CMD and a process: one of them")
  end
  local launched, message, code = require("sonde.dotnet.launch").start(args.program,
    { assembly = args.assembly })
  if launched == nil then errors.raise { message = message, code = code } end
  local _ <close> = launched
  local want <const> = run.wanted(args)
  local target <const> = await_runtime(launched, args, env)
  args.output = args.output or run.default_output(target.name)
  local recording <const> = run.prepare(target, want, args, env)
  local tell <const> = recording.hooks.started
  function recording.hooks.started()
    tell()
    target:resume()
  end
  local release <const> = pass_signals(launched, recording, env)
  local let_go <const> = require("sonde.cmd.record_tape").heed(recording, env, false)
  local outcome <const> = run.to_end(recording)
  if recording.session == nil then target:resume() end
  local done, failure = pcall(run.finish, recording, want, args, env, outcome)
  if not done and (recording.session == nil or not errors.is_failure(failure)) then
    error(failure, 0)
  end
  if not done then env:say(failure.message, failure.hint) end
  if recording.given_up then return errors.exit.given_up end
  local status <const> = started.wait(launched)
  release()
  let_go()
  return status
end

local function serve(args, env)
  if args.program or args.target or args.process or args.socket then
    errors.usage("--listen waits for processes that come: no process and no -- CMD with it")
  end
  return require("sonde.cmd.record_listen").run(args, env)
end

local verb <const> = common.verb {
  name = "record",
  summary = "record a running process, or a program from its start",
  description = "Records a running process, or a program from its start.\n\nSamples are of wall"
    .. " time. The view oncpu scales those of each thread to what its clock in the system says:"
    .. " exact by thread, and 4 to 6% off by method in ordinary code. The runtime stops threads at"
    .. " safe points only, so that code without any, such as a loop that only allocates, is seen"
    .. " where it next calls native code, and may be 50% off; --native has no such bias.",
  arguments = { live.target_argument },
  options = function()
    return options.join(live.target_options, declared, require("sonde.cmd.record_native").options,
      options.select(common.view_options, { "view", "names" }), common.redact_options())
  end,
  examples = {
    "sonde record -p Api                          # Ctrl-C ends it",
    "sonde record -p 4242 --duration 30s -o api.nettrace",
    "sonde record -p Api --profile alloc --duration 10s -o alloc.svg",
    "sonde record -p Api --duration 10s -o api.pb.gz --view oncpu",
    "sonde record -p Api --provider System.Net.Http:*:4 --until 'Http/RequestFailed'",
    "sonde record -o start.nettrace -- dotnet app.dll --port 80",
    "sonde record -p Api --rotate 64MiB --keep 10 -o api.nettrace",
    "sonde record -p Api --ring 60s --until Exception -o before.nettrace",
    "sonde record http://localhost:6060 --view heap   # or the pid of a Go program",
    "sonde record -p 4242 --native --duration 10s -o cpu.html    # any process",
    "sonde record --system --duration 10s -o machine.pb.gz",
    "sonde record --listen /tmp/port -o traces --duration 30s",
  },
  run = function(args, env)
    if args.native or args.system then return require("sonde.cmd.record_native").run(args, env) end
    run.refuse_raw(args)
    require("sonde.cmd.record_tape").check(args)
    if args.listen then return serve(args, env) end
    if args.program then return start_program(args, env) end
    if args.assembly then errors.usage("--assembly goes with -- CMD or --listen") end
    return attach(args, env)
  end,
}

local read_and_run <const> = verb.start

--- The declarations of the verb: for .NET and any process, and for Go programs.
-- @treturn {table,...}
function verb.forms()
  return { verb.declaration(), require("sonde.cmd.record_go").declaration() }
end

-- Who samples by the kernel does not ask the program, in whatever it is written.
local function is_by_kernel(words)
  for _, word in ipairs(words) do
    if word == "--native" or word == "--system" then return true end
  end
  return false
end

--- Runs the verb.
-- @tparam {string,...} words
-- @tparam table env
-- @treturn ?integer exit status
function verb.start(words, env)
  local own <const>, command <const> = started.split(words, "record")
  if command or is_by_kernel(own) then return read_and_run(own, env, command) end
  local is_go <const>, go_words = require("sonde.cmd.go").meant(own)
  if is_go then
    return require("sonde.cmd.record_go").start(go_words, env)
  end
  local status <const> = read_and_run(own, env)
  live.add_help(own, "a Go program", "sonde.cmd.record_go", env)
  return status
end

return verb
