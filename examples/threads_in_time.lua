-- What was each thread doing every half second?
-- Usage: lua5.4 examples/threads_in_time.lua TRACE
local sonde <const> = require "sonde"

local trace <const> = assert(sonde.open(arg[1], { timeline = true }))
local next_at = {}

for sample in assert(trace:samples()) do
  local due <const> = next_at[sample.thread_id] or 0
  if sample.time_ns >= due then
    local leaf <const> = sample.frames[1]
    local what = leaf and leaf.method ~= "" and leaf.method or "?"
    print(("%7.2f s  thread %-7d %s %s"):format(sample.time_ns / 1e9, sample.thread_id,
      sample.managed and "in" or "calls out of", what))
    next_at[sample.thread_id] = sample.time_ns + 500000000
  end
end
