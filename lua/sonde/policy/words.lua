--- How a policy's numbers and times are said.
-- @module sonde.policy.words
local units <const> = require "sonde.base.units"

local words = {}

--- A duration as people write it: "10s", "1m30s".
-- @tparam integer ns
-- @treturn string
function words.duration(ns)
  if ns == 0 then return "0s" end
  local parts, left = {}, ns
  for _, unit in ipairs { { "d", 86400000000000 }, { "h", 3600000000000 }, { "m", 60000000000 } } do
    if left >= unit[2] then
      parts[#parts + 1] = left // unit[2] .. unit[1]
      left = left % unit[2]
    end
  end
  if left > 0 and (#parts == 0 or left % 1000000000 == 0) then
    parts[#parts + 1] = left % 1000000000 == 0 and left // 1000000000 .. "s"
      or left < 1000000000 and units.duration(left)
      or (("%.3f"):format(left / 1e9):gsub("0+$", "")) .. "s"
  end
  return table.concat(parts)
end

-- Later than that it is no time since a beginning, but one of the clock.
local CLOCK <const> = 100000000 * 1000000000

--- An instant: in seconds of a timeline, "41s", "89.5s"; of the clock "13:05:07".
-- @tparam integer ns
-- @treturn string
function words.instant(ns)
  if ns > CLOCK then return os.date("%H:%M:%S", ns // 1000000000) end
  if ns % 1000000000 == 0 then return ns // 1000000000 .. "s" end
  return (("%.3f"):format(ns / 1e9):gsub("0+$", "")) .. "s"
end

--- A value: "80", "79.5".
-- @tparam number value
-- @treturn string
function words.number(value)
  if math.type(value) == "integer" then return tostring(value) end
  if value ~= value then return "no number" end
  if value == math.floor(value) and math.abs(value) < 1e15 then return ("%d"):format(value) end
  return (("%.3f"):format(value):gsub("%.?0+$", ""))
end

--- A list: "a, b and c".
-- @tparam {string,...} list
-- @tparam ?string last the word before the last, "and"
-- @treturn string
function words.list(list, last)
  if #list < 2 then return list[1] or "" end
  return ("%s %s %s"):format(table.concat(list, ", ", 1, #list - 1), last or "and", list[#list])
end

return words
