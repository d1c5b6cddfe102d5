--- speedscope's file format. Aggregated: all threads together and each thread,
-- a stack with its weight once. In time order: each thread as frames that
-- open and close.
-- @module sonde.report.speedscope
local calls <const> = require "sonde.report.calls"
local json <const> = require "sonde.base.json"
local names <const> = require "sonde.report.names"
local options <const> = require "sonde.base.options"
local order <const> = require "sonde.report.order"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"

local speedscope = {}

speedscope.name = "speedscope"
speedscope.summary = "a file for speedscope: all threads and each, or in time order"
speedscope.takes = "profile"
speedscope.extensions = { "speedscope.json", "speedscope" }
speedscope.options = options.join(options.select(scope.options, { "type" }), {
  { name = "time_order", type = "boolean", default = false,
    help = "samples in the order of time, a profile for each thread; needs a trace" },
  scope.sign_option,
})

local SCHEMA <const> = "https://www.speedscope.app/file-format-schema.json"

-- The units that speedscope knows; anything else is a plain number to it.
local UNITS <const> = {
  nanoseconds = true, microseconds = true, milliseconds = true, seconds = true, bytes = true,
}

local function put_head(to, title)
  to:put(('{"$schema":%s,"exporter":"sonde","name":%s,"activeProfileIndex":0,\n')
    :format(json.string(SCHEMA), json.string(title)))
end

local function put_frames(to, frames)
  to:put('"shared":{"frames":[')
  for i, frame in ipairs(frames) do
    to:put((i == 1 and "\n" or ",\n") .. json.encode(frame, { "name" }))
  end
  to:put("\n]}")
end

local function put_profile_head(to, kind, title, unit, first, last)
  to:put(('{"type":"%s","name":%s,"unit":"%s","startValue":%d,"endValue":%d,\n')
    :format(kind, json.string(title), unit, first, last))
end

-- Frames by name, numbered as they come: `number[name]`, and the list.
local function numbering(profile)
  local frames <const> = profile:frames()
  local list = {}
  local number <const> = {}
  return function(name, frame)
    local at = number[name]
    if at == nil then
      at = #list
      number[name] = at
      local place = frame > 0 and names.place(frames, frame) or ""
      list[at + 1] = { name = name, file = place ~= "" and place or nil }
    end
    return at
  end, list
end

-- One profile of the rows [first, last] of a tree, whose outermost frames are
-- at depth `base + 1`.
local function put_sampled(to, tree, rows, title, unit, sign, number)
  local own <const>, depths <const>, base <const> = tree.self, tree.depth, rows.base
  local sum = 0
  for i = rows.first, rows.last do sum = sum + math.max(own[i] * sign, 0) end
  put_profile_head(to, "sampled", title, unit, 0, sum)
  to:put('"samples":[')
  local path, separator = {}, "\n["
  for i = rows.first, rows.last do
    local depth <const> = depths[i] - base
    path[depth] = number(tree.name[i], tree.frame[i])
    if own[i] * sign > 0 then
      to:put(separator .. table.concat(path, ",", 1, depth) .. "]")
      separator = ",\n["
    end
  end
  to:put('\n],"weights":[')
  separator = ""
  for i = rows.first, rows.last do
    if own[i] * sign > 0 then
      to:put(separator .. own[i] * sign)
      separator = ","
    end
  end
  to:put("]}")
end

-- The subtrees below the values of labels: for each, its title and its rows.
local function parts_of(tree, levels)
  local parts, path = {}, {}
  for i = 1, tree.n do
    local depth <const> = tree.depth[i]
    if depth <= levels then
      path[depth] = tree.name[i]
      if depth == levels then
        parts[#parts + 1] = {
          title = table.concat(path, ", ", 1, levels), first = i + 1, last = i, base = levels,
        }
      end
    else
      parts[#parts].last = i
    end
  end
  return parts
end

local function has_value(tree, part, sign)
  for i = part.first, part.last do
    if tree.self[i] * sign > 0 then return true end
  end
  return false
end

local function put_threads(to, about, keys, unit, sign, number)
  local tree <const> = calls.tree(about.profile, { type = about.index }, keys)
  for _, part in ipairs(parts_of(tree, #keys)) do
    if has_value(tree, part, sign) then
      to:put(",\n")
      put_sampled(to, tree, part, part.title, unit, sign, number)
    end
  end
end

-- All threads together. The tree is as large as the profile, so it does not
-- outlive this function.
local function put_all(to, about, opts, number)
  local tree <const> = calls.tree(about.profile, { type = about.index })
  local sign, message, code = about:sign(tree, opts.sign)
  if sign == nil then return nil, message, code end
  local unit <const> = UNITS[about.unit] and about.unit or "none"
  local title <const> = about:title() .. (sign < 0 and ", negative values" or "")
  put_head(to, title)
  to:put('"profiles":[\n')
  put_sampled(to, tree, { first = 1, last = tree.n, base = 0 }, title, unit, sign, number)
  return sign, unit
end

local function write_aggregated(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local number, frames = numbering(profile)
  local to <const> = sink.new(out)
  local sign, unit, why = put_all(to, about, opts, number)
  if sign == nil then return nil, unit, why end
  local keys <const> = calls.present(profile, { "process", "thread" })
  if #keys > 0 then put_threads(to, about, keys, unit, sign, number) end
  to:put("],\n")
  put_frames(to, frames)
  to:put("}\n")
  return to:finish()
end

local function title_of(thread)
  local name = thread.name ~= "" and thread.name or "thread"
  if thread.process and thread.process ~= "" then name = thread.process .. ", " .. name end
  return ("%s (%s)"):format(name, thread.id)
end

-- The head of a profile says when it ends, which only the walk knows; walking
-- twice is cheaper than keeping the events.
local function put_evented(to, timeline, i, title, number)
  local first, last = order.walk(timeline, i, number, function() end)
  put_profile_head(to, "evented", title, "nanoseconds", first, last)
  to:put('"events":[')
  local separator = "\n"
  order.walk(timeline, i, number, function(opens, frame, at)
    to:put(('%s{"type":"%s","frame":%d,"at":%d}'):format(separator, opens and "O" or "C",
      frame, at))
    separator = ",\n"
  end)
  to:put("\n]}")
end

local function write_ordered(timeline, out)
  local threads <const> = timeline:threads()
  if order.is_empty(threads) then return nil, "no samples in time order", "no_samples" end
  local number, frames = order.number(timeline:profile():frames())
  local to <const> = sink.new(out)
  put_head(to, "samples in time order")
  to:put('"profiles":[\n')
  local separator = ""
  for i, thread in ipairs(threads) do
    if thread.n > 0 then
      to:put(separator)
      put_evented(to, timeline, i, title_of(thread), number)
      separator = ",\n"
    end
  end
  to:put("],\n")
  put_frames(to, frames)
  to:put("}\n")
  return to:finish()
end

--- Writes the file.
-- @param object a profile; a timeline with `time_order`
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples`; `unavailable` when a value is negative
--   and `sign` does not say which half to write
function speedscope.write(object, opts, out)
  if opts.time_order then return write_ordered(object, out) end
  return write_aggregated(object, opts, out)
end

return speedscope
