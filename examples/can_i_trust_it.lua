-- Can the numbers of this trace be trusted: is it whole, was anything lost,
-- do the frames have names?
-- Usage: lua5.4 examples/can_i_trust_it.lua TRACE
local sonde <const> = require "sonde"

local trace, message = sonde.open(arg[1])
if trace == nil then
  print(message)
  os.exit(4)
end
if message then print("incomplete: " .. message) end

local counts <const> = trace:counts()
local frames <const> = trace:frames()
print(("%d events, %d lost"):format(counts.events, counts.lost))
print(("%d of %d frames have no name"):format(frames.unresolved, frames.frames))
for _, loss in ipairs(trace:losses()) do
  print(("thread %d lost %d events after %.3f s"):format(loss.thread, loss.count,
    loss.from_ns / 1e9))
end
for _, problem in ipairs(trace:problems()) do
  print(("%s at byte %d: %s"):format(problem.severity, problem.offset, problem.text))
end
