--- Probes that are in place: what they count can be looked at while they run,
-- and `stop` gives the report.
-- @module sonde.probe.session
local attach <const> = require "sonde.probe.attach"
local frames <const> = require "sonde.probe.frames"
local limits <const> = require "sonde.probe.limits"
local loop <const> = require "sonde.base.loop"
local places <const> = require "sonde.probe.places"
local request <const> = require "sonde.probe.request"
local resolve <const> = require "sonde.probe.resolve"
local seen <const> = require "sonde.probe.seen"
local symbols <const> = require "sonde.symbols"

local session = {}

local MS <const> = 1000000
local SECOND <const> = 1000 * MS

-- How often new processes are looked at while somebody waits: one that lives
-- shorter has names only for the functions that were probed.
local LOOK_EVERY <const> = 100 * MS

-- Of a processor, what looks may take where many stacks are counted, and seconds of it
-- that one look may spend on names.
local SHARE_OF_LOOKS <const> = 1 / 10
local NAMES_AT_ONCE <const> = 0.02

-- Rows that there is room for, by stacks: each stack may have some.
local ROWS_PER_STACK <const> = 2

local Probe <const> = {}
Probe.__index = Probe

local function has(list, what)
  for _, item in ipairs(list or {}) do
    if item == what then return true end
  end
  return false
end

local NEEDED <const> = "CAP_BPF and CAP_PERFMON"
local ENOSYS <const> = 38

-- The kernel refused the first thing that we asked for.
local function refused(message, code, number)
  if code == "permission" then
    return limits.refused("the kernel does not let us use BPF", message, NEEDED)
  elseif number == ENOSYS then
    return nil, "this kernel has no BPF (CONFIG_BPF_SYSCALL), or a container's filter of system"
      .. " calls (seccomp) hides it: probes need it", "unavailable",
      "outside of the container; samples need no BPF: sonde record -p PID --native"
  end
  return nil, "cannot start probes: " .. message, code
end

local function open_run(found, opts)
  local native, why, unavailable, how = symbols.native()
  if native == nil then return nil, why, unavailable, how end
  local run, message, code, number = native.probe_new {
    functions = #found.functions, latency = opts.latency or false,
    user_stacks = opts.stacks or false, kernel_stacks = opts.stacks or false,
    by_process = has(opts.by, "process"), by_thread = has(opts.by, "thread"), arg = opts.arg or 0,
    arg_text = opts.arg_type == "string", filter = found.filter,
    hits = opts.hits and opts.max_hits or 0, max_stacks = opts.max_stacks,
    max_rows = opts.max_stacks * ROWS_PER_STACK, max_groups = opts.max_groups,
    max_starts = opts.max_calls,
  }
  if run == nil then return refused(message, code, number) end
  return run
end

-- Only processes that are asked for are counted, and those that become so.
local function set_filter(run, found)
  if not found.filter then return end
  run:forget(found.by_program)
  local forks, child_at = places.forks()
  if not (forks and run:follow(forks, child_at)) then
    found:warn("children of these processes are not counted: that needs tracefs",
      "mount -t tracefs tracefs /sys/kernel/tracing")
  end
  for _, pid in ipairs(found.pids) do run:add_process(pid) end
  if not found.by_program then return end
  for _, file in ipairs(found.files) do
    local native <const> = symbols.native()
    local elf <const> = file.elf or native.elf_functions(file.path)
    if elf and elf.entry_offset ~= 0 then run:mark(file.path, elf.entry_offset) end
  end
end

-- Nothing could be attached: the first reason stands for all.
local function nothing_attached(attached)
  local first <const> = attached.failed[1]
  local what <const> = "no probe could be attached; " .. first.func.name
  if first.errno == 1 or first.errno == 13 then
    return limits.refused(what, first.message, NEEDED)
  end
  return nil, what .. ": " .. first.message, "unavailable"
end

local function entries_attached(functions, attached)
  local failed = {}
  for _, failure in ipairs(attached.failed) do
    if failure.role == "entry" then failed[failure.func] = true end
  end
  for _, func in ipairs(functions) do
    if not failed[func] then return true end
  end
  return false
end

--- Starts what `sonde.probe` asks for.
-- @tparam table opts checked
-- @treturn ?Probe
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function session.start(opts)
  local found, why, reason, help = request.new(opts)
  if found == nil then return nil, why, reason, help end
  local run, message, code, hint = open_run(found, opts)
  if run == nil then return nil, message, code, hint end
  local attached <const> = attach.all(run, found.functions, opts)
  if not entries_attached(found.functions, attached) then
    run:close()
    return nothing_attached(attached)
  end
  set_filter(run, found)
  local self <const> = setmetatable({
    run = run, opts = opts, functions = found.functions, files = found.files,
    failed = attached.failed, rung = attached.rung, warnings = found.warnings,
    resolver = resolve.new(), seen = seen.new(opts.stacks), lists = {}, cut = {},
    prepared = {}, look_at = 0,
  }, Probe)
  for _, pid in ipairs(found.pids) do self.seen:look(pid) end
  self.started_at = os.time()
  self.began = loop.now()
  run:enable()
  return self
