--- The graph of calls that a report shows: what is too small left out, the
-- rest in order, by pprof's rules. Values of what stays do not change; calls
-- over what was left out become residual edges between what stays.
-- @module sonde.report.trim
local scope <const> = require "sonde.report.scope"
local text <const> = require "sonde.base.text"

local trim = {}

local magnitude <const> = scope.magnitude

--- Options of reports that leave out what is small.
trim.options = {
  { name = "node_fraction", aliases = { "nodefraction" }, type = "number", default = 0.005,
    min = 0, help = "leave out what is below this share of the total" },
  { name = "edge_fraction", aliases = { "edgefraction" }, type = "number", default = 0.001,
    min = 0, help = "leave out calls below this share of the total" },
  { name = "no_trim", type = "boolean", default = false, help = "leave out nothing" },
  { name = "drop_negative", type = "boolean", default = false,
    help = "leave out what has a negative value" },
}

-- The values to sort and cut by: with a mean those before the division.
local function flat_of(node) return node.raw_flat or node.flat end
local function cum_of(node) return node.raw_cum or node.cum end
local function weight_of(edge) return edge.raw_value or edge.value end

local function is_negative(node)
  local flat <const> = flat_of(node)
  return flat < 0 or flat == 0 and cum_of(node) < 0
end

-- A share of a sum, as an integer without its sign.
local function share_of(sum, fraction)
  return magnitude(math.tointeger(scope.truncate((sum + 0.0) * fraction)) or 0)
end

--- What `cum <= …` and `freq <= …` of a header say.
-- @param about a scope
-- @tparam number fraction
-- @treturn integer
function trim.cutoff(about, fraction)
  return share_of(about.whole, fraction)
end

-- All that tells two nodes apart, in the order in which pprof compares them.
local function identity(node)
  return ("{%s  %s %s %d %d %d %s}"):format(node.function_name or node.name,
    text.unsigned(node.address or 0), node.file or "", node.start_line or 0, node.line or 0,
    node.column or 0, node.module or "")
end

local function order(first, second)
  return function(a, b)
    local x, y = first(a), first(b)
    if x ~= y then return x > y end
    if a.name ~= b.name then return a.name < b.name end
    x, y = second(a), second(b)
    if x ~= y then return x > y end
    return identity(a) < identity(b)
  end
end

local function flat_size(node) return magnitude(flat_of(node)) end
local function cum_size(node) return magnitude(cum_of(node)) end
local function score_of(node) return node.score end

--- The order of tables: the largest flat value first, then by name.
trim.BY_FLAT = order(flat_size, cum_size)
local BY_FLAT <const> = trim.BY_FLAT
local BY_CUM <const> = order(cum_size, flat_size)
local BY_SCORE <const> = order(score_of, flat_size)

--- The order of edges: the heaviest first, then by names.
-- @tparam table a
-- @tparam table b
-- @treturn boolean
function trim.heavier(a, b)
  local x, y = magnitude(weight_of(a)), magnitude(weight_of(b))
  if x ~= y then return x > y end
  if a.from.name ~= b.from.name then return a.from.name < b.from.name end
  return a.to.name < b.to.name
end

-- How unevenly the value is divided among edges: information entropy. Where
-- positive and negative values cancel out it is no number, as in pprof.
local function entropy(edges, own)
  local total, score = own, 0.0
  for _, edge in ipairs(edges) do
    local weight <const> = weight_of(edge)
    if weight > 0 then total = total + weight end
  end
  if total == 0 then return score end
  for _, edge in ipairs(edges) do
    local part <const> = magnitude(weight_of(edge)) / total
    score = score - part * math.log(part, 2)
  end
  local part <const> = own / total
  if own > 0 then score = score - part * math.log(part, 2) end
  return score
end

-- As Go on amd64: what is no number or does not fit becomes the least integer,
-- which stays negative when its sign is taken away.
local function to_integer(x)
  if x ~= x or x >= 0x1p63 or x < -0x1p63 then return math.mininteger end
  return math.tointeger(scope.truncate(x))
end

local function wrapped_size(value)
  return value < 0 and -value or value
end

