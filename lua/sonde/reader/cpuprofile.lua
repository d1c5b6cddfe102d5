--- CPU profiles of Chromium's V8, as Chrome and Node write them (.cpuprofile):
-- a tree of calls, and which of its nodes each sample hit.
-- @module sonde.reader.cpuprofile
local errors <const> = require "sonde.base.errors"
local dkjson <const> = require "dkjson"
local stacks <const> = require "sonde.reader.stacks"

local cpuprofile = {}

local function fail(...)
  error({ message = (...):format(select(2, ...)) }, 0)
end

local function frame_of(node)
  local call <const> = type(node.callFrame) == "table" and node.callFrame
    or fail("node %s has no callFrame", tostring(node.id))
  local name = call.functionName
  if type(name) ~= "string" or name == "" then name = "(anonymous)" end
  local file <const> = type(call.url) == "string" and call.url ~= "" and call.url or nil
  local line <const> = math.type(call.lineNumber) == "integer" and call.lineNumber + 1 or nil
  if file == nil then return { name = name } end
  return { name = name, file = file, line = line, start_line = line }
end

-- Nodes by id, each with the stack that it ends.
local function read_nodes(list)
  if type(list) ~= "table" or #list == 0 then fail("there are no nodes in it") end
  local nodes, parent = {}, {}
  for _, node in ipairs(list) do
    if math.type(node.id) ~= "integer" or nodes[node.id] then
      fail("node id %s is missing or used twice", tostring(node.id))
    end
    nodes[node.id] = { frame = frame_of(node), hits = node.hitCount }
    for _, child in ipairs(type(node.children) == "table" and node.children or {}) do
      parent[child] = node.id
    end
    if math.type(node.parent) == "integer" then parent[node.id] = node.parent end
  end
  return nodes, parent
end

-- The frames of a node, innermost first, without the root that all share.
local function stack_of(nodes, parent, id)
  local stack, seen = {}, {}
  while id do
    if seen[id] or nodes[id] == nil then fail("node %d is not in a tree", id) end
    seen[id] = true
    local frame <const> = nodes[id].frame
    if parent[id] or frame.name ~= "(root)" then stack[#stack + 1] = frame end
    id = parent[id]
  end
  return stack
end

local function add(sums, nodes, parent, id, hits, micros)
  local node <const> = nodes[id] or fail("a sample hit node %s, which there is not", tostring(id))
  node.stack = node.stack or stack_of(nodes, parent, id)
  sums:add(node.stack, tostring(id), { hits, micros * 1000 })
end

-- A sample lasts until the next one: deltas[i] is the time before sample i.
local function add_samples(sums, file, nodes, parent)
  local samples <const>, deltas <const> = file.samples, file.timeDeltas
  local now = file.startTime or 0
  for i, id in ipairs(samples) do
    now = now + (deltas[i] or 0)
    local micros = deltas[i + 1]
    if micros == nil then micros = math.max(0, (file.endTime or now) - now) end
    add(sums, nodes, parent, id, 1, math.tointeger(math.max(0, micros) // 1) or 0)
  end
end

local function read(bytes)
  local file, at, message = dkjson.decode(bytes, 1, nil)
  if type(file) ~= "table" then fail("not JSON at byte %d: %s", at or 0, message or "no object") end
  local nodes, parent = read_nodes(file.nodes)
  local sums <const> = stacks.new()
  if type(file.samples) == "table" and type(file.timeDeltas) == "table" then
    add_samples(sums, file, nodes, parent)
  else
    for id, node in pairs(nodes) do
      if (math.tointeger(node.hits) or 0) > 0 then add(sums, nodes, parent, id, node.hits, 0) end
    end
  end
  local profile, why, code = sums:profile({ { "samples", "count" }, { "cpu", "nanoseconds" } },
    file.samples and "cpu" or "samples")
  if profile == nil then return nil, why, code end
  local length <const> = (file.endTime or 0) - (file.startTime or 0)
  profile:set_info { duration_ns = (math.tointeger(length // 1) or 0) * 1000 }
  return profile
end

--- Reads a file.
-- @tparam string bytes
-- @treturn ?Profile sample types `samples` and `cpu`
-- @treturn ?string message
-- @treturn ?string code `malformed`
function cpuprofile.read(bytes)
  local ok, profile, message, code = errors.pcall(read, bytes)
  if ok then return profile, message, code end
  if type(profile) ~= "table" then error(profile, 0) end
  return nil, profile.message, "malformed"
end

return cpuprofile
