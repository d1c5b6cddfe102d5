--- How `sonde query` writes rows: for people, as JSON lines, as CSV.
-- @module sonde.cmd.query_show
local json <const> = require "sonde.base.json"
local query <const> = require "sonde.capture.query"
local record_json <const> = require "sonde.capture.record_json"
local table_of <const> = require "sonde.base.table"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local show = {}

-- The order of members in JSON and of columns in CSV.
local ORDER <const> = {
  "schema", "kind", "capture_id", "checkpoint_id", "taken_at", "reason", "key", "pid",
  "transport", "format", "source", "profile", "sample_type", "unit", "value", "goroutine_id",
  "thread_id", "thread_name", "state", "wait_minutes", "locked_to_thread", "created_by",
  "creator_id", "labels", "count", "name", "error", "truncated", "stack_hash", "frames", "raw",
}

-- Rows of a table are laid out in pieces of this many.
local PIECE <const> = 500

local function cell(value)
  if value == nil then return "" end
  if type(value) == "table" then value = json.encode(value) end
  return text.printable(tostring(value))
end

local function top_frame(row)
  local frames <const> = row.frames
  if row.error then return "error: " .. cell(row.error) end
  if frames == nil or frames[1] == nil then return "" end
  local first <const> = frames[1]
  local place = ""
  if first.file then
    place = (" (%s:%d)"):format(text.printable(first.file:match("[^/\\]*$")), first.line or 0)
  end
  return text.printable(first.func) .. place
    .. (#frames > 1 and (" +%d"):format(#frames - 1) or "")
end

local function time(field)
  return function(row) return row[field] and query.time(row[field]) or "" end
end

local function plain(field)
  return function(row) return cell(row[field]) end
end

local function bytes(field)
  return function(row) return row[field] and units.bytes(row[field]) or "" end
end

local function amount(field)
  return function(row)
    return row[field] and units.value(row[field], row.unit or "count") or ""
  end
end

local TIME <const> = { "TIME", time "taken_at" }
local PID <const> = { "PID", plain "pid", right = true }

-- Columns of each kind of record, and of each other way to ask.
local COLUMNS <const> = {
  stacks = { TIME, PID, { "ID", function(row)
    return cell(row.goroutine_id or row.thread_id)
  end, right = true }, { "N", plain "count", right = true },
    { "STATE", function(row) return cell(row.state or row.thread_name) end },
    { "MINUTES", plain "wait_minutes", right = true }, { "STACK", top_frame } },
  goprof = { TIME, PID, { "PROFILE", plain "profile" }, { "TYPE", plain "sample_type" },
    { "VALUE", amount "value", right = true }, { "STACK", top_frame } },
  nettrace = { TIME, PID, { "SESSION", plain "session" }, { "SEGMENT", plain "segment",
    right = true }, { "SIZE", bytes "size", right = true }, { "SAMPLES", plain "samples",
    right = true }, { "LOST", plain "lost", right = true }, { "FILE", function(row)
      return row.error and "error: " .. cell(row.error) or cell(row.path)
    end } },
  process_tree = { TIME, PID, { "PARENT", plain "parent_pid", right = true },
    { "USER", plain "user" }, { "CPU", function(row)
      return row.cpu_time_ns and units.duration(row.cpu_time_ns) or ""
    end, right = true }, { "MEMORY", bytes "memory_bytes", right = true },
    { "STATE", plain "state" }, { "COMMAND", function(row)
      if row.error then return "error: " .. cell(row.error) end
      return ("  "):rep(math.min(row.depth or 0, 20)) .. cell(row.command_line or row.name)
    end } },
  by = { { "RECORDS", plain "records", right = true }, { "VALUE", function(row)
    return row.value and units.value(row.value, row.unit or "count") or cell(row.count)
  end, right = true }, { "TYPE", function(row) return cell(row.sample_type or "count") end },
    { "LONGEST", function(row)
      return row.longest_wait and ("%d min"):format(row.longest_wait) or ""
    end, right = true }, { "WHAT", function(row)
      return row.frames and top_frame(row) or row.name ~= "" and cell(row.name) or "(none)"
    end } },
  trend = { TIME, { "CHECKPOINT", plain "checkpoint_id" }, { "FLAT", amount "flat", right = true },
    { "CUM", amount "cum", right = true }, { "TOTAL", amount "total", right = true },
    { "CUM%", function(row) return units.percent(row.cum, row.total) end, right = true },
    { "", function(row)
      return ("#"):rep(row.total > 0 and math.floor(40 * row.cum / row.total + 0.5) or 0)
    end } },
  growth = { { "FROM", plain "from", right = true }, { "TO", plain "to", right = true },
    { "OVER", function(row) return tostring(#row.counts) end, right = true },
    { "PROCESS", plain "key" }, { "STACK", top_frame } },
  checkpoints = { TIME, { "CHECKPOINT", plain "checkpoint_id" }, { "CAPTURE", plain "capture_id" },
    { "REASON", plain "reason" }, { "PARTS", plain "parts", right = true },
    { "RECORDS", plain "records", right = true }, { "ERRORS", plain "errors", right = true } },
}

-- A kind of somebody's own: its fields as JSON.
local OTHER <const> = { TIME, PID, { "RECORD", function(row)
  local rest = {}
  for name, value in pairs(row) do
    if name ~= "taken_at" and name ~= "pid" and name ~= "capture_id" then rest[name] = value end
  end
  return cell(rest)
end } }

local function write_piece(columns, rows, is_first, out)
  local titles, cells = {}, {}
  for i, column in ipairs(columns) do titles[i] = { title = column[1], right = column.right } end
  for n, row in ipairs(rows) do
    cells[n] = {}
    for i, column in ipairs(columns) do cells[n][i] = column[2](row) end
  end
  local lines <const> = table_of.lines(titles, cells)
  for i = is_first and 1 or 2, #lines do out:write(lines[i], "\n") end
end

local function write_table(way, following, out)
  local rows, columns, n = {}, nil, 0
  local is_first = true
  for row in following do
    local own <const> = way == "records" and (COLUMNS[row.kind] or OTHER) or COLUMNS[way]
    if columns and (own ~= columns or #rows == PIECE) then
      write_piece(columns, rows, is_first, out)
      is_first, rows = own ~= columns, {}
      if is_first then out:write("\n") end
    end
    columns, n = own, n + 1
    rows[#rows + 1] = row
  end
  if #rows > 0 then write_piece(columns, rows, is_first, out) end
  return n
end

local function write_json(following, out)
  local n = 0
  for row in following do
    n = n + 1
    if n == 1 then row.schema = 1 end
    out:write(record_json.encode(row, ORDER), "\n")
  end
  return n
end

local function quoted(value)
  if value == nil then return "" end
  if type(value) == "table" then value = json.encode(value) end
  local shown <const> = text.utf8(tostring(value))
  return shown:find('[",\r\n]') and '"' .. shown:gsub('"', '""') .. '"' or shown
end

-- The columns of CSV are those of the first rows: all that the kinds declare.
local function csv_columns(way, row)
  local names, seen = {}, {}
  local function add(name)
    if not seen[name] and name ~= "schema" then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  if way == "records" then
    add "kind"
    add "capture_id"
    local list <const> = require("sonde.capture.fields").of(row.kind)
    for _, field in ipairs(list or {}) do add(field.name) end
    if list then return names end
  end
  for _, name in ipairs(ORDER) do
    if row[name] ~= nil then add(name) end
  end
  local rest = {}
  for name in pairs(row) do
    if not seen[name] then rest[#rest + 1] = name end
  end
  table.sort(rest)
  for _, name in ipairs(rest) do add(name) end
  return names
end

local function write_csv(way, following, out)
  local names, kind
  local n = 0
  for row in following do
    if names == nil or way == "records" and row.kind ~= kind then
      names, kind = csv_columns(way, row), row.kind
      out:write(table.concat(names, ","), "\r\n")
    end
    local cells = {}
    for i, name in ipairs(names) do cells[i] = quoted(row[name]) end
    out:write(table.concat(cells, ","), "\r\n")
    n = n + 1
  end
  return n
end

--- Writes rows.
-- @tparam string way "records", "by", "trend", "growth", "checkpoints", "diff"
-- @tparam function following iterator of rows
-- @tparam table opts `json`, `csv`
-- @tparam table out
-- @treturn integer number of rows
function show.write(way, following, opts, out)
  if opts.json then return write_json(following, out) end
  if opts.csv then return write_csv(way, following, out) end
  return write_table(way, following, out)
end

return show
