--- The rows of tables: functions, files, modules, or the values of a label,
-- each with its own value and that with its callees.
-- @module sonde.report.nodes
local calls <const> = require "sonde.report.calls"
local scope <const> = require "sonde.report.scope"

local nodes = {}

-- What a row can stand for, and the word for several.
local NOUNS <const> = {
  ["function"] = "functions", filefunction = "functions", file = "files", line = "lines",
  address = "addresses", module = "modules",
}

--- The options that choose it.
nodes.options = {
  { name = "by", type = "string", default = "function", argname = "WHAT",
    choices = { "function", "filefunction", "file", "line", "address", "module" },
    help = "a row for each function, file, line, address or module" },
  { name = "label", type = "string", argname = "KEY",
    help = "a row for each value of this label (thread, type, …) instead" },
}

--- The word for several rows.
-- @tparam table opts checked options
-- @treturn string
function nodes.noun(opts)
  return opts.label and ("values of label %s"):format(scope.name(opts.label))
    or NOUNS[opts.by or "function"]
end

--- The rows that have a value, in no order.
-- @param profile
-- @tparam integer index sample type
-- @tparam table opts checked options, of which `by` and `label` are used
-- @treturn {table,...} each `{ name, flat, cum }`
function nodes.list(profile, index, opts)
  if opts.label == nil then
    return profile:graph { type = index, by = opts.by }.nodes
  end
  local list = {}
  for i, part in ipairs(calls.split(profile, opts.label, index)) do
    local value <const> = part.profile:total(index)
    list[i] = { name = part.value, flat = value, cum = value }
  end
  return list
end

--- The least magnitude among rows that is not 0: what a table's unit must
-- still show.
-- @tparam {table,...} list of rows
-- @treturn integer 0 when all are 0
function nodes.smallest(list)
  local smallest = 0
  for _, node in ipairs(list) do
    local value = scope.magnitude(node.flat ~= 0 and node.flat or node.cum)
    if value > 0 and (smallest == 0 or value < smallest) then smallest = value end
  end
  return smallest
end

return nodes
