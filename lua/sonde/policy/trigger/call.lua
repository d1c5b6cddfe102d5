--- A function for a trigger: it gets the newest figures of a target at every
-- instant, and returns true, or true and why, when it is to fire.
-- @module sonde.policy.trigger.call
local call = {}

local Instance <const> = {}
Instance.__index = Instance

--- Says what it waits for.
-- @treturn string
function call.explain()
  return "its function says so"
end

--- Waits in one target.
-- @tparam table spec `call`
-- @treturn table
function call.new(spec)
  return setmetatable({ call = spec.call, channels = {}, holding = false, is_called = true },
    Instance)
end

--- All samples of an instant have come.
-- @tparam integer _ the time
-- @tparam table facts the target's facts and its newest figures
-- @treturn ?string "fires"
-- @treturn ?string why
function Instance:round(_, facts)
  local fires <const>, why <const> = self.call(facts)
  self.holding = fires == true
  if not self.holding then return nil end
  return "fires", type(why) == "string" and why or "its function said so"
end

function Instance.fired()
end

--- How near it is.
-- @treturn string
function Instance.state()
  return "its function did not return true"
end

return call