-- How interesting a node is in a picture: entries, leaves, and where calls
-- divide.
local function set_scores(nodes)
  for _, node in ipairs(nodes) do
    local score = node.spread
    if score == nil then
      score = #node.ins == 0 and 1.0 or entropy(node.ins, 0)
      score = score + (#node.outs == 0 and 1.0 or entropy(node.outs, flat_of(node)))
    end
    node.score = wrapped_size(to_integer(score * cum_of(node)) + flat_of(node))
  end
end

local function sort_nodes(nodes, opts, visual)
  if visual then set_scores(nodes) end
  table.sort(nodes, visual and BY_SCORE or opts.cum and BY_CUM or BY_FLAT)
end

-- Joins the rows of a graph: edges to their nodes, tags to theirs.
local function link(graph)
  local all <const> = table.move(graph.nodes, 1, #graph.nodes, 1, {})
  table.move(graph.bare or {}, 1, #(graph.bare or {}), #all + 1, all)
  for _, node in ipairs(all) do node.ins, node.outs = {}, {} end
  for _, edge in ipairs(graph.edges or {}) do
    edge.from, edge.to = all[edge.from], all[edge.to]
    table.insert(edge.from.outs, edge)
    table.insert(edge.to.ins, edge)
  end
  for _, tag in ipairs(graph.tags or {}) do
    local node <const> = all[tag.node]
    node.tags = node.tags or {}
    table.insert(node.tags, tag)
  end
end

-- Calls to and from what is left out stay, as in pprof.
local function without_negative(graph)
  local kept = {}
  for _, node in ipairs(graph.nodes) do
    if not is_negative(node) then kept[#kept + 1] = node end
  end
  graph.nodes = kept
end

local function build(about, opts, shape, keep, edges, least_share, least_edge)
  if shape.tree then return shape.tree.build(about, shape.by or opts.by) end
  local graph <const> = about.profile:graph {
    type = about.index, by = shape.by or opts.by, mean = about.mean, keep = keep, edges = edges,
    bare = edges ~= nil,
    tags = edges == true and shape.tags or nil, modules = shape.modules,
    detail = shape.detail or (shape.by or opts.by) ~= "function", node_of = true,
    least_share = least_share, least_edge = least_edge,
    spread = edges == true and shape.visual or nil,
  }
  link(graph)
  graph.all = table.move(graph.nodes, 1, #graph.nodes, 1, {})
  if opts.drop_negative then without_negative(graph) end
  graph.count = (least_share or 0) > 0 and graph.n_all or #graph.nodes
  return graph
end

-- The mask of the frames of nodes.
local function mask_of(graph, nodes)
  local kept, bytes = {}, {}
  for _, node in ipairs(nodes) do kept[node] = true end
  for i, number in ipairs(graph.node_of) do
    bytes[i] = kept[graph.all[number]] and "\1" or "\0"
  end
  return table.concat(bytes)
end

local function sum_flat(nodes)
  local sum = 0
  for _, node in ipairs(nodes) do sum = sum + flat_of(node) end
  return sum
end

local function above(nodes, cutoff)
  local kept = {}
  for _, node in ipairs(nodes) do
    if magnitude(cum_of(node)) >= cutoff then kept[#kept + 1] = node end
  end
  return kept
end

local function remove_edges(nodes, is_removed)
  for _, node in ipairs(nodes) do
    for _, side in ipairs { "ins", "outs" } do
      local edges = {}
      for _, edge in ipairs(node[side]) do
        if not is_removed(edge) then edges[#edges + 1] = edge end
      end
      node[side] = edges
    end
  end
end

local function trim_edges(nodes, cutoff)
  local dropped = 0
  for _, node in ipairs(nodes) do
    for _, edge in ipairs(node.ins) do
      if magnitude(weight_of(edge)) < cutoff then dropped = dropped + 1 end
    end
  end
  if dropped > 0 then
    remove_edges(nodes, function(edge) return magnitude(weight_of(edge)) < cutoff end)
  end
  return dropped
end

local function is_redundant(edge)
  local seen, queue, at = { [edge.to] = true }, { edge.to }, 1
  while queue[at] do
    for _, other in ipairs(queue[at].ins) do
      if other ~= edge and not other.gone and not seen[other.from] then
        if other.from == edge.from then return true end
        seen[other.from] = true
        queue[#queue + 1] = other.from
      end
    end
    at = at + 1
  end
  return false
end

-- Residual edges whose ends are joined another way only clutter a picture.
local function remove_redundant(nodes)
  local found = false
  for i = #nodes, 1, -1 do
    local ins <const> = nodes[i].ins
    table.sort(ins, trim.heavier)
    for j = #ins, 1, -1 do
      if not ins[j].residual then break end
      if is_redundant(ins[j]) then ins[j].gone, found = true, true end
    end
  end
  if found then remove_edges(nodes, function(edge) return edge.gone end) end
end

-- How many nodes a picture may have: labels take room as nodes do.
local function room_for(nodes, count, tag_count, tag_cutoff)
  local taken = 0
  for i, node in ipairs(nodes) do
    taken = taken + 1 + math.min(tag_count(node, tag_cutoff), 4)
    if taken >= count then return i end
  end
  return count
end

local function first(nodes, count)
  return table.move(nodes, 1, math.min(count, #nodes), 1, {})
end

-- Whether calls have to be known at all: in a table only to mark what was
-- inlined.
local function edges_for(nodes, shape)
  if shape.edges then return true end
  for _, node in ipairs(nodes) do
    if node.may_inline then return "inlined" end
  end
end

local function rebuild(about, opts, shape, graph, nodes, least_edge)
  if shape.tree then return shape.tree.keep(graph, nodes) end
  local edges <const> = edges_for(nodes, shape)
  if not edges then
    graph.nodes = nodes
    return graph
  end
  local keep <const> = #nodes < graph.count and mask_of(graph, nodes) or nil
  -- Nor need small calls come from the core, unless signs count first, or they only
  -- tell what was inlined.
  local is_early <const> = shape.edges and not opts.drop_negative
  return build(about, opts, shape, keep, edges, nil, is_early and least_edge or nil)
end

-- Takes the `count` first of the nodes in order, when there are more.
local function limit(about, opts, shape, graph, count, cutoffs)
  if count == 0 then return graph end
  local most = count
  if shape.visual then
    trim_edges(graph.nodes, cutoffs.edge)
    most = room_for(graph.nodes, count, shape.tag_count, cutoffs.node)
  end
  if #graph.nodes <= most then
    graph.dropped_edges = nil
    return graph
  end
  local chosen <const> = first(graph.nodes, most)
  local smaller <const> = rebuild(about, opts, shape, graph, chosen, cutoffs.edge)
  sort_nodes(smaller.nodes, opts, shape.visual)
  return smaller
end

--- The graph to show.
-- @param about a scope
-- @tparam table opts checked options: those of `trim.options`, `by`, `cum`, `n`
-- @tparam ?table shape `n` (nodes when opts has none; 0: all), `edges` (calls are
--   needed, not only marks of what is inlined), `visual` (for a picture),
--   `tags` and `tag_count`, `modules`, `by`, `detail`, `tree` (who builds and
--   cuts the graph instead: see `sonde.report.call_tree`)
-- @treturn table `nodes` in order, each with `ins` and `outs` (edges with
--   `from` and `to`); `original` (how many nodes before `n`), `dropped` nodes,
--   `dropped_edges`, `tag_cutoff`, `n_all`
function trim.graph(about, opts, shape)
  shape = shape or {}
  -- What is too small need not come from the core, unless signs count first.
  local share <const> = not opts.no_trim and not opts.drop_negative and opts.node_fraction or 0
  local full = build(about, opts, shape, nil, nil, share)
  local n_all, sum = #full.nodes, sum_flat(full.nodes)
  if share > 0 and full.n_all then n_all, sum = full.n_all, full.flat_sum end
  local cutoffs <const> = {
    node = opts.no_trim and 0 or share_of(sum, opts.node_fraction or 0),
    edge = opts.no_trim and 0 or share_of(sum, opts.edge_fraction or 0),
  }
  local kept = cutoffs.node > 0 and above(full.nodes, cutoffs.node) or full.nodes
  local count <const> = opts.no_trim and 0 or opts.n or shape.n or 0
  local original <const> = #kept
  if not shape.visual and count > 0 then
    sort_nodes(kept, opts)
    kept = first(kept, count)
  end
  local graph = rebuild(about, opts, shape, full, kept, cutoffs.edge)
  sort_nodes(graph.nodes, opts, shape.visual)
  if shape.visual then graph = limit(about, opts, shape, graph, count, cutoffs) end
  local dropped_edges <const> = trim_edges(graph.nodes, cutoffs.edge)
    + (graph.dropped_edges or 0)
  if shape.visual then remove_redundant(graph.nodes) end
  return {
    nodes = graph.nodes, original = original, dropped = n_all - original,
    dropped_edges = dropped_edges, tag_cutoff = cutoffs.node, n_all = n_all,
  }
end

--- "Dropped 3 nodes (cum <= 0.02s)": pprof's words for what was left out.
-- @tparam integer n
-- @tparam string noun of one
-- @tparam string word what was too small
-- @tparam string value what it had to be above
-- @treturn string
function trim.dropped(n, noun, word, value)
  return ("Dropped %d %s%s (%s <= %s)"):format(n, noun, n == 1 and "" or "s", word, value)
end

--- " (inline)" or " (partial-inline)" behind a name: whether all calls of a
-- node, or some, were inlined.
-- @tparam table node
-- @treturn string
function trim.mark(node)
  local inlined, called = false, false
  for _, edge in ipairs(node.ins) do
    if edge.inline then inlined = true else called = true end
  end
  if not inlined then return "" end
  return called and " (partial-inline)" or " (inline)"
end

--- The least magnitude among nodes that a unit must still show.
-- @tparam {table,...} nodes
-- @treturn integer
function trim.smallest(nodes)
  local smallest = 0
  for _, node in ipairs(nodes) do
    local value = magnitude(node.flat ~= 0 and node.flat or node.cum)
    if value > 0 and (smallest == 0 or value < smallest) then smallest = value end
  end
  return smallest
end

return trim
