--- Files that appear or change.
-- @module sonde.policy.source.file
local uv <const> = require "sonde.base.uv"

local file = { name = "file" }

--- Can it say something of these?
-- @tparam table wanted set of names
-- @treturn boolean
function file.offers(wanted)
  return wanted.file ~= nil
end

local Source <const> = {}
Source.__index = Source

local function mark(path)
  local stat <const> = uv.fs_stat(path)
  return stat and ("%d %d %d.%d"):format(stat.ino, stat.size, stat.mtime.sec, stat.mtime.nsec)
end

--- Opens it for a target.
-- @tparam table _ facts
-- @tparam table _ set of names
-- @tparam function feed
-- @tparam table opts `specs`: the triggers of files
-- @treturn table
function file.open(_, _, feed, opts)
  local marks = {}
  for _, spec in ipairs(opts.specs or {}) do
    if spec.file then marks[spec.file] = mark(spec.file) or false end
  end
  return setmetatable({ marks = marks, feed = feed }, Source)
end

--- Looks at them.
function Source:poll()
  for path, before in pairs(self.marks) do
    local now <const> = mark(path) or false
    self.marks[path] = now
    if now and now ~= before then self.feed("file", path) end
  end
end

--- Nothing is held.
function Source.close()
end

return file
