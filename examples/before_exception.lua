-- What happened in the last milliseconds before the first exception?
-- Usage: lua5.4 examples/before_exception.lua TRACE [MILLISECONDS]
local sonde <const> = require "sonde"

local first
for event in assert(sonde.events(arg[1], { name = "^Exception", n = 1 })) do first = event end
if first == nil then
  print("no exception")
  return
end

local window <const> = math.tointeger(arg[2] or 5) * 1000000
local before <const> = assert(sonde.events(arg[1], {
  from = math.max(0, first.time_ns - window), to = first.time_ns,
}))
for event in before do
  local ms <const> = (event.time_ns - first.time_ns) / 1e6
  print(("%9.3f ms  thread %d  %s"):format(ms, event.thread, event.name))
end
