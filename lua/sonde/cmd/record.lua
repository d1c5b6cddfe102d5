--- `sonde record`: records a running process.
-- @module sonde.cmd.record
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"
local units <const> = require "sonde.base.units"

local SIGNALS <const> = { SIGINT = 2, SIGTERM = 15, SIGHUP = 1 }

-- A rundown may come on top of what `--max-size` allows.
local ROOM_FOR_RUNDOWN <const> = 1 << 30

local declared <const> = {
  { name = "profile", type = "string", many = true, argname = "NAME",
    help = "what to record: cpu alloc gc exceptions contention jit http db threadpool startup full,"
      .. " or a file of yours; may be repeated (default cpu)" },
  { name = "provider", type = "string", many = true, argname = "SPEC",
    help = "a provider to record, NAME[:KEYWORDS[:LEVEL[:KEY=VALUE;…]]]; may be repeated" },
  { name = "duration", type = "duration", min = 1, help = "stop after this time" },
  { name = "max_size", type = "size", default = 1 << 30, default_text = "1GiB", min = 1,
    help = "stop when the stream is this large; the rundown still comes" },
  { name = "buffer", type = "size", default = 256 << 20, default_text = "256MiB", min = 1 << 20,
    help = "memory that the process may use for events that wait" },
  { name = "rundown", type = "boolean", help = "name methods also where the profile does without" },
  { name = "no_rundown", type = "boolean",
    help = "do not have methods described at the end: stacks may stay without names" },
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
  return { names = names, providers = providers.join(table.unpack(lists)), view = view,
    rundown = (rundown or args.rundown or false) and not args.no_rundown }
end

local function default_output(target)
  local name <const> = (target.name or "process"):gsub("[^%w._-]", "_")
  return os.date(name .. "_%Y%m%d_%H%M%S.nettrace")
end

-- Only a NetTrace file takes the stream itself; for other formats the trace
-- that was decoded meanwhile is written when the recording is over.
local function is_raw(path)
  return path:find("%.nettrace$") ~= nil or require("sonde.report").for_path(path) == nil
end

local function tell_start(recording, want, args, env)
  local providers <const> = require "sonde.dotnet.providers"
  local specs = {}
  for i, provider in ipairs(want.providers) do specs[i] = providers.format(provider) end
  env:say(("recording process %s (%s): %s (--profile, --provider)"):format(
    recording.target.pid or "?", recording.target.name,
    #want.names > 0 and table.concat(want.names, "+") or table.concat(specs, " ")))
  for _, lost in ipairs(recording.session.lost) do env:say("without " .. lost) end
  local limits = {}
  if args.duration then limits[1] = "for " .. units.duration(args.duration) end
  limits[#limits + 1] = "until Ctrl-C"
  limits[#limits + 1] = ("or %s (--max-size)"):format(units.bytes(args.max_size))
  env:say(table.concat(limits, ", "))
end

local function status_text(recording)
  local counts <const> = recording.session:counts()
  local phase = ("%.1fs"):format(counts.elapsed_ns / 1e9)
  if recording.stopping_since then phase = "ending, methods are described, " .. phase end
  return ("%s  %s  %s events  %s samples  %s lost"):format(phase, units.bytes(counts.bytes),
    units.count(counts.events), units.count(counts.samples), units.count(counts.lost))
end

local REASONS <const> = {
  duration = "the time is over (--duration)", size = "the size is reached (--max-size)",
  ended = "the process ended",
}

-- Providers that were asked for and of which nothing came.
local function silent_providers(trace, want)
  local seen = {}
  for _, type in ipairs(trace:types()) do
    if type.count > 0 then seen[type.provider] = true end
  end
  local silent = {}
  for _, provider in ipairs(want.providers) do
    if not seen[provider.name] then silent[#silent + 1] = provider.name end
  end
  return silent
end

local function tell_health(session, trace, want, env)
  local counts <const> = session:counts()
  if counts.lost > 0 then
    env:say(("%s of %s events were lost: the buffer was too small, or the output too slow"):format(
      units.count(counts.lost), units.count(counts.events + counts.lost)), "--buffer 1GiB")
  end
  if want.rundown and counts.rundown ~= "complete" then
    env:say(("the description of methods is %s: stacks may be without names"):format(
      counts.rundown == "none" and "missing" or "not complete"))
  end
  for _, name in ipairs(silent_providers(trace, want)) do
    env:say(("nothing came from %s: its name, its keywords and level, or the process does not"
      .. " use it"):format(name))
  end
end

local function tell_end(recording, reason, args, env)
  local counts <const> = recording.session:counts()
  env:say(("stopped after %s: %s"):format(units.duration(counts.elapsed_ns),
    REASONS[reason] or reason))
  if recording.raw then
    env:say(("wrote %s (%s, %s events, %s samples)"):format(args.output,
      units.bytes(counts.written), units.count(counts.events), units.count(counts.samples)),
      "sonde " .. args.output)
  end
end

-- The trace in another format.
local function write_converted(trace, want, args, env)
  local reports <const> = require "sonde.report"
  local module <const> = reports.for_path(args.output)
  local object = trace
  if reports.needs(module, {}) == "profile" then
    object = common.check(trace:profile { view = args.view or want.view, names = args.names })
  end
  common.write_report(module, object, args, env)
end

local function finish(recording, want, args, env, reason, message, code, hint)
  local session <const> = recording.session
  if session == nil then
    if recording.wanted:is_set() then
      errors.raise { message = "not recorded: stopped before it began", code = "canceled",
        status = errors.exit.given_up }
    end
    errors.raise { message = message, code = code, hint = hint }
  end
  tell_end(recording, reason, args, env)
  local trace <const> = session:trace()
  if trace then tell_health(session, trace, want, env) end
  if not recording.raw then write_converted(trace, want, args, env) end
  if recording.given_up then
    errors.raise { message = "given up before the stream had ended; what had come is kept",
      status = errors.exit.given_up }
  end
  if message then errors.raise { message = message, code = code, hint = hint } end
  return errors.exit.done
end

-- Makes signals reasons to stop: the first ends the recording as it should be
-- ended, the second gives up waiting for that.
local function heed_signals(recording, env)
  local loop <const> = require "sonde.base.loop"
  local total = 0
  local numbers = {}
  for _, number in pairs(SIGNALS) do numbers[#numbers + 1] = number end
  return loop.on_signals(numbers, function(number)
    total = total + 1
    if total > 1 then
      recording:give_up()
    else
      recording:stop(number == SIGNALS.SIGINT and "Ctrl-C" or "a signal asked for it")
      if recording.session then env:say "stopping; Ctrl-C again does not wait for method names" end
    end
  end)
end

local function run(args, env)
  local target <const> = live.target(args)
  local want <const> = wanted(args)
  args.output = args.output or default_output(target)
  local show <const> = require("sonde.base.term").status(env.err, env.terminal.err)
  local recording
  recording = require("sonde.dotnet.recording").new(target, {
    duration = args.duration, max_size = args.max_size,
    session = {
      providers = want.providers, rundown = want.rundown, buffer_mb = args.buffer >> 20,
      output = is_raw(args.output) and args.output or nil,
      max_bytes = args.max_size + ROOM_FOR_RUNDOWN,
    },
  }, {
    started = function() tell_start(recording, want, args, env) end,
    looked = function() show(status_text(recording)) end,
  })
  recording.raw = is_raw(args.output)
  local release <const> = heed_signals(recording, env)
  local reason, message, code, hint = recording:run()
  release()
  show(nil)
  return finish(recording, want, args, env, reason, message, code, hint)
end

return common.verb {
  name = "record",
  summary = "record a running process: where its time goes, what it allocates",
  arguments = { live.target_argument },
  options = function()
    return options.join(live.target_options, declared, {
      { name = "output", short = "o", type = "path", argname = "FILE",
        help = "write to this file; its name chooses the format (default NAME_TIME.nettrace)" },
    }, options.select(common.view_options, { "view", "names" }))
  end,
  examples = {
    "sonde record -p Api                          # Ctrl-C ends it",
    "sonde record -p 4242 --duration 30s -o api.nettrace",
    "sonde record -p Api --profile alloc --duration 10s -o alloc.svg",
    "sonde record -p Api --provider System.Net.Http:*:4 --provider MyCompany-Orders",
  },
  run = run,
}
