--- The functions with the largest values: flat, and with their callees.
-- @module sonde.report.top
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local trim <const> = require "sonde.report.trim"

local top = {}

top.name = "top"
top.summary = "functions by their own value (flat) and with their callees (cum)"
top.takes = "profile"
top.extensions = {}
top.options = options.join({
  { name = "n", type = "integer", short = "n", min = 0, aliases = { "nodecount" },
    help = "rows to print, 0 for all; on a terminal 20 otherwise" },
  { name = "cum", type = "boolean", default = false,
    help = "sort by the value with callees" },
}, nodes.options, trim.options, scope.options)
top.terminal = { n = 20 }

-- The rows of a label's values; none of them is left out for being small.
local function label_rows(about, opts)
  local list = {}
  for _, node in ipairs(nodes.list(about.profile, about.index, opts)) do
    if node.flat ~= 0 then
      node.ins, node.outs = {}, {}
      list[#list + 1] = node
    end
  end
  local n_all <const> = #list
  table.sort(list, trim.BY_FLAT)
  if (opts.n or 0) > 0 then list = table.move(list, 1, math.min(opts.n, n_all), 1, {}) end
  return { nodes = list, n_all = n_all, dropped = 0 }
end

local function graph_of(about, opts)
  if opts.label == nil then return trim.graph(about, opts) end
  local known, message, code = nodes.check_label(about.profile, opts.label)
  if not known then return nil, message, code end
  return label_rows(about, opts)
end

-- All rows are asked for when their number is not.
local function listed(opts)
  if opts.n then return opts end
  return setmetatable({ node_fraction = 0 }, { __index = opts })
end

--- The rows as plain tables.
-- @param profile
-- @tparam table opts checked options; without `n` all rows, with it those that
--   the text has
-- @treturn ?{table,...} each `{ name, flat, cum, unit }`
-- @treturn ?string message
-- @treturn ?string code
function top.list(profile, opts)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local graph, why, what = graph_of(about, listed(opts))
  if graph == nil then return nil, why, what end
  local list = {}
  for i, node in ipairs(graph.nodes) do
    list[i] = { name = node.name, flat = node.flat, cum = node.cum, unit = about.unit }
  end
  return list, about
end

--- Iterates over the rows, for `--json`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?function iterator of tables; the first has `schema`
-- @treturn ?string message
-- @treturn ?string code
function top.rows(profile, opts)
  local list, message, code = top.list(profile, opts)
  if list == nil then return nil, message, code end
  return sink.rows(list)
end

local function write_rows(to, about, list)
  local sum = 0
  to:put("      flat  flat%   sum%        cum   cum%\n")
  for _, node in ipairs(list) do
    sum = sum + node.flat
    to:putf("%s %s %s %s %s  %s%s\n", about:column(node.flat), about:percent(node.flat),
      about:percent(sum), about:column(node.cum), about:percent(node.cum),
      scope.name(node.name), trim.mark(node))
  end
end

--- Writes the table.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function top.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local graph, why, what = graph_of(about, opts)
  if graph == nil then return nil, why, what end
  about:choose_unit(trim.smallest(graph.nodes))
  local to <const> = sink.new(out)
  to:lines(about:header())
  to:lines(nodes.shown(about, opts, graph))
  write_rows(to, about, graph.nodes)
  return to:finish()
end

return top
