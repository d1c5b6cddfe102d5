--- The graph of calls for Graphviz: size shows the own value, colour and
-- arrows the value that flows.
-- @module sonde.report.dot
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"

local dot = {}

dot.name = "dot"
dot.summary = "the graph of calls for Graphviz: dot -Tsvg"
dot.takes = "profile"
dot.extensions = { "dot", "gv" }
dot.options = options.join({
  { name = "n", type = "integer", short = "n", min = 0,
    help = "functions to draw, those with the largest cum, 0 for all; 80 otherwise" },
  { name = "node_min", type = "number", default = 0.5, min = 0, max = 100,
    argname = "PERCENT", help = "leave out functions below this share of the total" },
  { name = "edge_min", type = "number", default = 0.1, min = 0, max = 100,
    argname = "PERCENT", help = "leave out calls below this share of the total" },
}, scope.options)

local magnitude <const> = scope.magnitude
local MAX_LINE <const> = 60
local DEFAULT_NODES <const> = 80

-- A word of the dot language. What came from outside is printable already, so
-- the only line breaks are those that `breaks` asks for.
local function quoted(words)
  return '"' .. words:gsub('[\\"]', "\\%0") .. '"'
end

local function lines_quoted(lines, ending)
  local escaped = {}
  for i, line in ipairs(lines) do escaped[i] = line:gsub('[\\"]', "\\%0") .. ending end
  return '"' .. table.concat(escaped) .. '"'
end

-- A name on two lines: where it is, and what it is. The last point or "::"
-- before arguments divides them.
local function name_lines(name)
  name = scope.name(name)
  local head <const> = name:match("^[^(<%[]*")
  local at, width
  for point, sign in head:gmatch("()([.:]+)") do
    if point > 1 and #sign <= 2 and point + #sign <= #head then at, width = point, #sign end
  end
  if at == nil then return { text.cut_middle(name, MAX_LINE) } end
  return {
    text.cut_middle(name:sub(1, at - 1), MAX_LINE),
    text.cut_middle(name:sub(at + width), MAX_LINE),
  }
end

-- From grey (nothing) to red (all of it), to green for negative values.
local function colour(value, total, pale)
  local part = total == 0 and 0 or math.min(1, math.abs((value + 0.0) / total))
  part = part ^ 0.4
  local low, high = 0x70, 0xb8
  if pale then low, high = 0xe8 - math.floor(0x28 * part), 0xf2 end
  local strong = math.floor(low + (high - low) * part)
  local weak = math.floor(pale and low or low * (1 - part))
  if value < 0 then return ("#%02x%02x%02x"):format(weak, strong, weak) end
  return ("#%02x%02x%02x"):format(strong, weak, weak)
end

local function by_cum(a, b)
  local x, y = magnitude(a.cum), magnitude(b.cum)
  if x ~= y then return x > y end
  x, y = magnitude(a.flat), magnitude(b.flat)
  if x ~= y then return x > y end
  return a.name < b.name
end

-- A share of the signed sum of flat values: what pprof cuts at.
local function cutoff(graph, percent)
  local sum = 0
  for _, node in ipairs(graph.nodes) do sum = sum + node.flat end
  return math.abs(math.floor((sum + 0.0) * percent / 100))
end

