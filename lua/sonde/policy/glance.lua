--- Looks between the rounds of a watch: whose processor time has grown beyond what a
-- policy fires at has a sample at once, and who has come is seen. It asks for a clock of
-- each process, which costs much less than reading its file.
-- @module sonde.policy.glance
local core <const> = require "sonde.c.core"
local trigger <const> = require "sonde.policy.trigger"

local glance = {}

local SECOND <const> = 1000000000

--- How long after a round or a glance the next one is.
glance.EVERY = SECOND // 3

-- A policy that wants to look less often has its reason.
local LONGEST_INTERVAL <const> = SECOND

-- A process that is busy for a whole glance may have begun a moment before.
local SHORTEST <const> = SECOND // 20

--- From which share of a processor on a policy of some fires at the first sample.
-- @tparam {table,...} policies
-- @treturn ?number percent; nil when none does
function glance.threshold(policies)
  local least
  for _, policy in ipairs(policies) do
    trigger.each(policy.trigger, function(checked)
      local spec <const> = checked.spec
      if checked.of.key == "metric" and spec.channel == "cpu" and spec.above
        and spec["for"] == 0 and spec.stat == nil and policy.interval <= LONGEST_INTERVAL then
        least = math.min(least or spec.above, spec.above)
      end
    end)
  end
  return least
end

--- Has a process been that busy since the last glance, and did no sample say so?
-- @tparam table known `pid threshold cpu_told`; what is seen is kept in `glanced`
-- @tparam integer now nanoseconds
-- @treturn boolean
function glance.is_busy(known, now)
  local cpu <const>, last = core.process_cpu(known.pid), known.glanced
  if cpu == nil then return false end
  if last == nil then
    known.glanced = { cpu = cpu, at = now }
    return false
  end
  local time <const> = now - last.at
  if time < SHORTEST then return false end
  local share <const> = (cpu - last.cpu) * 100 / time
  last.cpu, last.at = cpu, now
  return share > known.threshold and (known.cpu_told or 0) <= known.threshold
end

return glance
