-- Who calls the functions that match a pattern, and what do they call?
-- Usage: lua5.4 examples/who_calls.lua TRACE PATTERN
local sonde <const> = require "sonde"

local profile <const> = assert(assert(sonde.open(arg[1])):profile())

for _, row in ipairs(assert(profile:peek(arg[2]))) do
  print(("%s: %d %s with its callees"):format(row.name, row.cum, row.unit))
  for _, caller in ipairs(row.callers) do print("   from " .. caller.name, caller.value) end
  for _, callee in ipairs(row.callees) do print("   to   " .. callee.name, callee.value) end
end
