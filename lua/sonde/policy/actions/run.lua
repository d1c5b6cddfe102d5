--- `{ run = { "gzip", "%{trace.path}" } }`: runs a program.
-- @module sonde.policy.actions.run
local loop <const> = require "sonde.base.loop"
local program <const> = require "sonde.process.program"
local words <const> = require "sonde.policy.words"

local run = {}

local SECOND <const> = 1000000000

-- What is kept of what it prints.
local MOST_OUTPUT <const> = 64 << 10

--- Fields.
run.fields = {
  { name = "command", type = "string", many = true, required = true,
    help = "program and arguments, a list: no shell reads it" },
  { name = "timeout", type = "duration", default = 60 * SECOND, min = 1, help = "how long" },
  { name = "ignore_status", type = "boolean", help = "any exit status is good" },
}

--- Says what it does.
-- @tparam table spec
-- @treturn string
function run.explain(spec)
  return ("run '%s' for at most %s"):format(table.concat(spec.command, " "),
    words.duration(spec.timeout))
end

--- What it costs.
-- @tparam table spec
-- @treturn table `duration_ns`
function run.cost(spec)
  return { duration_ns = spec.timeout }
end

--- Does it.
-- @tparam table spec
-- @treturn ?table `status output`
-- @treturn ?string message
-- @treturn ?string code
function run.run(spec)
  local ended, message, code = program.run(spec.command, { most = MOST_OUTPUT,
    deadline = loop.after(spec.timeout) })
  if ended == nil then return nil, message, code end
  local output <const> = ended.output .. ended.errors
  if ended.status == 0 or spec.ignore_status then
    return { status = ended.status, output = output }
  end
  local last <const> = output:match "([^\n]+)\n*$"
  return nil, ("%s ended with status %d%s"):format(spec.command[1], ended.status,
    last and ": " .. last or ""), "unavailable"
end

return run
