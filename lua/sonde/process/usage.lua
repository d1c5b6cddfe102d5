--- What a process uses: figures of /proc that are read again and again.
-- @module sonde.process.usage
local core <const> = require "sonde.c.core"
local uv <const> = require "sonde.base.uv"

local usage = {}

local PAGE <const> = 4096

-- They are the last lines of /proc/PID/status, apart from what newer kernels add.
local LAST_LINES <const> = 300

local function read(pid, name)
  return core.read_file(("/proc/%d/%s"):format(pid, name))
end

local function integer(text)
  return math.tointeger(tonumber(text))
end

--- Memory.
-- @tparam integer pid
-- @treturn ?table `size resident`, bytes
-- @treturn ?string message
-- @treturn ?string code
function usage.memory(pid)
  local text, message, code = read(pid, "statm")
  if text == nil then return nil, message, code end
  local size, resident = text:match "^(%d+) (%d+)"
  return { size = integer(size) * PAGE, resident = integer(resident) * PAGE }
end

--- Bytes that went to and came from disks. Only its owner may see them.
-- @tparam integer pid
-- @treturn ?table `read written`
-- @treturn ?string message
-- @treturn ?string code
function usage.io(pid)
  local text, message, code = read(pid, "io")
  if text == nil then return nil, message, code end
  return { read = integer(text:match "\nread_bytes: (%d+)"),
    written = integer(text:match "\nwrite_bytes: (%d+)") }
end

--- How often its first thread gave the processor up, or had to.
-- @tparam integer pid
-- @treturn ?integer
-- @treturn ?string message
-- @treturn ?string code
function usage.switches(pid)
  local text, message, code = read(pid, "status")
  if text == nil then return nil, message, code end
  local tail <const> = text:sub(-LAST_LINES)
  local own <const> = tail:match "\nvoluntary_ctxt_switches:%s+(%d+)"
  local forced <const> = tail:match "\nnonvoluntary_ctxt_switches:%s+(%d+)"
  return integer(own) + integer(forced)
end

--- Open descriptors. Only its owner may see them.
-- @tparam integer pid
-- @treturn ?integer
-- @treturn ?string message
-- @treturn ?string code
function usage.descriptors(pid)
  local path <const> = ("/proc/%d/fd"):format(pid)
  -- Since Linux 6.2 the folder's size is their number.
  local kind <const>, _, size = core.path_info(path)
  if kind and size > 0 then return size end
  local numbers <const>, message, code = core.numbers_in(path)
  if numbers == nil then return nil, message, code end
  return #numbers
end

-- Where version 2 of control groups is mounted, and version 1's part for memory: the
-- files of each with what is used and what may be.
local GROUPS <const> = {
  { pattern = "%f[^\n%z]0::([^\n]*)", root = "/sys/fs/cgroup", used = "memory.current",
    most = "memory.max" },
  { pattern = "%f[^\n%z]%d+:[^:\n]*memory[^:\n]*:([^\n]*)", root = "/sys/fs/cgroup/memory",
    used = "memory.usage_in_bytes", most = "memory.limit_in_bytes" },
}

-- Version 1 says "no limit" by a number near 2^63.
local NO_LIMIT <const> = 1 << 60

local function number_in(path)
  local text <const> = core.read_file(path)
  return text and integer(text:match "^%d+")
end

-- Processes of one group are asked about one after the other.
local FRESH <const> = 100 * 1000000
local recent = {}

-- The least that may be used, by the group itself or one around it.
local function most_of(group, path)
  local least
  while path do
    local most <const> = number_in(group.root .. path .. "/" .. group.most)
    if most and most < NO_LIMIT and (least == nil or most < least) then least = most end
    path = path:match "^(.*)/[^/]*$"
  end
  return least
end

--- Memory of the control group that a process is in: what a container may use before
-- the kernel ends something in it.
-- @tparam integer pid
-- @treturn ?table `used` bytes; with a limit also `most` and `share` (percent of it)
-- @treturn ?string message
-- @treturn ?string code
function usage.group(pid)
  local text, message, code = read(pid, "cgroup")
  if text == nil then return nil, message, code end
  local known <const>, now <const> = recent[text], uv.hrtime()
  if known and now - known.at < FRESH then return known end
  if known == nil and next(recent) and now - recent[next(recent)].at > FRESH then recent = {} end
  for _, group in ipairs(GROUPS) do
    local path <const> = text:match(group.pattern)
    local used <const> = path and number_in(("%s%s/%s"):format(group.root,
      path == "/" and "" or path, group.used))
    if used then
      local most <const> = most_of(group, path == "/" and "" or path)
      recent[text] = { used = used, most = most, share = most and used * 100 / most or nil,
        at = now }
      return recent[text]
    end
  end
  return nil, ("process %d: its control group counts no memory"):format(pid), "unavailable"
end

return usage
