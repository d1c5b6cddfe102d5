--- The graph of calls for Graphviz, as pprof writes it: size shows the own
-- value, colour and arrows the value that flows, small boxes the labels.
-- @module sonde.report.dot
local call_tree <const> = require "sonde.report.call_tree"
local legend <const> = require "sonde.report.legend"
local names <const> = require "sonde.report.names"
local nodelets <const> = require "sonde.report.nodelets"
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local trim <const> = require "sonde.report.trim"

local dot = {}

dot.name = "dot"
dot.summary = "the graph of calls for Graphviz: dot -Tsvg"
dot.takes = "profile"
dot.extensions = { "dot", "gv" }
dot.options = options.join({
  { name = "n", type = "integer", short = "n", min = 0, aliases = { "nodecount" },
    help = "functions to draw, the most telling ones, 0 for all; 80 otherwise" },
  { name = "call_tree", type = "boolean", default = false,
    help = "a node for each way to a function, not one for each function" },
}, options.select(nodes.options, { "by" }), trim.options, scope.options)

local magnitude <const> = scope.magnitude
local DEFAULT_NODES <const> = 80
local HELP <const> = "\nSee https://git.io/JfYMW for how to read the graph"

-- A text that may stand in quotes. A line break is one to the left there.
local function escape(words)
  local lines = {}
  for line in (words .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = (text.printable(line):gsub('[\\"]', "\\%0"))
  end
  return table.concat(lines, "\\l")
end

-- The parts of a name that say most, each on a line of its own.
local function name_lines(node)
  local name = escape(names.shortened(node.function_name))
  name = name:gsub("::", "\\n"):gsub("%[%.%.%.%]", "[…]"):gsub("%.", "\\n")
  local parts = {}
  if node.address ~= 0 then parts[1] = ("%016x"):format(node.address) end
  if name ~= "" then parts[#parts + 1] = name end
  local file <const> = escape(node.file:match("([^/]*)/*$"))
  if node.line ~= 0 then
    parts[#parts + 1] = ("%s:%d"):format(file, node.line)
  elseif file ~= "" then
    parts[#parts + 1] = file
  elseif name == "" then
    parts[#parts + 1] = escape(node.name:match("%[[^%[%]]*%]$") or "<unknown>")
  end
  return table.concat(parts, "\\n") .. "\\n"
end

-- From green (-1) over grey to red (1), pale for areas.
local function colour(score, pale)
  local saturation, value = pale and 0.1 or 1.0, pale and 0.93 or 0.7
  score = math.max(-1.0, math.min(1.0, score))
  if math.abs(score) < 0.2 then saturation = saturation * math.abs(score) / 0.2 end
  local strength <const> = math.abs(score) ^ (1.0 - 0.7)
  local weak <const> = value * (1 - saturation * strength)
  local red, green = value, weak
  if score < 0 then red, green = weak, value end
  local function byte(x) return math.floor(x * 255.0) end
  return ("#%02x%02x%02x"):format(byte(red), byte(green), byte(value * (1 - saturation)))
end

local function share(about, value)
  if about.whole == 0 then return 0.0 end
  return (value + 0.0) / magnitude(about.whole)
end

local function trimmed(about, value)
  return (about:percent(value):gsub("^ +", ""))
end

local function value_lines(about, node)
  if node.flat == 0 then
    if node.cum == 0 then return "0" end
    return ("0 of %s (%s)"):format(about:value(node.cum), trimmed(about, node.cum))
  end
  local words <const> = ("%s (%s)"):format(about:value(node.flat), trimmed(about, node.flat))
  if node.cum == node.flat then return words end
  return ("%s\\nof %s (%s)"):format(words, about:value(node.cum), trimmed(about, node.cum))
end

local function write_node(to, about, node, number, largest)
  local size = 8
  if largest > 0 and node.flat ~= 0 then
    size = size + math.ceil(16.0 * (magnitude(node.flat) / largest) ^ 0.5)
  end
  local score <const> = share(about, node.cum)
  to:putf('N%d [label="%s%s" id="node%d" fontsize=%d shape=box tooltip="%s (%s)" color="%s" '
    .. 'fillcolor="%s"]\n', number, name_lines(node), value_lines(about, node), number, size,
    escape(node.name), about:value(node.cum), colour(score, false), colour(score, true))
end

-- A share of the total in whole steps, at most all of them.
local function steps(about, value, n)
  if about.whole == 0 then return 1 end
  return 1 + math.min(n, math.floor(magnitude(value) * (n + 0.0) / magnitude(about.whole)))
end

local function edge_attributes(about, edge)
  local list = { ('label=" %s%s"'):format(about:value(edge.value),
    edge.inline and "\\n (inline)" or "") }
  local weight <const>, width <const> = steps(about, edge.value, 100), steps(about, edge.value, 5)
  if weight > 1 then list[#list + 1] = "weight=" .. weight end
  if width > 1 then list[#list + 1] = "penwidth=" .. width end
  if about.whole ~= 0 then
    list[#list + 1] = ('color="%s"'):format(colour(share(about, edge.value), false))
  end
  return list
end

local function write_edge(to, about, edge)
  local list <const> = edge_attributes(about, edge)
  local words <const> = ('"%s %s %s (%s)"'):format(escape(edge.from.name),
    edge.residual and "..." or "->", escape(edge.to.name), about:value(edge.value))
  list[#list + 1] = ("tooltip=%s labeltooltip=%s"):format(words, words)
  if edge.residual then list[#list + 1] = 'style="dotted"' end
  if edge.from.has_nodelets then list[#list + 1] = "minlen=2" end
  to:putf("N%d -> N%d [%s]\n", edge.from.number, edge.to.number, table.concat(list, " "))
end

local function write_legend(to, about, graph, opts, title)
  local lines <const> = legend.lines(about, graph, opts)
  lines[#lines + 1] = HELP
  local escaped = {}
  for i, line in ipairs(lines) do escaped[i] = escape(line) end
  to:putf('subgraph cluster_L { "%s" [shape=box fontsize=16 label="%s\\l"%s] }\n',
    escaped[1], table.concat(escaped, "\\l"), title ~= "" and (' tooltip="%s"'):format(title) or "")
end

local function write_nodes(to, about, graph, tags_of)
  local largest = 0
  for _, node in ipairs(graph.nodes) do largest = math.max(largest, magnitude(node.flat)) end
  for i, node in ipairs(graph.nodes) do
    node.number = i
    write_node(to, about, node, i, largest)
    local lines <const> = nodelets.lines(about, node, tags_of(node), i, graph.tag_cutoff)
    node.has_nodelets = lines ~= ""
    to:put(lines)
  end
end

local function write_edges(to, about, graph)
  local edges, drawn = {}, {}
  for _, node in ipairs(graph.nodes) do
    drawn[node] = true
    table.move(node.outs, 1, #node.outs, #edges + 1, edges)
  end
  table.sort(edges, trim.heavier)
  for _, edge in ipairs(edges) do
    if drawn[edge.to] then write_edge(to, about, edge) end
  end
end

local function graph_of(about, opts, tags_of)
  return trim.graph(about, opts, {
    n = DEFAULT_NODES, edges = true, visual = true, tags = true, detail = true,
    tag_count = function(node, cutoff) return nodelets.count(tags_of(node), cutoff) end,
    tree = opts.call_tree and call_tree or nil,
  })
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
  local tags_of <const> = nodelets.maker(profile, escape)
  local graph <const> = graph_of(about, opts, tags_of)
  about:choose_unit(trim.smallest(graph.nodes))
  local to <const> = sink.new(out)
  local title <const> = escape(legend.program(profile))
  to:putf('digraph "%s" {\nnode [style=filled fillcolor="#f8f8f8"]\n',
    title ~= "" and title or "unnamed")
  write_legend(to, about, graph, opts, title)
  write_nodes(to, about, graph, tags_of)
  write_edges(to, about, graph)
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
