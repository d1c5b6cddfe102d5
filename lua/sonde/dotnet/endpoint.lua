--- Where the diagnostics socket of a .NET process is, or why there is none.
-- A runtime makes `dotnet-diagnostic-PID-START-socket` in its temporary
-- directory: PID counts in its own pid namespace, START is its start time, so
-- the right socket is known among stale ones.
-- @module sonde.dotnet.endpoint
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"

local endpoint = {}

-- Names of the socket and of one of the debugger's pipes: pid, start time.
local SOCKET <const> = "dotnet-diagnostic-%d-%d-socket"
local DEBUG_PIPE <const> = "clr-debug-pipe-%d-%d-in"

-- Any socket of a pid.
local SOCKETS <const> = "^dotnet%%-diagnostic%%-%d%%-%%d+%%-socket$"

-- An address has 108 bytes, the last of which the runtime keeps for a zero.
local LONGEST_PATH <const> = 107

-- What switches the socket off, in the environment.
local SWITCHES <const> = {
  "DOTNET_EnableDiagnostics_IPC", "DOTNET_EnableDiagnostics",
  "COMPlus_EnableDiagnostics_IPC", "COMPlus_EnableDiagnostics",
}

-- A process younger than this may not have come to making its socket.
local YOUNG_SECONDS <const> = 3

local function join(root, directory)
  return root .. directory:gsub("/+$", "")
end

