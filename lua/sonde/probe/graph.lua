--- The graph of what called the probed functions, for Graphviz: blue for the
-- process, green for the kernel, orange where one enters the other. Arrows are
-- the darker, names the larger, the more hits they stand for.
-- @module sonde.probe.graph
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local graph = {}

-- Steps of Graphviz's schemes blues9 and greens9 that stand out from white.
local PALEST <const>, DARKEST <const> = 3, 9

local SCHEMES <const> = { user = "blues9", kernel = "greens9" }
local FILLS <const> = { user = "#bdd7e7", kernel = "#bae4b3" }

local SMALL <const>, LARGE <const> = 12, 36

local function quoted(words)
  return '"' .. text.printable(words):gsub('[\\"]', "\\%0") .. '"'
end

local Graph <const> = {}
Graph.__index = Graph

-- A function of a process and one of the kernel are two, whatever their names.
function Graph:node(frame)
  local key <const> = frame.type .. " " .. frame.name
  local node = self.nodes[key]
  if node == nil then
    node = { id = ("n%d"):format(#self.nodes + 1), name = frame.name, type = frame.type,
      function_id = frame.function_id }
    self.nodes[key], self.nodes[#self.nodes + 1] = node, node
  end
  if frame.function_id >= 0 then node.function_id = frame.function_id end
  return node
end

-- Hits add up over stacks: several arrows between two nodes are one.
function Graph:edge(from, to, kind, count)
  local key <const> = from.id .. " " .. to.id
  local edge = self.edges[key]
  if edge == nil then
    edge = { from = from, to = to, kind = kind, count = 0 }
    self.edges[key], self.edges[#self.edges + 1] = edge, edge
  end
  edge.count = edge.count + count
  self.most = math.max(self.most, edge.count)
end

function Graph:add_half(list, count)
  local outer
  for i = #list, 1, -1 do
    local node <const> = self:node(list[i])
    if outer then self:edge(outer, node, node.type, count) end
    outer = node
  end
end

function Graph:add_stack(stack)
  self:add_half(stack.user, stack.count)
  self:add_half(stack.kernel, stack.count)
  local entry <const>, way_in <const> = stack.user[1], stack.kernel[#stack.kernel]
  if entry and way_in then
    self:edge(self:node(entry), self:node(way_in), "crossing", stack.count)
  end
end

function Graph:node_line(node)
  local func <const> = node.function_id >= 0 and self.report:func(node.function_id) or nil
  local label, size = node.name, SMALL
  if func then
    label = ("%s\n%d hits"):format(label, func.count)
    if func.mean_ns then label = ("%s, mean %s"):format(label, units.duration(func.mean_ns)) end
    size = SMALL + (LARGE - SMALL) * func.count // math.max(self.hits, 1)
  end
  local lines = {}
  for line in label:gmatch("[^\n]+") do
    lines[#lines + 1] = (text.printable(line):gsub('[\\"]', "\\%0"))
  end
  return ('  %s [label="%s", fontsize=%d, fillcolor=%s];'):format(node.id,
    table.concat(lines, "\\n"), size, quoted(FILLS[node.type]))
end

function Graph:edge_line(edge)
  if edge.kind == "crossing" then
    return ('  %s -> %s [label="%d", color=orange, dir=both];'):format(edge.from.id, edge.to.id,
      edge.count)
  end
  local step <const> = PALEST + (DARKEST - PALEST) * edge.count // math.max(self.most, 1)
  return ('  %s -> %s [label="%d", color="/%s/%d"];'):format(edge.from.id, edge.to.id,
    edge.count, SCHEMES[edge.kind], step)
end

function Graph:title()
  local counts <const>, binaries = self.report:stack_counts(), {}
  for _, group in ipairs(self.report:by_hits()) do binaries[#binaries + 1] = group.binary end
  return ("%s\n%d functions, %d user stacks (%d lost), %d kernel stacks (%d lost) in %s"):format(
    table.concat(binaries, ", "), #self.report:functions(), counts.user, counts.lost_user,
    counts.kernel, counts.lost_kernel, units.duration(self.report.duration_ns))
end

local function escaped_title(title)
  local lines = {}
  for line in title:gmatch("[^\n]+") do
    lines[#lines + 1] = (text.printable(line):gsub('[\\"]', "\\%0"))
  end
  return table.concat(lines, "\\n")
end

--- Draws a report.
-- @tparam Report report with stacks
-- @treturn string the graph in Graphviz's language
function graph.of(report)
  local self <const> = setmetatable({ report = report, nodes = {}, edges = {}, most = 0, hits = 0 },
    Graph)
  for _, func in ipairs(report:functions()) do
    self.hits = math.max(self.hits, func.count)
    for _, stack in ipairs(func.stacks) do self:add_stack(stack) end
  end
  local lines = { "digraph sonde {",
    ('  label="%s"; labelloc=t;'):format(escaped_title(self:title())),
    "  node [shape=box, style=filled, fontname=sans];" }
  for _, node in ipairs(self.nodes) do lines[#lines + 1] = self:node_line(node) end
  for _, edge in ipairs(self.edges) do lines[#lines + 1] = self:edge_line(edge) end
  lines[#lines + 1] = "}"
  return table.concat(lines, "\n") .. "\n"
end

return graph
