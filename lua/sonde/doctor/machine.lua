--- Checks of the machine that sonde runs on. Each is `name` and `run`, which
-- returns status, detail, fix; nothing where the check does not apply.
-- @module sonde.doctor.machine
local errors <const> = require "sonde.base.errors"
local core <const> = require "sonde.c.core"
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"
local program <const> = require "sonde.process.program"

-- Numbers of capabilities.
local SYS_PTRACE <const>, SYS_ADMIN <const> = 19, 21
local PERFMON <const>, BPF <const> = 38, 39

local LITTLE_SPACE <const> = 1 << 30

local function first_line(path)
  local text <const> = core.read_file(path)
  return text and text:match("^[^\n]*")
end

local function has(...)
  local own <const> = proc.self()
  if own.capable(SYS_ADMIN) then return true end
  for _, number in ipairs { ... } do
    if not own.capable(number) then return false end
  end
  return true
end

local function user()
  local own <const> = proc.self()
  local name <const> = proc.user(own.uid)
  if own.uid == 0 then return "OK", name .. ": sees the processes of all users" end
  return "OK", ("%s (uid %d): sees its own processes; root sees all"):format(name, own.uid)
end

local function runtimes()
  local rows <const> = require("sonde.targets").list()
  local n = 0
  for _, row in ipairs(rows) do
    if #row.can > 0 then n = n + 1 end
  end
  if #rows == 0 then return "OK", "none runs here that could be seen" end
  local detail <const> = ("%d of %d processes can be looked into"):format(n, #rows)
  if n == #rows then return "OK", detail end
  return "WARN", detail, "sonde ps shows what stands in the way of the others"
end

local function temporary()
  local path = os.getenv "TMPDIR"
  if path == nil or path == "" then path = "/tmp" end
  local stat <const> = uv.fs_stat(path)
  if stat == nil or stat.type ~= "directory" then
    return "FAIL", path .. " is no directory", "unset TMPDIR, or make it"
  end
  if not uv.fs_access(path, "W") then
    return "FAIL", path .. " cannot be written to", "TMPDIR=… names another directory"
  end
  return "OK", path
end

local function space()
  local stat <const> = uv.fs_statfs(uv.cwd())
  if stat == nil or stat.blocks == 0 then return nil end
  local free <const> = stat.bavail * stat.bsize
  local detail <const> = ("%s free in %s, where recordings go"):format(
    require("sonde.base.units").bytes(free), uv.cwd())
  if free < LITTLE_SPACE then return "WARN", detail, "-o FILE on another disk" end
  return "OK", detail
end

local function program_check(name, purpose, package)
  return { name = name, run = function()
    local found <const> = program.find(name)
    if found then return "OK", found end
    return "WARN", "is not installed: " .. purpose, "apt-get install " .. package
  end }
end

local function stack_program()
  local found <const> = program.find "eu-stack" or program.find "gdb"
  if found then return "OK", found end
  return "WARN", "neither eu-stack nor gdb is installed: stacks of native processes need one",
    "apt-get install elfutils"
end

local function module_check(name, purpose, library)
  return { name = "module " .. name, run = function()
    local done, message = errors.pcall(require, "sonde.c." .. name)
    if done then return "OK", purpose end
    local why = tostring(message):match("lib[%w.+-]+: cannot open[^\n]*") or "it was not built"
    return "WARN", ("%s: %s"):format(why, purpose .. " does without"), "apt-get install " .. library
      .. ", then make"
  end }
end

local function line_editing()
  if errors.pcall(require, "readline") then return "OK", "the shell has keys and completion" end
  return "WARN", "the Lua module readline is missing: the shell reads plain lines",
    "apt-get install lua-readline"
end

local function kernel()
  local name <const> = first_line "/proc/sys/kernel/osrelease"
  local major, minor = (name or ""):match("^(%d+)%.(%d+)")
  if major == nil then return "WARN", "its version cannot be read" end
  if tonumber(major) * 1000 + tonumber(minor) >= 5008 then return "OK", name end
  return "WARN", name .. ": probes and captures want Linux 5.8 or later"
end

local function paranoid()
  local level <const> = tonumber(first_line "/proc/sys/kernel/perf_event_paranoid")
  if level == nil then
    return "WARN", "this kernel has no perf events: probes and native samples need them"
  end
  local detail <const> = ("perf_event_paranoid is %d"):format(level)
  if level <= 1 or has(PERFMON) then return "OK", detail end
  return "WARN", detail .. ": native samples of other processes are refused",
    "sysctl kernel.perf_event_paranoid=1, or run as root"
end

local function bpf()
  if has(BPF, PERFMON) then
    local mode <const> = (first_line "/sys/kernel/security/lockdown" or ""):match("%[(%w+)%]")
    if mode == "confidentiality" then
      return "WARN", "the kernel is locked down (confidentiality): probes are refused"
    end
    return "OK", "we may load programs"
  end
  return "WARN", "probes need CAP_BPF and CAP_PERFMON", "run as root"
end

local function addresses()
  local level <const> = tonumber(first_line "/proc/sys/kernel/kptr_restrict")
  local symbol <const> = core.read_file("/proc/kallsyms", 64)
  if symbol == nil then
    return "WARN", "/proc/kallsyms cannot be read: kernel frames have no names"
  end
  if not symbol:find("^0+ ") then return "OK", "kernel functions have names" end
  return "WARN", ("kptr_restrict is %s: kernel functions have no addresses"):format(level or "?"),
    "sysctl kernel.kptr_restrict=0, or run as root"
end

local function tracefs()
  for _, path in ipairs { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" } do
    if core.read_file(path .. "/events/header_page") then return "OK", path end
  end
  if uv.fs_stat "/sys/kernel/tracing/events" then
    return "WARN", "/sys/kernel/tracing cannot be read: probes of tracepoints need it",
      "run as root"
  end
  return "WARN", "is not mounted: probes of tracepoints need it",
    "mount -t tracefs tracefs /sys/kernel/tracing"
end

local function probes()
  local missing = {}
  for _, name in ipairs { "uprobe", "kprobe" } do
    if first_line(("/sys/bus/event_source/devices/%s/type"):format(name)) == nil then
      missing[#missing + 1] = name
    end
  end
  if #missing == 0 then return "OK", "uprobe, kprobe" end
  return "WARN", ("this kernel has no %s"):format(table.concat(missing, ", no "))
end

local function ptrace()
  local level <const> = tonumber(first_line "/proc/sys/kernel/yama/ptrace_scope")
  if level == nil or level == 0 then return "OK", "the kernel lets a user trace own processes" end
  local detail <const> = ("yama/ptrace_scope is %d"):format(level)
  if level < 3 and proc.self().capable(SYS_PTRACE) then return "OK", detail .. ", and we may" end
  return "WARN", detail .. ": native stacks of processes that sonde did not start are refused",
    level == 3 and "the machine has to be started anew without it"
      or "sysctl kernel.yama.ptrace_scope=0, or run as root"
end

local function hidepid()
  for line in (core.read_file("/proc/self/mounts", 1 << 20) or ""):gmatch("[^\n]+") do
    local options <const> = line:match("^%S+ /proc proc (%S+)")
    local value <const> = options and options:match("hidepid=(%w+)")
    if value and value ~= "0" and value ~= "off" then
      if proc.self().uid == 0 then return "OK", "hides processes, though not from root" end
      return "WARN", ("is mounted with hidepid=%s: it hides the processes of others"):format(
        value), "run as root"
    end
  end
  return "OK", "shows all processes"
end

local function clocks()
  if core.read_file "/proc/self/schedstat" then return "OK", "true CPU time of threads" end
  return "WARN", "the kernel has no schedstat (CONFIG_SCHED_INFO): no view oncpu"
end

return {
  { name = "user", run = user },
  { name = ".NET", run = runtimes },
  { name = "temporary files", run = temporary },
  { name = "disk", run = space },
  { name = "/proc", run = hidepid },
  { name = "thread clocks", run = clocks },
  { name = "ptrace", run = ptrace },
  { name = "eu-stack, gdb", run = stack_program },
  program_check("xz", "inputs packed with it cannot be read", "xz-utils"),
  { name = "readline", run = line_editing },
  module_check("http", "Go profiles over HTTP, ClickHouse, pushing", "libcurl4-openssl-dev"),
  module_check("native", "probes, symbols of native code", "libdw-dev libiberty-dev"),
  module_check("sqlite", "captures in one file", "libsqlite3-dev"),
  { name = "kernel", run = kernel },
  { name = "perf events", run = paranoid },
  { name = "BPF", run = bpf },
  { name = "kernel addresses", run = addresses },
  { name = "tracefs", run = tracefs },
  { name = "probes", run = probes },
}
