--- Files for speedscope: stacks with weights, or frames that open and close.
-- @module sonde.reader.speedscope
local errors <const> = require "sonde.base.errors"
local dkjson <const> = require "dkjson"
local stacks <const> = require "sonde.reader.stacks"

local speedscope = {}

-- What one of each unit is worth, and in which unit it is kept.
local UNITS <const> = {
  none = { 1, "count", "samples" }, nanoseconds = { 1, "nanoseconds", "time" },
  microseconds = { 1000, "nanoseconds", "time" }, milliseconds = { 1000000, "nanoseconds", "time" },
  seconds = { 1000000000, "nanoseconds", "time" }, bytes = { 1, "bytes", "space" },
}

local function fail(...)
  error({ message = (...):format(select(2, ...)) }, 0)
end

local function need(value, kind, what)
  if type(value) ~= kind then fail("%s is missing or no %s", what, kind) end
  return value
end

-- A time or weight as a whole number of the unit that is kept.
local function whole(value, worth, what)
  if type(value) ~= "number" or value ~= value then fail("%s is no number", what) end
  if math.type(value) == "integer" then
    if value > math.maxinteger // worth or value < math.mininteger // worth then
      fail("%s is too large", what)
    end
    return value * worth
  end
  local rounded <const> = math.tointeger(math.floor(value * worth + 0.5))
  if rounded == nil then fail("%s is too large", what) end
  return rounded
end

local Reader <const> = {}
Reader.__index = Reader

-- One table for each frame, so that stacks share them.
function Reader:frames(list)
  self.list = {}
  for i, frame in ipairs(need(list, "table", "shared.frames")) do
    self.list[i] = {
      name = need(frame.name, "string", ("shared.frames[%d].name"):format(i - 1)),
      file = type(frame.file) == "string" and frame.file or nil,
      line = math.type(frame.line) == "integer" and frame.line or nil,
    }
  end
end

function Reader:frame(number, where)
  local frame <const> = math.type(number) == "integer" and self.list[number + 1]
  if not frame then fail("%s: there is no frame %s", where, tostring(number)) end
  return frame
end

-- The place of a profile's unit among the sample types.
function Reader:column(unit, where)
  local row <const> = UNITS[unit]
  if row == nil then fail("%s: unknown unit '%s'", where, tostring(unit)) end
  if self.columns[row[3]] == nil then
    self.types[#self.types + 1] = { row[3], row[2] }
    self.columns[row[3]] = #self.types
  end
  return self.columns[row[3]], row[1]
end

-- Adds a stack that is given from the outermost frame on.
function Reader:add(path, n, value, column, label)
  if value == 0 then return end
  local stack, numbers = {}, {}
  for i = n, 1, -1 do
    stack[#stack + 1] = self:frame(path[i], label)
    numbers[#numbers + 1] = path[i]
  end
  self.sums:add(stack, table.concat(numbers, ";"), { [column] = value }, { thread = label })
end

function Reader:sampled(part, label, column, worth)
  local samples <const> = need(part.samples, "table", label .. ": samples")
  local weights <const> = need(part.weights, "table", label .. ": weights")
  if #samples ~= #weights then
    fail("%s: %d samples and %d weights", label, #samples, #weights)
  end
  for i, path in ipairs(samples) do
    local weight <const> = whole(weights[i], worth, ("%s: weights[%d]"):format(label, i - 1))
    if weight < 0 then fail("%s: weights[%d] is negative", label, i - 1) end
    self:add(path, #path, weight, column, label)
  end
end

-- Between two events the open frames are the stack.
function Reader:evented(part, label, column, worth)
  local open, n, last = {}, 0, nil
  for i, event in ipairs(need(part.events, "table", label .. ": events")) do
    local where <const> = ("%s: events[%d]"):format(label, i - 1)
    local at <const> = whole(event.at, worth, where .. ".at")
    if last and at < last then fail("%s: time goes back", where) end
    if n > 0 and last then self:add(open, n, at - last, column, label) end
    last = at
    if event.type == "O" then
      n = n + 1
      open[n] = event.frame
    elseif event.type == "C" and n > 0 and open[n] == event.frame then
      n = n - 1
    else
      fail("%s: closes a frame that is not the innermost open one", where)
    end
  end
  if n > 0 then fail("%s: %d frames are never closed", label, n) end
end

function Reader:part(part, i)
  local label <const> = type(part.name) == "string" and part.name or ("profile %d"):format(i)
  local column, worth = self:column(part.unit, label)
  if part.type == "sampled" then return self:sampled(part, label, column, worth) end
  if part.type == "evented" then return self:evented(part, label, column, worth) end
  fail("%s: unknown type of profile '%s'", label, tostring(part.type))
end

local function read(bytes)
  local file, at, message = dkjson.decode(bytes, 1, nil)
  if type(file) ~= "table" then fail("not JSON at byte %d: %s", at or 0, message or "no object") end
  local self <const> = setmetatable({ sums = stacks.new(), types = {}, columns = {} }, Reader)
  self:frames(need(file.shared, "table", "shared").frames)
  local parts <const> = need(file.profiles, "table", "profiles")
  if #parts == 0 then fail("there is no profile in it") end
  for i, part in ipairs(parts) do self:part(part, i) end
  local profile, why, code = self.sums:profile(self.types, self.types[1][1])
  if profile == nil then return nil, why, code end
  if type(file.name) == "string" then profile:set_info { comments = { file.name } } end
  return profile
end

--- Reads a file. Its profiles become values of the label `thread`.
-- @tparam string bytes
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code `malformed`
function speedscope.read(bytes)
  local ok, profile, message, code = errors.pcall(read, bytes)
  if ok then return profile, message, code end
  if type(profile) ~= "table" then error(profile, 0) end
  return nil, profile.message, "malformed"
end

return speedscope
