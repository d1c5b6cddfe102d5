--- Fill colours of boxes with dark text on them: a hue for each module, stable
-- between runs; for differences, red for more and blue for less.
-- @module sonde.report.colours
local colours = {}

--- Boxes that are no function: the root, what was pruned, the value of a label.
colours.ROOT = "#dcd9d2"
colours.PRUNED = "#ececec"
colours.LABEL = "#c6d0dd"
colours.UNKNOWN = "#d3cfc7"

-- Red to blue. The rest of the circle is left to what a search has found.
local HUES <const> = 250

-- FNV-1a, 32 bits: short, and the same everywhere.
local function hash(words)
  local value = 2166136261
  for i = 1, #words do
    value = (value ~ words:byte(i)) * 16777619 & 0xffffffff
  end
  -- The low bits of similar words are alike; mix the high ones in.
  value = (value ~ value >> 15) * 0x2c1b3c6d & 0xffffffff
  return value ~ value >> 13
end

local function from_hsl(hue, saturation, lightness)
  local reach <const> = saturation * math.min(lightness, 1 - lightness)
  local function channel(n)
    local k <const> = (n + hue / 30) % 12
    local value = lightness - reach * math.max(-1, math.min(k - 3, 9 - k, 1))
    return math.floor(value * 255 + 0.5)
  end
  return ("#%02x%02x%02x"):format(channel(0), channel(8), channel(4))
end

-- What a function belongs to when modules do not tell: its package or
-- namespace.
local function package_of(name)
  local head <const> = name:match("^[^(<%[]*")
  local module <const> = head:match("^(.-)!")
  if module then return module end
  local folder, last = head:match("^(.*/)([^/]*)$")
  if folder then return folder .. last:match("^[^.]*") end
  return head:match("^(.*)::") or head:match("^(.*)%.") or head
end

-- Does more than one module take part? A program of one file would be of one
-- colour.
local function has_modules(frames)
  local first
  for i = 1, frames.n do
    local module = frames.module[i]
    if module ~= "" then
      if first and module ~= first then return true end
      first = module
    end
  end
  return false
end

--- Chooses colours for the functions of a profile.
-- @tparam table frames columns of `profile:frames()`
-- @treturn function colour of a name and the number of a frame
function colours.by_module(frames)
  local use_modules <const> = has_modules(frames)
  local known = {}
  return function(name, frame)
    if name == "<unknown>" or name:find("^%[") then return colours.UNKNOWN end
    if frame == 0 then return colours.LABEL end
    local fill = known[name]
    if fill == nil then
      local module = use_modules and frames.module[frame]:match("[^/\\]*$") or ""
      local group = module ~= "" and module or package_of(name)
      local shade <const> = hash(name) % 7 / 100
      fill = from_hsl(hash(group) % HUES, 0.62, 0.74 + shade)
      known[name] = fill
    end
    return fill
  end
end

local function blend(from, to, part)
  local channels = {}
  for i = 1, 3 do channels[i] = math.floor(from[i] + (to[i] - from[i]) * part + 0.5) end
  return ("#%02x%02x%02x"):format(channels[1], channels[2], channels[3])
end

local SAME <const>, MORE <const>, LESS <const> =
  { 0xf1, 0xef, 0xeb }, { 0xf0, 0x6a, 0x50 }, { 0x6f, 0xa1, 0xf2 }

--- The colour of a change: the stronger, the larger the change is against the
-- larger of the two values.
-- @tparam integer before
-- @tparam integer after
-- @treturn string
function colours.of_change(before, after)
  local larger <const> = math.max(math.abs(before + 0.0), math.abs(after + 0.0))
  if larger == 0 then return blend(SAME, SAME, 0) end
  local part = ((after + 0.0) - before) / larger
  return blend(SAME, part > 0 and MORE or LESS, math.min(1, math.abs(part)) ^ 0.7)
end

return colours
