--- Makes a table fit the width of a screen: columns that nobody will miss are
-- left out, long texts are cut in their middle, numbers stay whole.
-- @module sonde.shell.fit
local text <const> = require "sonde.base.text"

local fit = {}

local MIN_TEXT <const> = 20   -- characters that a column of texts keeps
local MIN_NAME <const> = 36   -- and one of names, which tell the rows apart

local function least(column)
  return column.title == "name" and MIN_NAME or MIN_TEXT
end

local function widths_of(columns, rows)
  local widths, total = {}, 2 * (#columns - 1)
  for i, column in ipairs(columns) do
    widths[i] = text.length(column.title)
    for _, row in ipairs(rows) do widths[i] = math.max(widths[i], text.length(row[i])) end
    total = total + widths[i]
  end
  return widths, total
end

-- The column that is missed least: an address, else the last one.
local function least_wanted(columns)
  for i = #columns, 2, -1 do
    if columns[i].expendable then return i end
  end
  return #columns
end

-- Leaves columns out that a narrow screen has no room for, even when all texts
-- are cut. Gives their titles.
local function leave_out(columns, rows, width)
  local gone = {}
  while #columns > 1 do
    local widths, total = widths_of(columns, rows)
    for i, column in ipairs(columns) do
      if not column.right then total = total - math.max(0, widths[i] - least(column)) end
    end
    if total <= width then return gone end
    local i <const> = least_wanted(columns)
    gone[#gone + 1] = table.remove(columns, i).title
    for _, row in ipairs(rows) do table.remove(row, i) end
  end
  return gone
end

--- Makes a text fit: the arguments of a function go first, then the middle of what
-- is left, since what tells names apart is at their end.
-- @tparam string words UTF-8
-- @tparam integer width
-- @treturn string
function fit.cut(words, width)
  if text.length(words) <= width then return words end
  return text.cut_middle((words:gsub("%b()$", "(…)")), width)
end

-- Cuts the widest texts until a row fits; numbers stay whole.
local function cut_texts(columns, rows, width)
  local widths, total = widths_of(columns, rows)
  while total > width do
    local widest
    for i, column in ipairs(columns) do
      if not column.right and widths[i] > least(column)
        and (widest == nil or widths[i] > widths[widest]) then
        widest = i
      end
    end
    if widest == nil then return end
    local cut <const> = math.min(total - width, widths[widest] - least(columns[widest]))
    widths[widest], total = widths[widest] - cut, total - cut
    for _, row in ipairs(rows) do row[widest] = fit.cut(row[widest], widths[widest]) end
  end
end

--- Fits rows to a width, in place.
-- @tparam {table,...} columns as of `sonde.base.table`; `expendable` ones go
--   first when there is no room
-- @tparam {{string,...},...} rows
-- @tparam ?integer width nil leaves all as it is
-- @treturn ?string a line that says what was left out
function fit.to_width(columns, rows, width)
  if width == nil then return nil end
  local gone <const> = leave_out(columns, rows, width)
  cut_texts(columns, rows, width)
  if #gone == 0 then return nil end
  return ("left out: %s (wide shows all)"):format(table.concat(gone, ", "))
end

return fit
