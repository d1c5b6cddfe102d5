--- Calls that began and were not seen to return: those that still run, and
-- those whose return the kernel left out.
-- @module sonde.probe.open_calls
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"

local open_calls = {}

-- A thread that runs for a moment only is waited for, so long for all together.
local PATIENCE <const> = 20000000

-- The stack pointer of a thread that waits in the kernel; nil for one that runs.
local function stack_pointer(pid, tid, deadline)
  repeat
    local text <const> = core.read_file(("/proc/%d/task/%d/syscall"):format(pid, tid))
    local sp <const> = text and text:match(" (0x%x+) 0x%x+%s*$")
    if sp then return tonumber(sp) end
    if text == nil or not text:find "^running" then return nil end
  until not loop.sleep(1000000) or loop.now() > deadline
end

local function is_alive(pid, tid)
  return core.read_file(("/proc/%d/task/%d/stat"):format(pid, tid)) ~= nil
end

--- Calls of a run that are in flight. Of a thread that is gone, or that is
-- already above the call's frame, the return was missed: the kernel follows 64
-- nested calls of probed functions, and none that end by an exception or longjmp.
-- @param run
-- @treturn {[integer]=integer,...} how many, by function id
function open_calls.in_flight(run)
  local flying, threads, deadline = {}, {}, loop.after(PATIENCE)
  for _, call in ipairs(run:open_calls()) do
    local thread = threads[call.tid]
    if thread == nil then
      thread = { alive = is_alive(call.pid, call.tid),
        sp = stack_pointer(call.pid, call.tid, deadline) }
      threads[call.tid] = thread
    end
    local over <const> = not thread.alive or thread.sp ~= nil and call.sp ~= 0
      and math.ult(call.sp, thread.sp)
    if not over then flying[call.id] = (flying[call.id] or 0) + 1 end
  end
  return flying
end

return open_calls
