--- Dumps for specs: reading a text, and the records as cases write them.
local core <const> = require "sonde.c.core"
local dkjson <const> = require "dkjson"
local sonde <const> = require "sonde"

local dumps = {}

--- Opens a text as a dump.
function dumps.open(text, name)
  return sonde.open { bytes = text, name = name or "text" }
end

--- The records of a text, and the lines between them.
function dumps.records(text, format)
  local reader <const> = core.dump_reader(core.input(text), { format = format })
  local records, texts = {}, {}
  while true do
    local kind, message = reader:next()
    assert(message == nil, message)
    if kind == nil then break end
    if kind == "entry" then records[#records + 1] = reader:entry() end
    if kind == "text" then texts[#texts + 1] = reader:text() end
  end
  return records, table.concat(texts), reader:counts()
end

--- The same as the core writes them for `--json`.
function dumps.json(text, format, feed)
  local reader <const> = core.dump_reader(core.input(feed and feed(text) or text),
    { format = format })
  local list = {}
  for kind in function() return (reader:next()) end do
    if kind == "entry" then list[#list + 1] = reader:json("", "") end
  end
  return list
end

--- A record with the names that the cases use.
function dumps.as_case(record)
  local frames = {}
  for i, frame in ipairs(record.frames) do frames[i] = frame.func end
  return {
    id = record.goroutine_id, state = record.state, wait_minutes = record.wait_minutes,
    locked = record.locked_to_thread, frames = frames,
    created_by = record.created_by and record.created_by.func, parent = record.creator_id,
    system = record.system, truncated = record.truncated, count = record.count,
    labels = record.labels, frames_len = #frames, tid = record.thread_id,
    elided = record.elided, name = record.thread_name, error = record.error ~= nil or nil,
  }
end

--- Compares records with a case's list; keys that it lacks are not checked.
function dumps.compare(expected, records)
  local found = {}
  for i, want in ipairs(expected) do
    local have <const> = records[i] and dumps.as_case(records[i]) or {}
    found[i] = {}
    for key in pairs(want) do found[i][key] = have[key] end
  end
  for i = #expected + 1, #records do found[i] = dumps.as_case(records[i]) end
  return found
end

--- What a case expects.
function dumps.expected(helper, case)
  local text <const> = assert(helper.read(helper.data("cases/" .. case .. "/expect.json")))
  return (assert(dkjson.decode(text, 1, nil)))
end

--- A goroutine of one frame, below a header.
function dumps.one(header)
  return header .. "\nmain.f(0x1)\n\t/src/x.go:3 +0x1d\n\n"
end

return dumps
