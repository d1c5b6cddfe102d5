--- The rows of tables: functions, files, modules, or the values of a label,
-- each with its own value and that with its callees.
-- @module sonde.report.nodes
local calls <const> = require "sonde.report.calls"
local scope <const> = require "sonde.report.scope"
local trim <const> = require "sonde.report.trim"

local nodes = {}

-- How many keys of labels a message lists.
local MAX_KEYS <const> = 20

-- What a row can stand for, and the word for several.
local NOUNS <const> = {
  ["function"] = "functions", filefunction = "functions", file = "files", line = "lines",
  address = "addresses", module = "modules",
}

--- The options that choose it.
nodes.options = {
  { name = "by", type = "string", default = "function", argname = "WHAT",
    choices = { "function", "filefunction", "file", "line", "address", "module" },
    synonyms = { functions = "function", filefunctions = "filefunction", files = "file",
      lines = "line", addresses = "address", modules = "module" },
    aliases = { "granularity" },
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

--- Does any sample have the label?
-- @param profile
-- @tparam string key
-- @treturn boolean
-- @treturn ?string message
-- @treturn ?string code `unknown_name`
function nodes.check_label(profile, key)
  local seen, keys = {}, {}
  for _, labels in ipairs(profile:label_sets()) do
    for name in pairs(labels) do
      if not seen[name] then keys[#keys + 1] = scope.name(name) end
      seen[name] = true
    end
  end
  if seen[key] then return true end
  table.sort(keys)
  local has <const> = #keys > 0 and "the samples have " .. table.concat(keys, ", ", 1,
    math.min(#keys, MAX_KEYS)) or "the samples have no labels"
  return false, ("no label '%s': %s"):format(scope.name(key), has), "unknown_name"
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

--- The lines that say how much of a profile a table shows.
-- @param about a scope, whose unit has been chosen
-- @tparam table opts checked options
-- @tparam table graph as of `trim.graph`
-- @treturn {string,...}
function nodes.shown(about, opts, graph)
  local sum = 0
  for _, node in ipairs(graph.nodes) do sum = sum + node.flat end
  local lines = {
    ("Showing %d of %d %s, %s (%s) of %s; %s"):format(#graph.nodes, graph.n_all,
      nodes.noun(opts), about:value(sum), (about:percent(sum):gsub("^ +", "")),
      about:value(about.whole), about:denominator()),
  }
  if graph.dropped > 0 then
    lines[2] = trim.dropped(graph.dropped, "node", "cum",
      about:value(trim.cutoff(about, opts.node_fraction)))
  end
  return lines
end

return nodes
