--- Aligned columns of text for people.
-- @module sonde.base.table
local text <const> = require "sonde.base.text"

local table_of = {}

local function widths_of(columns, rows)
  local widths = {}
  for i, column in ipairs(columns) do widths[i] = text.length(column.title) end
  for _, row in ipairs(rows) do
    for i = 1, #columns do
      widths[i] = math.max(widths[i], text.length(row[i] or ""))
    end
  end
  return widths
end

-- The last column is not padded when it is aligned left: names are long, and
-- blanks at a line's end help nobody.
local function line_of(columns, widths, cell)
  local cells = {}
  for i, column in ipairs(columns) do
    local content = cell(i)
    local blank = (" "):rep(widths[i] - text.length(content))
    if column.right then
      content = blank .. content
    elseif i < #columns then
      content = content .. blank
    end
    cells[i] = content
  end
  return (table.concat(cells, "  "):gsub(" +$", ""))
end

--- Lays out rows below their titles.
-- Cells must be printable already (`sonde.base.text`).
-- @tparam {table,...} columns each `{ title =, right = true for numbers }`
-- @tparam {{string,...},...} rows
-- @treturn {string,...} lines, the titles first, without line ends
function table_of.lines(columns, rows)
  local widths <const> = widths_of(columns, rows)
  local lines = { line_of(columns, widths, function(i) return columns[i].title end) }
  for _, row in ipairs(rows) do
    lines[#lines + 1] = line_of(columns, widths, function(i) return row[i] or "" end)
  end
  return lines
end

return table_of
