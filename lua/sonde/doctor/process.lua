--- Checks of one process. Each is `name` and `run`, which gets what is known of
-- the process and returns status, detail, fix; nothing where the check does not
-- apply.
-- @module sonde.doctor.process
local core <const> = require "sonde.c.core"
local endpoint <const> = require "sonde.dotnet.endpoint"
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"
local units <const> = require "sonde.base.units"
local uv <const> = require "sonde.base.uv"
local version <const> = require "sonde.dotnet.version"

local MS <const> = 1000000
local SLOW <const> = 100 * MS

-- Of the 64 sessions of a process; those of dead tools stay.
local MANY_SESSIONS <const>, MOST_SESSIONS <const> = 32, 64

local function exists(it)
  it.stat = proc.stat(it.pid)
  if it.stat == nil then return "FAIL", ("there is no process %d"):format(it.pid), "sonde ps" end
  if it.stat.state == "Z" then return "FAIL", "it has ended, and waits for its parent" end
  if it.stat.state:find("[Tt]") then
    return "FAIL", it.stat.name .. " is stopped (SIGSTOP or a debugger)",
      ("kill -CONT %d"):format(it.pid)
  end
  return "OK", ("%s, %s"):format(it.stat.name, units.several(it.stat.threads, "thread"))
end

local function owner(it)
  local status <const> = it.stat and proc.status(it.pid)
  if status == nil then return nil end
  local name <const>, own <const> = proc.user(status.uid), proc.self().uid
  if own == 0 or own == status.uid then return "OK", "runs as " .. name end
  return "FAIL", ("runs as %s, and we are %s"):format(name, proc.user(own)),
    ("sudo -u %s sonde …, or as root"):format(name)
end

local function memory(it)
  if it.stat == nil then return nil end
  if core.read_file(("/proc/%d/maps"):format(it.pid), 64) then
    return "OK", "we may look into it"
  end
  return "WARN", "its memory map is closed to us: no native stacks, no probes by name",
    "run as root, or with CAP_SYS_PTRACE"
end

local function socket(it)
  if it.stat == nil then return nil end
  local found, search = endpoint.find(it.stat)
  if found then
    it.endpoint, it.search = found, search
    return "OK", found.path
  end
  local message, _, fix = endpoint.explain(search)
  -- Of others there still are native stacks and probes.
  return endpoint.is_dotnet(search, true) and "FAIL" or "WARN", message, fix
end

local function temporary(it)
  if it.endpoint == nil then return nil end
  local tmp = it.search.tmp
  if tmp == nil or tmp == "" then tmp = "/tmp" end
  local seen <const> = it.search.root .. tmp
  if uv.fs_stat(seen) then return "OK", seen end
  return "WARN", ("its TMPDIR %s is gone: tools that look there do not find it"):format(tmp)
end

local function suspended(it)
  if it.endpoint == nil or not endpoint.is_suspended(it.search) then return nil end
  return "WARN", "it is suspended at its start, and waits for its diagnostics port",
    "start what listens there, or sonde record -- CMD"
end

local function answers(it)
  if it.endpoint == nil or it.stat.state:find("[Tt]") then return nil end
  local began <const> = loop.now()
  it.target = require("sonde.dotnet.target").of_endpoint(it.endpoint, it.stat.name)
  local info, message, _, fix = it.target:info { timeout = "5s" }
  if info == nil then return "FAIL", message, fix end
  it.info = info
  local took <const> = loop.now() - began
  local detail <const> = ("it answers within %s"):format(units.duration(took))
  return took > SLOW and "WARN" or "OK", detail,
    took > SLOW and "another tool may hold its diagnostics thread, or the machine is busy" or nil
end

local function runtime(it)
  if it.info == nil then return nil end
  local own <const> = it.info.version or version.of_pid(it.pid)
  if own == nil then return "WARN", "its version cannot be known" end
  if version.at_least(own, "8.0") then return "OK", ".NET " .. own end
  return "WARN", (".NET %s: no perf map, and meters for one tool at a time"):format(own),
    "all of it needs .NET 8"
end

local function sessions(it)
  if it.info == nil then return nil end
  local n = -1   -- one of these threads is the diagnostics server
  for _, name in pairs(proc.thread_names(it.pid)) do
    if name == ".NET EventPipe" then n = n + 1 end
  end
  n = math.max(n, 0)
  local detail <const> = ("%d of %d are open"):format(n, MOST_SESSIONS)
  if n < MANY_SESSIONS then return "OK", detail end
  return n < MOST_SESSIONS and "WARN" or "FAIL",
    detail .. ": tools that were killed leave theirs behind", "restart the process"
end

local function clocks(it)
  if it.stat == nil then return nil end
  if core.read_file(("/proc/%d/schedstat"):format(it.pid)) then
    return "OK", "true CPU time of its threads"
  end
  return "WARN", "its clocks cannot be read: no view oncpu"
end

local function createdump(it)
  if it.info == nil then return nil end
  local library <const> = proc.mapped(it.pid, "/libcoreclr.so")
  -- A program in a single file unpacks nothing that could be seen.
  if library == nil then return nil end
  local root <const> = proc.root(it.pid)
  local path <const> = root .. library:gsub("[^/]*$", "createdump")
  if uv.fs_access(path, "X") then return "OK", path end
  return "WARN", path .. " is missing: no core dumps", "install the whole runtime package"
end

local function disk(it)
  if it.stat == nil then return nil end
  local text <const> = core.read_file(("/proc/%d/status"):format(it.pid))
  local kib <const> = text and math.tointeger(tonumber(text:match("\nVmRSS:%s+(%d+)")))
  local stat <const> = uv.fs_statfs(uv.cwd())
  if kib == nil or stat == nil or stat.blocks == 0 then return nil end
  local free <const> = stat.bavail * stat.bsize
  local detail <const> = ("it has %s in memory, and %s are free here"):format(
    units.bytes(kib << 10), units.bytes(free))
  if free > kib << 10 then return "OK", detail end
  return "WARN", detail .. ": too little for a core dump", "sonde core … -o FILE on another disk"
end

return {
  { name = "process", run = exists },
  { name = "user", run = owner },
  { name = "memory map", run = memory },
  { name = "diagnostics socket", run = socket },
  { name = "temporary files", run = temporary },
  { name = "start", run = suspended },
  { name = "answer", run = answers },
  { name = "runtime", run = runtime },
  { name = "sessions", run = sessions },
  { name = "thread clocks", run = clocks },
  { name = "createdump", run = createdump },
  { name = "disk", run = disk },
}
