--- The sockets on which a process listens.
-- @module sonde.process.sockets
local core <const> = require "sonde.c.core"
local uv <const> = require "sonde.base.uv"

local sockets = {}

local LISTEN <const> = "0A"          -- the state, in /proc/net/tcp
local ACCEPTS <const> = "00010000"   -- the flag, in /proc/net/unix

-- Tables of a busy machine are long, and so are a busy process's descriptors.
local LARGEST_TABLE <const> = 16 << 20
local MOST_DESCRIPTORS <const> = 65536

local function read(pid, name)
  return core.read_file(("/proc/%d/%s"):format(pid, name), LARGEST_TABLE) or ""
end

-- Addresses are in words of 32 bits, each in the machine's order, which is the
-- little one wherever .NET and Go people are.
local function ipv4(hex)
  local a, b, c, d = hex:match("^(%x%x)(%x%x)(%x%x)(%x%x)$")
  return ("%d.%d.%d.%d"):format(tonumber(d, 16), tonumber(c, 16), tonumber(b, 16), tonumber(a, 16))
end

local ANY4 <const>, ANY6 <const> = "00000000", ("0"):rep(32)
local MAPPED <const> = "0000000000000000FFFF0000"

local function ipv6(hex)
  local groups = {}
  for a, b, c, d in hex:gmatch("(%x%x)(%x%x)(%x%x)(%x%x)") do
    groups[#groups + 1], groups[#groups + 2] = d .. c, b .. a
  end
  return "[" .. table.concat(groups, ":"):lower() .. "]"
end

-- How we reach it: who listens everywhere does so on the loopback too.
local function host_of(hex)
  if hex == ANY4 or hex == ANY6 then return "127.0.0.1" end
  if #hex == 8 then return ipv4(hex) end
  if hex:sub(1, #MAPPED) == MAPPED then return ipv4(hex:sub(#MAPPED + 1)) end
  return ipv6(hex)
end

local ROW <const> = "^%s*%d+: (%x+):(%x+) %x+:%x+ (%x+) %S+ %S+ %S+ +%d+ +%d+ (%d+)"

local function add_tcp(found, text)
  for line in text:gmatch("[^\n]+") do
    local address, port, state, inode = line:match(ROW)
    if state == LISTEN then
      found[inode] = { host = host_of(address), port = tonumber(port, 16) }
    end
  end
end

local function add_unix(found, text)
  for line in text:gmatch("[^\n]+") do
    local flags, inode, path = line:match("^%x+: %x+ %x+ (%x+) %x+ %x+ +(%d+) (/.*)$")
    if flags == ACCEPTS then found[inode] = { path = path } end
  end
end

-- The numbers of the sockets that a process holds.
local function held_by(pid)
  local list = {}
  local directory <const> = ("/proc/%d/fd"):format(pid)
  local request <const>, message <const>, name <const> = uv.fs_scandir(directory)
  if request == nil then
    return nil, message, name == "EACCES" and "permission" or "not_found"
  end
  for _ = 1, MOST_DESCRIPTORS do
    local fd <const> = uv.fs_scandir_next(request)
    if fd == nil then break end
    local target <const> = uv.fs_readlink(directory .. "/" .. fd)
    list[#list + 1] = target and target:match("^socket:%[(%d+)%]$")
  end
  return list
end

local function read_tables(pid)
  local found = {}
  add_tcp(found, read(pid, "net/tcp"))
  add_tcp(found, read(pid, "net/tcp6"))
  add_unix(found, read(pid, "net/unix"))
  return found
end

-- All listening sockets of a process's network. The kernel takes milliseconds for
-- its tables, and most processes share one network.
local function network_of(pid, cache)
  local network <const> = cache and uv.fs_readlink(("/proc/%d/ns/net"):format(pid))
  if network == nil then return read_tables(pid) end
  cache[network] = cache[network] or read_tables(pid)
  return cache[network]
end

local function by_place(a, b)
  if a.port and b.port then
    if a.port ~= b.port then return a.port < b.port end
    return a.host < b.host
  end
  if a.port or b.port then return a.port ~= nil end
  return a.path < b.path
end

--- The sockets on which a process listens.
-- @tparam integer pid
-- @tparam ?table cache of networks, for calls that follow each other
-- @treturn ?{table,...} TCP: `host` (as it is reached from here), `port`, in order
--   of port; then Unix: `path`
-- @treturn ?string message
-- @treturn ?string code `permission` or `not_found`
function sockets.listening(pid, cache)
  local held, message, code = held_by(pid)
  if held == nil then
    return nil, ("cannot see the sockets of process %d: %s"):format(pid, message), code
  end
  local list, seen = {}, {}
  local network <const> = #held > 0 and network_of(pid, cache) or {}
  for _, inode in ipairs(held) do
    if network[inode] and not seen[inode] then list[#list + 1] = network[inode] end
    seen[inode] = true
  end
  table.sort(list, by_place)
  return list
end

--- Is a process in another network than we, so that its ports are not ours?
-- @tparam integer pid
-- @treturn boolean
function sockets.has_own_network(pid)
  local its <const> = uv.fs_readlink(("/proc/%d/ns/net"):format(pid))
  return its ~= nil and its ~= uv.fs_readlink("/proc/self/ns/net")
end

return sockets
