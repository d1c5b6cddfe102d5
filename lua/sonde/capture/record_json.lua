--- Records as JSON. A store shares the frames of equal stacks between its records, so
-- their text is made once: it is most of a record.
-- @module sonde.capture.record_json
local json <const> = require "sonde.base.json"

local record_json = {}

local texts <const> = setmetatable({}, { __mode = "k" })

local function frames_text(frames)
  local text = texts[frames]
  if text == nil then
    text = #frames == 0 and "[]" or json.encode(frames)
    texts[frames] = text
  end
  return text
end

--- A record on one line, its frames last.
-- @tparam table record is not changed
-- @tparam ?{string,...} order of its members
-- @treturn string
function record_json.encode(record, order)
  local frames <const> = record.frames
  if frames == nil then return json.encode(record, order) end
  record.frames = nil
  local text <const> = json.encode(record, order)
  record.frames = frames
  return text:sub(1, -2) .. (text == "{}" and '"frames":' or ',"frames":') .. frames_text(frames)
    .. "}"
end

return record_json
