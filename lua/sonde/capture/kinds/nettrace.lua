--- The kind `nettrace`: traces of .NET processes. A checkpoint records for some time
-- and keeps the trace as a file beside the store.
-- @module sonde.capture.kinds.nettrace
local uv <const> = require "sonde.base.uv"

local nettrace = { name = "nettrace", summary = "traces of .NET processes",
  formats = { "jsonl" } }

local SECOND <const> = 1000000000

--- What a checkpoint takes.
nettrace.params = {
  { name = "duration", type = "duration", default = 5 * SECOND, default_text = "5s", min = 1,
    help = "how long a trace is" },
  { name = "recording", type = "string", many = true, default = { "cpu" },
    help = "what is recorded, as sonde record --profile" },
  { name = "max_size", type = "size", default = 256 << 20, default_text = "256MiB", min = 1 << 20,
    help = "most of a trace" },
}

--- The time that the work takes by itself.
-- @tparam table params
-- @treturn integer nanoseconds
function nettrace.takes(params)
  return params.duration
end

--- Has it something of a process?
-- @tparam table process `runtime`
-- @treturn boolean
function nettrace.offers(process)
  return process.runtime == "dotnet"
end

local function failed(process, message)
  return { { kind = "nettrace", key = process.key, pid = process.pid, error = message } }
end

local function count_of(path)
  local trace <const> = require("sonde").open(path)
  if trace == nil then return {} end
  local counts <const> = trace:counts()
  return { events = counts.events, lost = counts.lost,
    samples = counts.samples_error + counts.samples_external + counts.samples_managed }
end

--- Records a process.
-- @tparam table context `directory` of files, `checkpoint`
-- @tparam table process
-- @tparam table params
-- @treturn {table,...} parts
function nettrace.take(context, process, params)
  local started_at <const> = context.now()
  local name <const> = ("%s-%d.nettrace"):format(context.checkpoint, process.pid)
  uv.fs_mkdir(context.directory, 448)   -- rwx------
  local result, message = require("sonde.capture.recorder").run(
    { profile = params.recording, duration = params.duration, max_size = params.max_size },
    { facts = process, name = function() return name end,
      place = function(file) return context.directory .. "/" .. file end,
      target = function() return require("sonde.dotnet.target").of_pid(process.pid) end })
  if result == nil then return failed(process, message) end
  local counts <const> = count_of(result.path)
  return { { kind = "nettrace", key = process.key, pid = process.pid, error = message,
    fields = { session = context.checkpoint .. "-" .. process.pid },
    records = { { segment = 1, path = name, size = result.bytes, started_at = started_at,
      duration_ns = context.now() - started_at, samples = counts.samples,
      events = counts.events, lost = counts.lost } } } }
end

return nettrace
