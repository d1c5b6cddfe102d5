-- How long did the garbage collector stop the program, and why?
-- Usage: lua5.4 examples/gc_pauses.lua TRACE
local sonde <const> = require "sonde"

local trace <const> = assert(sonde.open(arg[1]))

local total, longest, by_reason = 0, 0, {}
for _, gc in ipairs(trace:gcs()) do
  local pause <const> = gc.pause_ns or 0
  total, longest = total + pause, math.max(longest, pause)
  by_reason[gc.reason] = (by_reason[gc.reason] or 0) + 1
end

print(("%d collections, %.2f ms in all, the longest %.2f ms"):format(
  #trace:gcs(), total / 1e6, longest / 1e6))
for reason, count in pairs(by_reason) do print(("%6d  %s"):format(count, reason)) end
