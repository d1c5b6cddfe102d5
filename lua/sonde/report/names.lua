--- What the frames of a profile are called in each kind of output.
-- @module sonde.report.names
local text <const> = require "sonde.base.text"

local names = {}

--- What stands for the frames of a sample that has none.
names.NO_STACK = "[no stack]"

--- The name of a frame that is shown to people.
-- @tparam table frames columns
-- @tparam integer i number of the frame
-- @treturn string never empty: "[module]" or "<unknown>" without a name
function names.of(frames, i)
  local name <const> = frames.name[i]
  if name ~= "" then return name end
  local module <const> = frames.module[i]
  if module ~= "" then return ("[%s]"):format(module:match("[^/]*$")) end
  return "<unknown>"
end

--- The file of a frame, or its module when it has none.
-- @tparam table frames columns
-- @tparam integer i
-- @treturn string "" when neither is known
function names.place(frames, i)
  local file <const> = frames.file[i]
  return file and file ~= "" and file or frames.module[i] or ""
end

-- More of a name no box has room for. Looking for its last parts takes time
-- that grows with the square of its length.
local LONGEST_SHORT <const> = 1000

--- A name without what it shares with its neighbours, for where there is
-- little room: no module, no arguments, no type parameters, no more than the
-- last two parts.
-- (The script of a flame graph has the same rules.)
-- @tparam string name
-- @treturn string
function names.short(name)
  if #name > LONGEST_SHORT then name = text.cut(text.utf8(name), LONGEST_SHORT) end
  local short = name:gsub("^[^(<%[ ]*!", ""):gsub("(.)%b[]", "%1")
    :gsub("([%w_])%b<>", "%1"):gsub("([^.])%(.*$", "%1")
  short = short:match("[^/]*$")
  short = short:match("[^.]+%.%.?[^.]+$") or short:match("[^:]+::[^:]+$") or short
  return short ~= "" and short or name
end

-- What pprof takes off a name before it draws it: C++'s anonymous namespace,
-- the version in a Go module's path, the path itself, packages and arguments
-- of Java, namespaces of C++.
local ANONYMOUS <const> = "^%(anonymous namespace%)::"
local patterns
local function shortening_patterns()
  local rex <const> = require "rex_pcre2"
  patterns = patterns or {
    version = rex.new [[^(.*?)/v(?:[2-9]|[1-9][0-9]+)([./].*)$]],
    rex.new [[^(?:[\w\-\.]+\/)+(.+)]],
    rex.new [[^(?:[a-z]\w*\.)*([A-Z][\w\$]*\.(?:<init>|[a-z][\w\$]*(?:\$\d+)?))(?:(?:\()|$)]],
    rex.new [[^(?:[_a-zA-Z]\w*::)+(_*[A-Z]\w*::~?[_a-zA-Z]\w*(?:<.*>)?)]],
  }
  return patterns
end

--- A name as pprof shortens it for pictures.
-- @tparam string name
-- @treturn string
function names.shortened(name)
  local all <const> = shortening_patterns()
  name = name:gsub(ANONYMOUS, "")
  local before, after = all.version:match(name)
  if before then name = before .. after end
  for _, pattern in ipairs(all) do
    local kept = pattern:match(name)
    if kept then return kept end
  end
  return name
end

--- A table that makes something of each name once: `made[name]`.
-- @tparam function make
-- @treturn table
function names.memo(make)
  return setmetatable({}, { __index = function(self, name)
    local value <const> = make(name)
    self[name] = value
    return value
  end })
end

--- A name for folded text. Ordinary names stay byte for byte; a ";", which
-- would begin another frame, is shown as ":", and controls as escapes.
-- @tparam string name
-- @treturn string
function names.folded(name)
  if name == "" then return "<unknown>" end
  if not name:find("[;%c\x80-\xff]") then return name end
  return (text.printable(name):gsub(";", ":"))
end

return names
