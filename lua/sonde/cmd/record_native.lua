--- `sonde record --native` and `--system`: the kernel's samples of any process,
-- or of all.
-- @module sonde.cmd.record_native
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"
local started <const> = require "sonde.cmd.started"
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
  { name = "off_cpu", type = "boolean",
    help = "with --native and --system: where threads wait, and how long" },
  { name = "wakers", type = "boolean",
    help = "with --off-cpu: on top of each wait, what ended it; needs tracefs" },
  { name = "block_io", type = "boolean",
    help = "with --native and --system: requests to block devices, and how long they take;"
      .. " needs tracefs" },
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
  if args.system and (args.target or args.process or args.program) then
    errors.usage("--system is all processes: no process with it", "sonde record -p PID --native")
  end
  if args.program and (args.target or args.process) then
    errors.usage("-- CMD and a process: one of them")
  end
  if args.off_cpu and (args.event or args.frequency) then
    errors.usage(("--off-cpu counts every wait: --%s does not go with it"):format(
      args.event and "event" or "frequency"))
  end
  if args.block_io and (args.event or args.frequency or args.off_cpu) then
    errors.usage(("--block-io counts every request: --%s does not go with it"):format(
      args.event and "event" or args.frequency and "frequency" or "off-cpu"))
  end
  if args.wakers and not args.off_cpu then errors.usage("--wakers goes with --off-cpu") end
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

-- What is counted: which of the counts, its word, and what is said without any.
local KINDS <const> = {
  samples = { word = "sample", none = "no samples: it did not run on a processor meanwhile" },
  waits = { word = "wait", none = "no waits: no thread left or came back meanwhile" },
  requests = { word = "request",
    none = "no requests: no block device was read from or written to meanwhile" },
}

local function kind_of(sampling)
  return sampling.is_block and "requests" or sampling.is_off and "waits" or "samples"
end

local function percent(part, whole)
  return ("%.1f %%"):format(whole > 0 and part * 100 / whole or 0)
end

local function tell_losses(sampling, counts, env)
  if counts.lost > 0 then
    env:warn(("%s samples were lost: no room in the rings"):format(units.count(counts.lost)), nil,
      sampling.has_wakers and "without --wakers"
        or not sampling.is_each and "--frequency 49" or nil)
  end
  if counts.unended > 0 then
    env:say(("%d of %s were not seen to end: how long they took is not known"):format(
      counts.unended, units.several(counts.requests, "request")))
  end
  if counts.throttled > 0 then
    env:say(("the kernel slowed sampling down %d times (kernel.perf_event_max_sample_rate)"):format(
      counts.throttled))
  end
  if counts.damaged > 0 then
    env:warn(("%d records could not be read"):format(counts.damaged))
  end
end

-- What the result is worth.
local function tell(sampling, counts, env)
  local stacks <const> = counts.complete + counts.remembered + counts.spliced + counts.chain
    + counts.cut
  env:say(("%s of %s, %s of the user stacks reach the thread's start"):format(
    units.several(counts[kind_of(sampling)], KINDS[kind_of(sampling)].word),
    units.several(counts.threads, "thread"),
    percent(stacks - counts.cut, stacks)))
  if sampling.still > 0 then
    env:say(("%d threads waited all the time: where is not known, they never left"):format(
      sampling.still))
  end
  if not sampling.has_kernel then
    env:say("without what the kernel did: kernel.perf_event_paranoid does not allow it",
      "sudo sysctl kernel.perf_event_paranoid=1, or as root, or CAP_PERFMON")
  end
  tell_losses(sampling, counts, env)
end

-- The program that -- CMD names, held at its first instruction.
local function start_program(args)
  if args.program == nil then return nil end
  local program <const>, message, code = require("sonde.process.launch").start(args.program)
  if program == nil then errors.raise { message = message, code = code } end
  return program
end

local function begin(args, program, env)
  local sample <const> = require "sonde.probe.sample"
  local opts <const> = { pid = program and program.pid or not program and pid_of(args) or nil,
    duration = args.duration, event = args.event, frequency = args.frequency,
    off_cpu = args.off_cpu, wakers = args.wakers, block_io = args.block_io }
  local sampling, message, code, hint = sample.open(opts)
  if sampling == nil then
    errors.raise { message = message, code = code, hint = hint, status = errors.exit.target }
  end
  if program then sampling.name = args.program[1]:match "([^/]*)$" end
  env:say(("sampling %s by %s, %suntil Ctrl-C"):format(
    sampling.pid and ("process %d (%s)"):format(sampling.pid, sampling.name) or "all processes",
    sampling.is_block and "requests to block devices" or sampling.is_off and "waits"
      or sampling.event,
    args.duration and "for " .. units.duration(args.duration) .. " or " or ""))
  return sampling
end

local function default_output(name)
  return os.date(name:gsub("[^%w._-]", "_") .. "_%Y%m%d_%H%M%S.pb.gz")
end

local function heed(sampling, program)
  local function stop(number)
    sampling:stop(number == SIGINT and "Ctrl-C" or "a signal asked for it")
  end
  if program then return started.heed(program, { function() end, stop }) end
  return require("sonde.base.loop").on_signals({ SIGINT, SIGTERM, SIGHUP }, stop)
end

local function run_to_end(sampling, program, env)
  local show <const> = require("sonde.base.term").status(env.err, env.terminal.err)
  local release <const> = heed(sampling, program)
  if program then program:go() end
  local kind <const> = kind_of(sampling)
  local reason <const> = sampling:run(function(counts)
    show(("%s %s  %s lost"):format(units.count(counts[kind]), kind, units.count(counts.lost)))
  end)
  show(nil)
  release()
  return reason
end

local function write(sampling, report, args, env)
  local counts <const> = sampling:counts()
  if counts[kind_of(sampling)] == 0 then
    local clock <const> = sampling.event == "cpu-clock" or sampling.event == "task-clock"
    env:say(kind_of(sampling) == "samples" and not clock
      and ("no samples: no %s were counted meanwhile"):format(sampling.event)
      or KINDS[kind_of(sampling)].none)
    return errors.exit.empty
  end
  local profile <const>, missing = sampling:profile()
  tell(sampling, counts, env)
  for _, text in ipairs(missing) do env:say(text) end
  sampling:close()
  common.write_report(report, common.redacted(profile, args), {
    output = args.output, redact = args.redact, redactor = args.redactor,
  }, env)
end

local function report_for(path)
  local report <const>, why = require("sonde.report").for_path(path)
  if report == nil then errors.usage("-o: " .. why, "-o cpu.pb.gz") end
  return report
end

--- Runs it.
-- @tparam table args
-- @tparam table env
-- @treturn ?integer exit status
function native.run(args, env)
  check(args)
  common.redactor(args)
  local report = args.output and report_for(args.output)
  if args.output then common.check(files.writable(args.output)) end
  local program <const> = start_program(args)
  local _ <close> = program
  local sampling <const> = begin(args, program, env)
  args.output = args.output or default_output(sampling.name)
  report = report or report_for(args.output)
  local reason <const> = run_to_end(sampling, program, env)
  env:say(("stopped after %s: %s"):format(units.duration(sampling.elapsed_ns),
    REASONS[reason] or reason))
  local status <const> = write(sampling, report, args, env)
  return program and started.wait(program) or status
end

return native
