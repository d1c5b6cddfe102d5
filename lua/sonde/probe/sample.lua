--- CPU profiles of any process, with kernel, native and managed frames in one
-- stack: the kernel's samples (perf_event_open), walked by unwinding rules.
--
--    local profile, message = require("sonde.probe.sample").record { pid = 4242, duration = "5s" }
--
-- @module sonde.probe.sample
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local jit <const> = require "sonde.probe.jit"
local kernel_functions <const> = require "sonde.probe.kernel"
local limits <const> = require "sonde.probe.limits"
local places <const> = require "sonde.probe.places"
local processes <const> = require "sonde.probe.processes"
local proc <const> = require "sonde.process.proc"
local symbols <const> = require "sonde.symbols"
local uv <const> = require "sonde.base.uv"

local sample = {}

local MS <const> = 1000000
local SECOND <const> = 1000 * MS

-- How long the names of a .NET process may hold up the start, and the end.
local NAMES_FIRST <const>, NAMES_LAST <const> = 5 * SECOND, 10 * SECOND

-- A program that just began may become one in which .NET runs.
local LOOK_FOR_DOTNET <const>, LOOKS_FOR_DOTNET <const> = SECOND // 4, 40

-- The rings hold a second of samples at least: often enough, and cheap.
local TICK <const> = 50 * MS

-- Each switch, fault, waking and request is told, which is far more.
local EACH_TICK <const> = 15 * MS

-- How long symbols may be looked up between two looks at the rings, in
-- nanoseconds: what is known then need not be looked up at the end.
local PREPARE <const> = 25 * MS

-- Where that is allowed samples are taken before others run: of a machine with
-- too much to do they are worth most, and its rings do not wait.
local AHEAD <const> = -10

-- How often clocks of threads are read: a thread that ends in between has less
-- than this left of its life.
local CLOCKS <const> = 200 * MS

-- Events of the kernel, as perf_event_open numbers them: type and config.
local EVENTS <const> = {
  ["cpu-clock"] = { type = 1, config = 0 },
  ["task-clock"] = { type = 1, config = 1 },
  ["page-faults"] = { type = 1, config = 2, period = 1 },
  ["context-switches"] = { type = 1, config = 3, period = 1 },
  ["cycles"] = { type = 0, config = 0 },
  ["instructions"] = { type = 0, config = 1 },
  ["cache-misses"] = { type = 0, config = 3 },
  ["branch-misses"] = { type = 0, config = 5 },
}

-- Says what processes map, and has no samples of its own.
local DUMMY <const> = { type = 1, config = 9, period = 1 }

local EVENT_NAMES <const> = {
  "cpu-clock", "task-clock", "cycles", "instructions", "cache-misses", "branch-misses",
  "page-faults", "context-switches",
}

-- From so many events on, one for each thread and processor, the machine is
-- sampled and other processes are left out.
local MOST_EVENTS <const> = 512

--- Options of `sample.open`; those that the command has too come first.
sample.options = {
  { name = "event", type = "string", choices = EVENT_NAMES, default = "cpu-clock",
    argname = "NAME", help = "what the kernel samples by: " .. table.concat(EVENT_NAMES, " ") },
  { name = "frequency", type = "integer", default = 99, min = 1, max = 10000, argname = "N",
    help = "samples a second of each processor that works" },
  { name = "stack", type = "size", max = 65528, default_text = "16KiB, off_cpu and block_io 8KiB",
    help = "how much of the stack is copied with each sample to be walked" },
  { name = "off_cpu", type = "boolean",
    help = "where threads are off the processors, and how long, instead of where they run" },
  { name = "wakers", type = "boolean",
    help = "with off_cpu: on top of each wait, what ended it; needs tracefs" },
  { name = "block_io", type = "boolean",
    help = "which requests to block devices are made, and how long they take; needs tracefs" },
  { name = "pid", type = "integer", min = 1, help = "the process; nil for all of the machine" },
  { name = "duration", type = "duration", min = 1, help = "how long; until it is stopped" },
}

local Sampling <const> = {}
Sampling.__index = Sampling
Sampling.__name = "sonde.sampling"

