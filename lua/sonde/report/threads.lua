--- The threads of a trace: what each did and what was lost of it.
-- @module sonde.report.threads
local json <const> = require "sonde.base.json"
local layout <const> = require "sonde.base.table"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local threads = {}

threads.name = "threads"
threads.summary = "threads with their samples, time, events and losses"
threads.takes = "trace"
threads.extensions = {}
threads.options = {}

local function sorted(trace)
  local list <const> = trace:threads()
  if #list == 0 then
    return nil, trace.name .. ": no thread in the trace wrote an event", "no_samples"
  end
  table.sort(list, function(a, b)
    if a.samples ~= b.samples then return a.samples > b.samples end
    if a.events ~= b.events then return a.events > b.events end
    if a.process ~= b.process then return math.ult(a.process or 0, b.process or 0) end
    if a.id ~= b.id then return math.ult(a.id, b.id) end
    return (a.name or "") < (b.name or "")
  end)
  return list
end

--- Iterates over the threads, for `--json`: `id name process process_name
-- samples managed wall_ns events lost`.
-- @param trace
-- @treturn ?function
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function threads.rows(trace)
  local list, message, code = sorted(trace)
  if list == nil then return nil, message, code end
  for _, row in ipairs(list) do
    row.id, row.process = json.id(row.id), json.id(row.process)
  end
  return sink.rows(list)
end

local function columns_of(list)
  local columns = {
    { title = "thread", right = true }, { title = "samples", right = true },
    { title = "wall", right = true }, { title = "managed", right = true },
    { title = "events", right = true }, { title = "lost", right = true }, { title = "name" },
  }
  for _, row in ipairs(list) do
    if row.process then
      columns[#columns + 1] = { title = "process" }
      return columns, true
    end
  end
  return columns, false
end

local function cells_of(row, with_process)
  local process = ""
  if with_process and row.process then
    process = ("%s (%s)"):format(text.printable(row.process_name or "?"),
      text.unsigned(row.process))
  end
  return {
    text.unsigned(row.id), units.count(row.samples),
    row.wall_ns > 0 and units.duration(row.wall_ns) or "",
    row.wall_ns > 0 and units.share(row.managed, row.samples) or "",
    units.count(row.events), units.count(row.lost), text.printable(row.name or ""), process,
  }
end

--- Writes the table.
-- @param trace
-- @tparam table _ options: none
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function threads.write(trace, _, out)
  local list, message, code = sorted(trace)
  if list == nil then return nil, message, code end
  local columns, with_process = columns_of(list)
  local rows, lost = {}, 0
  for i, row in ipairs(list) do
    rows[i] = cells_of(row, with_process)
    lost = lost + row.lost
  end
  local to <const> = sink.new(out)
  to:putf("Threads: %s\n\n", units.count(#list))
  to:lines(layout.lines(columns, rows))
  if lost > 0 then
    to:putf("\nnote: %s events were lost; sonde inspect %s says when\n", units.count(lost),
      trace.name)
  end
  return to:finish()
end

return threads
