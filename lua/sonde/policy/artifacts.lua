--- What policies leave behind: one folder for each policy, within its limits.
-- @module sonde.policy.artifacts
local fill <const> = require "sonde.policy.fill"
local units <const> = require "sonde.base.units"
local uv <const> = require "sonde.base.uv"

local artifacts = {}

local Folder <const> = {}
Folder.__index = Folder

local function make_folders(path)
  local at = path:sub(1, 1) == "/" and "" or "."
  for part in path:gmatch "[^/]+" do
    at = at .. "/" .. part
    local made <const>, message <const>, name <const> = uv.fs_mkdir(at, 448)   -- rwx------
    if not made and name ~= "EEXIST" then return nil, message end
  end
  return true
end

--- The folder of a policy.
-- @tparam string directory of all
-- @tparam table policy
-- @treturn table
function artifacts.folder(directory, policy)
  return setmetatable({ path = ("%s/%s"):format(directory, fill.file_name(policy.name)),
    limits = policy.limits, written = {} }, Folder)
end

--- Makes the folder, when it is not there.
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Folder:make()
  local made <const>, message <const> = make_folders(self.path)
  if made then return true end
  return nil, ("%s: %s"):format(self.path, message), "permission"
end

--- The path of an artifact.
-- @tparam string name with a / at its beginning it is a path already
-- @treturn string
function Folder:place(name)
  if name:sub(1, 1) == "/" then return name end
  return ("%s/%s"):format(self.path, name)
end

local function listing(self)
  local rows = {}
  local request <const> = uv.fs_scandir(self.path)
  while request do
    local name <const> = uv.fs_scandir_next(request)
    if name == nil then break end
    local stat <const> = uv.fs_stat(self.path .. "/" .. name)
    if stat and stat.type == "file" then
      rows[#rows + 1] = { path = self.path .. "/" .. name, size = stat.size,
        at = stat.mtime.sec * 1000000000 + stat.mtime.nsec }
    end
  end
  table.sort(rows, function(a, b)
    if a.at ~= b.at then return a.at < b.at end
    return a.path < b.path
  end)
  return rows
end

--- Removes the oldest artifacts until the rest is within the policy's limit.
-- @tparam table kept set of paths that stay in any case
-- @treturn {string,...} what was removed
function Folder:prune(kept)
  local rows <const>, removed, total = listing(self), {}, 0
  for _, row in ipairs(rows) do total = total + row.size end
  for _, row in ipairs(rows) do
    if total <= self.limits.disk then break end
    if not kept[row.path] and os.remove(row.path) then
      total = total - row.size
      removed[#removed + 1] = row.path
    end
  end
  return removed
end

local function free_bytes(path)
  local stat <const> = uv.fs_statfs(path)
  return stat and stat.bavail * stat.bsize
end

--- May something be written now?
-- @tparam integer day number of the day
-- @treturn boolean
-- @treturn ?string why not
function Folder:has_room(day)
  local free <const> = free_bytes(self.path)
  if free and free < self.limits.free then
    return false, ("%s: only %s are free, and %s stay free"):format(self.path, units.bytes(free),
      units.bytes(self.limits.free))
  end
  local written <const> = self.written[day] or 0
  if self.limits.per_day and written >= self.limits.per_day then
    return false, ("%s were written today, the limit is %s"):format(units.bytes(written),
      units.bytes(self.limits.per_day))
  end
  return true
end

--- Something was written.
-- @tparam integer day
-- @tparam integer bytes
function Folder:count(day, bytes)
  self.written = { [day] = (self.written[day] or 0) + bytes }
end

return artifacts
