--- Every function between its callers and its callees: pprof's tree.
-- @module sonde.report.tree
local context <const> = require "sonde.report.context"
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local trim <const> = require "sonde.report.trim"

local tree = {}

tree.name = "tree"
tree.summary = "every function between its callers and its callees"
tree.takes = "profile"
tree.extensions = {}
tree.options = options.join({
  { name = "n", type = "integer", short = "n", min = 0, aliases = { "nodecount" },
    help = "functions to show, 0 for all; 80 otherwise" },
  { name = "cum", type = "boolean", default = false,
    help = "sort by the value with callees" },
}, options.select(nodes.options, { "by" }), trim.options, scope.options)

local SHAPE <const> = { n = 80, edges = true }

--- Iterates over the functions, for `--json`.
-- @param profile
-- @tparam table opts checked options; without `n` all rows
-- @treturn ?function iterator of `{ name, flat, cum, unit, callers, callees }`,
--   the last two lists of `{ name, value }`
-- @treturn ?string message
-- @treturn ?string code
function tree.rows(profile, opts)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  return context.rows(about, trim.graph(about, opts, { edges = true }).nodes)
end

--- Writes a block for each function: callers above, callees below.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function tree.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local graph <const> = trim.graph(about, opts, SHAPE)
  about:choose_unit(trim.smallest(graph.nodes))
  local to <const> = context.begin(about, out)
  to:lines(nodes.shown(about, opts, graph))
  context.write(about, graph.nodes, graph.nodes, to)
  return to:finish()
end

return tree
