--- The trend of a function over checkpoints as a picture: one SVG file, without a
-- script.
-- @module sonde.cmd.query_trend
local query <const> = require "sonde.capture.query"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local trend = {}

local WIDTH <const>, HEIGHT <const> = 900, 320
local LEFT <const>, RIGHT <const>, TOP <const>, BOTTOM <const> = 90, 20, 50, 50

local function escape(value)
  local shown <const> = text.utf8(text.printable(value))
  return (shown:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
    ['"'] = "&quot;" }))
end

-- A line through the points, and a dot with its value for each.
local function series(points, field, colour, at)
  local places, dots = {}, {}
  for i, point in ipairs(points) do
    local x <const>, y <const> = at(point, point[field])
    places[i] = ("%.1f,%.1f"):format(x, y)
    dots[i] = ('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s %s: %s</title></circle>')
      :format(x, y, colour, query.time(point.taken_at), field,
      escape(units.value(point[field], point.unit)))
  end
  return ('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>\n%s\n'):format(colour,
    table.concat(places, " "), table.concat(dots, "\n"))
end

--- Writes the picture.
-- @tparam {table,...} points of `Store:trend`
-- @tparam string pattern for the title
-- @tparam table out
-- @treturn boolean true
function trend.write(points, pattern, out)
  local first <const>, last <const> = points[1] and points[1].taken_at or 0,
    points[#points] and points[#points].taken_at or 0
  local largest, unit = 1, ""
  for _, point in ipairs(points) do
    largest = math.max(largest, point.cum)
    if point.unit ~= "" then unit = point.unit end
  end
  local function at(point, value)
    local share <const> = last > first and (point.taken_at - first) / (last - first) or 0.5
    return LEFT + share * (WIDTH - LEFT - RIGHT),
      HEIGHT - BOTTOM - value / largest * (HEIGHT - TOP - BOTTOM)
  end
  out:write(('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d"'
    .. ' font-family="sans-serif" font-size="12">\n<rect width="100%%" height="100%%"'
    .. ' fill="#ffffff"/>\n<text x="%d" y="24" font-size="16">%s</text>\n'):format(WIDTH, HEIGHT,
    WIDTH, HEIGHT, LEFT, escape(("functions that match %s, over %d checkpoints")
      :format(pattern, #points))))
  for i = 0, 4 do
    local y <const> = HEIGHT - BOTTOM - i / 4 * (HEIGHT - TOP - BOTTOM)
    out:write(('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/>'
      .. '<text x="%d" y="%.1f" text-anchor="end">%s</text>\n'):format(LEFT, y, WIDTH - RIGHT, y,
      LEFT - 6, y + 4, escape(units.value(largest * i // 4, unit))))
  end
  out:write(series(points, "cum", "#1f5fa8", at), series(points, "flat", "#c2571a", at))
  out:write(('<text x="%d" y="%d">%s</text><text x="%d" y="%d" text-anchor="end">%s</text>\n'
    .. '<text x="%d" y="%d" fill="#1f5fa8">cum</text><text x="%d" y="%d" fill="#c2571a">flat</text>'
    .. '\n</svg>\n'):format(LEFT, HEIGHT - 22, query.time(first), WIDTH - RIGHT, HEIGHT - 22,
    query.time(last), WIDTH - RIGHT - 70, 40, WIDTH - RIGHT - 30, 40))
  return true
end

return trend