local HINT <const> = "sudo sysctl kernel.perf_event_paranoid=1, or as root, or CAP_PERFMON"

-- Whoever may not look at a process may not sample it, whatever the level is.
local function not_allowed(subject, pid, message)
  local owner, hint = nil, nil
  if pid then owner, hint = limits.stranger(pid) end
  if owner then
    return nil, ("cannot sample %s %s: %s"):format(subject, owner, message), "permission", hint
  elseif limits.lockdown() or limits.is_root() then
    return limits.refused("the kernel does not let us sample " .. subject, message, "CAP_PERFMON")
  end
  return nil, ("cannot sample %s: %s (kernel.perf_event_paranoid is %s)"):format(subject, message,
    limits.paranoid() or "unknown"), "permission", HINT
end

local function refused(subject, pid, message, code, hint)
  if code == "permission" then return not_allowed(subject, pid, message) end
  if code == "unavailable" and (limits.paranoid() == nil or message:find "not implemented") then
    return nil, ("cannot sample %s: this kernel has no perf events, or a container's filter of"
      .. " system calls (seccomp) hides them"):format(subject), code, "outside of the container"
  end
  return nil, ("cannot sample %s: %s"):format(subject, message), code, hint
end

-- Names of .NET methods are asked for before the samples are taken.
local function watch_names(self, pid)
  if self.watches[pid] == nil then
    self.watches[pid] = require("sonde.dotnet.name_watch").start(pid)
  end
end

local function watch_all_names(self)
  for _, pid in ipairs(self.pid and { self.pid } or proc.pids()) do watch_names(self, pid) end
  local deadline <const> = loop.after(NAMES_FIRST)
  for _, watch in pairs(self.watches) do watch:wait(deadline) end
end

-- What the kernel is asked for: an event that comes so many times a second, or
-- one that is told each time.
local function event_of(opts)
  return opts.block_io and DUMMY or EVENTS[opts.off_cpu and "context-switches" or opts.event]
end

local function new_sampler(native, opts, with_kernel)
  local event <const> = event_of(opts)
  local stack <const> = opts.stack or (opts.off_cpu or opts.block_io) and 8192 or 16384
  return native.sampler {
    type = event.type, config = event.config, period = event.period,
    frequency = event.period == nil and opts.frequency or nil,
    stack = stack // 8 * 8, kernel = with_kernel, switches = opts.off_cpu,
    raw = opts.wakers or opts.block_io,
  }
end

-- Threads of a process, also those that start while the others are opened:
-- these come from threads that are sampled already, or are in the next list.
local function add_threads(sampler, pid)
  local seen = {}
  for _ = 1, 3 do
    local fresh = false
    for _, tid in ipairs(proc.thread_ids(pid)) do
      if not seen[tid] then
        seen[tid], fresh = true, true
        local added, message, code = sampler:thread(tid)
        if not added and code ~= "not_found" then return nil, message, code end
      end
    end
    if not fresh then break end
  end
  return true
end

-- Devices end requests on any processor, whatever thread is there.
local function aim(sampler, pid, block_io)
  if pid == nil then
    local added, message, code = sampler:thread(-1)
    if not added then return nil, message, code end
    -- Those that are there now, as they may be gone when their first sample comes;
    -- of all others the kernel tells.
    for _, one in ipairs(proc.pids()) do sampler:process(one) end
    return true
  end
  sampler:process(pid)
  if block_io then return sampler:thread(-1, true) end
  if #proc.thread_ids(pid) * #uv.cpu_info() <= MOST_EVENTS then
    return add_threads(sampler, pid)
  end
  return sampler:thread(-1, true)
end

-- Who wakes threads is told by a tracepoint of the whole machine.
local function ask_for_wakers(sampler)
  local id <const>, at, code, hint = places.wakings()
  if id == nil then return nil, at, code, hint end
  return sampler:wakers(id, at)
end

local function ask_for_blocks(sampler)
  local form <const>, message, code, hint = places.block_requests()
  if form == nil then return nil, message, code, hint end
  return sampler:blocks(form)
end

