--- What the specs of profiles share.
local profiles = {}

--- A profile of one sample type, made from lines "outer;inner value".
function profiles.fold(core, text)
  local p <const> = assert(core.profile_new { types = { { "samples", "count" } } })
  for line in text:gmatch("[^\n]+") do
    local stack <const>, value <const> = line:match("^%s*(.-) (%-?%d+)$")
    local frames = {}
    for frame in stack:gmatch("[^;]+") do table.insert(frames, 1, frame) end
    assert(p:add(frames, math.tointeger(value)))
  end
  return p
end

--- The samples of a profile as lines "outer;inner value", in order.
function profiles.unfold(p, column)
  local names <const> = p:frames().name
  local lines = {}
  for stack, values in p:samples() do
    local frames = {}
    for _, frame in ipairs(stack) do table.insert(frames, 1, names[frame]) end
    lines[#lines + 1] = table.concat(frames, ";") .. " " .. values[column or 1]
  end
  return lines
end

--- Nodes of a graph as { name = "flat cum" }.
function profiles.nodes(graph)
  local nodes = {}
  for _, node in ipairs(graph.nodes) do
    assert(nodes[node.name] == nil, node.name)
    nodes[node.name] = node.flat .. " " .. node.cum
  end
  return nodes
end

--- Edges of a graph as { ["from>to"] = value }.
function profiles.edges(graph)
  local edges = {}
  for _, edge in ipairs(graph.edges) do
    local name <const> = graph.nodes[edge.from].name .. ">" .. graph.nodes[edge.to].name
    assert(edges[name] == nil, name)
    edges[name] = edge.value
  end
  return edges
end

--- A mask of the frames for which `match(name, file, module)` holds.
function profiles.mask(p, match)
  local f <const> = p:frames()
  local bytes = {}
  for i = 1, f.n do
    bytes[i] = match(f.name[i], f.file[i], f.module[i]) and "\1" or "\0"
  end
  return table.concat(bytes)
end

--- A mask of the frames whose name matches a pattern of Lua.
function profiles.named(p, pattern)
  return profiles.mask(p, function(name) return name:find(pattern) end)
end

--- The content of a file that gzip compressed.
function profiles.gunzip(path)
  local pipe <close> = assert(io.popen("gzip -dc '" .. path .. "'"))
  return pipe:read("a")
end

return profiles
