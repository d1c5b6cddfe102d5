--- The runtime of a .NET process as a transport: a short session of its sampler.
-- @module sonde.capture.transports.eventpipe
local loop <const> = require "sonde.base.loop"

local eventpipe = {}

local MS <const> = 1000000

local function records_of(dump)
  local frame_name <const> = require("sonde.dotnet.dump").frame_name
  local records = {}
  for i, thread in ipairs(dump.threads) do
    local frames = {}
    for k, frame in ipairs(thread.frames) do
      frames[k] = { func = frame_name(frame),
        file = frame.assembly ~= "" and frame.assembly or nil }
    end
    records[i] = { thread_id = thread.thread_id, thread_name = thread.thread_name,
      state = thread.state, frames = frames, count = 1 }
  end
  return records
end

--- The transport.
-- @treturn table
function eventpipe.new()
  local self <const> = { name = "eventpipe", destructive = false }

  function self.available(pid)
    local target, message, code, hint = require("sonde.dotnet.target").of_pid(pid)
    if target == nil then return nil, message, code, hint end
    return true
  end

  function self.dump(pid, deadline)
    local target, message, code, hint = require("sonde.dotnet.target").of_pid(pid)
    if target == nil then return nil, message, code, hint end
    local dump, why, reason, help = target:dump { timeout = math.max(MS, deadline - loop.now()) }
    if dump == nil then return nil, why, reason, help end
    return { transport = "eventpipe", format = "dotnet", records = records_of(dump),
      collected_at = dump.taken_at }
  end

  return self
end

return eventpipe