-- The frames of the functions that are drawn, as a mask, and how many
-- functions are not.
local function choose(about, opts)
  local graph <const> = about.profile:graph { type = about.index, node_of = true }
  local least <const>, most <const> = cutoff(graph, opts.node_min), opts.n or DEFAULT_NODES
  local order, kept, n = table.move(graph.nodes, 1, #graph.nodes, 1, {}), {}, 0
  table.sort(order, by_cum)
  for _, node in ipairs(order) do
    if most ~= 0 and n == most then break end
    if magnitude(node.cum) >= least then kept[node], n = true, n + 1 end
  end
  local bytes = {}
  for i, number in ipairs(graph.node_of) do
    bytes[i] = kept[graph.nodes[number]] and "\1" or "\0"
  end
  return table.concat(bytes), #order - n, cutoff(graph, opts.edge_min)
end

local function trimmed(about, value)
  return (about:percent(value):gsub("^ +", ""))
end

local function write_node(to, about, node, number, largest)
  local lines = name_lines(node.name)
  lines[#lines + 1] = ("%s (%s)"):format(about:value(node.flat), trimmed(about, node.flat))
  if node.cum ~= node.flat then
    lines[#lines + 1] = ("of %s (%s)"):format(about:value(node.cum), trimmed(about, node.cum))
  end
  local size = 8
  if largest > 0 then size = size + math.ceil(16 * (magnitude(node.flat) / largest) ^ 0.5) end
  local label <const> = lines_quoted(lines, "\\n")
  to:putf('N%d [label=%s id="node%d" fontsize=%d tooltip=%s color="%s" fillcolor="%s"]\n',
    number, label, number, size,
    quoted(("%s (%s)"):format(text.printable(node.name), about:value(node.cum))),
    colour(node.cum, about.whole), colour(node.cum, about.whole, true))
end

local function write_edge(to, about, edge, rows)
  local part <const> = about.whole == 0 and 0 or magnitude(edge.value) / about.whole
  local words <const> = quoted(("%s -> %s (%s)"):format(
    text.printable(rows[edge.from].name), text.printable(rows[edge.to].name),
    about:value(edge.value)))
  to:putf('N%d -> N%d [label=" %s%s" weight=%d penwidth=%d color="%s" tooltip=%s '
    .. "labeltooltip=%s%s]\n", edge.from, edge.to, about:value(edge.value),
    edge.inline and "\\n (inline)" or "", 1 + math.floor(math.min(100, part * 100)),
    1 + math.floor(math.min(5, part * 5)), colour(edge.value, about.whole), words, words,
    edge.residual and ' style="dotted"' or "")
end

local function write_legend(to, about, graph, dropped)
  local lines = about:header()
  lines[#lines + 1] = ("Showing %d functions, %d left out; %s"):format(#graph.nodes, dropped,
    about:denominator())
  to:putf('subgraph cluster_legend { "legend" [shape=box fontsize=16 label=%s tooltip=%s] }\n',
    lines_quoted(lines, "\\l"), quoted(about:title()))
end

local function by_value(a, b)
  local x, y = magnitude(a.value), magnitude(b.value)
  if x ~= y then return x > y end
  if a.from ~= b.from then return a.from < b.from end
  return a.to < b.to
end

local function write_graph(to, about, graph, edge_least)
  local largest = 0
  for _, node in ipairs(graph.nodes) do largest = math.max(largest, magnitude(node.flat)) end
  for i, node in ipairs(graph.nodes) do write_node(to, about, node, i, largest) end
  table.sort(graph.edges, by_value)
  for _, edge in ipairs(graph.edges) do
    if magnitude(edge.value) >= edge_least then write_edge(to, about, edge, graph.nodes) end
  end
end

--- Writes the graph.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function dot.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local mask, dropped, edge_least = choose(about, opts)
  local graph <const> = profile:graph { type = about.index, edges = true, keep = mask }
  about:choose_unit(nodes.smallest(graph.nodes))
  local to <const> = sink.new(out)
  to:putf("digraph %s {\n", quoted(about:title()))
  to:put('node [style=filled shape=box fillcolor="#f8f8f8" fontname="sans-serif"]\n')
  to:put('edge [fontname="sans-serif"]\n')
  write_legend(to, about, graph, dropped)
  write_graph(to, about, graph, edge_least)
  to:put("}\n")
  return to:finish()
end

--- Writes a difference: after minus before, what went away is green.
-- @param diff
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function dot.write_diff(diff, opts, out)
  local profile, message, code = diff:profile()
  if profile == nil then return nil, message, code end
  opts.type = opts.type or diff.type
  return dot.write(profile, opts, out)
end

return dot
