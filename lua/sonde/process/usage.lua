--- What a process uses: figures of /proc that are read again and again.
-- @module sonde.process.usage
local core <const> = require "sonde.c.core"
local uv <const> = require "sonde.base.uv"

local usage = {}

local PAGE <const> = 4096

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
  local own <const> = text:match "\nvoluntary_ctxt_switches:%s+(%d+)"
  local forced <const> = text:match "\nnonvoluntary_ctxt_switches:%s+(%d+)"
  return integer(own) + integer(forced)
end

--- Open descriptors.
-- @tparam integer pid
-- @treturn ?integer
-- @treturn ?string message
function usage.descriptors(pid)
  local request <const>, message <const> = uv.fs_scandir(("/proc/%d/fd"):format(pid))
  if request == nil then return nil, message end
  local n = 0
  while uv.fs_scandir_next(request) do n = n + 1 end
  return n
end

return usage
