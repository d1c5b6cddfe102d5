--- Is a text a file that speedscope opens? After its published schema and the
-- reports of files that it refused.
local dkjson <const> = require "dkjson"

local speedscope = {}

local UNITS <const> = {
  none = true, nanoseconds = true, microseconds = true, milliseconds = true, seconds = true,
  bytes = true,
}

local function check_sampled(profile, frames)
  assert(#profile.samples == #profile.weights, "as many samples as weights")
  assert(#profile.samples > 0, "an empty profile")
  local sum = 0
  for i, stack in ipairs(profile.samples) do
    assert(profile.weights[i] > 0, "a weight that is not positive")
    sum = sum + profile.weights[i]
    assert(#stack > 0, "a stack without frames")
    for _, frame in ipairs(stack) do assert(frames[frame + 1], "no such frame") end
  end
  assert(profile.endValue - profile.startValue == sum, "the end is not the sum")
end

local function check_evented(profile, frames)
  assert(#profile.events > 0, "an empty profile")
  local open, last = {}, profile.startValue
  for i, event in ipairs(profile.events) do
    assert(event.at >= last, ("event %d goes back"):format(i))
    assert(frames[event.frame + 1], "no such frame")
    last = event.at
    if event.type == "O" then
      open[#open + 1] = event.frame
    else
      assert(event.type == "C", "a type that is none")
      assert(table.remove(open) == event.frame, ("event %d closes another frame"):format(i))
    end
  end
  assert(#open == 0, "frames that stay open")
  assert(last <= profile.endValue, "an event after the end")
end

--- Reads a file; raises where speedscope would not. Returns it as a table.
function speedscope.read(text)
  local file, _, message = dkjson.decode(text)
  assert(file, message)
  assert(file["$schema"] == "https://www.speedscope.app/file-format-schema.json")
  local frames <const> = file.shared.frames
  assert(#file.profiles > 0, "no profiles")
  for _, frame in ipairs(frames) do assert(type(frame.name) == "string") end
  for _, profile in ipairs(file.profiles) do
    assert(type(profile.name) == "string" and UNITS[profile.unit])
    local check = profile.type == "sampled" and check_sampled or check_evented
    check(profile, frames)
  end
  return file
end

return speedscope
