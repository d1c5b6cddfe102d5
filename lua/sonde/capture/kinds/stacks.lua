--- The kind `stacks`: what every goroutine and thread does, one record for each
-- goroutine, each managed thread and each dump of native threads.
-- @module sonde.capture.kinds.stacks
local errors <const> = require "sonde.base.errors"
local batch <const> = require "sonde.capture.store.batch"
local core <const> = require "sonde.c.core"

local stacks = { name = "stacks", summary = "the stacks of goroutines and threads",
  formats = { "text", "jsonl", "folded", "html" } }

--- What a checkpoint takes.
stacks.params = {
  { name = "transport", type = "string",
    help = "how: inprocess pprof gops eventpipe native sigquit, or one that was added;"
      .. " the first that can and does no harm otherwise" },
  { name = "consent", type = "boolean", help = "a transport that ends the process may be used" },
  { name = "dump", type = "table",
    help = "a dump that was taken elsewhere: { format, text, collected_at }" },
}

--- What the declaration cannot say.
-- @tparam table params
-- @treturn ?string what is wrong
function stacks.check(params)
  local dump <const> = params.dump
  if dump == nil then return end
  if params.transport then return "a dump that was taken elsewhere takes no transport" end
  if dump.format ~= "go" and dump.format ~= "native" then
    return ("a dump's format is go or native, not '%s'"):format(tostring(dump.format))
  end
  if type(dump.text) ~= "string" or dump.text == "" then return "a dump needs its text" end
end

--- Has it something of a process?
-- @treturn boolean
function stacks.offers()
  return true
end

local function frame_of(frame)
  return frame and { func = frame.func, file = frame.file, line = frame.line } or nil
end

local function frames_of(frames)
  local list = {}
  for i, frame in ipairs(frames or {}) do list[i] = frame_of(frame) end
  return list
end

local function goroutine_of(entry)
  return {
    goroutine_id = entry.goroutine_id, thread_id = entry.thread_id,
    thread_name = entry.thread_name, state = entry.state, wait_minutes = entry.wait_minutes,
    locked_to_thread = entry.locked_to_thread, frames = frames_of(entry.frames),
    created_by = frame_of(entry.created_by), creator_id = entry.creator_id,
    labels = entry.labels, count = entry.count or 1, raw = entry.raw, error = entry.error,
    truncated = entry.truncated,
  }
end

local function open_stream(text, format)
  local module <const> = require(format == "go" and "sonde.golang.dump" or "sonde.process.native")
  return module.stream({ input = core.input(text, "dump"), name = "dump",
    close = function() return true end,
    fail = function(_, message, code) return nil, message, code end }, {})
end

local function goroutines(text)
  local stream <const> = open_stream(text, "go")
  local list = {}
  for entry in stream:records() do list[#list + 1] = goroutine_of(entry) end
  return list
end

-- One record: what the sampler wrote, and the first thread's stack. It counts for
-- that one thread, so that sums over stacks say nothing of the others.
local function native_record(text)
  local first <const> = open_stream(text, "native"):records()()
  -- A text of thousands of threads is cut here, so that many do not fill the memory.
  local raw <const>, cut <const> = batch.text(text)
  return { { raw = raw, truncated = cut or nil, count = first and 1 or 0,
    thread_id = first and first.thread_id, frames = frames_of(first and first.frames) } }
end

--- The records of a dump; a text that holds none is told as it is.
-- @tparam table dump of a transport
-- @treturn {table,...}
function stacks.records_of(dump)
  if dump.records then return dump.records end
  local done, list = errors.pcall(dump.format == "go" and goroutines or native_record, dump.text)
  if not done then return { { raw = dump.text, error = tostring(list) } } end
  if #list == 0 or list[1].count == 0 then
    return { { raw = dump.text, error = "no stacks are in what was dumped" } }
  end
  return list
end

--- Takes the stacks of a process.
-- @tparam table context `transports` (a registry), `deadline_ns` (time that is left)
-- @tparam table process `key pid`
-- @tparam table params
-- @treturn ?{table,...} parts
-- @treturn ?string message
-- @treturn ?string code
function stacks.take(context, process, params)
  local dump, message, code = params.dump, nil, nil
  if dump == nil then
    dump, message, code = context.transports:dump(process.pid, { transport = params.transport,
      consent = params.consent, timeout = context.left() })
  end
  if dump == nil then return nil, message, code end
  return { { kind = "stacks", key = process.key, pid = process.pid, error = message,
    fields = { transport = dump.transport, format = dump.format },
    records = stacks.records_of(dump) } }
end

return stacks