end

-- Looks at the processes that were hit; gives the rows of stacks.
local function look(self)
  self.seen:take()
  local rows <const>, is_hit <const> = self.run:rows(), {}
  for _, row in ipairs(rows) do
    if not is_hit[row.pid] then self.seen:look(row.pid) end
    is_hit[row.pid] = true
  end
  self.seen:prune(is_hit)
  return rows
end

--- Looks at the processes that were hit since the last time, so that their
-- stacks have names when they are gone. `wait` and `stop` do this too. Where many
-- stacks are counted it does so less often, for a tenth of a processor.
function Probe:look()
  if not self.opts.stacks or self.report or loop.now() < self.look_at then return end
  local before <const> = os.clock()
  local rows <const> = look(self)
  if not self.opts.hits then frames.prepare(self, rows, NAMES_AT_ONCE) end
  self.look_at = loop.after((os.clock() - before) / SHARE_OF_LOOKS * SECOND // 1)
end

--- Lets the probes run for some time.
-- @tparam integer ns
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code `canceled`
function Probe:wait(ns)
  local deadline <const> = loop.after(ns)
  repeat
    self:look()
    local left <const> = deadline - loop.now()
    if left <= 0 then break end
    local done, message, code = loop.sleep(math.min(left, LOOK_EVERY))
    if not done then return nil, message, code end
  until false
  return true
end

--- What was counted so far.
-- @treturn {table,...} functions that were hit, the most hit first: `id name
--   count`, and with latency `returns total_ns min_ns max_ns`
function Probe:counts()
  local list = {}
  for _, func in ipairs(self.functions) do
    local count <const> = self.run:measure(func.id, true)
    if count > 0 then
      local row <const> = self.run:measure(func.id)
      row.id, row.name, row.func = func.id, func.name, func
      list[#list + 1] = row
    end
  end
  table.sort(list, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    return a.id < b.id
  end)
  return list
end

-- A hit with its function and, on demand, its stacks as frames.
local Hit <const> = {}
Hit.__index = Hit

--- The stacks of a hit.
-- @treturn {table,...} frames of the process, innermost first
-- @treturn {table,...} frames of the kernel
function Hit:stacks()
  return frames.of(self.probe, { id = self.id, user = self.user, kernel = self.kernel,
    pid = self.pid, caller = self.caller })
end

function Hit:__tostring()
  return ("%s by %d/%d at %d"):format(self.func.name, self.pid, self.tid, self.time)
end

local function next_hit(self)
  local bytes <const> = self.run:hit()
  if bytes == nil then return nil end
  local hit, message, code = require("sonde.probe").decode_hit(bytes)
  if hit == nil then return nil, message, code end
  hit.func, hit.probe = self.functions[hit.id + 1], self
  if self.opts.stacks then self.seen:look(hit.pid) end
  return setmetatable(hit, Hit)
end

--- Single hits, one by one. Needs `hits = true`.
-- @tparam ?integer ns how long to wait for each, 0 when not given: then it ends
--   with those that have come
-- @treturn function iterator of hits: `time` (ns, monotonic clock) `pid tid id func
--   is_return latency_ns`, `hit:stacks()`
function Probe:hits(ns)
  if not self.opts.hits then error("probe:hits needs the option 'hits'", 2) end
  local watch <const> = loop.watch(self.run:fd())
  return function()
    local hit, message, code = next_hit(self)
    if hit == nil and message == nil and (ns or 0) > 0 and watch:wait("r", loop.after(ns)) then
      hit, message, code = next_hit(self)
    end
    return hit, message, code
  end, nil, nil, watch
end

--- The function of a process that an address is in.
-- @tparam integer address
-- @tparam integer pid
-- @treturn table `type name offset file function_id address`; the name is
--   `[symbol_not_found]` when nothing is known
function Probe:resolve_user(address, pid)
  return self.resolver:user(self.seen:at(pid, { address }), address)
end

--- The function of the kernel that an address is in.
-- @tparam integer address
-- @treturn table as of `resolve_user`
function Probe:resolve_kernel(address)
  return self.resolver:kernel(address)
end

--- Takes the probes back and says what they counted. Later calls give the same.
-- @treturn Report see `sonde.probe.report`
function Probe:stop()
  if self.report then return self.report end
  self.run:disable()
  self.duration_ns = math.floor(loop.now() - self.began)
  -- A probe's trap is there until it is detached, also in what we call ourselves.
  self.run:detach()
  self.report = require("sonde.probe.report").of(self, self.opts.stacks and look(self) or {})
  self.run:close()
  self.seen:close()
  return self.report
end

--- Takes the probes back without a report.
function Probe:close()
  if self.report then return end
  self.run:close()
  self.seen:close()
end

Probe.__gc = Probe.close
Probe.__close = Probe.close

function Probe:__tostring()
  return ("probe of %d functions (%s)"):format(#self.functions,
    self.report and "stopped" or "running")
end

return session
