--- The comments that a profile carries.
-- @module sonde.report.comments
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"

local comments = {}

comments.name = "comments"
comments.summary = "the comments that a profile carries"
comments.takes = "profile"
comments.extensions = {}
comments.options = {}

--- Writes them, one a line. A line break in one would make it two.
-- @param profile
-- @tparam table _ checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples` when it has none
function comments.write(profile, _, out)
  local list <const> = profile:info().comments or {}
  if #list == 0 then return nil, "the profile has no comments", "no_samples" end
  local to <const> = sink.new(out)
  for _, comment in ipairs(list) do
    to:put(text.printable(text.utf8(comment)) .. "\n")
  end
  return to:finish()
end

return comments
