--- Records a Go process for a policy: a CPU profile, or another one.
-- @module sonde.capture.go_recorder
local files <const> = require "sonde.base.files"

local go_recorder = {}

local SECOND <const> = 1000000000

-- What answers take beyond the time that was asked for.
local PATIENCE <const> = 30 * SECOND

-- Names of recordings that a Go process has something for.
local PROFILES <const> = { cpu = "profile", alloc = "allocs", gc = "heap", contention = "mutex",
  heap = "heap", goroutine = "goroutine", block = "block", mutex = "mutex" }

local function query_of(name, spec)
  if name == "goroutine" then return nil end
  return ("seconds=%d"):format(math.max(1, spec.duration // SECOND))
end

--- Records.
-- @tparam table spec of the action `record`
-- @tparam table context
-- @treturn ?table `path bytes`
-- @treturn ?string message
-- @treturn ?string code
function go_recorder.run(spec, context)
  local wanted <const> = spec.profile and spec.profile[1] or "cpu"
  local name <const> = PROFILES[wanted]
  if name == nil then
    return nil, ("a Go process has no profile for '%s'"):format(wanted), "unavailable"
  end
  local address, message, code = require("sonde.golang.sources").pprof(context.facts.pid)
  if address == nil then return nil, message, code end
  local bytes, why, kind = require("sonde.golang.pprof").fetch(address, name,
    query_of(name, spec), { timeout = spec.duration + PATIENCE, max_bytes = spec.max_size })
  if bytes == nil then return nil, why, kind end
  local path <const> = context.place(spec.path or context.name ".pb.gz")
  local done, failure, failed = files.write(path, function(out)
    out:write(bytes)
    return true
  end)
  if not done then return nil, failure, failed end
  return { path = path, bytes = #bytes }, why, kind
end

return go_recorder
