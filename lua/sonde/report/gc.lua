--- Garbage collections of a trace: how many, why, and how long everything
-- stood still for them.
-- @module sonde.report.gc
local layout <const> = require "sonde.base.table"
local sink <const> = require "sonde.report.sink"
local units <const> = require "sonde.base.units"

local gc = {}

gc.name = "gc"
gc.summary = "garbage collections, their reasons and pauses"
gc.takes = "trace"
gc.extensions = {}
gc.options = {
  { name = "n", type = "integer", short = "n", min = 0,
    help = "collections to print, longest pauses first; 0 for all; 20 otherwise" },
}

local DEFAULT_ROWS <const> = 20
local FEW <const> = 100

local GENERATIONS <const> = { "gen 0", "gen 1", "gen 2", "large objects", "pinned objects" }

-- Pauses all together, and those of no known collection.
local function pauses_of(trace)
  local sum = { n = 0, total = 0, longest = 0, orphans = 0 }
  for _, pause in ipairs(trace:pauses()) do
    local length <const> = pause.end_ns - pause.start_ns
    sum.n, sum.total = sum.n + 1, sum.total + length
    sum.longest = math.max(sum.longest, length)
    if pause.gc == nil then sum.orphans = sum.orphans + 1 end
  end
  return sum
end

local function nothing(trace)
  return nil, ("%s: no garbage collections in the trace; they are recorded with keyword 0x1 of"
    .. " Microsoft-Windows-DotNETRuntime"):format(trace.name), "no_samples"
end

local function is_longer(a, b)
  if a.pause_ns ~= b.pause_ns then return a.pause_ns > b.pause_ns end
  if a.start_ns ~= b.start_ns then return a.start_ns < b.start_ns end
  return a.number < b.number
end

-- Puts a row where it belongs among the n longest.
local function insert(list, n, row)
  local at = math.min(#list + 1, n)
  while at > 1 and is_longer(row, list[at - 1]) do
    list[at] = list[at - 1]
    at = at - 1
  end
  list[at] = row
end

-- The n with the longest pauses. Where few are wanted of very many, to sort them
-- all would cost more than to look at each.
local function longest(gcs, n)
  if n > FEW then
    local sorted <const> = table.move(gcs, 1, #gcs, 1, {})
    table.sort(sorted, is_longer)
    return table.move(sorted, 1, n, 1, {})
  end
  local list = {}
  for _, row in ipairs(gcs) do
    if #list < n or is_longer(row, list[n]) then insert(list, n, row) end
  end
  return list
end

--- Iterates over the collections in order of time, for `--json`: `number
-- generation reason type start_ns end_ns pause_ns pauses heap_bytes unit`.
-- @param trace
-- @tparam table opts checked options
-- @treturn ?function
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function gc.rows(trace, opts)
  local gcs = trace:gcs()
  if #gcs == 0 then return nothing(trace) end
  if opts.n and opts.n > 0 then gcs = longest(gcs, opts.n) end
  return sink.rows(gcs, opts.n, function(row)
    row.unit = "nanoseconds"
    return row
  end)
end

local function counted(gcs, key)
  local counts, names = {}, {}
  for _, row in ipairs(gcs) do
    local name <const> = row[key]
    if counts[name] == nil then names[#names + 1] = name end
    counts[name] = (counts[name] or 0) + 1
  end
  table.sort(names, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return tostring(a) < tostring(b)
  end)
  local words = {}
  for i, name in ipairs(names) do words[i] = ("%d %s"):format(counts[name], name) end
  return table.concat(words, ", ")
end

local function by_generation(gcs)
  local count, pause = {}, {}
  for _, row in ipairs(gcs) do
    local g <const> = row.generation
    count[g], pause[g] = (count[g] or 0) + 1, (pause[g] or 0) + row.pause_ns
  end
  local words = {}
  for g = 0, 2 do
    if count[g] then
      words[#words + 1] = ("%d of generation %d (%s)"):format(count[g], g,
        units.duration(pause[g]))
    end
  end
  return table.concat(words, ", ")
end

local function put_heap(to, heap)
  if heap == nil then return end
  local words = {}
  for i, size in ipairs(heap.size) do
    if size > 0 then words[#words + 1] = ("%s %s"):format(GENERATIONS[i], units.bytes(size)) end
  end
  to:putf("Heap after the last one: %s; %s pinned objects, %s handles\n",
    #words > 0 and table.concat(words, ", ") or "empty", units.count(heap.pinned),
    units.count(heap.handles))
end

local COLUMNS <const> = {
  { title = "GC", right = true }, { title = "at", right = true },
  { title = "gen", right = true }, { title = "pause", right = true },
  { title = "took", right = true }, { title = "heap after", right = true },
  { title = "type" }, { title = "reason" },
}

local function cells_of(row)
  return {
    tostring(row.number), units.duration(row.start_ns), tostring(row.generation),
    units.duration(row.pause_ns),
    row.end_ns and units.duration(row.end_ns - row.start_ns) or "?",
    row.heap_bytes and units.bytes(row.heap_bytes) or "", row.type, row.reason,
  }
end

local function put_advice(to, trace, gcs, pauses)
  local counts <const> = trace:counts()
  local duration <const> = counts.last_ns - counts.first_ns
  local induced = 0
  for _, row in ipairs(gcs) do
    if row.reason:find("induced", 1, true) then induced = induced + 1 end
  end
  if duration > 0 and pauses.total * 10 > duration then
    to:putf("note: the process stood still for %s of the time\n   try: sonde top %s --view alloc\n",
      units.share(pauses.total, duration), trace.name)
  end
  if induced * 2 > #gcs then
    to:putf("note: %d of %d collections were asked for by the program (GC.Collect)\n", induced,
      #gcs)
  end
  if counts.lost > 0 then
    to:putf("note: %s events were lost: collections may be missing\n", units.count(counts.lost))
  end
end

--- Writes the report.
-- @param trace
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function gc.write(trace, opts, out)
  local gcs <const>, pauses <const> = trace:gcs(), pauses_of(trace)
  if #gcs == 0 and pauses.n == 0 then return nothing(trace) end
  local to <const> = sink.new(out)
  to:putf("Collections: %d%s\n", #gcs, #gcs > 0 and ": " .. by_generation(gcs) or "")
  to:putf("Pauses: %d, %s in all, the longest %s%s\n", pauses.n, units.duration(pauses.total),
    units.duration(pauses.longest),
    pauses.orphans > 0 and ("; %d of no known collection"):format(pauses.orphans) or "")
  if #gcs > 0 then
    to:putf("Reasons: %s\n", counted(gcs, "reason"))
    to:putf("Types: %s\n", counted(gcs, "type"))
  end
  put_heap(to, trace:heap())
  put_advice(to, trace, gcs, pauses)
  local n = opts.n or DEFAULT_ROWS
  if n == 0 or n > #gcs then n = #gcs end
  if n == 0 then return to:finish() end
  local rows = {}
  for i, row in ipairs(longest(gcs, n)) do rows[i] = cells_of(row) end
  to:putf("\nThe %d with the longest pauses:\n", n)
  to:lines(layout.lines(COLUMNS, rows))
  return to:finish()
end

return gc
