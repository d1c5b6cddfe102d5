--- Events of our own in a runtime's stream: blocks that are put in front of
-- its end, so that one file has it all. Readers that do not know the provider
-- show them as events like any other.
-- @module sonde.dotnet.extra
local loop <const> = require "sonde.base.loop"

local extra = {}

--- The provider of these events.
extra.PROVIDER = "Sonde"

-- Object tags and event header flags of NetTrace 4.
local OBJECT <const> = "\5\5\1"
local END_OF_OBJECT <const> = "\6"
local HAS_ID <const>, HAS_CAPTURE <const>, HAS_THREAD <const> = 1, 2, 4
local IS_SORTED <const>, HAS_LENGTH <const> = 64, 128

-- Ids far from those that runtimes give, and a thread that no process has.
local FIRST_ID <const> = 0x5d000000
local CAPTURE_THREAD <const> = 0x5d00000001

-- A block is held in memory by readers: several are better than a large one.
local LARGEST_BLOCK <const> = 60000

local TYPES <const> = { u64 = 12, string = 18 }

local function varint(value)
  local bytes = {}
  while math.ult(0x7f, value) do
    bytes[#bytes + 1] = string.char(value & 0x7f | 0x80)
    value = value >> 7
  end
  bytes[#bytes + 1] = string.char(value)
  return table.concat(bytes)
end

local function utf16z(text)
  local units = {}
  for _, code in utf8.codes(text, true) do
    units[#units + 1] = ("<I2"):pack(code < 0x10000 and code or 0xfffd)
  end
  return table.concat(units) .. "\0\0"
end

local Extra <const> = {}
Extra.__index = Extra

--- Makes a writer.
-- @tparam {table,...} types each `id name fields`, of which each is a name and
--   `u64` or `string`; `lasting` when its events are not to be forgotten
-- @treturn Extra
function extra.new(types)
  return setmetatable({ types = types, blocks = {}, sent = 0 }, Extra)
end

local function finish_block(self)
  if self.rest == nil then return end
  self.blocks[#self.blocks + 1] = { first = self.first, count = #self.rest + 1,
    rest = table.concat(self.rest), lasting = self.lasting, made_at = loop.now() }
  self.rest = nil
end

local function tail(payload)
  return varint(#payload) .. payload
end

--- Adds an event.
-- @tparam integer number of its type in the list
-- @tparam integer thread the thread that it is about
-- @tparam string payload
function Extra:add(number, thread, payload)
  local start <const> = varint(FIRST_ID + number)
  local lasting <const> = self.types[number].lasting
  if lasting ~= self.lasting then finish_block(self) end
  if self.rest == nil then
    self.rest, self.size, self.lasting = {}, 0, lasting
    self.first = { start = start, thread = varint(thread), tail = tail(payload) }
    return
  end
  -- Those behind the first say only what is other than before.
  local piece <const> = string.char(HAS_ID | HAS_THREAD | IS_SORTED | HAS_LENGTH) .. start
    .. varint(thread) .. "\0" .. tail(payload)
  self.rest[#self.rest + 1] = piece
  self.size = self.size + #piece
  if self.size > LARGEST_BLOCK then finish_block(self) end
end

--- A payload of one text.
-- @tparam string text
-- @treturn string
function extra.text(text)
  return utf16z(text)
end

-- A block's content begins at a multiple of 4 of the whole stream.
local function object(offset, name, body)
  local start <const> = OBJECT .. ("<i4i4s4"):pack(2, 2, name) .. END_OF_OBJECT
  local padding <const> = -(offset + #start + 4) % 4
  return start .. ("<i4"):pack(#body) .. ("\0"):rep(padding) .. body .. END_OF_OBJECT
end

local function block_head(time)
  return ("<I2I2i8i8"):pack(20, 1, time, time)
end

local function event_block(block, number, time)
  local first <const> = block.first
  return block_head(time)
    .. string.char(HAS_ID | HAS_CAPTURE | HAS_THREAD | IS_SORTED | HAS_LENGTH) .. first.start
    .. varint(number) .. varint(CAPTURE_THREAD) .. varint(0) .. first.thread
    .. varint(time) .. first.tail .. block.rest
end

local function metadata(number, type, time)
  local fields = {}
  for i, field in ipairs(type.fields) do
    fields[i] = ("<i4"):pack(TYPES[field[2]]) .. utf16z(field[1])
  end
  local payload <const> = ("<i4"):pack(FIRST_ID + number) .. utf16z(extra.PROVIDER)
    .. ("<i4"):pack(type.id) .. utf16z(type.name) .. ("<i8i4i4i4"):pack(0, 0, 4, #type.fields)
    .. table.concat(fields)
  return string.char(HAS_LENGTH | HAS_THREAD) .. varint(0) .. varint(time) .. varint(#payload)
    .. payload
end

-- Within a block each event tells its time as what has passed since the one
-- before it.
local function metadata_block(self, time)
  local pieces = { block_head(time) }
  for number, type in ipairs(self.types) do
    pieces[#pieces + 1] = metadata(number, type, number == 1 and time or 0)
  end
  return table.concat(pieces)
end

--- Forgets what was added before a time, but for what is lasting.
-- @tparam integer time of `loop.now`
function Extra:forget(time)
  finish_block(self)
  local kept = {}
  for _, block in ipairs(self.blocks) do
    if block.lasting or block.made_at >= time then kept[#kept + 1] = block end
  end
  self.blocks = kept
end

--- The same as `objects`, of what was added since the last time.
-- @tparam integer time
-- @treturn string objects that begin at a multiple of 4
function Extra:take(time)
  local objects <const> = self:objects(0, time)
  if objects ~= "" then self.described, self.blocks = true, {} end
  return objects
end

--- The blocks of all events, to be put into a stream between two objects. All
-- have the same time, so that nothing there is out of order: when something
-- was is for payloads to say.
-- @tparam integer offset where in the stream they will be
-- @tparam integer time not before that of any other event there
-- @treturn string "" when there are no events
function Extra:objects(offset, time)
  finish_block(self)
  if #self.blocks == 0 then return "" end
  local pieces, at = {}, offset
  if not self.described then
    pieces[1] = object(offset, "MetadataBlock", metadata_block(self, time))
    at = offset + #pieces[1]
  end
  for _, block in ipairs(self.blocks) do
    local piece <const> = object(at, "EventBlock", event_block(block, self.sent + 1, time))
    self.sent = self.sent + block.count
    pieces[#pieces + 1] = piece
    at = at + #piece
  end
  return table.concat(pieces)
end

return extra
