--- Batches: what is written to a store at once, checked before it is.
-- The form is that of `sonde.capture.store`; whoever gives another one has made a
-- mistake in a program, so it raises.
-- @module sonde.capture.store.batch
local fields <const> = require "sonde.capture.fields"
local unique <const> = require "sonde.base.unique"

local batch = {}

--- The longest text of a record; longer ones are cut and say so.
batch.LONGEST_TEXT = 1 << 20

local function bad(format, ...)
  error(("bad batch to 'store:write': " .. format):format(...), 4)
end

local function check_text(value, name)
  if type(value) ~= "string" or value == "" then bad("%s must be a text", name) end
end

local function check_part(part, i)
  if type(part) ~= "table" then bad("part %d is no table", i) end
  check_text(part.kind, ("kind of part %d"):format(i))
  local list <const> = fields.of(part.kind)
  if list == nil then bad("nobody registered the kind '%s'", part.kind) end
  if part.profile ~= nil and part.records ~= nil then
    bad("part %d has a profile and records", i)
  end
  for name in pairs(part.fields or {}) do
    local field <const> = fields.find(list, name)
    if field == nil or field.at ~= "part" then
      bad("part %d of kind '%s' has no field '%s'", i, part.kind, tostring(name))
    end
  end
  if part.payload and type(part.payload.bytes) ~= "string" then
    bad("the payload of part %d has no bytes", i)
  end
end

local counter = 0

-- A name that no other batch of any process has.
local function new_id()
  counter = counter + 1
  return ("%s%08x%04x"):format(unique.hex(8), os.time() & 0xffffffff, counter & 0xffff)
end

-- Records come from a function once, and a batch may be written twice.
local function listed(part)
  if type(part.records) ~= "function" then return end
  local list = {}
  for record in part.records do list[#list + 1] = record end
  part.records = list
end

--- Checks a batch and gives it a name.
-- @tparam table given
-- @treturn table the same
function batch.check(given)
  if type(given) ~= "table" then bad("a table is needed, got a %s", type(given)) end
  check_text(given.capture, "capture")
  if type(given.checkpoint) ~= "table" then bad("checkpoint must be a table") end
  check_text(given.checkpoint.id, "checkpoint.id")
  if math.type(given.checkpoint.taken_at) ~= "integer" then
    bad("checkpoint.taken_at must be nanoseconds, a whole number")
  end
  for i, part in ipairs(given.parts or {}) do
    check_part(part, i)
    listed(part)
  end
  given.id = given.id or new_id()
  return given
end

local function size_of_value(value, depth)
  if type(value) == "string" then return 40 + #value end
  if type(value) ~= "table" or depth > 4 then return 16 end
  local size = 64
  for key, item in pairs(value) do
    size = size + size_of_value(key, depth + 1) + size_of_value(item, depth + 1)
  end
  return size
end

--- About the memory that a batch takes while it waits.
-- @tparam table given
-- @treturn integer bytes
function batch.size(given)
  local size = 1000
  for _, part in ipairs(given.parts or {}) do
    if part.payload then size = size + #part.payload.bytes end
    if part.profile then size = size + 64 * #part.profile end
    for _, record in ipairs(part.records or {}) do size = size + size_of_value(record, 1) end
  end
  return size
end

--- Splits the part of a profile into one for each of its sample types.
-- @tparam table part
-- @treturn {table,...} `{ sample_type, unit }`
function batch.types(part)
  local types = {}
  for i, value_type in ipairs(part.profile:types()) do
    types[i] = { sample_type = value_type.type, unit = value_type.unit }
  end
  return types
end

--- A record's text as it is kept.
-- @tparam string text
-- @treturn string
-- @treturn boolean whether it was cut
function batch.text(text)
  if #text <= batch.LONGEST_TEXT then return text, false end
  return text:sub(1, batch.LONGEST_TEXT), true
end

return batch
