--- sonde: what is this process doing?
--
--    local sonde = require "sonde"
--    local trace = assert(sonde.open("api.nettrace"))
--    print(trace:profile():focus("Json"):top{ n = 20 })
--
-- Parts are loaded when they are first used.
-- @module sonde
local sonde = {}

--- Version of the module and the command.
sonde.VERSION = "0.1.0"

--- Opens a trace or a profile; its content says which.
-- @param from a path, "-" for standard input, a file handle, a descriptor's
--   number, or `{ bytes = string, name = string }`
-- @tparam ?table opts see `sonde.open.options`
-- @return Trace or Profile; nil when nothing could be read
-- @treturn ?string message; beside an object it says what is missing in it
-- @treturn ?string code one of `sonde.base.errors.codes`
-- @treturn ?string hint what helps, when something is known to
function sonde.open(from, opts)
  return require("sonde.open").open(from, opts)
end

--- The events of a trace, one by one, each with its decoded payload.
-- @param from as for `sonde.open`
-- @tparam ?table opts `provider name` (patterns), `id thread from to n stacks
--   limit`; see `sonde.dotnet.events`
-- @treturn ?Events call it for the next event; made for `for … in`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function sonde.events(from, opts)
  return require("sonde.dotnet.events").open(from, opts)
end

--- Compares two profiles.
-- @tparam Profile before
-- @tparam Profile after
-- @tparam ?table opts `type`, a sample type; `scale`, "none", "total" or "time"; see
--   `sonde.diff.options`
-- @treturn ?Diff
-- @treturn ?string message
-- @treturn ?string code
function sonde.diff(before, after, opts)
  require "sonde.profile"
  return require("sonde.diff").new(before, after, opts)
end

--- The sum of profiles, of the sample types that all of them have.
-- @tparam {Profile,...} profiles
-- @treturn ?Profile
-- @treturn ?string message; beside a profile it names the sample types left out
-- @treturn ?string code `malformed` when they have no sample type in common
function sonde.merge(profiles)
  require "sonde.profile"
  return require("sonde.combine").merge(profiles)
end

--- Makes an empty profile to add samples to.
-- @tparam table opts `types` (list of `{ type, unit }`), `default`
-- @treturn Profile see `Profile:add`
function sonde.profile(opts)
  require "sonde.profile"
  return require("sonde.c.core").profile_new(opts)
end

--- Opens a store of captures.
-- @tparam string target path of an SQLite file, or `clickhouse://HOST:PORT/DATABASE`
-- @tparam ?table opts `mode` ("read" never makes or changes it) `busy buffer`; see
--   `sonde.capture.store`
-- @treturn ?Store `records profile groups trend growth diff payloads captures write …`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function sonde.store(target, opts)
  return require("sonde.capture.store").open(target, opts)
end

--- The running process that somebody means.
-- @param what a pid, a name, or `{ socket = path }`
-- @treturn ?Target see `sonde.dotnet.target`
-- @treturn ?string message
-- @treturn ?string code `not_found`, `no_endpoint` (may be retried), `permission`
-- @treturn ?string hint
function sonde.target(what)
  return require("sonde.targets").open(what)
end

--- Probes: how often functions are called, how long they take, and from where.
-- @tparam table opts `binary process functions kernel tracepoint perf latency
--   stacks by arg …`; see `sonde.probe.options`
-- @treturn ?Probe runs until `probe:stop()`, which gives the report
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function sonde.probe(opts)
  return require("sonde.probe").start(opts)
end

--- Captures the processes of a tree, checkpoint by checkpoint, into a store.
-- @tparam ?table opts `root store kinds id service transports addresses`; see
--   `sonde.capture.options`
-- @treturn ?Capture with `checkpoint`, `close`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function sonde.capture(opts)
  return require("sonde.capture").open(opts)
end

--- What sonde needs of this machine, or of a process, and what is missing.
-- @tparam ?integer pid
-- @treturn {table,...} see `sonde.doctor.check`
function sonde.doctor(pid)
  return require("sonde.doctor").check(pid)
end

--- Writes a stretch of time of a trace as a smaller trace.
-- @param from as for `sonde.open`
-- @tparam string path of the result
-- @tparam ?table opts `from to limit`
-- @treturn ?table counts: `kept left_out written`
-- @treturn ?string message; beside counts it says what the source lacks
-- @treturn ?string code
-- @treturn ?string hint
function sonde.cut(from, path, opts)
  return require("sonde.dotnet.cut").write(from, path, opts)
end

--- The processes that can be looked into.
-- @tparam ?table opts `all`: also those without a runtime that is known
-- @treturn {table,...} see `sonde.targets.list`
function sonde.targets(opts)
  return require("sonde.targets").list(opts)
end

-- Constants of .NET; the reports by name.
local PARTS <const> = {
  dotnet = "sonde.dotnet", policy = "sonde.policy", report = "sonde.report",
  redact = "sonde.redact",
}

return setmetatable(sonde, { __index = function(self, name)
  local part <const> = PARTS[name]
  if part == nil then return nil end
  self[name] = require(part)
  return self[name]
end })
