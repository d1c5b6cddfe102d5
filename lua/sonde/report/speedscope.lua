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
  to:put(('{"$schema":%s,"exporter":"sonde","name":%s,"activeProfileIndex":0,\n"profiles":[')
    :format(json.string(SCHEMA), json.string(title)))
end

local function finish(to, frames)
  to:put('\n],\n"shared":{"frames":[')
  for i, frame in ipairs(frames) do
    to:put((i == 1 and "\n" or ",\n") .. json.encode(frame, { "name" }))
  end
  to:put("\n]}}\n")
  return to:finish()
end

-- Frames by name, numbered as they come: a function that gives the number of a
-- name as text, and the list that it fills.
local function numbering(profile)
  local frames <const> = profile:frames()
  local list, number = {}, {}
  return function(name, frame)
    local at = number[name]
    if at == nil then
      at = tostring(#list)
      number[name] = at
      local place = frame > 0 and names.place(frames, frame) or ""
      list[#list + 1] = { name = name, file = place ~= "" and place or nil }
    end
    return at
  end, list
end

-- One profile: each stack, outermost frame first, then their weights. What has
-- no stack is a stack of one frame that says so. Nothing is written, and
-- false returned, when no stack has a value of this sign.
local function put_sampled(to, part, title, job)
  local begun = false
  local function put(text)
    if not begun then
      to:put(('%s\n{"type":"sampled","name":%s,"unit":"%s","samples":['):format(job.before,
        json.string(title), job.unit))
      text, begun, job.before = text:sub(2), true, ","
    end
    to:put(text)
  end
  local sums, message, code = part:stack_lines {
    type = job.index, sign = job.sign, text = job.number, weights = true, write = put,
    open = ",\n[", separator = ",", close = "]",
  }
  if sums == nil then return nil, message, code end
  local sum, weights = sums.sum, sums.weights
  local bare <const> = sums.bare * job.sign
  if bare > 0 then
    put((",\n[%s]"):format(job.number(names.NO_STACK, 0)))
    sum, weights = sum + bare, weights .. (sums.n > 0 and "," or "") .. bare
  end
  if not begun then return false end
  to:put(('\n],"weights":[%s],"startValue":0,"endValue":%d}'):format(weights, sum))
  return true
end

-- A profile for each value of the labels, below one another.
local function put_parts(to, profile, keys, level, title, job)
  for _, part in ipairs(calls.split(profile, keys[level], job.index)) do
    local name <const> = title .. part.name
    local done, message, code
    if level < #keys then
      done, message, code = put_parts(to, part.profile, keys, level + 1, name .. ", ", job)
    else
      done, message, code = put_sampled(to, part.profile, name, job)
    end
    if done == nil then return nil, message, code end
  end
  return true
end

local function write_aggregated(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local sign, why, which = about:sign(opts.sign)
  if sign == nil then return nil, why, which end
  local number, frames = numbering(profile)
  local job <const> = {
    index = about.index, sign = sign, number = number, before = "",
    unit = UNITS[about.unit] and about.unit or "none",
  }
  local title <const> = about:title() .. (sign < 0 and ", negative values" or "")
  local to <const> = sink.new(out)
  put_head(to, title)
  local done
  done, why, which = put_sampled(to, profile, title, job)
  if done == false then return nil, "no values to write: they cancel out", "no_samples" end
  local keys <const> = calls.present(profile, { "process", "thread" })
  if done and #keys > 0 then done, why, which = put_parts(to, profile, keys, 1, "", job) end
  if done == nil then return nil, why, which end
  return finish(to, frames)
end

local function title_of(thread)
  local id, name = tostring(thread.id), thread.name
  if name == "" then name = "thread " .. id end
  if not name:find(id, 1, true) then name = ("%s (%s)"):format(name, id) end
  if (thread.process or "") ~= "" then name = thread.process .. ", " .. name end
  return name
end

local function put_evented(to, timeline, i, title, number)
  to:put(('\n{"type":"evented","name":%s,"unit":"nanoseconds","events":['):format(
    json.string(title)))
  local separator = "\n"
  local first, last = order.walk(timeline, i, number, function(opens, frame, at)
    to:put(('%s{"type":"%s","frame":%d,"at":%d}'):format(separator, opens and "O" or "C",
      frame, at))
    separator = ",\n"
  end)
  to:put(('\n],"startValue":%d,"endValue":%d}'):format(first, last))
end

local function write_ordered(timeline, out)
  local threads <const> = order.threads(timeline)
  if #threads == 0 then return nil, "no samples in time order", "no_samples" end
  local number, frames = order.number(timeline:profile():frames())
  local to <const> = sink.new(out)
  put_head(to, "samples in time order")
  for i, thread in ipairs(threads) do
    if i > 1 then to:put(",") end
    put_evented(to, timeline, thread.place, title_of(thread), number)
  end
  return finish(to, frames)
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