-- With the kernel's frames where that is allowed, else without: except for
-- waits, which are the kernel's events.
local function open_sampler(native, opts)
  local sampler = new_sampler(native, opts, true)
  local done, message, code, hint = aim(sampler, opts.pid, opts.block_io)
  if done and opts.wakers then
    done, message, code, hint = ask_for_wakers(sampler)
  elseif done and opts.block_io then
    done, message, code, hint = ask_for_blocks(sampler)
  end
  if not done and code == "permission" and not opts.off_cpu and not opts.block_io then
    sampler:close()
    sampler = new_sampler(native, opts, false)
    done, message, code = aim(sampler, opts.pid)
    if done then return sampler, false end
  end
  if done then return sampler, true end
  sampler:close()
  return nil, message, code, hint
end

-- Samples count what the kernel's clocks say, where both see the same.
local function has_clocks(opts, kernel)
  return opts.pid ~= nil and kernel and not opts.off_cpu and not opts.block_io
    and (opts.event == "cpu-clock" or opts.event == "task-clock")
end

local function begin(self, opts)
  local started, why, which = self.sampler:start()
  if not started then return nil, why, which end
  local clocks <const> = has_clocks(opts, self.has_kernel)
  if clocks then self.sampler:look_at_clocks() end
  self.clocks_at = clocks and loop.after(CLOCKS) or math.maxinteger
  self.began, self.time_ns = loop.now(), os.time() * SECOND
  return true
end

--- Begins to sample.
-- @tparam table opts see `sample.options`
-- @treturn ?Sampling
-- @treturn ?string message
-- @treturn ?string code `not_found`, `permission` or `unavailable`
-- @treturn ?string hint
function sample.open(opts)
  opts = options.check(sample.options, opts, "sample.open")
  if opts.wakers and not opts.off_cpu then error("sample.open: wakers goes with off_cpu", 2) end
  if opts.block_io and opts.off_cpu then
    error("sample.open: block_io and off_cpu: one of them", 2)
  end
  local native, message, code, hint = symbols.native()
  if native == nil then return nil, message, code, hint end
  local subject, stat = "this machine", nil
  if opts.pid then
    subject = "process " .. opts.pid
    stat, message, code = proc.stat(opts.pid)
    if stat == nil then return nil, message, code, "sonde ps --all" end
  end
  local sampler, kernel, reason, try = open_sampler(native, opts)
  if sampler == nil then return refused(subject, opts.pid, kernel, reason, try) end
  local self <const> = setmetatable({
    sampler = sampler, pid = opts.pid, name = stat and stat.name or "system",
    start_time = stat and stat.start_time, duration = opts.duration, has_kernel = kernel,
    wanted = loop.event(),
    event = opts.event, frequency = opts.frequency, is_off = opts.off_cpu, still = 0,
    is_block = opts.block_io, is_each = event_of(opts).period ~= nil,
    has_wakers = opts.wakers, watches = {}, looks = 0,
  }, Sampling)
  watch_all_names(self)
  local started <const>, why, which = begin(self, opts)
  if started then return self end
  self:close()
  return refused(subject, opts.pid, why, which)
end

--- Makes `Sampling:run` end.
-- @tparam ?string reason
function Sampling:stop(reason)
  if not self.wanted:is_set() then self.wanted:set(reason or "stopped") end
end

-- Another process may have the number by now.
local function has_ended(self)
  if self.pid == nil then return false end
  local stat <const> = proc.stat(self.pid)
  return stat == nil or stat.start_time ~= self.start_time or stat.state == "Z"
end

-- Runtimes say where to reach them some time after their start.
local function look_for_dotnet(self)
  if self.pid == nil or self.watches[self.pid] or self.looks >= LOOKS_FOR_DOTNET
    or loop.now() < (self.look_at or 0) then
    return
  end
  self.looks, self.look_at = self.looks + 1, loop.after(LOOK_FOR_DOTNET)
  watch_names(self, self.pid)
end

local function take(self)
  self.sampler:take()
  self.sampler:prepare(PREPARE)
  look_for_dotnet(self)
  if loop.now() >= self.clocks_at then
    self.sampler:look_at_clocks()
    self.clocks_at = loop.after(CLOCKS)
  end
end

local function step_ahead()
  local own <const> = math.tointeger(uv.os_getpriority(0) or 0)
  if own > AHEAD then uv.os_setpriority(0, AHEAD) end
  return own
