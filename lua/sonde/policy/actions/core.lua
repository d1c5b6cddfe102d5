--- `{ core = { type = "heap" } }`: a core dump of a .NET process, written by its own
-- runtime. The process stands still while it is written.
-- @module sonde.policy.actions.core
local loop <const> = require "sonde.base.loop"
local words <const> = require "sonde.policy.words"

local core = { short = "type" }

local SECOND <const> = 1000000000

--- Fields.
core.fields = {
  { name = "type", type = "string", choices = { "triage", "mini", "heap", "full" },
    default = "heap",
    help = "what it holds: triage (stacks, no personal data), mini (stacks), heap, full" },
  { name = "timeout", type = "duration", default = 600 * SECOND, min = 1, help = "how long" },
  { name = "path", type = "path", help = "its name; by default of policy, target and time" },
}

--- Says what it does.
-- @tparam table spec
-- @treturn string
function core.explain(spec)
  return ("write a core dump (%s) within %s; the process stands still meanwhile"):format(spec.type,
    words.duration(spec.timeout))
end

--- What it costs.
-- @tparam table spec
-- @treturn table `duration_ns`; nobody knows the bytes beforehand
function core.cost(spec)
  return { duration_ns = spec.timeout }
end

--- Does it.
-- @tparam table spec
-- @tparam table context
-- @treturn ?table `path bytes type`
-- @treturn ?string message
-- @treturn ?string code
function core.run(spec, context)
  local target, message, code = context.target()
  if target == nil then return nil, message, code end
  if target.core == nil then
    return nil, ("process %d is not .NET: nothing in it writes a core dump"):format(
      context.values.pid), "unavailable"
  end
  local written
  written, message, code = target:core { type = spec.type, timeout = spec.timeout,
    output = context.place(spec.path or context.name ".core") }
  if written == nil then return nil, message, code end
  local done, why, reason = written:wait(loop.after(spec.timeout))
  if not done then return nil, why, reason end
  return { path = written.seen, bytes = written:bytes(), type = spec.type }
end

return core
