--- What leaves out some of the goroutines or threads of a dump.
-- @module sonde.dump.filter
local filter = {}

--- Options of `Dump:where`, and of verbs that show dumps.
filter.options = {
  { name = "state", type = "pattern",
    help = "only goroutines in such a state; of threads, the name" },
  { name = "func", aliases = { "function" }, type = "pattern",
    help = "only those with such a function in their stack" },
  { name = "wait", type = "duration", help = "only those that have waited at least so long" },
}

local MINUTE <const> = 60000000000

--- A duration as whole minutes, as dumps tell them, rounded up.
-- @tparam ?integer wait nanoseconds
-- @treturn integer
function filter.minutes(wait)
  return wait and (wait + MINUTE - 1) // MINUTE or 0
end

--- A table that knows for each text whether it matches; each is matched once.
-- @tparam ?string pattern nil gives nil
-- @treturn ?table
function filter.matcher(pattern)
  if pattern == nil then return nil end
  local matches <const> = require("sonde.base.pattern").matcher(pattern)
  return setmetatable({}, { __index = function(self, subject)
    local hit <const> = matches(subject)
    self[subject] = hit
    return hit
  end })
end

return filter
