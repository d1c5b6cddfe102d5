--- Core dumps of .NET processes, written by their own runtime: it starts
-- `createdump`, which copies the memory while the process stands still.
-- @module sonde.dotnet.coredump
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"

local coredump = {}

local SECOND <const> = 1000000000

local UNKNOWN_COMMAND <const> = 0x80131385
local FAILED <const> = 0x80004005

-- What each type holds is the number that the protocol knows it by.
local TYPES <const> = { mini = 1, heap = 2, triage = 3, full = 4 }

--- Types of core dumps, the smallest first.
coredump.TYPES = { "triage", "mini", "heap", "full" }

-- The request by which runtimes know it, the newest first.
local COMMANDS <const> = {
  { "GenerateCoreDump3", "flags" }, { "GenerateCoreDump2", "flags" },
  { "GenerateCoreDump", "diagnostics" },
}

-- A core has tables of its own beside the memory.
local ROOM <const> = 16 << 20

--- Options of `Target:core`.
coredump.options = {
  { name = "output", short = "o", type = "path", argname = "FILE",
    help = "where the process writes it (default core.PID here)" },
  { name = "type", type = "string", choices = coredump.TYPES, default = "heap",
    help = "what it holds: triage (stacks, no personal data), mini (stacks), heap (and all"
      .. " objects), full (all memory)" },
  { name = "force", type = "boolean",
    help = "write over a file, and also when the disk may be too small" },
  { name = "timeout", type = "duration", default = 600 * SECOND, default_text = "10m",
    help = "how long it may take" },
}

local function absolute(path)
  return path:sub(1, 1) == "/" and path or uv.cwd() .. "/" .. path
end

-- Memory that a process has now, in bytes; nil when that cannot be known.
local function resident(pid)
  local core <const> = require "sonde.c.core"
  local text <const> = core.read_file(("/proc/%d/status"):format(pid))
  local kib <const> = text and text:match("\nVmRSS:%s+(%d+)")
  return kib and math.tointeger(tonumber(kib)) << 10 or nil
end

local function free_bytes(directory)
  local stat <const> = uv.fs_statfs(directory)
  return stat and stat.blocks > 0 and stat.bavail * stat.bsize or nil
end

-- Is there a folder with room for it? True, or nil, message, code, hint.
local function check_room(self)
  local units <const> = require "sonde.base.units"
  local directory <const> = self.seen:match("^(.*)/[^/]*$")
  if uv.fs_stat(directory == "" and "/" or directory) == nil then
    return nil, ("%s: there is no such directory"):format(directory), "not_found",
      self.foreign and "-o PATH as the process itself sees it" or nil
  end
  local free <const> = free_bytes(directory == "" and "/" or directory)
  if free and self.needed and self.type ~= "triage" and self.type ~= "mini"
    and free < self.needed + ROOM then
    return nil, ("%s: the core may need %s, and %s are free"):format(directory,
      units.bytes(self.needed), units.bytes(free)), "limit", "--force, or -o on another disk"
  end
  return true
end

local function check_file(self, force)
  if uv.fs_stat(self.seen) == nil then return true end
  if not force then
    return nil, ("%s: there is such a file already"):format(self.path), "unavailable",
      "--force, or -o FILE"
  end
  local done, message = uv.fs_unlink(self.seen)
  if done then return true end
  return nil, ("%s: %s"):format(self.path, message), "permission"
end

-- What helps, by the words of createdump.
local function advice(message)
  if message:find("single%-file") or message:find("[Ff]ull dump") then return "--type full" end
  if message:find("ptrace") or message:find("not permitted") then
    return "allow it in the process's container: CAP_SYS_PTRACE, kernel.yama.ptrace_scope=0"
  end
  if message:find("[Nn]o space") then return "-o on another disk, or --type mini" end
  if message:find("[Pp]ermission denied") then
    return "-o FILE where the user of the process may write"
  end
  return "is createdump beside its libcoreclr.so?"
end

-- createdump marks its lines and tells how long it took; people see one line.
local function in_one_line(message)
  return (message:gsub("%[createdump%] Failure took[^\n]*", ""):gsub("%[createdump%] ", "")
    :gsub("%s*\n%s*", "; "):gsub("[;%s]+$", ""))
end

local Core <const> = {}
Core.__index = Core

local function request(self, deadline)
  local answer, message, code, hint, hresult
  for _, row in ipairs(COMMANDS) do
    local command, last <const> = row[1], row[2]
    local fields <const> = { path = self.path, dump_type = TYPES[self.type] }
    fields[last == "flags" and "dump_flags" or "dump_diagnostics"] = 0
    answer, message, code, hint, hresult = self.target:request(command, fields, deadline)
    if answer then return true end
    if hresult ~= UNKNOWN_COMMAND then break end
  end
  if hresult ~= FAILED then return nil, message, code, hint, hresult end
  return nil, in_one_line(message), code, advice(message), hresult
end

--- Begins to write a core dump.
-- @tparam Target target
-- @tparam ?table given `output type force timeout`
-- @treturn ?Core `path` as the process sees it, `seen` from here, `needed`
--   (bytes that it may come to, nil when unknown)
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function coredump.start(target, given)
  local opts <const> = options.check(coredump.options, given, "target:core")
  local root = target.pid and proc.root(target.pid) or ""
  local path <const> = absolute(opts.output or ("core.%s"):format(target.pid or "dump"))
  local self <const> = setmetatable({ target = target, type = opts.type, path = path,
    seen = root .. path, foreign = root ~= "",
    needed = target.pid and resident(target.pid) or nil }, Core)
  local free, message, code, hint = check_file(self, opts.force)
  if free and not opts.force then free, message, code, hint = check_room(self) end
  if not free then return nil, message, code, hint end
  self.task = loop.task(request, self, loop.after(opts.timeout))
  return self
end

--- What has been written so far.
-- @treturn integer bytes
function Core:bytes()
  local stat <const> = uv.fs_stat(self.seen)
  return stat and stat.size or 0
end

--- Waits until it is written.
-- @tparam integer deadline of `loop.now`
-- @treturn ?boolean true; what a failure leaves is removed
-- @treturn ?string message
-- @treturn ?string code `timeout` when the deadline has passed and it is still
--   being written
-- @treturn ?string hint
-- @treturn ?integer hresult
function Core:wait(deadline)
  local joined, done, message, code, hint, hresult = self.task:join(deadline)
  if not joined then return nil, done, message end
  self.finished = true
  if done then return true end
  uv.fs_unlink(self.seen)
  return nil, message, code, hint, hresult
end

return coredump
