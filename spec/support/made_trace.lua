--- Small traces (V4 container) with events of the runtime, for what no real
-- trace at hand shows: each is what its spec needs and nothing else.
--
--    made.trace { { 1000, made.gc_start(1, 2, 1) }, { 2000, made.gc_end(1, 2) } }
--
local made = {}

local RUNTIME <const> = "Microsoft-Windows-DotNETRuntime"

--- Text as payloads have it.
-- @tparam string text
-- @treturn string UTF-16 with its zero
function made.utf16(text)
  return text:gsub(".", "%0\0") .. "\0\0"
end

--- An object of the stream, with its tags.
-- @tparam string name
-- @tparam integer version
-- @tparam string body
-- @treturn string
function made.object(name, version, body)
  return "\5\5\1" .. string.pack("<i4i4s4", version, 0, name) .. "\6" .. body .. "\6"
end

--- What a stream begins with.
made.HEAD = "Nettrace" .. string.pack("<s4", "!FastSerialization.1")

--- Its Trace object.
made.TRACE = made.object("Trace", 4, string.pack("<i2i2i2i2i2i2i2i2i8i8i4i4i4i4",
  2024, 2, 4, 29, 12, 34, 56, 789, 0, 1000000000, 8, 4242, 2, 1000000))

--- A block.
-- @tparam string before what the stream holds, which its alignment depends on
-- @tparam string name
-- @tparam string body
-- @treturn string
function made.block(before, name, body)
  local head <const> = #before + 3 + 12 + #name + 1 + 4
  local padding <const> = ("\0"):rep(-head % 4)
  return made.object(name, 2, string.pack("<i4", #body) .. padding .. body)
end

local block <const>, utf16 <const> = made.block, made.utf16

local function blob(id, number, time, payload, thread)
  return string.pack("<s4", string.pack("<I4I4i8i8I4I4i8c16c16s4", id, number, thread or 7,
    thread or 7, 0xffffffff, 0, time, "", "", payload))
end

local function define(id, kind)
  return blob(0, 0, 0, string.pack("<i4", id) .. utf16(kind.provider or RUNTIME)
    .. string.pack("<i4", kind.id) .. utf16 ""
    .. string.pack("<i8i4i4i4", 0, kind.version, 4, 0))
end

local HEADER <const> = string.pack("<I2I2i8i8", 20, 0, 0, 0)

-- A reader takes no block of more than 16 MiB.
local MOST_IN_A_BLOCK <const> = 50000

--- A trace of events `{ time_ns, { id, version, payload }, lost }`; `lost` are
-- so many events that the runtime dropped before. `thread` says which wrote it.
function made.trace(events)
  local definitions, blobs, ids = { HEADER }, {}, {}
  local n, number = 0, 0
  for _, event in ipairs(events) do
    local kind <const> = event[2]
    local key <const> = ("%s %d %d"):format(kind.provider or RUNTIME, kind.id, kind.version)
    if ids[key] == nil then
      n = n + 1
      ids[key] = n
      definitions[#definitions + 1] = define(n, kind)
    end
    number = number + 1 + (event[3] or 0)
    blobs[#blobs + 1] = blob(ids[key], number, event[1], kind.payload, event.thread)
  end
  local bytes = made.HEAD .. made.TRACE
  bytes = bytes .. block(bytes, "MetadataBlock", table.concat(definitions))
  for first = 1, math.max(1, #blobs), MOST_IN_A_BLOCK do
    local last <const> = math.min(#blobs, first + MOST_IN_A_BLOCK - 1)
    bytes = bytes .. block(bytes, "EventBlock", HEADER .. table.concat(blobs, "", first, last))
  end
  return bytes .. "\1"
end

--- GCStart. Reasons: 0 small allocation, 1 induced, 4 large allocation.
function made.gc_start(number, generation, reason)
  return { id = 1, version = 2,
    payload = string.pack("<I4I4I4I4I2I8", number, generation, reason, 0, 0, 0) }
end

--- GCEnd.
function made.gc_end(number, generation)
  return { id = 2, version = 1, payload = string.pack("<I4I4I2", number, generation, 0) }
end

--- Objects of a type that were allocated since the last such event.
function made.objects(type_id, count, bytes)
  return { id = 20, version = 0,
    payload = string.pack("<I8I8I4I8I2", 0x1000, type_id, count, bytes, 0) }
end

--- An allocation (AllocationTick) of so many bytes, of an object as large.
function made.allocated(type_id, name, bytes)
  return { id = 10, version = 3, payload = string.pack("<I4I4I2I8I8", bytes, 0, 0, bytes, type_id)
    .. utf16(name) .. string.pack("<I4I8I8", 0, 0, bytes) }
end

--- What the sampler says of a thread: that it runs managed code, or other.
local SAMPLES <const> = {}
for i, managed in ipairs { true, false } do
  SAMPLES[managed] = { id = 0, version = 0, provider = "Microsoft-DotNETCore-SampleProfiler",
    payload = string.pack("<I4", 3 - i) }
end

function made.sample(managed) return SAMPLES[managed] end

--- BulkType: `types` are lists of id and name.
function made.bulk_type(types)
  local parts <const> = { string.pack("<I4I2", #types, 0) }
  for _, row in ipairs(types) do
    parts[#parts + 1] = string.pack("<I8I8I4I4I1", row[1], 1, 0, 0, 0) .. utf16(row[2])
      .. string.pack("<I4I8", 1, 77)
  end
  return { id = 15, version = 0, payload = table.concat(parts) }
end

--- Begin and end of a pause for a collection.
function made.suspend(number)
  return { id = 9, version = 1, payload = string.pack("<I4I4I2", 1, number, 0) }
end

function made.restarted()
  return { id = 3, version = 1, payload = string.pack("<I2", 0) }
end

--- A change of the number of pool threads. Reasons: 6 starvation, 8 a thread
-- of the pool waits for a task.
function made.adjustment(threads, reason)
  return { id = 55, version = 0, payload = string.pack("<dI4I4I2", 0, threads, reason, 0) }
end

--- An exception.
function made.exception(type, message)
  return { id = 80, version = 1,
    payload = utf16(type) .. utf16(message) .. string.pack("<I8I4I2I2", 0, 0x80131500, 0, 0) }
end

--- A wait for a lock: its begin, and its end with how long it took.
function made.contention_start()
  return { id = 81, version = 1, payload = string.pack("<BI2", 0, 0) }
end

function made.contention_stop(ns)
  return { id = 91, version = 1, payload = string.pack("<BI2d", 0, 0, ns) }
end

--- The compilation of a method: its begin, and its end with the code.
function made.jit_start(id, name)
  return { id = 145, version = 1, payload = string.pack("<I8I8I4I4", id, 1, 0x6000001, 10)
    .. utf16 "Shop.Start" .. utf16(name) .. utf16 "void  ()" .. string.pack("<I2", 0) }
end

function made.jit_end(id, name)
  return { id = 143, version = 1,
    payload = string.pack("<I8I8I8I4I4I4", id, 1, 0x100000 + id * 64, 64, 0x6000001, 8)
      .. utf16 "Shop.Start" .. utf16(name) .. utf16 "void  ()" .. string.pack("<I2", 0) }
end

return made
