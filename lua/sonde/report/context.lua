--- Functions between their callers and their callees, a block for each: what
-- the reports `tree` and `peek` write.
-- @module sonde.report.context
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local trim <const> = require "sonde.report.trim"
local units <const> = require "sonde.base.units"

local context = {}

local RULE <const> = ("-"):rep(58) .. "+" .. ("-"):rep(13) .. "\n"
-- The blanks at the end are pprof's.
local TITLES <const> = "      flat  flat%   sum%        cum   cum%   calls calls% + context "
  .. "\t \t \n"

local function sorted(edges)
  table.sort(edges, trim.heavier)
  return edges
end

local function write_edges(to, about, node, edges, far_end)
  for _, edge in ipairs(sorted(edges)) do
    local weight <const> = edge.raw_value or edge.value
    to:putf("%50s %s |   %s%s\n", about:value(weight), units.percent(weight, node.cum),
      scope.name(edge[far_end].name), edge.inline and " (inline)" or "")
  end
end

--- Writes the blocks.
-- @param about a scope
-- @tparam {table,...} nodes those to show, in order
-- @tparam {table,...} all nodes, which decide the unit
-- @tparam table to a sink
function context.write(about, nodes, all, to)
  local sum = 0
  to:put(RULE)
  to:put(TITLES)
  for _, node in ipairs(nodes) do
    to:put(RULE)
    write_edges(to, about, node, node.ins, "from")
    sum = sum + node.flat
    to:putf("%s %s %s %s %s                | %s\n", about:column(node.flat),
      about:percent(node.flat), about:percent(sum), about:column(node.cum),
      about:percent(node.cum), scope.name(node.name))
    write_edges(to, about, node, node.outs, "to")
  end
  if #all > 0 then to:put(RULE) end
end

local function neighbours(edges, far_end)
  local list = {}
  for i, edge in ipairs(sorted(edges)) do
    list[i] = { name = edge[far_end].name, value = edge.value }
  end
  return list
end

--- Iterates over nodes as plain rows, for `--json`.
-- @param about a scope
-- @tparam {table,...} nodes
-- @treturn function iterator of `{ name, flat, cum, unit, callers, callees }`,
--   the last two lists of `{ name, value }`
function context.rows(about, nodes)
  local i = 0
  return function()
    i = i + 1
    local node <const> = nodes[i]
    return node and {
      schema = i == 1 and 1 or nil, name = node.name, flat = node.flat, cum = node.cum,
      unit = about.unit, callers = neighbours(node.ins, "from"),
      callees = neighbours(node.outs, "to"),
    }
  end
end

--- A sink that begins with a report's header.
-- @param about a scope
-- @param out
-- @treturn table
function context.begin(about, out)
  local to <const> = sink.new(out)
  to:lines(about:header())
  return to
end

return context
