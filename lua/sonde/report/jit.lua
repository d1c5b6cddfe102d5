--- Methods that were compiled while the trace ran.
-- @module sonde.report.jit
local layout <const> = require "sonde.base.table"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local jit = {}

jit.name = "jit"
jit.summary = "methods compiled while the trace ran, and how long that took"
jit.takes = "trace"
jit.extensions = {}
jit.options = {
  { name = "n", type = "integer", short = "n", min = 0,
    help = "methods to print, 0 for all; 20 otherwise" },
}

local DEFAULT_ROWS <const> = 20

local function name_of(row)
  local space <const> = row.namespace or ""
  local arguments <const> = (row.signature or ""):match("%(.*$") or ""
  return (space ~= "" and space .. "." or "") .. (row.name or "?") .. arguments
end

local function nothing(trace)
  local loads <const> = trace:counts().method_loads
  if loads > 0 then
    return nil, ("%s: %s methods were loaded, but their compilation was not recorded: it needs"
      .. " keyword 0x10 of Microsoft-Windows-DotNETRuntime at level 5"):format(trace.name,
      units.count(loads)), "no_samples"
  end
  return nil, ("%s: no methods were compiled in the trace; they are recorded with keyword 0x10 of"
    .. " Microsoft-Windows-DotNETRuntime at level 5"):format(trace.name), "no_samples"
end

local function sorted(trace)
  local list <const> = trace:jits()
  if #list == 0 then return nothing(trace) end
  for _, row in ipairs(list) do row.full_name = name_of(row) end
  table.sort(list, function(a, b)
    if a.time_ns ~= b.time_ns then return a.time_ns > b.time_ns end
    if a.full_name ~= b.full_name then return a.full_name < b.full_name end
    return math.ult(a.method_id, b.method_id)
  end)
  return list
end

--- Iterates over the methods, for `--json`: `name time_ns started finished
-- first_ns il_size native_size tier unit`.
-- @param trace
-- @tparam table opts checked options
-- @treturn ?function
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function jit.rows(trace, opts)
  local list, message, code = sorted(trace)
  if list == nil then return nil, message, code end
  return sink.rows(list, opts.n, function(row)
    return {
      name = row.full_name, time_ns = row.time_ns,
      started = row.started, finished = row.finished, first_ns = row.first_ns,
      il_size = row.il_size, native_size = row.native_size, tier = row.tier,
      unit = "nanoseconds",
    }
  end)
end

local COLUMNS <const> = {
  { title = "time", right = true }, { title = "times", right = true },
  { title = "IL", right = true }, { title = "native", right = true }, { title = "tier" },
  { title = "method" },
}

local function cells_of(row)
  return {
    units.duration(row.time_ns), tostring(row.finished), units.bytes(row.il_size),
    units.bytes(row.native_size), row.tier or "", text.printable(row.full_name),
  }
end

local function summary(list)
  local time, finished, unfinished, native = 0, 0, 0, 0
  local tiers, names = {}, {}
  for _, row in ipairs(list) do
    time, native = time + row.time_ns, native + row.native_size
    finished = finished + row.finished
    unfinished = unfinished + row.started - row.finished
    local tier <const> = row.tier and row.tier ~= "" and row.tier or nil
    if tier and tiers[tier] == nil then names[#names + 1] = tier end
    if tier then tiers[tier] = (tiers[tier] or 0) + row.finished end
  end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = ("%s %s"):format(units.count(tiers[name]), name) end
  return ("Compiled: %s methods (%s times) in %s, %s of code%s%s\n"):format(units.count(#list),
    units.count(finished), units.duration(time), units.bytes(native),
    #names > 0 and ": " .. table.concat(names, ", ") or "",
    unfinished > 0 and ("; %s began and are not seen to end"):format(units.count(unfinished))
      or "")
end

--- Writes the table.
-- @param trace
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function jit.write(trace, opts, out)
  local list, message, code = sorted(trace)
  if list == nil then return nil, message, code end
  local n = opts.n or DEFAULT_ROWS
  if n == 0 or n > #list then n = #list end
  local rows = {}
  for i = 1, n do rows[i] = cells_of(list[i]) end
  local to <const> = sink.new(out)
  to:put(summary(list))
  to:putf("\nThe %d that took longest:\n", n)
  to:lines(layout.lines(COLUMNS, rows))
  return to:finish()
end

return jit
