-- Which exceptions are thrown, how often, and where does each kind come from?
-- Usage: lua5.4 examples/exceptions.lua TRACE
local sonde <const> = require "sonde"

local trace <const> = assert(sonde.open(arg[1]))

for _, kind in ipairs(trace:exceptions()) do
  print(("%6d  %s: %s"):format(kind.count, kind.type, kind.message or ""))
end

local thrown <const> = assert(trace:profile { view = "exception" })
print(thrown:calls { depth = 3 })
