--- What code is called that a compiler made while the process ran. In this
-- order it is known from: the runtime itself (.NET, asked by a session that has
-- nothing but the description of methods), a jitdump, a perf map. Each address
-- has the first name that is found.
--
--    local names = jit.of(processes.look(pid))
--    print(names:find(address).name)
--
-- @module sonde.probe.jit
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"
local symbols <const> = require "sonde.symbols"
local uv <const> = require "sonde.base.uv"

local jit = {}

--- What is said of a file whose functions have no names.
jit.GONE = "%s is not the file that was mapped (it was replaced or deleted): its functions have no"
  .. " names"

local SECOND <const> = 1000000000

-- How long a runtime may take to describe its methods.
local PATIENCE <const> = 10 * SECOND

-- While single hits are shown methods are compiled: an address that nobody knows is
-- worth asking again, but not more often.
local AGAIN <const> = 30 * SECOND

-- The tier of bodies that replaced others while these ran (on-stack replacement).
local REPLACED <const> = "Tier1-OSR"

-- Times of starts are told in whole seconds, and clocks are set now and then.
local SLACK_SECONDS <const> = 2

local Names <const> = {}
Names.__index = Names

local function tell(self, message, ...)
  self.problems[#self.problems + 1] = message:format(...)
end

-- Whoever may write to /tmp can leave a file there for any process: its owner
-- must be the process's or root, and it must not be an earlier process's.
local function is_trusted(self, path)
  local stat <const>, seen = uv.fs_stat(path), self.seen
  if stat == nil then return false end
  if seen.uid and stat.uid ~= seen.uid and stat.uid ~= 0 then
    tell(self, "%s is of %s, and process %d of %s: it names nothing (rm it, or chown it)", path,
      proc.user(stat.uid), seen.pid, proc.user(seen.uid))
    return false
  end
  if seen.started_at and stat.mtime.sec < seen.started_at - SLACK_SECONDS then
    tell(self, "%s is older than process %d: an earlier process of that number left it, and it"
      .. " names nothing (rm it)", path, seen.pid)
    return false
  end
  return true
end

-- A compiler maps its dump so that others find it; by default it is in /tmp.
local function dump_paths(seen)
  local paths = {}
  for _, mapping in ipairs(seen.mappings or {}) do
    local path <const> = mapping.path:gsub(" %(deleted%)$", "")
    if path:find "/jit%-%d+%.dump$" then
      paths[#paths + 1] = seen.root .. path
      paths[#paths + 1] = ("/proc/%d/map_files/%x-%x"):format(seen.pid, mapping.from, mapping.to)
    end
  end
  paths[#paths + 1] = ("%s/tmp/jit-%d.dump"):format(seen.root, seen.inner_pid)
  return paths
end

local function map_paths(seen)
  local path <const> = ("/tmp/perf-%d.map"):format(seen.inner_pid)
  if seen.root == "" then return { path } end
  return { seen.root .. path, ("/tmp/perf-%d.map"):format(seen.pid) }
end

local function read_dump(self, map, path)
  local n, about = map:jitdump(path)
  if n == nil then return tell(self, "%s", about) end
  if about.pid ~= self.seen.inner_pid then
    tell(self, "%s says that it is of process %d", path, about.pid)
  end
  if about.damaged > 0 then
    tell(self, "%s: %d damaged records were left out", path, about.damaged)
  end
end

local function read_map(self, map, path)
  local n, message = map:perf_map(path)
  if n == nil then tell(self, "%s", message) end
end

-- The first of several files that is there and may be used.
local function first_of(self, paths, read)
  for _, path in ipairs(paths) do
    if core.path_info(path) == "file" and is_trusted(self, path) then
      local map <const> = symbols.native().codemap()
      read(self, map, path)
      return map
    end
  end
  return false
end

local function is_dotnet(seen)
  for _, mapping in ipairs(seen.mappings or {}) do
    if mapping.path:find "/libcoreclr%.so" then return true end
  end
  return false
end

local function runtime_names(self)
  local seen <const> = self.seen
  local stat <const> = not seen.has_ended and proc.stat(seen.pid) or nil
  if stat == nil or stat.state == "Z" or seen.start_time and stat.start_time ~= seen.start_time then
    if is_dotnet(seen) then
      tell(self, "process %d (%s) ended before its runtime could be asked what its methods are"
        .. " called: end the recording before the process ends", seen.pid, seen.name or "?")
    end
    return false
  end
  local target <const>, why = require("sonde.dotnet.target").of_pid(seen.pid)
  if target == nil then
    if is_dotnet(seen) then tell(self, "names of methods are missing: %s", why) end
    return false
  end
  local known <const>, reason = require("sonde.dotnet.names").of(target,
    { fresh = true, timeout = PATIENCE })
  if known == nil then
    tell(self, "names of methods of process %d are missing: %s", seen.pid, reason)
  end
  return known or false
end

local function runtime_frame(self, address)
  if self.runtime == nil then self.runtime = runtime_names(self) end
  local frame = self.runtime and self.runtime:frame(address)
  if self.runtime and not frame and loop.now() - self.runtime.taken_at > AGAIN then
    self.runtime = runtime_names(self)
    frame = self.runtime and self.runtime:frame(address)
  end
  if not frame then return nil end
  return { name = frame.type ~= "" and frame.type .. "." .. frame.method or frame.method,
    module = frame.assembly, is_replacement = frame.tier == REPLACED }
end

local function map_frame(map, address)
  if not map then return nil end
  local name, start, file, line = map:find(address)
  return name and { name = name, start = start, file = file, line = line }
end

--- What the code at an address is called.
-- @tparam integer address of the process
-- @treturn ?table `name`, and what is known of: `start` (where the function begins),
--   `module` (the assembly), `file line` (of the source), `is_replacement` (a body
--   that replaced another while that ran); nil when nothing is known there
function Names:find(address)
  local found = runtime_frame(self, address)
  if found then return found end
  if self.dump == nil then self.dump = first_of(self, dump_paths(self.seen), read_dump) end
  found = map_frame(self.dump, address)
  if found then return found end
  if self.map == nil then self.map = first_of(self, map_paths(self.seen), read_map) end
  return map_frame(self.map, address)
end

--- Names of a process's compiled code; nothing is looked for before it is asked
-- for.
-- @tparam table seen of `sonde.probe.processes.look`, at least `pid root inner_pid`
-- @tparam ?Names runtime what the runtime told already, of `sonde.dotnet.names`
-- @treturn Names `problems` (texts for people)
function jit.of(seen, runtime)
  return setmetatable({ seen = seen, problems = {}, runtime = runtime }, Names)
end

return jit
