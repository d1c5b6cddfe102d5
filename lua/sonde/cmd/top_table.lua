--- What `sonde top` of a running process shows of one interval: rows, and
-- lines of them.
-- @module sonde.cmd.top_table
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local top_table = {}

local SECOND <const> = 1000000000

local NOTHING <const> = {
  oncpu = "no thread has used a processor", alloc = "nothing was allocated that was sampled",
  exception = "no exception was thrown", contention = "no lock was waited for",
}

local TITLES <const> = {
  oncpu = "CPU", wall = "wall time", running = "time not in a known wait",
  alloc = "allocations", exception = "exceptions", contention = "lock contention",
}

-- Rates of each unit, as people say them.
local RATES <const> = {
  nanoseconds = function(rate) return ("%.1f%%"):format(rate / SECOND * 100) end,
  bytes = function(rate) return units.bytes(math.floor(rate + 0.5)) .. "/s" end,
  count = function(rate) return ("%.1f/s"):format(rate) end,
}

local function type_of(profile)
  local types <const> = profile:types()
  local index <const> = profile:info().default_type
  return index, types[index].unit
end

local function thread_name(window, id)
  local its <const> = window.threads[id]
  return its and its.name ~= "" and ("%d %s"):format(id, its.name) or tostring(id)
end

local BY <const> = {
  ["function"] = "function", thread = "label:thread_id", type = "label:type",
}

local function node_name(node, by, window)
  if by == "thread" then return thread_name(window, node.num) end
  return node.name == "" and "[unknown]" or node.name
end

local ORDERS <const> = {
  own = function(a, b)
    if a.flat ~= b.flat then return a.flat > b.flat end
    if a.cum ~= b.cum then return a.cum > b.cum end
    return a.name < b.name
  end,
  total = function(a, b)
    if a.cum ~= b.cum then return a.cum > b.cum end
    if a.flat ~= b.flat then return a.flat > b.flat end
    return a.name < b.name
  end,
}

--- The rows of an interval.
-- @tparam table window of `sonde.dotnet.live`
-- @tparam table how `by` (`function thread type`), `sort` (`own total`)
-- @treturn {table,...} each `name flat cum`
-- @treturn table what they are of: `unit total`
function top_table.rows(window, how)
  local index, unit = type_of(window.profile)
  local graph <const> = window.profile:graph { type = index, by = BY[how.by] }
  local rows = {}
  for _, node in ipairs(graph.nodes) do
    if node.flat ~= 0 or node.cum ~= 0 then
      rows[#rows + 1] = { name = node_name(node, how.by, window), flat = node.flat,
        cum = node.cum, thread_id = how.by == "thread" and node.num or nil }
    end
  end
  table.sort(rows, ORDERS[how.sort])
  return rows, { unit = unit, total = graph.total }
end

local function rate_of(value, window, unit)
  return RATES[unit](value / (window.duration_ns / SECOND))
end

--- What the rows are of, in one line.
-- @tparam table window
-- @tparam table about of `rows`
-- @treturn string
function top_table.headline(window, about)
  local total = rate_of(about.total, window, about.unit)
  if window.view == "oncpu" then total = total .. " of one processor" end
  local words = { ("%s: %s over %s"):format(TITLES[window.view], total,
    units.duration(window.duration_ns)) }
  local threads = 0
  for _ in pairs(window.threads) do threads = threads + 1 end
  if threads > 0 then words[#words + 1] = units.several(threads, "thread") end
  if window.lost > 0 then words[#words + 1] = units.count(window.lost) .. " events lost" end
  if window.unnamed > 0 then
    words[#words + 1] = ("%s of frames without a name"):format(
      units.percent(window.unnamed, window.frames):gsub("^ +", ""))
  end
  return table.concat(words, ", ")
end

local function cells_of(row, window, about)
  return { rate_of(row.flat, window, about.unit), units.percent(row.flat, about.total),
    rate_of(row.cum, window, about.unit), units.percent(row.cum, about.total),
    text.printable(row.name) }
end

local FIRST <const> = { ["function"] = "FUNCTION", thread = "THREAD", type = "TYPE" }

--- The rows as lines below their titles.
-- @tparam table window
-- @tparam {table,...} rows
-- @tparam table about of `rows`
-- @tparam table how as of `rows`
-- @treturn {string,...}
function top_table.lines(window, rows, about, how)
  if #rows == 0 then return { NOTHING[window.view] or "no thread was seen" } end
  local columns <const> = { { title = "OWN", right = true }, { title = "OWN%", right = true },
    { title = "TOTAL", right = true }, { title = "TOTAL%", right = true },
    { title = FIRST[how.by] } }
  local lines = {}
  for i, row in ipairs(rows) do lines[i] = cells_of(row, window, about) end
  return require("sonde.base.table").lines(columns, lines)
end

return top_table
