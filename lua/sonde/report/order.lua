--- A timeline as frames that open and close, for formats in time order.
-- Two samples in a row share their outer frames, which stay open between
-- them; the others close innermost first and open outermost first, so every
-- reader finds them nested, and no time is before the one in front of it.
-- @module sonde.report.order
local names <const> = require "sonde.report.names"

local order = {}

--- Numbers the frames that look alike to a viewer: same name, same file.
-- @tparam table frames columns of `profile:frames()`
-- @treturn {integer,...} number for each frame, from 0; `none` is that of what
--   stands for no frames
-- @treturn {table,...} for each number, in order: `{ name =, file = }`
function order.number(frames)
  local number, list, known = {}, {}, {}
  for i = 1, frames.n do
    local name, place = names.of(frames, i), names.place(frames, i)
    local key = name .. "\0" .. place
    local at = known[key]
    if at == nil then
      at = #list
      known[key] = at
      list[at + 1] = { name = name, file = place ~= "" and place or nil }
    end
    number[i] = at
  end
  number.none = #list
  list[#list + 1] = { name = names.NO_STACK }
  return number, list
end

--- The threads that have samples in order. A thread's own count says less: it
-- may be of samples of another kind.
-- @param timeline
-- @treturn {table,...} as of `timeline:threads()`, and `place` in that list
function order.threads(timeline)
  local list = {}
  for i, thread in ipairs(timeline:threads()) do
    if timeline:each(i)() then
      list[#list + 1] = {
        place = i, id = thread.id, name = thread.name, process = thread.process,
      }
    end
  end
  return list
end

-- A stack as numbers, outermost first, put into `path`; its length.
local function lay_out(stack, number, path)
  local n <const> = #stack
  for i = 1, n do path[i] = number[stack[n + 1 - i]] end
  if n > 0 then return n end
  path[1] = number.none
  return 1
end

-- How many outermost frames of a path are open already.
local function shared(open, depth, path, n)
  local limit <const> = n < depth and n or depth
  for i = 1, limit do
    if open[i] ~= path[i] then return i - 1 end
  end
  return limit
end

--- Walks one thread.
-- @param timeline
-- @tparam integer thread its place in `timeline:threads()`
-- @tparam {integer,...} number of `order.number`
-- @tparam function emit called with `true` (opens) or `false` (closes), the
--   frame's number and the time in ns
-- @treturn ?integer time of the first event; nil for a thread without samples
-- @treturn integer time of the last one
function order.walk(timeline, thread, number, emit)
  local open, path, depth = {}, {}, 0
  local first, now, stop, last
  local function close(to, at)
    for i = depth, to + 1, -1 do emit(false, open[i], at) end
    depth = to
  end
  for time, weight, stack in timeline:each(thread) do
    if first == nil then first, now, stop = time, time, time end
    if time > stop then
      close(0, stop)
      now, last = stop, nil
    end
    now = math.max(now, time)
    -- A timeline gives equal stacks as one table, and a thread that waits has
    -- the same one thousands of times.
    if stack ~= last then
      local n <const> = lay_out(stack, number, path)
      close(shared(open, depth, path, n), now)
      for i = depth + 1, n do
        open[i] = path[i]
        emit(true, path[i], now)
      end
      depth, last = n, stack
    end
    stop = math.max(now, now + weight)
  end
  if first == nil then return nil end
  close(0, stop)
  return first, stop
end

return order
