--- `%{name}` in an action's texts: facts of the target, of the firing, and
-- results of actions before.
-- @module sonde.policy.fill
local fill = {}

local function value_of(values, path)
  local value = values
  for part in path:gmatch "[^.]+" do
    if type(value) ~= "table" then return nil end
    value = value[part]
  end
  if type(value) == "table" then return nil end
  return value
end

--- Fills a text in.
-- @tparam string text
-- @tparam table values `%{trace.path}` is `values.trace.path`
-- @tparam ?function escape applied to each value's text
-- @treturn string names that are not known stay as they are
function fill.text(text, values, escape)
  return (text:gsub("%%{([%w_.]+)}", function(path)
    local value <const> = value_of(values, path)
    if value == nil then return nil end
    local words <const> = tostring(value)
    return escape and escape(words) or words
  end))
end

--- Fills in all texts of a value.
-- @param value
-- @tparam table values
-- @tparam ?function escape
-- @return a copy
function fill.all(value, values, escape)
  if type(value) == "string" then return fill.text(value, values, escape) end
  if type(value) ~= "table" then return value end
  local filled = {}
  for key, part in pairs(value) do filled[key] = fill.all(part, values, escape) end
  return filled
end

--- As a part of a file's name.
-- @tparam string text
-- @treturn string
function fill.file_name(text)
  return (text:gsub("[^%w._-]", "_"))
end

return fill
