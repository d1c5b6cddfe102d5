--- The tree of calls as columns, also below the values of labels: a tree for
-- each thread beside each other, say.
-- @module sonde.report.calls
local names <const> = require "sonde.report.names"

local calls = {}

--- The option that puts labels in front of the stacks.
calls.labels_option = {
  name = "labels", type = "string", argname = "KEY", many = true,
  help = "put the value of this label (thread, process, …) in front of each stack",
}

-- The value of a label in a set, as text.
local function value_of(labels, key)
  local values <const> = labels[key]
  if values == nil then return "<none>" end
  local words = {}
  for i, value in ipairs(values) do words[i] = tostring(value) end
  return table.concat(words, ",")
end

-- Key and value, as the name of a row; "thread Thread (12)" says it twice.
local function name_of(key, value)
  if value:lower():sub(1, #key) == key:lower() then return value end
  return key .. " " .. value
end

--- Divides a profile by the values of a label.
-- @param profile
-- @tparam string key
-- @tparam integer index sample type whose totals order the parts
-- @treturn {table,...} each `{ value, name, profile, total }`, the largest first;
--   `name` is key and value
function calls.split(profile, key, index)
  local sets <const> = profile:label_sets()
  local values, members = {}, {}
  for i, labels in ipairs(sets) do
    local value = value_of(labels, key)
    if members[value] == nil then
      members[value] = {}
      values[#values + 1] = value
    end
    members[value][i] = true
  end
  local parts = {}
  for _, value in ipairs(values) do
    local bytes = {}
    for i = 1, #sets do bytes[i] = members[value][i] and "\1" or "\0" end
    local part = assert(profile:filter_labels(table.concat(bytes)))
    if #part > 0 then
      parts[#parts + 1] = {
        value = value, name = name_of(key, value), profile = part,
        total = part:total(index, true),
      }
    end
  end
  table.sort(parts, function(a, b)
    if a.total ~= b.total then return a.total > b.total end
    return a.name < b.name
  end)
  return parts
end

local COLUMNS <const> = { "depth", "name", "frame", "self", "total" }
local SECOND <const> = { "depth", "name", "frame", "self", "total", "self2", "total2" }

-- Appends the tree of one part, `shift` levels down.
local function append(all, tree, shift)
  local first <const> = all.n + 1
  for _, column in ipairs(tree.self2 and SECOND or COLUMNS) do
    table.move(tree[column], 1, tree.n, first, all[column])
  end
  for i = first, first + tree.n - 1 do all.depth[i] = all.depth[i] + shift end
  all.n = all.n + tree.n
end

local function append_node(all, name, depth, profile, request)
  local n <const> = all.n + 1
  all.depth[n], all.name[n], all.frame[n], all.self[n] = depth, name, 0, 0
  all.total[n] = profile:total(request.type)
  if request.also then all.self2[n], all.total2[n] = 0, profile:total(request.also) end
  all.n = n
  return n
end

local function append_bare(all, tree, depth)
  if tree.bare == 0 and (tree.bare2 or 0) == 0 then return end
  local n <const> = all.n + 1
  all.depth[n], all.name[n], all.frame[n] = depth, names.NO_STACK, 0
  all.self[n], all.total[n] = tree.bare, tree.bare
  if tree.bare2 then all.self2[n], all.total2[n] = tree.bare2, tree.bare2 end
  all.n = n
end

local function append_parts(all, profile, request, keys, level)
  local key <const> = keys[level]
  if key == nil then
    local tree = profile:calltree(request)
    all.pruned = all.pruned + tree.pruned
    append(all, tree, level - 1)
    append_bare(all, tree, level)
    return
  end
  for _, part in ipairs(calls.split(profile, key, request.type)) do
    if part.total >= (request.min or 0) then
      append_node(all, part.name, level, part.profile, request)
      append_parts(all, part.profile, request, keys, level + 1)
    else
      all.pruned = all.pruned + part.total
    end
  end
end

--- The calls of a profile in preorder.
-- @param profile
-- @tparam table request as of `profile:calltree`
-- @tparam ?{string,...} keys labels whose values come first; such rows have
--   frame 0
-- @treturn table columns; what has no stack is a row of its own
function calls.tree(profile, request, keys)
  if keys == nil or #keys == 0 then
    local tree <const> = profile:calltree(request)
    append_bare(tree, tree, 1)
    return tree
  end
  local all = { n = 0, pruned = 0 }
  for _, column in ipairs(request.also and SECOND or COLUMNS) do all[column] = {} end
  append_parts(all, profile, request, keys, 1)
  return all
end

--- Which of these labels the samples of a profile have.
-- @param profile
-- @tparam {string,...} keys
-- @treturn {string,...} those with more than one value, in the same order
function calls.present(profile, keys)
  local sets <const> = profile:label_sets()
  local found = {}
  for _, key in ipairs(keys) do
    local first
    for _, labels in ipairs(sets) do
      local value = labels[key] and value_of(labels, key)
      if value and first and value ~= first then
        found[#found + 1] = key
        break
      end
      first = first or value
    end
  end
  return found
end

--- The stack of a row as folded text.
-- @tparam table tree columns
-- @tparam integer row
-- @treturn string
function calls.stack(tree, row)
  local path, wanted = {}, tree.depth[row]
  for i = row, 1, -1 do
    if tree.depth[i] == wanted then
      path[wanted] = names.folded(tree.name[i])
      wanted = wanted - 1
    end
  end
  return table.concat(path, ";")
end

return calls
