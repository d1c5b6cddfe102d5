--- Timelines: what targets did, to try a policy on.
-- A text of lines `time_s,pid,start,name,metric,value`: seconds, the process's id
-- and start time, its name, what was measured and the value. Cells that hold a
-- comma, a quote or a line break are quoted as in RFC 4180. Things that
-- happened have the name of their trigger (`exception`, `request`, `exit` …) and
-- a text for a value.
-- @module sonde.policy.timeline
local timeline = {}

--- The first line of a timeline.
timeline.HEADER = "time_s,pid,start,name,metric,value"

local COLUMNS <const> = 6

-- Seconds in digits to nanoseconds, without a double on the way.
local function scan_time(text)
  local whole, fraction = text:match "^(%d+)%.?(%d*)$"
  if whole == nil or #whole > 10 or #fraction > 9 then return nil end
  return math.tointeger(tonumber(whole)) * 1000000000
    + (fraction == "" and 0 or math.tointeger(tonumber(fraction .. ("0"):rep(9 - #fraction))))
end

-- The cells of a line that has a quote in it; nil when one is not closed.
local function quoted_cells(line)
  local cells, at = {}, 1
  while at <= #line + 1 do
    if line:sub(at, at) == '"' then
      local close = at
      repeat
        close = line:find('"', close + 1, true)
        if close == nil then return nil end
        local doubled <const> = line:sub(close + 1, close + 1) == '"'
        if doubled then close = close + 1 end
      until not doubled
      cells[#cells + 1] = line:sub(at + 1, close - 1):gsub('""', '"')
      at = close + 2
    else
      local comma <const> = line:find(",", at, true) or #line + 1
      cells[#cells + 1] = line:sub(at, comma - 1)
      at = comma + 1
    end
  end
  return cells
end

local function cells_of(line)
  if line:find('"', 1, true) then return quoted_cells(line) end
  local a, b, c, d, e, f = line:match "^([^,]*),([^,]*),([^,]*),([^,]*),([^,]*),([^,]*)$"
  return a and { a, b, c, d, e, f }
end

-- "nan" is a value that could not be read; tonumber knows none.
local function scan_value(text)
  local value <const> = tonumber(text)
  if value then return value end
  if text:lower() == "nan" then return 0 / 0 end
  return text
end

local function row_of(line)
  local cells <const> = cells_of(line)
  if cells == nil or #cells ~= COLUMNS then
    return nil, ("does not have the %d cells of %s"):format(COLUMNS, timeline.HEADER)
  end
  local time <const> = scan_time(cells[1])
  local pid <const>, start <const> = math.tointeger(tonumber(cells[2])),
    math.tointeger(tonumber(cells[3]))
  if time == nil then return nil, ("'%s' is no time in seconds"):format(cells[1]) end
  if pid == nil then return nil, ("'%s' is no process id"):format(cells[2]) end
  if start == nil then return nil, ("'%s' is no start time"):format(cells[3]) end
  return time, pid, start, cells[4], cells[5], scan_value(cells[6])
end

--- Reads a timeline.
-- @tparam function lines gives a line at each call, as `file:lines()` does
-- @tparam string name for messages
-- @treturn function iterator: time in nanoseconds, pid, start, name, metric,
--   value (a number or a text); or, once, nil, message for a line that cannot be
--   read, which it then leaves out
function timeline.rows(lines, name)
  local number = 0
  return function(problems)
    for line in lines do
      number = number + 1
      line = line:gsub("\r$", "")
      if line ~= "" and not (number == 1 and line == timeline.HEADER) then
        local time, pid, start, target, metric, value = row_of(line)
        if time then return time, pid, start, target, metric, value end
        problems[#problems + 1] = ("%s:%d: %s"):format(name, number, pid)
      end
    end
  end
end

local function cell(value)
  local text <const> = tostring(value)
  if not text:find '[",\r\n]' then return text end
  return '"' .. text:gsub("[\r\n]+", " "):gsub('"', '""') .. '"'
end

--- A line of a timeline.
-- @tparam integer time nanoseconds
-- @tparam integer pid
-- @tparam integer start
-- @tparam string name
-- @tparam string metric
-- @param value a number or a text
-- @treturn string with its line break
function timeline.line(time, pid, start, name, metric, value)
  local seconds <const> = (("%d.%09d"):format(time // 1000000000, time % 1000000000)
    :gsub("%.?0+$", ""))
  if type(value) == "number" and value ~= value then value = "nan" end
  return table.concat({ seconds == "" and "0" or seconds, pid, start, cell(name), cell(metric),
    cell(value) }, ",") .. "\n"
end

return timeline
