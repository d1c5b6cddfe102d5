--- The Trace Event Format of Chromium: chrome://tracing, Perfetto.
-- @module sonde.report.chromium
local json <const> = require "sonde.base.json"
local order <const> = require "sonde.report.order"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"

local chromium = {}

chromium.name = "chromium"
chromium.summary = "Chromium's trace events in time order, for Perfetto"
chromium.takes = "timeline"
chromium.extensions = { "chromium.json", "trace.json" }
chromium.options = {}

-- Viewers read ids as doubles, where a larger one loses its last digits. A
-- thread whose id cannot be used gets a number that no system gives.
local function safe_id(id, place)
  if math.type(id) == "integer" and id > 0 and id < 1 << 40 then return id end
  return (1 << 40) + place
end

-- Nanoseconds as microseconds, without a double on the way.
local function microseconds(ns)
  return ("%d.%03d"):format(ns // 1000, ns % 1000)
end

local function metadata(kind, pid, tid, name)
  return json.encode({ ph = "M", name = kind, pid = pid, tid = tid, args = { name = name } },
    { "ph", "name", "pid", "tid" })
end

-- A number for each process name, from 1, in the order of the threads.
local function processes_of(threads)
  local number, list = {}, {}
  for _, thread in ipairs(threads) do
    local name <const> = thread.process or ""
    if number[name] == nil then
      list[#list + 1] = name
      number[name] = #list
    end
  end
  return number, list
end

local function write_metadata(to, threads, number, processes)
  local separator = "\n"
  for pid, name in ipairs(processes) do
    to:put(separator .. metadata("process_name", pid, 0, name ~= "" and name or "process"))
    separator = ",\n"
  end
  for i, thread in ipairs(threads) do
    local tid <const> = safe_id(thread.id, i)
    local name = thread.name ~= "" and thread.name or ("thread %s"):format(text.unsigned(thread.id))
    to:put(",\n" .. metadata("thread_name", number[thread.process or ""], tid, name))
  end
end

local function write_thread(to, timeline, i, pid, tid, number, names)
  local tail <const> = (',"pid":%d,"tid":%d}'):format(pid, tid)
  order.walk(timeline, i, number, function(opens, frame, at)
    if opens then
      to:put((',\n{"ph":"B","cat":"sample","name":%s,"ts":%s%s'):format(names[frame + 1],
        microseconds(at), tail))
    else
      to:put((',\n{"ph":"E","ts":%s%s'):format(microseconds(at), tail))
    end
  end)
end

--- Writes the events.
-- @param timeline
-- @tparam table _ checked options: none
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function chromium.write(timeline, _, out)
  local threads <const> = order.threads(timeline)
  if #threads == 0 then return nil, "no samples in time order", "no_samples" end
  local number, frames = order.number(timeline:profile():frames())
  local names = {}
  for i, frame in ipairs(frames) do names[i] = json.string(frame.name) end
  local process_number, processes = processes_of(threads)
  local to <const> = sink.new(out)
  to:put('{"displayTimeUnit":"ms","traceEvents":[')
  write_metadata(to, threads, process_number, processes)
  for i, thread in ipairs(threads) do
    write_thread(to, timeline, thread.place, process_number[thread.process or ""],
      safe_id(thread.id, i), number, names)
  end
  to:put("\n]}\n")
  return to:finish()
end

return chromium
