--- Conditions on events, as users type them: a Lua expression that sees the
-- event and a few harmless functions.
-- @module sonde.dotnet.expression
local errors <const> = require "sonde.base.errors"

local expression = {}

-- Patterns and lengths are bounded by the event's own size.
local VISIBLE <const> = {
  math = math, tostring = tostring, tonumber = tonumber, type = type, pairs = pairs,
  ipairs = ipairs, string = { find = string.find, match = string.match, lower = string.lower,
    upper = string.upper, sub = string.sub, len = string.len },
}

--- Compiles a condition.
-- @tparam string text
-- @treturn ?function gets an event, gives true or false; what raises is false
-- @treturn ?string why it is no expression
function expression.compile(text)
  local scope <const> = setmetatable({}, { __index = VISIBLE })
  local chunk, message = load("return " .. text, "=expression", "t", scope)
  if chunk == nil then return nil, message end
  return function(event)
    scope.event = event
    local done, value = errors.pcall(chunk)
    return done and value and true or false
  end
end

return expression
