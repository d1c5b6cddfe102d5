--- Regular expressions of users, matched against names of a recording. Either
-- may be hostile or odd: a match can take too many steps, or meet bytes that
-- are no text for it. That is told as a mistake in the pattern, for another
-- pattern is what helps.
-- @module sonde.base.pattern
local errors <const> = require "sonde.base.errors"
local text <const> = require "sonde.base.text"

local pattern = {}

-- What the library's numbers mean; the name is the end of its message.
local REASONS <const> = {
  MATCHLIMIT = "takes too many steps to match",
  RECURSIONLIMIT = "takes too many steps to match",
  DEPTHLIMIT = "takes too many steps to match",
  HEAPLIMIT = "takes too much memory to match",
}

local MAX_SHOWN <const> = 60

local function fail(source, subject, message)
  local reason = REASONS[message:match("PCRE2_ERROR_(%w+)$")]
  if reason == nil then
    reason = message:find("UTF", 1, true) and "cannot match bytes that are not UTF-8, as in"
      or "cannot be matched (" .. message:gsub("^.-:%d+: ", "") .. ") with"
  end
  local shown <const> = #subject > MAX_SHOWN and subject:sub(1, MAX_SHOWN) .. "…" or subject
  errors.usage(("the pattern '%s' %s '%s'"):format(text.printable(source), reason,
    text.printable(shown)))
end

local function compile(source, where)
  local done, regex = errors.pcall(require("rex_pcre2").new, source)
  if done then return regex end
  errors.usage(("bad pattern '%s'%s: %s"):format(text.printable(source),
    where and " to '" .. where .. "'" or "", (tostring(regex):gsub("^.-:%d+: ", ""))))
end

--- Makes a function that says whether a text matches.
-- @tparam string source a pattern; a bad one raises a usage failure
-- @tparam ?string where the option's name, for that message
-- @treturn function (string) → boolean; raises a usage failure when the text
--   cannot be matched
function pattern.matcher(source, where)
  local regex <const> = compile(source, where)
  return function(subject)
    local done, from = errors.pcall(regex.find, regex, subject)
    if not done then fail(source, subject, tostring(from)) end
    return from ~= nil
  end
end

return pattern
