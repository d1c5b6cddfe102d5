--- How processes ended, for policies that wait for a status. Only a parent learns
-- it, and who listens to the kernel's process events, where it tells them.
-- @module sonde.policy.ends
local core <const> = require "sonde.c.core"
local trigger <const> = require "sonde.policy.trigger"

local ends = {}

--- The ends that policies wait for.
-- @tparam {table,...} policies
-- @treturn {table,...} `{ policy, status }`
function ends.awaited(policies)
  local list = {}
  for _, policy in ipairs(policies) do
    trigger.each(policy.trigger, function(checked)
      if checked.of.key == "exit" then
        list[#list + 1] = { policy = policy, status = checked.spec.exit }
      end
    end)
  end
  return list
end

local function warnings_of(awaited, message)
  local list = {}
  for _, one in ipairs(awaited) do
    if one.status ~= "any" then
      list[#list + 1] = { policy = one.policy, text = ("it waits for an end with status %s, but"
        .. " the kernel does not tell us statuses (%s): only 'any' fires; try as root, outside of"
        .. " containers"):format(one.status, message) }
    end
  end
  return list
end

--- Listens, when a policy waits for an end.
-- @tparam {table,...} policies
-- @treturn ?userdata with `take` and `close`; nil when none waits, or none is told
-- @treturn {table,...} what cannot fire for that: `{ policy, text }`
function ends.listen(policies)
  local awaited <const> = ends.awaited(policies)
  if #awaited == 0 then return nil, {} end
  local listener <const>, message <const> = core.exits()
  if listener then return listener, {} end
  return nil, warnings_of(awaited, message)
end

--- What of some policies could not fire here, to be told before they are used.
-- @tparam {table,...} policies
-- @treturn {table,...} `{ policy, text }`
function ends.warnings(policies)
  local listener <const>, list <const> = ends.listen(policies)
  if listener then listener:close() end
  return list
end

return ends
