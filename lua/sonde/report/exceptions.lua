--- Exceptions that were thrown, by type.
-- @module sonde.report.exceptions
local layout <const> = require "sonde.base.table"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local exceptions = {}

exceptions.name = "exceptions"
exceptions.summary = "exceptions thrown, by type, with a message of each"
exceptions.takes = "trace"
exceptions.extensions = {}
exceptions.options = {
  { name = "n", type = "integer", short = "n", min = 0,
    help = "types to print, 0 for all; 30 otherwise" },
}

local DEFAULT_ROWS <const> = 30
local MESSAGE_LENGTH <const> = 120

local function sorted(trace)
  local list <const> = trace:exceptions()
  table.sort(list, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    return (a.type or "") < (b.type or "")
  end)
  if #list > 0 then return list end
  return nil, ("%s: no exceptions in the trace; they are recorded with keyword 0x8000 of"
    .. " Microsoft-Windows-DotNETRuntime"):format(trace.name), "no_samples"
end

--- Iterates over the types, for `--json`: `type count message hresult first_ns
-- last_ns`.
-- @param trace
-- @tparam table opts checked options
-- @treturn ?function
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function exceptions.rows(trace, opts)
  local list, message, code = sorted(trace)
  if list == nil then return nil, message, code end
  return sink.rows(list, opts.n, function(row)
    row.type, row.message = row.type or "", row.message or ""
    row.hresult = ("0x%08x"):format(row.hresult)
    return row
  end)
end

local COLUMNS <const> = {
  { title = "count", right = true }, { title = "first at", right = true },
  { title = "last at", right = true }, { title = "type" }, { title = "first message" },
}

local function cells_of(row)
  local message <const> = text.utf8(text.printable(row.message or ""))
  return {
    units.count(row.count), units.duration(row.first_ns), units.duration(row.last_ns),
    text.printable(row.type or "?"), text.cut(message, MESSAGE_LENGTH),
  }
end

--- Writes the table.
-- @param trace
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function exceptions.write(trace, opts, out)
  local list, message, code = sorted(trace)
  if list == nil then return nil, message, code end
  local n = opts.n or DEFAULT_ROWS
  if n == 0 or n > #list then n = #list end
  local total = 0
  for _, row in ipairs(list) do total = total + row.count end
  local rows = {}
  for i = 1, n do rows[i] = cells_of(list[i]) end
  local to <const> = sink.new(out)
  to:putf("Exceptions: %s of %s", units.count(total), units.several(#list, "type"))
  to:putf("%s\n\n", n < #list and (", the %d most frequent:"):format(n) or ":")
  to:lines(layout.lines(COLUMNS, rows))
  to:putf("\nWhere they are thrown: sonde report tree %s --view exception\n", trace.name)
  return to:finish()
end

return exceptions
