--- Whether the runtime's events are understood to the last byte.
local sonde <const> = require "sonde"

local exactness = {}

--- What of the runtime's events is not, by type. `seen(event)` is told of each.
function exactness.misread(source, seen)
  local found = {}
  for event in assert(sonde.events(source)) do
    if seen then seen(event) end
    if event.provider:find("DotNETRuntime", 1, true)
      and (event.payload_status or event.payload.raw or (event.name or "") == "") then
      found[("%s/%d version %d: %s"):format(event.provider, event.id, event.version or 0,
        event.payload_status or "no layout")] = true
    end
  end
  return found
end

return exactness
