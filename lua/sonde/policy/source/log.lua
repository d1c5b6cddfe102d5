--- Lines that are added to a log file.
-- @module sonde.policy.source.log
local fill <const> = require "sonde.policy.fill"
local uv <const> = require "sonde.base.uv"

local log = { name = "log" }

-- Most that is read at a time; a longer line is cut there.
local MOST <const> = 256 << 10

--- Can it say something of these?
-- @tparam table wanted set of names
-- @treturn boolean
function log.offers(wanted)
  return wanted.log ~= nil
end

local Source <const> = {}
Source.__index = Source

--- Opens it for a target.
-- @tparam table facts
-- @tparam table _ set of names
-- @tparam function feed
-- @tparam table opts `specs`: the triggers of logs
-- @treturn table
function log.open(facts, _, feed, opts)
  local files = {}
  for _, spec in ipairs(opts.specs or {}) do
    if spec.path then
      files[#files + 1] = { path = fill.text(spec.path, facts, fill.file_name), rest = "" }
    end
  end
  local self <const> = setmetatable({ files = files, feed = feed }, Source)
  -- What stands there already has happened before.
  for _, file in ipairs(files) do
    local stat <const> = uv.fs_stat(file.path)
    file.inode, file.at = stat and stat.ino, stat and stat.size or 0
  end
  return self
end

local function read(file, size)
  local fd <const> = uv.fs_open(file.path, "r", 0)
  if fd == nil then return "" end
  local data <const> = uv.fs_read(fd, math.min(size - file.at, MOST), file.at) or ""
  uv.fs_close(fd)
  file.at = file.at + #data
  return data
end

-- A file that became shorter, or is another one now, is read from its start.
local function look(self, file)
  local stat <const> = uv.fs_stat(file.path)
  if stat == nil then return end
  if stat.ino ~= file.inode or stat.size < file.at then
    file.inode, file.at, file.rest = stat.ino, 0, ""
  end
  if stat.size == file.at then return end
  local text <const> = file.rest .. read(file, stat.size)
  local consumed = 1
  for line, after in text:gmatch "([^\n]*)\n()" do
    self.feed("log", line)
    consumed = after
  end
  file.rest = text:sub(consumed)
  if #file.rest >= MOST then
    self.feed("log", file.rest)
    file.rest = ""
  end
end

--- Reads what was added.
function Source:poll()
  for _, file in ipairs(self.files) do look(self, file) end
end

--- Nothing is held.
function Source.close()
end

return log
