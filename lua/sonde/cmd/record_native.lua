--- `sonde record --native` and `--system`: the kernel's samples of any process,
-- or of all.
-- @module sonde.cmd.record_native
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local units <const> = require "sonde.base.units"

local native = {}

local SIGINT <const>, SIGTERM <const>, SIGHUP <const> = 2, 15, 1

--- Options of `sonde record` for this way to record.
native.options = {
  { name = "native", type = "boolean",
    help = "sample on the processor with native and kernel frames: any process, by the kernel" },
  { name = "system", type = "boolean", help = "the same of all processes of this machine" },
  { name = "frequency", type = "integer", min = 1, max = 10000, argname = "N",
    help = "with --native and --system: samples a second of each processor (default 99)" },
  { name = "event", type = "string", argname = "NAME", choices = { "cpu-clock", "task-clock",
      "cycles", "instructions", "cache-misses", "branch-misses", "page-faults",
      "context-switches" },
    help = "with --native and --system: what the kernel samples by (default cpu-clock)" },
}

-- Options that are of a session with a runtime.
local OF_SESSIONS <const> = {
  "profile", "provider", "until", "until_lua", "rundown", "no_rundown", "assembly", "listen",
  "format", "socket", "rotate", "ring", "keep", "view",
}

local function check(args)
  local way <const> = args.system and "--system" or "--native"
  for _, name in ipairs(OF_SESSIONS) do
    local value <const> = args[name]
    if value and not (type(value) == "table" and #value == 0) then
      errors.usage(("%s does not go with --%s"):format(way, name:gsub("_", "-")))
    end
  end
  if args.command then errors.usage(way .. " samples what runs: no -- CMD with it") end
  if args.system and (args.target or args.process) then
    errors.usage("--system is all processes: no process with it", "sonde record -p PID --native")
  end
end

local function pid_of(args)
  if args.system then return nil end
  if args.target and args.process then errors.usage("the process is given twice") end
  local what <const> = args.target or args.process
  if what == nil then
    errors.usage("which process? give its number or its name", "sonde ps --all")
  end
  local pid, message, code, hint = require("sonde.targets").process(what)
  if pid == nil then
    errors.raise { message = message, code = code, hint = hint, status = errors.exit.target }
  end
  return pid
end

local REASONS <const> = {
  duration = "the time is over (--duration)", ended = "the process ended",
}

local function percent(part, whole)
  return ("%.1f %%"):format(whole > 0 and part * 100 / whole or 0)
end

-- What the result is worth.
local function tell(sampling, counts, env)
  local stacks <const> = counts.complete + counts.spliced + counts.chain + counts.cut
  env:say(("%s samples of %d threads, %s of the user stacks reach the thread's start"):format(
    units.count(counts.samples), counts.threads, percent(stacks - counts.cut, stacks)))
  if not sampling.has_kernel then
    env:say("without what the kernel did: kernel.perf_event_paranoid does not allow it",
      "sudo sysctl kernel.perf_event_paranoid=1, or as root, or CAP_PERFMON")
  end
  if counts.lost > 0 then
    env:warn(("%s samples were lost: no room in the rings"):format(units.count(counts.lost)), nil,
      "--frequency 49")
  end
  if counts.throttled > 0 then
    env:say(("the kernel slowed sampling down %d times (kernel.perf_event_max_sample_rate)"):format(
      counts.throttled))
  end
  if counts.damaged > 0 then
    env:warn(("%d records could not be read"):format(counts.damaged))
  end
end

local function begin(args, env)
  local sample <const> = require "sonde.probe.sample"
  local opts <const> = { pid = pid_of(args), duration = args.duration, event = args.event,
    frequency = args.frequency }
  local sampling, message, code, hint = sample.open(opts)
  if sampling == nil then
    errors.raise { message = message, code = code, hint = hint, status = errors.exit.target }
  end
  env:say(("sampling %s by %s, %s until Ctrl-C"):format(
    sampling.pid and ("process %d (%s)"):format(sampling.pid, sampling.name) or "all processes",
    sampling.event, args.duration and "for " .. units.duration(args.duration) .. " or" or ""))
  return sampling
end

local function default_output(name)
  return os.date(name:gsub("[^%w._-]", "_") .. "_%Y%m%d_%H%M%S.pb.gz")
end

local function run_to_end(sampling, env)
  local show <const> = require("sonde.base.term").status(env.err, env.terminal.err)
  local release <const> = require("sonde.base.loop").on_signals({ SIGINT, SIGTERM, SIGHUP },
    function(number)
      sampling:stop(number == SIGINT and "Ctrl-C" or "a signal asked for it")
    end)
  local reason <const> = sampling:run(function(counts)
    show(("%s samples  %s lost"):format(units.count(counts.samples), units.count(counts.lost)))
  end)
  show(nil)
  release()
  return reason
end

--- Runs it.
-- @tparam table args
-- @tparam table env
-- @treturn ?integer exit status
function native.run(args, env)
  check(args)
  common.redactor(args)
  local sampling <const> = begin(args, env)
  args.output = args.output or default_output(sampling.name)
  local module <const>, why = require("sonde.report").for_path(args.output)
  if module == nil then errors.usage("-o: " .. why, "-o cpu.pb.gz") end
  local reason <const> = run_to_end(sampling, env)
  env:say(("stopped after %s: %s"):format(units.duration(sampling.elapsed_ns),
    REASONS[reason] or reason))
  local counts <const> = sampling:counts()
  if counts.samples == 0 then
    env:say "no samples: it did not run on a processor meanwhile"
    return errors.exit.empty
  end
  local profile <const>, missing = sampling:profile()
  tell(sampling, counts, env)
  for _, text in ipairs(missing) do env:say("methods are without names: " .. text) end
  sampling:close()
  common.write_report(module, common.redacted(profile, args), {
    output = args.output, redact = args.redact, redactor = args.redactor,
  }, env)
end

return native
