--- Records a target for a policy: from now on, or with a ring that was kept
-- while watching, so that what came before is in it.
-- @module sonde.capture.recorder
local providers <const> = require "sonde.dotnet.providers"
local recordings <const> = require "sonde.dotnet.recordings"

local recorder = {}

local SECOND <const> = 1000000000

-- A ring may take so much memory of ours.
local RING_MEMORY <const> = 256 << 20

-- Names come at the end, on top of what the events may take.
local ROOM_FOR_RUNDOWN <const> = 256 << 20

local function wanted(spec)
  local lists = {}
  for i, name in ipairs(spec.profile or { "cpu" }) do
    local found, message, code = recordings.get(name)
    if found == nil then return nil, message, code end
    lists[i] = found.providers
  end
  if spec.provider then
    local own, why = providers.complete(spec.provider)
    if own == nil then return nil, why, "malformed" end
    lists[#lists + 1] = own
  end
  return providers.join(table.unpack(lists))
end

local function start_options(spec, output)
  local list, message, code = wanted(spec)
  if list == nil then return nil, message, code end
  return { providers = list, output = output, buffer_mb = 64, decode = false,
    cpu_time = providers.have_sampler(list) }
end

--- Keeps a ring for a target.
-- @tparam Target target
-- @tparam table spec of the action `record`, with `before`
-- @treturn ?table to be given to `run` as `context.ring`, and closed
-- @treturn ?string message
-- @treturn ?string code
function recorder.keep(target, spec)
  local tape <const> = require("sonde.dotnet.tape").ring { limit = RING_MEMORY,
    span = spec.before + spec.duration }
  local opts, message, code = start_options(spec, tape)
  if opts == nil then return nil, message, code end
  opts.max_bytes, opts.groups, opts.decode = math.maxinteger, {}, true
  local session, why, kind = target:trace(opts)
  if session == nil then return nil, why, kind end
  return { tape = tape, session = session,
    close = function() session:stop { timeout = 5 * SECOND } end }
end

-- Lets the time after the trigger pass and saves both.
local function save_ring(ring, spec, path)
  local ended <const> = ring.session:wait { timeout = spec.duration }
  if not ended then ring.tape:refresh_names(10 * SECOND) end
  local saved, message, code = ring.tape:save(path)
  if saved == nil then return nil, message, code end
  return { path = path, bytes = saved.bytes, events = saved.events }
end

local function record_now(target, spec, path, max_cost)
  local opts, message, code = start_options(spec, path)
  if opts == nil then return nil, message, code end
  opts.max_bytes = spec.max_size + ROOM_FOR_RUNDOWN
  local recording <const> = require("sonde.dotnet.recording").new(target, {
    duration = spec.duration, max_size = spec.max_size, max_cost = max_cost, session = opts,
  })
  local reason, why, kind = recording:run()
  if reason == nil then return nil, why, kind end
  return { path = path, bytes = recording.session.bytes, reason = reason }, why, kind
end

-- The trace in another format, instead of the trace.
local function convert(result, format)
  if format == nil or format == "nettrace" then return result end
  local sonde <const> = require "sonde"
  local trace, message, code = sonde.open(result.path)
  if trace == nil then return nil, message, code end
  local reports <const> = require "sonde.report"
  local module, why = reports.get(format)
  if module == nil then return nil, why, "malformed" end
  local path <const> = result.path:gsub("%.nettrace$", "") .. "." .. module.extensions[1]
  local object = trace
  if reports.needs(module, {}) == "profile" then
    object, message, code = trace:profile()
    if object == nil then return nil, message, code end
  end
  local done, failure, failed = object:write(path, { format = format })
  if not done then return nil, failure, failed end
  os.remove(result.path)
  result.path = path
  return result
end

--- Records: the action `record`.
-- @tparam table spec
-- @tparam table context
-- @treturn ?table `path bytes`
-- @treturn ?string message
-- @treturn ?string code
function recorder.run(spec, context)
  if context.facts.runtime == "go" then
    return require("sonde.capture.go_recorder").run(spec, context)
  end
  local path <const> = context.place(spec.path or context.name ".nettrace")
  local result, message, code
  if context.ring then
    result, message, code = save_ring(context.ring, spec, path)
  else
    local target
    target, message, code = context.target()
    if target == nil then return nil, message, code end
    result, message, code = record_now(target, spec, path, context.max_cost)
  end
  if result == nil then return nil, message, code end
  return convert(result, spec.format)
end

return recorder
