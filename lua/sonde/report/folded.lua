--- Folded stacks: a line for each stack, outermost frame first, frames joined
-- by ";", a blank, the value. Other tools draw flame graphs from it.
-- Names stay as they are; ";" inside one is shown as ":", control characters
-- and bytes that are no UTF-8 as escapes (\n, \x1b), so that a line is always
-- one stack and a frame always one frame.
-- @module sonde.report.folded
local calls <const> = require "sonde.report.calls"
local names <const> = require "sonde.report.names"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"

local folded = {}

folded.name = "folded"
folded.summary = "folded stacks, a line each: frame;frame;frame value"
folded.takes = "profile"
folded.extensions = { "folded", "collapsed" }
folded.options = options.join(options.select(scope.options, { "type" }), {
  scope.sign_option, calls.labels_option,
})

-- Calls `use(profile, prefix)` for the parts of a profile that the values of
-- labels divide it into; `prefix` is what stands before each of its stacks.
local function each_part(profile, keys, index, use, level, prefix)
  local key <const> = keys and keys[level]
  if key == nil then return use(profile, prefix) end
  for _, part in ipairs(calls.split(profile, key, index)) do
    each_part(part.profile, keys, index, use, level + 1,
      prefix .. names.folded(part.name) .. ";")
  end
end

local function write_lines(to, profile, prefix, request)
  request.open, request.separator, request.between = prefix, ";", " "
  request.text = names.folded
  request.write = function(chunk) to:put(chunk) end
  local sums, message, code = profile:stack_lines(request)
  if sums == nil then return nil, message, code end
  return sums
end

--- Writes the lines.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `unavailable` when a value is negative and `sign` does
--   not say which half to write
function folded.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local sign, why, which = about:sign(opts.sign)
  if sign == nil then return nil, why, which end
  local to <const> = sink.new(out)
  local failure
  each_part(profile, opts.labels, about.index, function(part, prefix)
    local sums, cause = write_lines(to, part, prefix, { type = about.index, sign = sign })
    if sums == nil then failure = cause end
    if sums and sums.bare * sign > 0 then
      to:putf("%s%s %d\n", prefix, names.NO_STACK, sums.bare * sign)
    end
  end, 1, "")
  if failure then return nil, failure, "limit" end
  return to:finish()
end

--- Writes the lines of a difference with two values: before and after.
-- @param diff
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function folded.write_diff(diff, opts, out)
  local joined, message, code = diff:joined()
  if joined == nil then return nil, message, code end
  local to <const> = sink.new(out)
  local failure
  each_part(joined, opts.labels, 3, function(part, prefix)
    local sums, cause = write_lines(to, part, prefix, { type = 1, also = 2 })
    if sums == nil then failure = cause end
    if sums and (sums.bare ~= 0 or sums.bare2 ~= 0) then
      to:putf("%s%s %d %d\n", prefix, names.NO_STACK, sums.bare, sums.bare2)
    end
  end, 1, "")
  if failure then return nil, failure, "limit" end
  return to:finish()
end

return folded
