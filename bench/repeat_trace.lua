--- Makes a large trace of a real one: every block of events, stacks and
-- sequence points again and again, later each time, the metadata once.
--
--    lua5.4 bench/repeat_trace.lua IN.nettrace OUT.nettrace COPIES
--
-- The container's format is that of NetTrace V4. Inside a block times are
-- differences, so only the block's header and its first event are rewritten.
local HEAD <const> = 32           -- "Nettrace", and the serializer's name
local TRACE_BODY <const> = 48

local function varint(bytes, at)
  local value, shift = 0, 0
  while true do
    local byte <const> = bytes:byte(at)
    value, shift, at = value | (byte & 0x7f) << shift, shift + 7, at + 1
    if byte < 0x80 then return value, at end
  end
end

local function to_varint(value)
  local out = {}
  while value >= 0x80 or value < 0 do
    out[#out + 1] = string.char(value & 0x7f | 0x80)
    value = value >> 7
  end
  out[#out + 1] = string.char(value)
  return table.concat(out)
end

-- Where the time of a compressed block's first event stands: its flags tell
-- what comes before it.
local function first_time(body, at)
  local flags <const> = body:byte(at)
  at = at + 1
  local fields <const> = (flags & 1) + (flags & 2 ~= 0 and 3 or 0) + (flags >> 2 & 1)
    + (flags >> 3 & 1)
  for _ = 1, fields do
    local _, next_at = varint(body, at)
    at = next_at
  end
  return at
end

local function shift_events(body, ticks)
  local header <const>, flags <const>, first <const>, last <const> = ("<I2I2i8i8"):unpack(body)
  assert(flags & 1 == 1, "only compressed blocks can be repeated")
  local at <const> = first_time(body, header + 1)
  local time <const>, after <const> = varint(body, at)
  return ("<I2I2i8i8"):pack(header, flags, first + ticks, last + ticks)
    .. body:sub(21, at - 1) .. to_varint(time + ticks) .. body:sub(after)
end

local shifted <const> = {
  StackBlock = function(body) return body end,
  EventBlock = shift_events,
  SPBlock = function(body, ticks)
    return ("<i8"):pack(("<i8"):unpack(body) + ticks) .. body:sub(9)
  end,
}

-- The objects of a trace: { name, head (its bytes), body }.
local function objects(bytes)
  local list, at = {}, HEAD + 1
  while bytes:byte(at) == 5 do
    local name <const>, after = ("<s4"):unpack(bytes, at + 11)
    local head <const> = bytes:sub(at, after)
    after = after + 1
    local size = TRACE_BODY
    if name ~= "Trace" then
      size, after = ("<i4"):unpack(bytes, after)
      after = after + -(after - 1) % 4
    end
    list[#list + 1] = { name = name, head = head, body = bytes:sub(after, after + size - 1) }
    at = after + size + 1
  end
  return list
end

-- The time from the first event to the last, and a little more.
local function length(list)
  local first, last
  for _, object in ipairs(list) do
    if object.name == "EventBlock" then
      local _, _, from, to = ("<I2I2i8i8"):unpack(object.body)
      first, last = math.min(first or from, from), math.max(last or to, to)
    end
  end
  return (last - first) * 101 // 100
end

local Writer <const> = {}
Writer.__index = Writer

function Writer:put(...)
  for _, text in ipairs { ... } do
    self.file:write(text)
    self.at = self.at + #text
  end
end

function Writer:object(object, body)
  self:put(object.head)
  if object.name ~= "Trace" then
    self:put(("<i4"):pack(#body))
    self:put(("\0"):rep(-self.at % 4))
  end
  self:put(body, "\6")
end

local function main(from, to, copies)
  local file <const> = assert(io.open(from, "rb"))
  local bytes <const> = file:read("a")
  file:close()
  local list <const> = objects(bytes)
  local step <const> = length(list)
  local writer <const> = setmetatable({ file = assert(io.open(to, "wb")), at = 0 }, Writer)
  writer:put(bytes:sub(1, HEAD))
  for copy = 0, copies - 1 do
    for _, object in ipairs(list) do
      local shift <const> = shifted[object.name]
      if shift then writer:object(object, shift(object.body, copy * step))
      elseif copy == 0 then writer:object(object, object.body) end
    end
  end
  writer:put("\1")
  writer.file:close()
end

main(arg[1], arg[2], assert(math.tointeger(tonumber(arg[3]))))
