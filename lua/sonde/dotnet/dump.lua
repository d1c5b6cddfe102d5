--- A dump: the managed stacks of all threads at one instant.
--
--    local dump = assert(target:dump())
--    for _, thread in ipairs(dump.threads) do print(thread.name, #thread.frames) end
--
-- It is a session of some passes of the runtime's sampler, which stops the
-- threads for microseconds each; no debugger is involved.
-- @module sonde.dotnet.dump
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local proc <const> = require "sonde.process.proc"
local rows_of <const> = require("sonde.base.rows").of
local units <const> = require "sonde.base.units"

local dump = {}

local MS <const> = 1000000

-- Some passes of the sampler. When a busy machine gives none, a longer look.
local WINDOWS <const> = { 10 * MS, 100 * MS, 500 * MS }

-- What names stacks: loads of modules and methods, ReadyToRun code. Half the
-- size of the whole rundown.
local NAMES_ONLY <const> = 0x38

--- Options of `Target:dump`.
dump.options = {
  { name = "timeout", type = "duration", default = 10000 * MS, default_text = "10s",
    help = "how long it may take" },
}

local Dump <const> = {}
Dump.__index = Dump
Dump.__name = "sonde.dump"

local function record(target, window, deadline)
  local session, message, code, hint, hresult = target:trace {
    providers = { "Microsoft-DotNETCore-SampleProfiler::5" }, rundown_keyword = NAMES_ONLY,
    groups = { "samples" }, timeline = true, timeout = math.max(0, deadline - loop.now()),
  }
  if session == nil then return nil, message, code, hint, hresult end
  session:wait { timeout = window }
  local done, why, kind, help = session:stop { timeout = math.max(0, deadline - loop.now()) }
  if not done and session:counts().samples == 0 then return nil, why, kind, help end
  return session
end

-- The last stack of each thread, and in how many of its samples it was that.
local function last_stacks(samples)
  local by_id, order = {}, {}
  for sample in samples do
    local thread = by_id[sample.thread_id]
    if thread == nil then
      thread = { thread_id = sample.thread_id, samples = 0, seen = {} }
      by_id[sample.thread_id] = thread
      order[#order + 1] = thread
    end
    thread.samples = thread.samples + 1
    thread.seen[sample.frames] = (thread.seen[sample.frames] or 0) + 1
    thread.frames, thread.managed = sample.frames, sample.managed
  end
  for _, thread in ipairs(order) do
    thread.same = thread.seen[thread.frames]
    thread.seen = nil
  end
  table.sort(order, function(a, b) return a.thread_id < b.thread_id end)
  return order
end

local STATES <const> = { R = "running", S = "sleeping", D = "waiting for a device", T = "stopped",
  t = "stopped" }

-- What the system knows of the threads.
local function add_names(threads, pid)
  if pid == nil then return end
  local known <const> = proc.threads(pid)
  for _, thread in ipairs(threads) do
    local its <const> = known[thread.thread_id]
    if its then thread.thread_name, thread.state = its.name, STATES[its.state] or its.state end
  end
end

--- Takes a dump: `Target:dump`.
-- @tparam Target target
-- @tparam ?table given `timeout`
-- @treturn ?Dump `pid name taken_at` (Unix time) and `threads`: each `thread_id
--   thread_name state managed samples same` (how often it was seen, and how
--   often on just this stack) and `frames`, innermost first: `ip method type
--   assembly`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult
function dump.take(target, given)
  local opts <const> = options.check(dump.options, given, "target:dump")
  local deadline <const> = loop.after(opts.timeout)
  for _, window in ipairs(WINDOWS) do
    local session, message, code, hint, hresult = record(target, window, deadline)
    if session == nil then return nil, message, code, hint, hresult end
    local threads <const> = last_stacks(session.decoder:samples())
    if #threads > 0 then
      add_names(threads, target.pid)
      return setmetatable({ pid = target.pid, name = target.name, taken_at = os.time(),
        threads = rows_of(threads) }, Dump)
    end
  end
  return nil, ("process %s ran no managed code while it was looked at"):format(target.pid or "?"),
    "not_found"
end

--- A frame's name, for people.
-- @tparam table frame
-- @treturn string
function dump.frame_name(frame)
  if frame.method == "" then return "[native]" end
  if frame.type == "" then return frame.method end
  return frame.type .. "." .. frame.method
end

function Dump:__tostring()
  return ("dump of process %s (%s): %s"):format(self.pid or "?", self.name,
    units.several(#self.threads, "thread"))
end

local function key_of(thread)
  local names = {}
  for i, frame in ipairs(thread.frames) do names[i] = dump.frame_name(frame) end
  return table.concat(names, "\0")
end

--- The threads grouped by equal stack, the largest group first.
-- @treturn Rows each `frames` and `threads`
function Dump:groups()
  local groups, at = {}, {}
  for _, thread in ipairs(self.threads) do
    local key <const> = key_of(thread)
    if at[key] == nil then
      at[key] = { frames = thread.frames, threads = {}, order = #groups }
      groups[#groups + 1] = at[key]
    end
    table.insert(at[key].threads, thread)
  end
  table.sort(groups, function(a, b)
    if #a.threads ~= #b.threads then return #a.threads > #b.threads end
    return a.order < b.order
  end)
  return rows_of(groups)
end

--- The stacks as a profile that counts threads, for any report.
-- @treturn Profile
function Dump:profile()
  local profile <const> = require("sonde").profile { types = { { "threads", "count" } } }
  for _, thread in ipairs(self.threads) do
    local stack = {}
    for i, frame in ipairs(thread.frames) do
      stack[i] = { name = dump.frame_name(frame), module = frame.assembly, address = frame.ip }
    end
    profile:add(stack, { 1 }, { thread = thread.thread_name or tostring(thread.thread_id) })
  end
  return profile
end

return dump
