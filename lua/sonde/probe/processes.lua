--- Processes that probes look at: by number or name, their programs, and what
-- they have mapped, kept for when they are gone.
-- @module sonde.probe.processes
local core <const> = require "sonde.c.core"
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"

local processes = {}

local MAPS_LIMIT <const> = 16 << 20

local function base_of(path)
  return path and path:match("([^/]+)/?$")
end

local function is_named(pid, word)
  local stat <const> = proc.stat(pid)
  if stat == nil or stat.kernel then return false end
  if stat.name == word then return true end
  return base_of(proc.command_line(pid)[1]) == word or base_of(proc.program(pid)) == word
end

--- The processes that somebody means: by its number, or all of a name.
-- @tparam string word
-- @treturn ?{integer,...}
-- @treturn ?string message
-- @treturn ?string code `not_found`
-- @treturn ?string hint
function processes.find(word)
  local own <const> = proc.self().pid
  if word:find("^%d+$") then
    local pid <const> = math.tointeger(tonumber(word))
    if not proc.is_alive(pid) then return nil, ("no process %s"):format(word), "not_found" end
    if pid == own then return nil, "a process cannot probe itself", "unavailable" end
    return { pid }
  end
  local list = {}
  for _, pid in ipairs(proc.pids()) do
    if pid ~= own and is_named(pid, word) then list[#list + 1] = pid end
  end
  if #list > 0 then return list end
  return nil, ("no process is called '%s'"):format(word), "not_found", "sonde ps --all"
end

--- The program of a process.
-- @tparam integer pid
-- @treturn ?string its path, to be shown
-- @treturn ?string a path by which it can be opened, also when it was deleted
--   or lies in a container
function processes.program(pid)
  local magic <const> = ("/proc/%d/exe"):format(pid)
  local shown <const> = uv.fs_readlink(magic)
  if shown == nil then return nil end
  local path <const> = shown:gsub(" %(deleted%)$", "")
  local here <const>, there <const> = uv.fs_stat(path), uv.fs_stat(magic)
  local same <const> = here and there and here.ino == there.ino and here.dev == there.dev
  return path, same and path or magic
end

--- What identifies a file.
-- @tparam string path
-- @treturn ?string
function processes.identity(path)
  local stat <const> = uv.fs_stat(path)
  return stat and ("%d:%d"):format(stat.dev, stat.ino) or nil
end

--- The processes that run a program.
-- @tparam string identity of its file
-- @treturn {integer,...}
function processes.running(identity)
  local list = {}
  local own <const> = proc.self().pid
  for _, pid in ipairs(proc.pids()) do
    if pid ~= own and processes.identity(("/proc/%d/exe"):format(pid)) == identity then
      list[#list + 1] = pid
    end
  end
  return list
end

--- The processes that run what was at a path before it was replaced.
-- @tparam string path
-- @treturn {integer,...}
function processes.running_older(path)
  local list = {}
  local _, resolved = core.path_info(path)
  for _, pid in ipairs(proc.pids()) do
    if uv.fs_readlink(("/proc/%d/exe"):format(pid)) == (resolved or path) .. " (deleted)" then
      list[#list + 1] = pid
    end
  end
  return list
end

local MAPPING <const> = "^(%x+)%-(%x+) ..(.). (%x+) (%S+) (%d+)%s*(.*)$"

local function parse(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do
    local from, to, executable, offset, device, inode, path = line:match(MAPPING)
    if executable == "x" then
      list[#list + 1] = { from = tonumber(from, 16), to = tonumber(to, 16),
        offset = tonumber(offset, 16), path = path, file = device .. ":" .. inode,
        inode = math.tointeger(tonumber(inode)) }
    end
  end
  return list
end

--- What a process has mapped to execute, and who it is.
-- @tparam integer pid
-- @treturn ?table `mappings` (`from to offset path file`, in order), `root` (for
--   its paths), `program name inner_pid uid start_time started_at` (Unix time, s);
--   nil when it cannot be looked at
function processes.look(pid)
  local text <const> = core.read_file(("/proc/%d/maps"):format(pid), MAPS_LIMIT)
  if text == nil or text == "" then return nil end
  local status <const>, stat = proc.status(pid), proc.stat(pid) or {}
  return { pid = pid, mappings = parse(text), root = (proc.root(pid)),
    program = processes.program(pid), name = stat.name, start_time = stat.start_time,
    started_at = stat.start_time and proc.started_at(stat.start_time),
    inner_pid = status and status.inner_pid or pid, uid = status and status.uid }
end

--- The mapping that an address is in.
-- @tparam table seen of `look`
-- @tparam integer address
-- @treturn ?table
function processes.mapping_of(seen, address)
  local list <const> = seen.mappings
  local low, high = 1, #list
  while low <= high do
    local middle <const> = (low + high) // 2
    if math.ult(address, list[middle].from) then high = middle - 1 else low = middle + 1 end
  end
  local mapping <const> = list[high]
  return mapping and math.ult(address, mapping.to) and mapping or nil
end

return processes
