--- `{ log = "busy: %{reason}" }`: says it where `sonde watch` talks.
-- @module sonde.policy.actions.log
local log = { short = "text" }

--- Fields.
log.fields = { { name = "text", type = "string", required = true, help = "what is said" } }

--- Says what it does.
-- @tparam table spec
-- @treturn string
function log.explain(spec)
  return ("say '%s'"):format(spec.text)
end

--- Does it.
-- @tparam table spec
-- @tparam table context
-- @treturn table
function log.run(spec, context)
  context.say(spec.text)
  return { text = spec.text }
end

return log
