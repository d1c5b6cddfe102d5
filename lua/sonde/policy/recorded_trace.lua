--- A trace as a timeline: its events, and figures made of its samples and
-- collections. What listens to a running process takes the events apart here too, so
-- a replay sees what a watch would have seen of them.
-- @module sonde.policy.recorded_trace
local counters <const> = require "sonde.dotnet.counters"
local events <const> = require "sonde.policy.source.events"
local figures <const> = require "sonde.policy.source.counters"

local recorded_trace = {}

local SECOND <const> = 1000000000

--- Which figures are made of what is no counter: `cpu` (percent of one processor, of
-- samples in managed code: waiting in native code looks like working there),
-- `gc_pause_share` (percent of each second), `heap` (bytes after each collection),
-- `threads` (that were sampled), `exception_rate`.
recorded_trace.METRICS = { "cpu", "gc_pause_share", "heap", "threads", "exception_rate" }

local function add(rows, time, name, value)
  rows[#rows + 1] = { time = time, name = name, value = value, order = #rows }
end

-- By second: what was sampled in it. The seconds without a sample are zero.
local function sample_sums(trace)
  local sums, last = {}, -1
  for sample in trace:samples() or function() end do
    local second <const> = sample.time_ns // SECOND
    local sum = sums[second]
    if sum == nil then
      sum = { busy = 0, threads = {}, n = 0 }
      sums[second] = sum
    end
    if sample.managed then sum.busy = sum.busy + sample.weight_ns end
    if sum.threads[sample.thread_id] == nil then
      sum.threads[sample.thread_id], sum.n = true, sum.n + 1
    end
    last = math.max(last, second)
  end
  return sums, last
end

-- A second is told when it is over; the last one is not whole.
local function add_samples(rows, trace)
  local sums <const>, last <const> = sample_sums(trace)
  for second = 0, last - 1 do
    local sum <const> = sums[second] or { busy = 0, n = 0 }
    add(rows, (second + 1) * SECOND, "cpu", sum.busy * 100 / SECOND)
    add(rows, (second + 1) * SECOND, "threads", sum.n)
  end
end

local function pause_in(pauses, from, to)
  local sum = 0
  for _, pause in ipairs(pauses) do
    sum = sum + math.max(0, math.min(pause.end_ns, to) - math.max(pause.start_ns, from))
  end
  return sum
end

local function add_collections(rows, trace)
  local gcs <const> = trace:gcs()
  if #gcs == 0 then return end
  for _, gc in ipairs(gcs) do
    if gc.heap_bytes and gc.end_ns then add(rows, gc.end_ns, "heap", gc.heap_bytes) end
  end
  local pauses <const> = trace:pauses()
  local last <const> = pauses[#pauses] and pauses[#pauses].end_ns or 0
  for at = SECOND, last + SECOND, SECOND do
    add(rows, at, "gc_pause_share", pause_in(pauses, at - SECOND, at) * 100 / SECOND)
  end
end

-- Figures of what is not told event by event, in order of time.
local function figures_of(trace, wanted)
  local rows <const> = {}
  if wanted.cpu or wanted.threads then add_samples(rows, trace) end
  if wanted.gc_pause_share or wanted.heap then
    add_collections(rows, trace)
  end
  table.sort(rows, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return a.order < b.order
  end)
  return rows
end

-- Takes an event apart into samples: what happened, and counters.
local function new_translator(wanted, put)
  local happened <const> = events.translator({ exception = true, request = true,
    event = wanted.event }, put)
  local published <const> = counters.reader(figures.translator(wanted, put))
  local thrown, second = 0, nil
  return function(event)
    happened(event)
    published(event)
    if not wanted.exception_rate then return end
    local its <const> = event.time_ns // SECOND
    if second and its ~= second then
      put("exception_rate", thrown)
      thrown = 0
    end
    second = its
    if events.is_exception(event) then thrown = thrown + 1 end
  end
end

-- Merges figures and events: gives one sample after the other.
local function merged(stream, rows, wanted)
  local pending, first, last, now = {}, 1, 0, 0
  local translate <const> = new_translator(wanted, function(name, value)
    last = last + 1
    pending[last] = { time = now, name = name, value = value }
  end)
  local next_figure, next_event = 1, stream()
  return function()
    while true do
      if first <= last then
        local row <const> = pending[first]
        pending[first] = nil
        first = first + 1
        return row
      end
      local figure <const> = rows[next_figure]
      if figure and (next_event == nil or figure.time <= next_event.time_ns) then
        next_figure = next_figure + 1
        return figure
      end
      if next_event == nil then return nil end
      now = math.max(now, next_event.time_ns)
      translate(next_event)
      next_event = stream()
    end
  end
end

-- Of the program, when the trace says what was run; otherwise of the file.
local function name_of(trace, path)
  local runtime <const> = trace:runtime()
  local command <const> = runtime and runtime.command_line or ""
  return command:match "([^/\\%s]+)%.dll" or command:match "^%S+" and command:match "^%S+"
    :match "([^/\\]+)$" or path:match "([^/]+)%.%w+$" or path
end

--- Opens a trace.
-- @tparam string path
-- @tparam table wanted set of names of samples
-- @treturn ?function gives at each call `time pid start name metric value`, as
--   `sonde.policy.timeline.rows` does
-- @treturn table `wall_offset`, `problem` when the trace is damaged; or message
-- @treturn ?string code
function recorded_trace.open(path, wanted)
  local sonde <const> = require "sonde"
  local trace, message, code = sonde.open(path)
  if trace == nil then return nil, message, code end
  local info <const> = trace:info()
  local stream, why, reason = trace:events()
  if stream == nil then return nil, why, reason end
  local pid <const>, name <const> = info.process_id or 0, name_of(trace, path)
  local next_row <const> = merged(stream, figures_of(trace, wanted), wanted)
  return function()
    local row <const> = next_row()
    if row then return row.time, pid, 0, name, row.name, row.value end
  end, { wall_offset = info.wall_ns or 0, problem = message }
end

return recorded_trace
