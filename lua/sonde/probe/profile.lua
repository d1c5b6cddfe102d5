--- What probes counted as a Profile: a sample for each stack of a function.
-- @module sonde.probe.profile
local profile = {}

-- Stacks share their frames; 'made' has what was made of each.
local function frame_of(frame, made)
  if made[frame] then return made[frame] end
  made[frame] = { name = frame.name, module = frame.file ~= "" and frame.file
    or frame.type == "kernel" and "[kernel]" or nil, address = frame.address, file = frame.source,
    line = frame.line }
  return made[frame]
end

local function stack_of(stack, func, frames)
  local list = {}
  for _, frame in ipairs(stack.kernel) do list[#list + 1] = frame_of(frame, frames) end
  for _, frame in ipairs(stack.user) do list[#list + 1] = frame_of(frame, frames) end
  if #list == 0 then list[1] = { name = func.name, module = func.binary } end
  return list
end

local function add_function(made, func, latency, frames)
  local function add(stack, row)
    made:add(stack, latency and { row.count, row.total_ns or 0 } or { row.count },
      { probe = func.name })
  end
  local count, total = func.count, func.total_ns or 0
  for _, stack in ipairs(func.stacks) do
    add(stack_of(stack, func, frames), stack)
    count, total = count - stack.count, total - stack.total_ns
  end
  if count > 0 or total > 0 then
    add({ { name = func.name, module = func.binary } }, { count = math.max(count, 0),
      total_ns = math.max(total, 0) })
  end
end

--- Makes the profile of a report.
-- @tparam Report report
-- @treturn Profile
function profile.of(report)
  require "sonde.profile"
  local types = { { "hits", "count" } }
  if report.latency then types[2] = { "time", "nanoseconds" } end
  local made <const> = require("sonde.c.core").profile_new {
    types = types, default = report.latency and "time" or "hits",
  }
  local frames <const> = {}
  for _, func in ipairs(report:functions()) do
    add_function(made, func, report.latency, frames)
  end
  made:set_info { time_ns = report.started_at * 1000000000, duration_ns = report.duration_ns }
  return made
end

return profile
