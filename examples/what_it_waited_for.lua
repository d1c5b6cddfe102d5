-- What did the threads of a process wait for, some seconds ago and now?
-- Usage: lua5.4 examples/what_it_waited_for.lua PID STORE
local sonde <const> = require "sonde"
local loop <const> = require "sonde.base.loop"

local capture <const> = assert(sonde.capture { root = tonumber(arg[1]), store = arg[2] })
for i = 1, 2 do
  local done <const> = assert(capture:checkpoint { kind = "stacks", tree = true })
  print(("checkpoint %d: %d dumps, %d failed"):format(i, done.parts, done.failed))
  loop.sleep(200000000)
end
assert(capture:close())

local store <close> = assert(sonde.store(arg[2]))
for _, group in ipairs(assert(store:groups { kind = "stacks", by = "stack", limit = 5 })) do
  local frame <const> = group.frames and group.frames[1]
  print(("%6d  in %d records  %s"):format(group.count, group.records, frame and frame.func or "?"))
end
