--- What /proc tells about processes. Nothing here needs the process's help,
-- and whatever it keeps to its owner comes back as nil, message, code.
-- @module sonde.process.proc
local core <const> = require "sonde.c.core"
local uv <const> = require "sonde.base.uv"

local proc = {}

-- Times in /proc/PID/stat are in ticks of 10 ms on every Linux.
local TICKS_PER_SECOND <const> = 100

local function path_of(pid, name)
  return ("/proc/%d/%s"):format(pid, name)
end

local function read(pid, name)
  return core.read_file(path_of(pid, name))
end

local function integer(text)
  return math.tointeger(tonumber(text))
end

--- The ids of all processes that can be seen, in rising order.
-- @tparam ?integer least leave out those that surely have fewer threads: a third of the
--   cost of asking each for its `stat`
-- @treturn {integer,...}
function proc.pids(least)
  local pids <const> = core.numbers_in("/proc", least) or {}
  table.sort(pids)
  return pids
end

--- Facts of /proc/PID/stat, which everybody may read.
-- @tparam integer pid
-- @treturn ?table `pid name state parent threads start_time` (ticks since
--   boot: with the pid, the identity of a process) `cpu_ns kernel`
-- @treturn ?string message
-- @treturn ?string code `not_found` when there is no such process
function proc.stat(pid)
  local stat <const>, _, code = core.process_stat(pid)
  if stat == nil then return nil, ("no process %d"):format(pid), code end
  return stat
end

--- A process whose `stat` is read again and again, at a third of the cost: it holds
-- a descriptor.
-- @tparam integer pid
-- @treturn ?userdata with `stat()` (nil when the process has gone, even if another has
--   its pid) and `close()`
-- @treturn ?string message
-- @treturn ?string code
function proc.keep(pid)
  return core.process_keep(pid)
end

--- The threads of a process.
-- @tparam integer pid
-- @treturn {[integer]=table,...} as `stat` gives them, by the id that the
--   process itself knows: in a pid namespace of its own that is another one
function proc.threads(pid)
  local threads = {}
  local status <const> = proc.status(pid)
  if status == nil then return threads end
  for _, tid in ipairs(proc.thread_ids(pid)) do
    local stat <const> = core.process_stat(pid, tid)
    local inner <const> = status.nested and proc.inner_thread(pid, tid) or tid
    if stat then threads[inner] = stat end
  end
  return threads
end

--- Does a process run? One that nobody knows is taken to.
-- @tparam ?integer pid
-- @treturn boolean
function proc.is_alive(pid)
  if pid == nil then return true end
  local stat <const> = proc.stat(pid)
  return stat ~= nil and stat.state ~= "Z"
end

--- Is a process another's child, or a child's child?
-- @tparam integer pid
-- @tparam integer ancestor
-- @treturn boolean
function proc.descends(pid, ancestor)
  local stat = proc.stat(pid)
  while stat and stat.parent > 0 do
    if stat.parent == ancestor then return true end
    stat = proc.stat(stat.parent)
  end
  return false
end

