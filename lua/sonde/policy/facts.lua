--- What a policy may know of a process.
-- @module sonde.policy.facts
local proc <const> = require "sonde.process.proc"
local targets <const> = require "sonde.targets"

local facts = {}

--- The facts of a process.
-- @tparam table stat of `proc.stat`
-- @treturn ?table `pid start name command_line user container arch version
--   runtime process_name parent`, and `environment`, a function; nil when it has
--   gone
function facts.of(stat)
  local status <const> = proc.status(stat.pid)
  if status == nil then return nil end
  local words <const> = proc.command_line(stat.pid) or {}
  local runtime, version = targets.runtime_of(stat)
  return {
    pid = stat.pid, start = stat.start_time, name = targets.name_of(words, runtime, stat.name),
    process_name = stat.name, command_line = table.concat(words, " "), parent = stat.parent,
    user = proc.user(status.uid), container = proc.container(stat.pid),
    arch = proc.architecture(stat.pid), version = version, runtime = runtime,
    environment = function() return proc.environment(stat.pid) end,
  }
end

return facts
