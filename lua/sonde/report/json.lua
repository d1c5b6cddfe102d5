--- The whole profile as one JSON object, for programs.
-- @module sonde.report.json
local json <const> = require "sonde.base.json"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"

local report = {}

report.name = "json"
report.summary = "the whole profile as one JSON object: frames, samples, labels"
report.takes = "profile"
report.extensions = { "json" }
report.options = {}

local function hex(address)
  return address ~= 0 and ("0x%x"):format(address) or nil
end

local FRAME_KEYS <const> = { "name", "file", "line", "module", "address" }

local function frame_of(frames, i)
  local function known(text) return text ~= "" and text or nil end
  return {
    name = frames.name[i], file = known(frames.file[i]), module = known(frames.module[i]),
    line = frames.line[i] ~= 0 and frames.line[i] or nil, address = hex(frames.address[i]),
  }
end

local function head_of(profile)
  local info <const>, notes <const> = profile:info(), profile:notes()
  local totals = {}
  for i = 1, #profile:types() do totals[i] = profile:total(i) end
  return {
    schema = 1, view = notes.view, types = json.array(profile:types()),
    default_type = info.default_type, totals = json.array(totals),
    filters = json.array(notes.filters), comments = json.array(info.comments or {}),
    time_ns = info.time_ns, duration_ns = info.duration_ns, period = info.period,
    period_type = info.period_type,
  }
end

local HEAD_KEYS <const> = {
  "schema", "view", "types", "default_type", "totals", "filters", "comments", "time_ns",
  "duration_ns", "period", "period_type",
}

-- Numbers of frames count from 0 in the output, as programs expect.
local function sample_text(stack, values, labels)
  for i = 1, #stack do stack[i] = stack[i] - 1 end
  local line = ('{"stack":[%s],"values":[%s]'):format(table.concat(stack, ","),
    table.concat(values, ","))
  if labels then line = line .. ',"labels":' .. json.encode(json.object(labels)) end
  return line .. "}"
end

--- Writes the object; frames of a stack are indexes from 0, innermost first.
-- @param profile
-- @tparam table _ checked options: none
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function report.write(profile, _, out)
  local about, message, code = scope.new(profile, {})
  if about == nil then return nil, message, code end
  local to <const> = sink.new(out)
  to:put(json.encode(head_of(profile), HEAD_KEYS):sub(1, -2) .. ',"frames":[')
  local frames <const> = profile:frames()
  for i = 1, frames.n do
    to:put((i == 1 and "\n" or ",\n") .. json.encode(frame_of(frames, i), FRAME_KEYS))
  end
  to:put('\n],"samples":[')
  local separator = "\n"
  for stack, values, labels in profile:samples() do
    to:put(separator .. sample_text(stack, values, labels))
    separator = ",\n"
  end
  to:put("\n]}\n")
  return to:finish()
end

--- Writes a difference as one object with its rows.
-- @param diff
-- @tparam table _ checked options: none
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function report.write_diff(diff, _, out)
  local rows, message, code = diff:rows {}
  if rows == nil then return nil, message, code end
  local head <const> = {
    schema = 1, type = diff.type, unit = diff.unit, normalize = diff.normalize,
    scale = diff.scale,
    total_before = diff.total_before, total_after = diff.total_after,
  }
  local to <const> = sink.new(out)
  to:put(json.encode(head, { "schema", "type", "unit" }):sub(1, -2) .. ',"rows":[')
  local separator = "\n"
  for _, row in ipairs(rows) do
    to:put(separator .. json.encode(row, diff.ROW_KEYS))
    separator = ",\n"
  end
  to:put("\n]}\n")
  return to:finish()
end

return report