end

--- Samples until the duration is over, the process ends or `Sampling:stop`.
-- @tparam ?function looked called now and then with the counts
-- @treturn string why it ended: "duration", "ended" or what was said
function Sampling:run(looked)
  local over <const> = self.duration and self.began + self.duration or math.maxinteger
  local tick <const> = self.is_each and EACH_TICK or TICK
  local reason
  local own_priority <const> = step_ahead()
  repeat
    local stopped <const>, why = self.wanted:wait(math.min(loop.after(tick), over))
    take(self)
    if looked then looked(self.sampler:counts()) end
    if stopped then
      reason = why
    elseif loop.now() >= over then
      reason = "duration"
    elseif has_ended(self) then
      reason = "ended"
    end
  until reason
  self.sampler:stop()
  uv.os_setpriority(0, own_priority)
  for _, watch in pairs(self.watches) do watch:begin_stop() end
  if self.clocks_at ~= math.maxinteger then self.sampler:look_at_clocks() end
  -- Threads that neither left nor came back.
  if self.is_off and self.pid then
    local threads <const> = #proc.thread_ids(self.pid)
    self.still = math.max(0, threads - self.sampler:counts().threads)
  end
  self.elapsed_ns = math.floor(loop.now() - self.began)
  return reason
end

--- What came and what did not.
-- @treturn table `samples lost complete remembered spliced chain cut kernel_only` …
function Sampling:counts()
  return self.sampler:counts()
end

-- What the runtime of a process called its methods meanwhile, if it did.
local function told_names(self, pid)
  local watch <const> = self.watches[pid]
  return watch and watch:stop(loop.after(NAMES_LAST)) or nil
end

-- Who wrote the code of no file of a process: of one that is gone by now what is
-- known is what it had mapped.
local function compiled_by(self, row)
  local pid <const> = row.pid
  local facts <const> = not row.is_past and processes.look(pid) or nil
  local is_same <const> = facts and (pid ~= self.pid or facts.start_time == self.start_time)
  if is_same then return jit.of(facts, told_names(self, pid)) end
  local stage <const> = self.sampler:maps(pid)[1] or {}
  return jit.of({ pid = pid, root = "", inner_pid = pid, name = stage.name or self.name,
    mappings = stage.mappings, has_ended = true }, told_names(self, pid))
end

--- Names the frames in code of no file and gives what was sampled.
-- @treturn Profile of samples and of time (or of the event)
-- @treturn {string,...} what is missing in it
function Sampling:profile()
  local compiled, missing = {}, {}
  for _, row in ipairs(self.sampler:code()) do
    local key <const> = row.is_past and -row.pid or row.pid
    compiled[key] = compiled[key] or compiled_by(self, row)
    local code <const> = compiled[key]:find(row.address)
    if code then
      self.sampler:name(row.frame, code.name, code.module, code.file, code.line,
        code.is_replacement)
    end
  end
  for _, names in pairs(compiled) do
    table.move(names.problems, 1, #names.problems, #missing + 1, missing)
  end
  require "sonde.profile"
  local profile <const> = assert(core.pprof_decode(self.sampler:profile(), { limit = 0 }))
  profile:set_info { time_ns = self.time_ns, duration_ns = self.elapsed_ns }
  for _, path in ipairs(self.sampler:gone()) do missing[#missing + 1] = jit.GONE:format(path) end
  if self.sampler:counts().kernel_nameless > 0 then
    missing[#missing + 1] = kernel_functions.why_nameless()
  end
  table.sort(missing)
  return profile, missing
end

--- Frees the samples, and ends what was asked of processes.
function Sampling:close()
  self.sampler:close()
  for _, watch in pairs(self.watches) do watch:close() end
end

--- Samples for some time.
-- @tparam table opts see `sample.options`; `duration` is needed
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function sample.record(opts)
  if type(opts) ~= "table" or opts.duration == nil then error("record: a duration is needed", 2) end
  local sampling, message, code, hint = sample.open(opts)
  if sampling == nil then return nil, message, code, hint end
  sampling:run()
  local profile <const> = sampling:profile()
  sampling:close()
  return profile
end

return sample
