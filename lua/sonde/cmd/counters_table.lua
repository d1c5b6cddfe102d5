--- Values of counters as lines for people.
-- @module sonde.cmd.counters_table
local text <const> = require "sonde.base.text"

local counters_table = {}

local BARS <const> = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

local function sparkline(history)
  local low, high = math.huge, -math.huge
  for _, value in ipairs(history) do low, high = math.min(low, value), math.max(high, value) end
  local marks = {}
  for i, value in ipairs(history) do
    local share <const> = high > low and (value - low) / (high - low) or 0
    marks[i] = BARS[1 + math.floor(share * (#BARS - 1) + 0.5)]
  end
  return table.concat(marks)
end

local function number(value)
  if value == nil then return "" end
  if value == math.floor(value) and math.abs(value) < 1e15 then
    return require("sonde.base.units").count(math.tointeger(value))
  end
  return ("%.3f"):format(value)
end

local function cells_of(row)
  local name = row.name
  if row.tag_text then name = ("%s{%s}"):format(name, row.tag_text) end
  local shown = number(row.value)
  if row.rate and row.kind ~= "counter" then shown = number(row.rate) end
  if row.quantiles and next(row.quantiles) then
    shown = ("%s / %s / %s"):format(number(row.quantiles["0.5"]), number(row.quantiles["0.95"]),
      number(row.quantiles["0.99"]))
  end
  return { text.printable(row.provider), text.printable(name), shown,
    row.kind == "counter" and number(row.rate) or "", text.printable(row.unit or ""),
    row.stale and "stale" or sparkline(row.history) }
end

local COLUMNS <const> = { { title = "SOURCE" }, { title = "COUNTER" },
  { title = "VALUE", right = true }, { title = "RATE", right = true }, { title = "UNIT" },
  { title = "" } }

local NAME <const>, SHORTEST_NAME <const>, GAP <const> = 2, 16, 2

-- Curves stand last: names give way to them where a line has no room for both.
local function shorten(cells, width)
  local room = width
  for i, column in ipairs(COLUMNS) do
    local widest = text.length(column.title)
    for _, row in ipairs(cells) do widest = math.max(widest, text.length(row[i])) end
    if i ~= NAME then room = room - widest - GAP end
  end
  for _, row in ipairs(cells) do
    row[NAME] = text.cut_middle(row[NAME], math.max(room, SHORTEST_NAME))
  end
end

--- A table with the last values of each counter as a small curve, or `stale` in its
-- place.
-- @tparam {table,...} rows of `Counters:rows`
-- @tparam ?integer width columns that there are for it
-- @treturn {string,...} lines, the titles first
function counters_table.lines(rows, width)
  local cells = {}
  for i, row in ipairs(rows) do cells[i] = cells_of(row) end
  if width then shorten(cells, width) end
  return require("sonde.base.table").lines(COLUMNS, cells)
end

return counters_table
