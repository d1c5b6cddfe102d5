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

-- Writes the rows of a tree that have a value of their own; `value_of` gives
-- the text of a row's value, or nil to leave it out.
local function write_tree(to, tree, value_of)
  local text_of <const> = names.memo(names.folded)
  local depths <const>, all <const> = tree.depth, tree.name
  local path = {}
  for i = 1, tree.n do
    local depth <const> = depths[i]
    path[depth] = text_of[all[i]]
    local value <const> = value_of(i)
    if value then
      to:put(table.concat(path, ";", 1, depth))
      to:put(value)
    end
  end
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
  local tree <const> = calls.tree(profile, { type = about.index }, opts.labels)
  local sign, why, which = about:sign(tree, opts.sign)
  if sign == nil then return nil, why, which end
  local own <const> = tree.self
  local to <const> = sink.new(out)
  write_tree(to, tree, function(i)
    local value <const> = own[i] * sign
    return value > 0 and (" %d\n"):format(value) or nil
  end)
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
  local tree <const> = calls.tree(joined, { type = 1, also = 2 }, opts.labels)
  local before <const>, after <const> = tree.self, tree.self2
  local to <const> = sink.new(out)
  write_tree(to, tree, function(i)
    if before[i] == 0 and after[i] == 0 then return nil end
    return (" %d %d\n"):format(before[i], after[i])
  end)
  return to:finish()
end

return folded
