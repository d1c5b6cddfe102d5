-- The container reader, through core.events.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local made <const> = require "spec.support.made_trace"

local HEAD <const>, TRACE <const> = made.HEAD, made.TRACE
local block <const>, utf16 <const> = made.block, made.utf16

-- Blobs with the 80-byte header; `sorted` events carry the promise.
local function blob(event)
  local payload <const> = event.payload or ""
  local body <const> = string.pack("<I4I4I8I8I4I4i8c16c16s4",
    event.id | (event.sorted and 0 or 0x80000000), event.number or 0, event.thread or 7,
    event.thread or 7, 0xffffffff, event.stack or 0, event.time or 0, "", "", payload)
  return string.pack("<s4", body)
end

local function blobs(list)
  local parts = { string.pack("<I2I2i8i8", 20, 0, 0, 0) }
  for _, event in ipairs(list) do parts[#parts + 1] = blob(event) end
  return table.concat(parts)
end

local function define(id, name)
  return { id = 0, payload = string.pack("<i4", id) .. utf16 "P" .. string.pack("<i4", id)
    .. utf16(name) .. string.pack("<i8i4i4i4", 0, 0, 4, 0) }
end

local function trace(...)
  local bytes = HEAD .. TRACE
  for _, part in ipairs { ... } do bytes = bytes .. block(bytes, part[1], part[2]) end
  return bytes .. "\1"
end

-- Reads a trace in pieces of a size; returns the events and how it ended.
local function read(bytes, piece, options)
  local reader <const> = core.events(options)
  local list, failure = {}, nil
  local function take(_, message, code)
    if code ~= nil then failure = { message = message, code = code } end
    for event in reader.next, reader do list[#list + 1] = event end
  end
  for at = 1, #bytes, piece or math.max(1, #bytes) do
    take(reader:feed(bytes:sub(at, at + (piece or #bytes) - 1)))
  end
  take(reader:finish())
  return list, failure, reader:counts()
end

local function times(events)
  local list = {}
  for i, event in ipairs(events) do list[i] = event.time_ns end
  return list
end

describe("order", function()
  local function ordered(list)
    return times((read(trace({ "MetadataBlock", blobs { define(1, "E") } },
      { "EventBlock", blobs(list) }))))
  end

  it("merges threads by time", function()
    assert.same({ 10, 20, 30, 40 }, ordered {
      { id = 1, thread = 1, time = 10 }, { id = 1, thread = 1, time = 30 },
      { id = 1, thread = 2, time = 20 }, { id = 1, thread = 2, time = 40 },
    })
  end)

  it("keeps the file's order among equal times", function()
    local list <const> = read(trace(
      { "MetadataBlock", blobs { define(1, "A"), define(2, "B"), define(3, "C") } },
      { "EventBlock", blobs { { id = 2, thread = 2, time = 5 }, { id = 1, thread = 1, time = 5 },
        { id = 3, thread = 2, time = 5 } } }))
    assert.same({ "B", "A", "C" }, { list[1].name, list[2].name, list[3].name })
  end)

  it("bears a thread whose time goes back", function()
    assert.same({ 1, 2, 3, 4 }, ordered {
      { id = 1, time = 4 }, { id = 1, time = 3 }, { id = 1, time = 2 }, { id = 1, time = 1 },
    })
  end)

  it("emits what is older than a sorted event before it", function()
    assert.same({ 1, 5, 3 }, ordered {
      { id = 1, thread = 1, time = 1 }, { id = 1, thread = 2, time = 5, sorted = true },
      { id = 1, thread = 1, time = 3 },
    })
  end)
end)

describe("damage", function()
  local good <const> = { "EventBlock", blobs { { id = 1, time = 9, number = 1 } } }
  local metadata <const> = { "MetadataBlock", blobs { define(1, "E") } }

  it("looks for the next object behind one that cannot be read", function()
    local bytes <const> = trace(metadata, { "StackBlock", ("\255"):rep(40) }, good)
    local at <const> = bytes:find("StackBlock", 1, true) + #"StackBlock" + 1
    local list, _, counts = read(bytes:sub(1, at - 1) .. "\0\0\0\128" .. bytes:sub(at + 4))
    assert.equal(1, #list)
    assert.is_true(counts.errors > 0)
    assert.is_true(counts.ended)
  end)

  it("does not take the same damaged object for the next one", function()
    local head <const> = "\5\5\1" .. string.pack("<i4i4s4", 2, 0, "EventBlock")
      .. "\6\255\255\255\255"
    local _, failure = read(HEAD .. TRACE .. head .. ("x"):rep(200))
    assert.equal("truncated", failure.code)
  end)

  it("ignores a second Trace object, whose clock would change all times", function()
    local again <const> = TRACE:gsub(string.pack("<i8", 1000000000), string.pack("<i8", 0))
    local bytes = HEAD .. TRACE .. again
    bytes = bytes .. block(bytes, metadata[1], metadata[2])
    bytes = bytes .. block(bytes, good[1], good[2]) .. "\1"
    local list <const>, failure <const>, counts <const> = read(bytes)
    assert.is_nil(failure)
    assert.equal(9, list[1].time_ns)
    assert.equal(1, counts.warnings)
  end)

  it("says that another trace follows", function()
    local one <const> = trace(metadata, good)
    local list <const>, failure <const> = read(one .. one)
    assert.equal(1, #list)
    assert.equal("malformed", failure.code)
    assert.is_not_nil(failure.message:find("another trace begins at byte " .. #one, 1, true))
  end)

  it("survives a short Trace block in V6", function()
    local v6 <const> = "Nettrace" .. string.pack("<I4I4I4", 0, 6, 0)
      .. string.pack("<I4c14", 1 << 24 | 14, "") .. string.pack("<I4", 0)
    local list, failure, counts = read(v6)
    assert.equal(0, #list)
    assert.is_nil(failure)
    assert.is_true(counts.errors > 0 and counts.ended)
  end)
end)

describe("any input", function()
  local function synth_files()
    local out <const> = helper.run "ls spec/data/synth/*.nettrace"
    local list <const> = helper.lines(out)
    assert.is_true(#list >= 61)
    return list
  end

  local function names(events)
    local list = {}
    for i, event in ipairs(events) do
      list[i] = ("%d %s %s %d"):format(event.time_ns, event.provider, event.name, event.thread)
    end
    return list
  end

  it("gives the same in whole as byte by byte", function()
    for _, path in ipairs(synth_files()) do
      local bytes <const> = helper.read(path)
      if #bytes < 100000 then
        local whole, how = read(bytes)
        local pieces, why = read(bytes, 1)
        assert.same(names(whole), names(pieces), path)
        assert.same(how, why, path)
      end
    end
  end)

  it("cut at any byte keeps a prefix and says so", function()
    local bytes <const> = helper.read "spec/data/synth/v4-program-compressed.nettrace"
    local whole <const> = names((read(bytes)))
    for length = 1, #bytes - 1 do
      local list, failure = read(bytes:sub(1, length))
      assert.is_not_nil(failure, length)
      assert.is_not_nil(failure.message:match("byte %d+"), failure.message)
      for i, name in ipairs(names(list)) do assert.equal(whole[i], name) end
    end
  end)

  it("with any byte changed neither crashes nor hangs", function()
    for _, path in ipairs(synth_files()) do
      local bytes <const> = helper.read(path)
      local step <const> = #bytes > 4000 and 997 or 1
      for at = 1, #bytes, step do
        local other <const> = string.char(bytes:byte(at) ~ 0xa5)
        read(bytes:sub(1, at - 1) .. other .. bytes:sub(at + 1))
      end
    end
  end)
end)

describe("payload", function()
  local BOOLEAN <const>, INT32 <const>, ARRAY <const>, STRING <const> = 3, 9, 19, 18

  -- One event with described fields: { name, type, [element] }.
  local function decoded(fields, payload)
    local list = { string.pack("<i4", #fields) }
    for _, field in ipairs(fields) do
      list[#list + 1] = string.pack("<s4", "XXXX" .. utf16(field[1])
        .. string.pack("<i4", field[2]) .. (field[3] and string.pack("<i4", field[3]) or ""))
    end
    local body = table.concat(list):gsub("(....)XXXX", function(size)
      return string.pack("<I4", (string.unpack("<I4", size)))
    end)
    local record <const> = define(1, "E").payload .. string.pack("<i4B", #body, 2) .. body
    local events <const> = read(trace({ "MetadataBlock", blobs { { id = 0, payload = record } } },
      { "EventBlock", blobs { { id = 1, payload = payload } } }))
    return events[1].payload
  end

  it("takes a Boolean for one byte where four would give no flag", function()
    local fields <const> = { { "one", BOOLEAN }, { "flags", ARRAY, BOOLEAN }, { "text", STRING } }
    local payload <const> = "\1\3\0\1\0\0" .. utf16 "end"
    assert.same({ one = true, flags = { true, false, false }, text = "end" },
      decoded(fields, payload))
  end)

  it("takes a Boolean for four bytes where that fits", function()
    local fields <const> = { { "one", BOOLEAN }, { "n", INT32 } }
    assert.same({ one = true, n = 7 }, decoded(fields, string.pack("<I4i4", 1, 7)))
  end)
end)

describe("limits", function()
  it("refuses to need more memory than it may", function()
    local list = { { id = 1, payload = ("x"):rep(60000), time = 1 } }
    for i = 2, 40 do list[i] = { id = 1, payload = ("x"):rep(60000), time = i } end
    local bytes <const> = trace({ "MetadataBlock", blobs { define(1, "E") } },
      { "EventBlock", blobs(list) })
    local _, failure = read(bytes, nil, { limit = 1 << 20 })
    assert.equal("limit", failure.code)
  end)

  it("raises the error of a want function after the piece is read", function()
    local reader <const> = core.events { want = function() error "no" end }
    local bytes <const> = trace({ "MetadataBlock", blobs { define(1, "E") } })
    local ok, message = pcall(reader.feed, reader, bytes)
    assert.is_false(ok)
    assert.is_not_nil(message:find("no", 1, true))
  end)
end)
