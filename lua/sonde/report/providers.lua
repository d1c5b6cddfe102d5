--- What kinds of events a trace has.
-- @module sonde.report.providers
local layout <const> = require "sonde.base.table"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local providers = {}

providers.name = "providers"
providers.summary = "providers and types of events, with counts and bytes"
providers.takes = "trace"
providers.extensions = {}
providers.options = {
  { name = "n", type = "integer", short = "n", min = 0,
    help = "types to print of each provider, 0 for all; 10 otherwise" },
}

local DEFAULT_ROWS <const> = 10

-- Versions of one event are one row; the most frequent come first.
local function joined(trace)
  local rows, by_key = {}, {}
  for _, type in ipairs(trace:types()) do
    if type.count > 0 then
      local provider <const> = type.provider or ""
      local key <const> = ("%s\0%d\0%s"):format(provider, type.id, type.name)
      local row = by_key[key]
      if row == nil then
        row = { provider = provider, id = type.id, name = type.name, count = 0, bytes = 0,
          described = type.described }
        by_key[key] = row
        rows[#rows + 1] = row
      end
      row.count, row.bytes = row.count + type.count, row.bytes + type.bytes
    end
  end
  return rows
end

local function sorted(trace)
  local rows <const> = joined(trace)
  if #rows == 0 then return nil, trace.name .. ": no events in the trace", "no_events" end
  local totals = {}
  for _, row in ipairs(rows) do
    totals[row.provider] = (totals[row.provider] or 0) + row.count
  end
  table.sort(rows, function(a, b)
    if a.provider ~= b.provider then
      local x <const>, y <const> = totals[a.provider], totals[b.provider]
      if x ~= y then return x > y end
      return a.provider < b.provider
    end
    if a.count ~= b.count then return a.count > b.count end
    if a.id ~= b.id then return a.id < b.id end
    return a.name < b.name
  end)
  return rows, totals
end

--- Iterates over the types, for `--json`: `provider id name count bytes
-- described`.
-- @param trace
-- @treturn ?function
-- @treturn ?string message
-- @treturn ?string code `no_events`
function providers.rows(trace)
  local rows, message, code = sorted(trace)
  if rows == nil then return nil, message, code end
  return sink.rows(rows)
end

local COLUMNS <const> = {
  { title = "events", right = true }, { title = "bytes", right = true },
  { title = "id", right = true }, { title = "name" },
}

local function put_provider(to, name, total, rows, n)
  to:putf("%s: %s events\n", text.printable(name), units.count(total))
  local cells = {}
  for i, row in ipairs(rows) do
    if n > 0 and i > n then break end
    cells[i] = {
      units.count(row.count), units.bytes(row.bytes), tostring(row.id),
      text.printable(row.name ~= "" and row.name or "?") .. (row.described and "" or " (hex)"),
    }
  end
  to:lines(layout.lines(COLUMNS, cells))
  if #cells < #rows then to:putf("and %d more types\n", #rows - #cells) end
  to:put("\n")
end

--- Writes the tables.
-- @param trace
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_events`
function providers.write(trace, opts, out)
  local rows, totals, code = sorted(trace)
  if rows == nil then return nil, totals, code end
  local to <const> = sink.new(out)
  local at = 1
  while at <= #rows do
    local name <const> = rows[at].provider
    local own = {}
    while rows[at] and rows[at].provider == name do
      own[#own + 1] = rows[at]
      at = at + 1
    end
    put_provider(to, name, totals[name], own, opts.n or DEFAULT_ROWS)
  end
  to:putf("One by one: sonde events %s --provider NAME\n", trace.name)
  return to:finish()
end

return providers
