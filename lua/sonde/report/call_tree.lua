--- The graph of calls as a tree: a node for each way to a function instead of
-- one for each function. For pictures of moderate size.
-- @module sonde.report.call_tree
local call_tree = {}

-- What a frame shows: its row in the graph by functions, without its sums.
local function describe(info, name)
  local node <const> = {
    flat = 0, cum = 0, name = name, ins = {}, outs = {}, children = {}, tags = {}, by_set = {},
  }
  for _, field in ipairs { "function_name", "file", "module", "address", "line", "column",
    "start_line", "frame", "may_inline" } do
    node[field] = info and info[field]
  end
  node.function_name, node.file = node.function_name or "", node.file or ""
  node.address, node.line = node.address or 0, node.line or 0
  return node
end

-- A sum that is divided by another later, when a mean is asked for.
local function add(row, field, value, count)
  row["raw_" .. field] = row["raw_" .. field] + value
  row[field .. "_count"] = row[field .. "_count"] + count
end

local function sums(row)
  row.raw_flat, row.flat_count, row.raw_cum, row.cum_count = 0, 0, 0, 0
  return row
end

local function divide(row, field)
  local sum <const>, count <const> = row["raw_" .. field], row[field .. "_count"]
  if count == 0 then
    row[field] = sum
  else
    row[field] = sum // count
    if sum % count ~= 0 and (sum < 0) ~= (count < 0) then row[field] = row[field] + 1 end
  end
end

local Builder <const> = {}
Builder.__index = Builder

function Builder:child(parent, frame, inlined)
  local key <const> = self.node_of[frame] ~= 0 and self.node_of[frame] or self.names[frame]
  local node = parent.children[key]
  if node == nil then
    node = sums(describe(self.infos[key], self.names[frame]))
    parent.children[key] = node
    self.nodes[#self.nodes + 1] = node
    if parent ~= self.root then
      node.edge = { from = parent, to = node, raw_value = 0, value_count = 0, inline = inlined }
      node.ins[1] = node.edge
      parent.outs[#parent.outs + 1] = node.edge
    end
  end
  if node.edge and not inlined then node.edge.inline = false end
  return node
end

local function count_tag(node, set, field, value, count)
  local tag = node.by_set[set]
  if tag == nil then
    tag = { set = set, flat = 0, flat_count = 0, cum = 0, cum_count = 0 }
    node.by_set[set] = tag
    node.tags[#node.tags + 1] = tag
  end
  tag[field], tag[field .. "_count"] = tag[field] + value, tag[field .. "_count"] + count
end

function Builder:sample(stack, value, count, set)
  local node, location = self.root, self.location
  for i = #stack, 1, -1 do
    local frame <const> = stack[i]
    node = self:child(node, frame, location[frame] == location[frame + 1])
    add(node, "cum", value, count)
    count_tag(node, set, "cum", value, count)
    if node.edge then add(node.edge, "value", value, count) end
  end
  if node == self.root then return end
  add(node, "flat", value, count)
  count_tag(node, set, "flat", value, count)
end

--- Builds the tree.
-- @param about a scope
-- @tparam string by what tells functions apart, as in `profile:graph`
-- @treturn table `nodes`, linked as those of `trim.graph`
function call_tree.build(about, by)
  local profile <const> = about.profile
  local graph <const> = profile:graph {
    type = about.index, by = by, node_of = true, detail = true, modules = true,
  }
  local self <const> = setmetatable({
    nodes = {}, root = { children = {} }, infos = graph.nodes, node_of = graph.node_of,
    names = profile:frame_names(by), location = profile:frames().location,
  }, Builder)
  for stack, values, _, set in profile:samples() do
    local value <const>, count <const> = values[about.index], about.mean and values[1] or 0
    if value ~= 0 or count ~= 0 then self:sample(stack, value, count, set) end
  end
  local kept = {}
  for _, node in ipairs(self.nodes) do
    divide(node, "flat")
    divide(node, "cum")
    if node.edge then divide(node.edge, "value") end
    if node.raw_flat ~= 0 or node.raw_cum ~= 0 then kept[#kept + 1] = node end
  end
  return { nodes = kept, all = kept }
end

local function replace(list, old, new)
  for i, item in ipairs(list) do
    if item == old then
      table.remove(list, i)
      break
    end
  end
  if new then list[#list + 1] = new end
end

-- Takes a node out: what it calls is called by its caller then.
local function take_out(node)
  local up <const> = node.ins[1]
  if up == nil then
    for _, edge in ipairs(node.outs) do replace(edge.to.ins, edge) end
    return
  end
  replace(up.from.outs, up)
  for _, edge in ipairs(node.outs) do
    edge.from, edge.residual = up.from, true
    edge.inline = up.inline and edge.inline
    up.from.outs[#up.from.outs + 1] = edge
  end
end

--- Leaves out nodes of a tree.
-- @tparam table graph
-- @tparam {table,...} kept those that stay
-- @treturn table the same graph
function call_tree.keep(graph, kept)
  local stays = {}
  for _, node in ipairs(kept) do stays[node] = true end
  for _, node in ipairs(graph.nodes) do
    if not stays[node] then take_out(node) end
  end
  graph.nodes = kept
  return graph
end

return call_tree