-- The directories that may hold the socket, best first. A runtime uses TMPDIR
-- when it is set; the others are for when we cannot know it.
local function directories(search)
  local tmp <const> = search.tmp
  local list = {}
  if tmp and tmp ~= "" then
    local base <const> = tmp:sub(1, 1) == "/" and search.root
      or ("/proc/%d/cwd/"):format(search.pid)
    list[1] = join(base, tmp)
  end
  list[#list + 1] = search.root .. "/tmp"
  if not search.root_known then
    local own <const> = os.getenv "TMPDIR"
    if own and own ~= "" then list[#list + 1] = join("", own) end
  end
  return list
end

local function exists(path)
  return uv.fs_access(path, 0) == true
end

-- The socket of the same pid that was made last, whatever its start time: of an
-- earlier process, or of one whose clock is not ours. The whole directory is read
-- for it, which may hold thousands of files that ended processes left.
local function newest(path, inner_pid)
  local pattern <const> = SOCKETS:format(inner_pid)
  local best, best_time
  local request <const> = uv.fs_scandir(path)
  while request do
    local name <const> = uv.fs_scandir_next(request)
    if name == nil then break end
    local info <const> = name:find(pattern) and uv.fs_stat(path .. "/" .. name)
    if info and (best == nil or info.mtime.sec > best_time) then
      best, best_time = name, info.mtime.sec
    end
  end
  return best and path .. "/" .. best
end

-- The socket in a directory, by the one name that it can have.
local function look(path, search)
  local pipe <const> = path .. "/" .. DEBUG_PIPE:format(search.inner_pid, search.start_time)
  if exists(pipe) then search.pipe = pipe end
  local socket <const> = path .. "/" .. SOCKET:format(search.inner_pid, search.start_time)
  if exists(socket) then return socket end
  if search.other_clock == nil then search.other_clock = proc.has_own_time(search.pid) end
  return search.other_clock and newest(path, search.inner_pid) or nil
end

-- A socket that an earlier process of the same number left.
local function stale(search)
  for _, path in ipairs(search.tried) do
    local found <const> = newest(path, search.inner_pid)
    if found then return found end
  end
end

--- Looks for the socket of a process.
-- @tparam table stat of `proc.stat`
-- @treturn ?table the endpoint: `pid start_time path`
-- @treturn table what was seen on the way, for `endpoint.explain`
function endpoint.find(stat)
  local search = { pid = stat.pid, start_time = stat.start_time, stat = stat, tried = {} }
  if stat.kernel or stat.state == "Z" then return nil, search end
  local _, code
  search.tmp, _, code = proc.variable(stat.pid, "TMPDIR")
  search.denied = code == "permission"
  search.root, search.root_known = proc.root(stat.pid)
  search.inner_pid = proc.inner_pid(stat.pid) or stat.pid
  for _, path in ipairs(directories(search)) do
    search.tried[#search.tried + 1] = path
    local found <const> = look(path, search)
    if found then
      return { pid = stat.pid, start_time = stat.start_time, path = found }, search
    end
  end
  return nil, search
end

--- Does a process run .NET? Sure only when true: an old runtime in a single
-- file shows nothing that could be seen from outside.
-- @tparam table search of `endpoint.find`
-- @tparam ?boolean thorough read its whole memory map, too
-- @treturn boolean
function endpoint.is_dotnet(search, thorough)
  if search.pipe then return true end
  if search.stat.kernel or search.stat.state == "Z" then return false end
  -- Even a suspended runtime has three threads; they are among its oldest.
  if search.stat.threads >= 3 then
    for _, name in pairs(proc.thread_names(search.pid, thorough and 4096 or 16)) do
      if name:find("^%.NET ") then return true end
    end
  end
  return thorough and proc.mapped(search.pid, "/libcoreclr.so") ~= nil or false
end

--- Does a runtime wait at its start for somebody to resume it?
-- @tparam table search of `endpoint.find`
-- @treturn boolean
function endpoint.is_suspended(search)
  if search.pipe then return false end
  local serves, runs = false, false
  for _, name in pairs(proc.thread_names(search.pid)) do
    if name == ".NET EventPipe" then serves = true end
    if name == ".NET Finalizer" then runs = true end
  end
  return serves and not runs
end

local function subject(search)
  return ("process %d (%s)"):format(search.pid, search.stat.name)
end

local function explain_denied(search)
  local status <const> = proc.status(search.pid)
  if status and status.uid ~= proc.self().uid then
    local user <const> = proc.user(status.uid)
    return ("cannot look into %s of user %s (uid %d): permission denied"):format(
      subject(search), user, status.uid), "permission",
      ("sudo -u %s sonde …, or as root"):format(user)
  end
  return ("cannot look into %s: it has more privileges or other namespaces than we have"):format(
    subject(search)), "permission", "as root with CAP_SYS_PTRACE, or inside its container"
end

local function explain_directory(search)
  local tmp <const> = search.tmp or "/tmp"
  local name <const> = SOCKET:format(search.inner_pid, search.start_time)
  local length <const> = #join("", tmp) + 1 + #name
  if length > LONGEST_PATH then
    return ("its TMPDIR is so long that the socket's path would have %d bytes; %d are possible, "
      .. "so .NET made no socket"):format(length, LONGEST_PATH), "run it with a shorter TMPDIR"
  end
  local _, _, code = uv.fs_stat(search.tried[1])
  if code == "ENOENT" then
    return ("its TMPDIR %s does not exist, so .NET made no socket"):format(tmp),
      ("mkdir -p %s, then restart it"):format(tmp)
  end
end

local function switched_off(search)
  for _, name in ipairs(SWITCHES) do
    local value <const> = proc.variable(search.pid, name)
    if value == "0" then return name .. "=0" end
  end
end

local function explain_dotnet(search)
  local switch <const> = switched_off(search)
  if switch then
    return ("its diagnostics are switched off: %s in its environment"):format(switch),
      "restart it without that"
  end
  local why, hint = explain_directory(search)
  if why then return why, hint end
  local left <const> = stale(search)
  if left then return ("its socket is gone; %s was left by an earlier process"):format(left) end
  if search.pipe then
    return "its diagnostics socket is switched off, by a setting or in its runtimeconfig.json, "
      .. "or was removed", "restart it without DOTNET_EnableDiagnostics_IPC=0"
  end
  return ("it has no diagnostics socket in %s: switched off in its runtimeconfig.json, a "
    .. "directory that cannot be written to, or removed"):format(search.tried[1])
end

--- Says why a process has no endpoint.
-- @tparam table search of `endpoint.find`
-- @treturn string message
-- @treturn string code `no_endpoint` or `permission`
-- @treturn ?string hint
function endpoint.explain(search)
  local stat <const> = search.stat
  if stat.kernel then return subject(search) .. " is part of the kernel", "no_endpoint" end
  if stat.state == "Z" then return subject(search) .. " has ended", "no_endpoint" end
  if search.denied then return explain_denied(search) end
  if endpoint.is_dotnet(search, true) then
    local why, hint = explain_dotnet(search)
    return ("%s runs .NET, but %s"):format(subject(search), why), "no_endpoint", hint
  end
  if os.time() - proc.started_at(stat.start_time) < YOUNG_SECONDS then
    return ("%s has no diagnostics socket, or not yet"):format(subject(search)), "no_endpoint",
      "again in a moment"
  end
  return ("%s is not a .NET process, or it runs .NET without diagnostics (NativeAOT, Mono)")
    :format(subject(search)), "no_endpoint", "sonde ps"
end

return endpoint
