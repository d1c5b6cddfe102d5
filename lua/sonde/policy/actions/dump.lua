--- `{ dump = {} }`: writes down where every goroutine or thread stands, by what does
-- the target no harm.
-- @module sonde.policy.actions.dump
local files <const> = require "sonde.base.files"
local words <const> = require "sonde.policy.words"

local dump = { short = "transport" }

local SECOND <const> = 1000000000

--- Fields.
dump.fields = {
  { name = "transport", type = "string",
    help = "inprocess, pprof, gops, eventpipe or native; the first that can otherwise" },
  { name = "format", type = "string", choices = { "text", "jsonl" }, default = "text",
    help = "for people, or a record on each line" },
  { name = "timeout", type = "duration", default = 30 * SECOND, min = 1, help = "how long" },
  { name = "path", type = "path", help = "its name; by default of policy, target and time" },
}

--- Checks more than the fields.
-- @tparam table spec
-- @tparam string where
-- @tparam table problems
function dump.check(spec, where, problems)
  if type(spec.transport) ~= "string" then return end
  local transport <const> = require "sonde.capture.transport"
  for _, name in ipairs(transport.NAMES) do
    if name == spec.transport and name ~= "sigquit" then return end
  end
  problems:add(where .. ".transport", ("'%s' %s"):format(spec.transport,
    spec.transport == "sigquit" and "ends the process: no policy may" or "is no transport"),
    spec.transport)
end

--- Says what it does.
-- @tparam table spec
-- @treturn string
function dump.explain(spec)
  return ("write down where every thread or goroutine stands%s, within %s"):format(
    spec.transport and " (by " .. spec.transport .. ")" or "", words.duration(spec.timeout))
end

--- What it costs.
-- @tparam table spec
-- @treturn table `duration_ns`
function dump.cost(spec)
  return { duration_ns = spec.timeout }
end

local function frame_text(frame)
  local place <const> = frame.file and (" at %s%s"):format(frame.file,
    frame.line and frame.line > 0 and ":" .. frame.line or "") or ""
  return ("    %s%s\n"):format(frame.func, place)
end

local function write_record(out, record)
  out:write(("%s %s%s%s\n"):format(record.goroutine_id and "goroutine" or "thread",
    record.goroutine_id or record.thread_id or "",
    record.thread_name and (' "%s"'):format(record.thread_name) or "",
    record.state and " " .. record.state or ""))
  for _, frame in ipairs(record.frames or {}) do out:write(frame_text(frame)) end
  out:write "\n"
end

-- What was dumped as text is written as it came.
local function write_text(out, taken, records)
  if taken.text then return out:write(taken.text) end
  for _, record in ipairs(records) do write_record(out, record) end
end

local function write_lines(out, context, records)
  local record_json <const> = require "sonde.capture.record_json"
  for _, record in ipairs(records) do
    record.pid, record.raw = context.values.pid, nil
    out:write(record_json.encode(record), "\n")
  end
end

--- Does it.
-- @tparam table spec
-- @tparam table context
-- @treturn ?table `path bytes stacks transport`
-- @treturn ?string message
-- @treturn ?string code
function dump.run(spec, context)
  local taken, message, code = require("sonde.capture.transport").default():dump(context.values.pid,
    { transport = spec.transport, timeout = spec.timeout })
  if taken == nil then return nil, message, code end
  local records <const> = require("sonde.capture.kinds.stacks").records_of(taken)
  local path <const> = context.place(spec.path
    or context.name(spec.format == "jsonl" and ".stacks.jsonl" or ".stacks.txt"))
  local done, why, reason = files.write(path, function(out)
    if spec.format == "jsonl" then write_lines(out, context, records)
    else write_text(out, taken, records) end
    return true
  end)
  if not done then return nil, why, reason end
  return { path = path, bytes = require("sonde.base.uv").fs_stat(path).size, stacks = #records,
    transport = taken.transport }
end

return dump
