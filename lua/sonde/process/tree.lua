--- A process and all that it has started: as it is now, and what changes.
--
--    local tree = assert(require("sonde.process.tree").new(4242))
--    for _, row in ipairs(tree:rows()) do print(("  "):rep(row.depth) .. row.pid, row.name) end
--    local started, ended = tree:refresh()
--
-- A process is known by pid and start time, so one that gets the number of
-- another is another. What was seen below the root stays part of the tree until
-- it ends, also when its parent ended and the system gave it another one.
-- @module sonde.process.tree
local proc <const> = require "sonde.process.proc"
local units <const> = require "sonde.base.units"

local tree = {}

local Tree <const> = {}
Tree.__index = Tree
Tree.__name = "sonde.tree"

local function key_of(stat)
  return ("%d:%d"):format(stat.pid, stat.start_time)
end

-- All processes that run, by pid.
local function scan()
  local all = {}
  for _, pid in ipairs(proc.pids()) do
    local stat <const> = proc.stat(pid)
    if stat and stat.state ~= "Z" then all[pid] = stat end
  end
  return all
end

local function children_of(all)
  local children = {}
  for pid, stat in pairs(all) do
    children[stat.parent] = children[stat.parent] or {}
    table.insert(children[stat.parent], pid)
  end
  return children
end

local function row_of(stat, parent)
  return { key = key_of(stat), pid = stat.pid, start_time = stat.start_time, name = stat.name,
    parent = parent and parent.key or nil, depth = parent and parent.depth + 1 or 0 }
end

-- Adds a process and all below it that are not known yet.
local function add(self, stat, parent, all, children, started)
  local key <const> = key_of(stat)
  local row = self.known[key]
  if row == nil then
    row = row_of(stat, parent)
    self.known[key] = row
    started[#started + 1] = row
  end
  for _, pid in ipairs(children[stat.pid] or {}) do
    -- Numbers rise with time: a child that is older than its parent is that of
    -- an earlier process of this number.
    if all[pid].start_time >= stat.start_time then
      add(self, all[pid], row, all, children, started)
    end
  end
end

local function remove_ended(self, all)
  local ended = {}
  for key, row in pairs(self.known) do
    local stat <const> = all[row.pid]
    if stat == nil or stat.start_time ~= row.start_time then
      ended[#ended + 1] = row
      self.known[key] = nil
    end
  end
  table.sort(ended, function(a, b) return a.pid < b.pid end)
  return ended
end

--- The tree below a process.
-- @tparam integer pid
-- @treturn ?Tree
-- @treturn ?string message
-- @treturn ?string code `not_found`
function tree.new(pid)
  local stat, message, code = proc.stat(pid)
  if stat == nil then return nil, message, code end
  local self <const> = setmetatable({ pid = pid, start_time = stat.start_time, known = {} }, Tree)
  self:refresh()
  return self
end

--- Looks again.
-- @treturn {table,...} processes that are new, parents before children: rows
--   as of `rows`
-- @treturn {table,...} those that have ended since the last look
function Tree:refresh()
  local all <const> = scan()
  local children <const> = children_of(all)
  local started = {}
  local ended <const> = remove_ended(self, all)
  local root <const> = all[self.pid]
  if root and root.start_time == self.start_time then
    add(self, root, nil, all, children, started)
  end
  -- Those whose parent has ended go on having children.
  local known = {}
  for _, row in pairs(self.known) do known[#known + 1] = row end
  for _, row in ipairs(known) do
    for _, pid in ipairs(children[row.pid] or {}) do
      if all[pid].start_time >= row.start_time then
        add(self, all[pid], row, all, children, started)
      end
    end
  end
  return started, ended
end

--- Does the root still run?
-- @treturn boolean
function Tree:is_alive()
  return self.known[("%d:%d"):format(self.pid, self.start_time)] ~= nil
end

--- The processes of the tree.
-- @treturn {table,...} parents before children, each `key` (`pid:start_time`)
--   `pid start_time name parent` (its key; nil of the root) `depth` (0 for the
--   root)
function Tree:rows()
  local below, roots, rows = {}, {}, {}
  for _, row in pairs(self.known) do
    local list = roots
    if row.parent and self.known[row.parent] then
      below[row.parent] = below[row.parent] or {}
      list = below[row.parent]
    end
    list[#list + 1] = row
  end
  local function put(list)
    table.sort(list, function(a, b) return a.pid < b.pid end)
    for _, row in ipairs(list) do
      rows[#rows + 1] = row
      put(below[row.key] or {})
    end
  end
  put(roots)
  return rows
end

function Tree:__tostring()
  return ("tree of process %d: %s"):format(self.pid,
    units.several(#self:rows(), "process", "processes"))
end

return tree