--- Facts of /proc/PID/status.
-- @tparam integer pid
-- @treturn ?table `uid` (effective), `inner_pid` (in its own pid namespace),
--   `nested` (is that another number space than ours?)
-- @treturn ?string message
-- @treturn ?string code
function proc.status(pid)
  local text, message, code = read(pid, "status")
  if text == nil then return nil, message, code end
  local pids = {}
  for number in (text:match("\nNSpid:([^\n]*)") or ""):gmatch("%d+") do
    pids[#pids + 1] = integer(number)
  end
  return {
    uid = integer(text:match("\nUid:%s+%d+%s+(%d+)")),
    inner_pid = pids[#pids] or pid, nested = #pids > 1,
  }
end

--- The number that a process has in its own pid namespace.
-- @tparam integer pid
-- @treturn ?integer
function proc.inner_pid(pid)
  local text <const> = read(pid, "status")
  return text and integer(text:match("\nNSpid:[^\n]-(%d+)\n"))
end

local function split_zeros(text)
  local list = {}
  if text:find("[^\0]$") then text = text .. "\0" end   -- a title that a program set
  for item in text:gmatch("([^\0]*)\0") do list[#list + 1] = item end
  return list
end

--- The words of a process's command line; empty for kernel threads and
-- zombies.
-- @tparam integer pid
-- @treturn {string,...}
function proc.command_line(pid)
  return split_zeros(read(pid, "cmdline") or "")
end

--- The environment that a process was started with.
-- @tparam integer pid
-- @treturn ?{[string]=string,...}
-- @treturn ?string message
-- @treturn ?string code `permission` when it is another user's
function proc.environment(pid)
  local text, message, code = core.read_file(path_of(pid, "environ"), 16 << 20)
  if text == nil then return nil, message, code end
  local environment = {}
  for _, variable in ipairs(split_zeros(text)) do
    local name, value = variable:match("^([^=]+)=(.*)$")
    if name and environment[name] == nil then environment[name] = value end
  end
  return environment
end

--- One variable of the environment that a process was started with.
-- @tparam integer pid
-- @tparam string name
-- @treturn ?string its value; nil when it is not set
-- @treturn ?string message, when that cannot be known
-- @treturn ?string code
function proc.variable(pid, name)
  local text, message, code = core.read_file(path_of(pid, "environ"), 16 << 20)
  if text == nil then return nil, message, code end
  local head <const> = name .. "="
  if text:sub(1, #head) == head then return text:match("^[^\0]*", #head + 1) end
  local _, stop = text:find("\0" .. head, 1, true)
  return stop and text:match("^[^\0]*", stop + 1) or nil
end

local function link(pid, name)
  return uv.fs_readlink(path_of(pid, name))
end

local own_mounts, own_time

--- Where a process's root directory is seen from here: "" when it is our own,
-- otherwise its path under /proc.
-- @tparam integer pid
-- @treturn string prefix for absolute paths of the process
-- @treturn boolean false when we may not look: then it is a guess
function proc.root(pid)
  local root <const> = link(pid, "root")
  if root == nil then return "", false end
  own_mounts = own_mounts or uv.fs_readlink "/proc/self/ns/mnt"
  if root == "/" and link(pid, "ns/mnt") == own_mounts then return "", true end
  return ("/proc/%d/root"):format(pid), true
end

--- Does a process live in another time namespace, where its clock since boot
-- is not ours?
-- @tparam integer pid
-- @treturn boolean
function proc.has_own_time(pid)
  local its <const> = link(pid, "ns/time")
  own_time = own_time or uv.fs_readlink "/proc/self/ns/time"
  return its ~= nil and its ~= own_time
end

--- Path of the program that a process runs, as the process sees it.
-- @tparam integer pid
-- @treturn ?string
function proc.program(pid)
  local path <const> = link(pid, "exe")
  return path and path:gsub(" %(deleted%)$", "") or nil
end

-- How container managers write their ids into the names of control groups.
local function container_of(groups)
  for line in groups:gmatch("[^\n]+") do
    local id <const> = line:match("(%x+)%.scope$") or line:match("/(%x+)$")
    if id and #id == 64 then return id end
  end
  return groups:match("/lxc/([^/\n]+)") or groups:match("/machine%.slice/machine%-([^/\n]+)%.scope")
end

--- The container that a process runs in, by its control group.
-- @tparam integer pid
-- @treturn ?string the manager's id for it
function proc.container(pid)
  return container_of(read(pid, "cgroup") or "")
end

local MACHINES <const> = {
  [3] = "x86", [40] = "arm", [62] = "x64", [183] = "arm64", [22] = "s390x", [21] = "ppc64le",
  [243] = "riscv64", [258] = "loongarch64",
}

--- The processor that a process's program was made for, in .NET's words.
-- @tparam integer pid
-- @treturn ?string "x64", "arm64", …
function proc.architecture(pid)
  local head <const> = core.read_file(path_of(pid, "exe"), 20)
  if head == nil or #head < 20 or head:sub(1, 4) ~= "\127ELF" then return nil end
  return MACHINES[("<I2"):unpack(head, 19)]
end

--- The ids of a process's threads, the oldest first.
-- @tparam integer pid
-- @treturn {integer,...}
function proc.thread_ids(pid)
  local ids <const> = core.numbers_in(path_of(pid, "task")) or {}
  table.sort(ids)
  return ids
end

--- The name of one thread.
-- @tparam integer pid
-- @tparam integer tid
-- @treturn ?string
function proc.thread_name(pid, tid)
  local name <const> = read(pid, ("task/%d/comm"):format(tid))
  return name and (name:gsub("\n$", ""))
end

--- The id of a thread in its own pid namespace.
-- @tparam integer pid
-- @tparam integer tid
-- @treturn ?integer
function proc.inner_thread(pid, tid)
  local text <const> = read(pid, ("task/%d/status"):format(tid))
  return text and integer(text:match("\nNSpid:[^\n]-(%d+)\n"))
end

--- The names of a process's threads.
-- @tparam integer pid
-- @tparam ?integer most look at no more than so many, the oldest first
-- @treturn {[integer]=string,...} by thread id
function proc.thread_names(pid, most)
  local names = {}
  for i, tid in ipairs(proc.thread_ids(pid)) do
    if most and i > most then break end
    names[tid] = proc.thread_name(pid, tid)
  end
  return names
end

--- Has a process mapped a file whose name ends so?
-- @tparam integer pid
-- @tparam string ending
-- @treturn ?string the file's path
function proc.mapped(pid, ending)
  local maps <const> = core.read_file(path_of(pid, "maps"), 16 << 20)
  for path in (maps or ""):gmatch("(/[^\n]*)\n") do
    if path:sub(-#ending) == ending then return path end
  end
end

local users

local function read_users()
  users = {}
  for name, uid in (core.read_file("/etc/passwd") or ""):gmatch("([^:\n]+):[^:\n]*:(%d+):") do
    users[integer(uid)] = users[integer(uid)] or name
  end
end

--- The name of a user; the number when it has none.
-- @tparam integer uid
-- @treturn string
function proc.user(uid)
  if users == nil then read_users() end
  return users[uid] or tostring(uid)
end

local own

--- Who we are.
-- @treturn table `pid uid`, `capable(number)`: do we have this capability?
function proc.self()
  if own == nil then
    local text <const> = core.read_file("/proc/self/status")
    local capabilities <const> = tonumber(text:match("\nCapEff:%s+(%x+)"), 16)
    own = {
      pid = math.tointeger(uv.os_getpid()), uid = integer(text:match("\nUid:%s+%d+%s+(%d+)")),
      capable = function(number) return capabilities >> number & 1 == 1 end,
    }
  end
  return own
end

--- When a process started.
-- @tparam integer start_time ticks since boot, as in `proc.stat`
-- @treturn integer Unix time in seconds
function proc.started_at(start_time)
  local boot <const> = integer(core.read_file("/proc/stat", 1 << 20):match("\nbtime (%d+)"))
  return boot + start_time // TICKS_PER_SECOND
end

--- How long ago a process started.
-- @tparam integer start_time ticks since boot, as in `proc.stat`
-- @treturn number seconds, exact to 10 ms
function proc.age(start_time)
  return tonumber(core.read_file("/proc/uptime"):match "^%S+") - start_time / TICKS_PER_SECOND
end

return proc
