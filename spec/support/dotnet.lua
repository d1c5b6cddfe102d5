-- .NET processes to look into: builds the programs of spec/targets/dotnet with
-- the SDK, for several runtimes, and runs them. Without an SDK, or without
-- the packages of an older runtime, tests are skipped and say so.
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local dotnet = {}

local SOURCES <const> = "spec/targets/dotnet"
local MS <const> = 1000000

local function place(name, version)
  local build <const> = os.getenv "SONDE_BUILD" or "build"
  local base <const> = build:sub(1, 1) == "/" and build or uv.cwd() .. "/" .. build
  return ("%s/targets/%s-%s"):format(base, name, version)
end

-- The sources are copied, because the SDK leaves its things beside them.
local BUILD <const> = [[
set -e
rm -rf %s
mkdir -p %s/src
cp -r %s/Directory.Build.props %s/%s %s/src
cd %s/src/%s
dotnet publish -p:SondeRuntime=%s -c Release -o ../../out --nologo -v quiet
]]

local failed <const> = {}   -- programs that could not be built, and why

local function build(name, version)
  local to <const> = place(name, version)
  local out, status, err = helper.run(BUILD:format(to, to, SOURCES, SOURCES, name, to, to, name,
    version))
  if status == 0 then return end
  local why = (out .. err):match("error [^\n]*") or "the build failed"
  failed[to] = (".NET %s: %s"):format(version, why:gsub("%s*%[.*", ""))
end

--- The program of a target; it is built first when its sources are newer.
function dotnet.program(name, version)
  helper.needs "dotnet"
  local to <const> = place(name, version)
  local program <const> = ("%s/out/target-%s"):format(to, name)
  if failed[to] then helper.skip(failed[to]) end
  local newer <const> = helper.run(("find %s/%s %s/*.props -newer %s 2>/dev/null || echo none")
    :format(SOURCES, name, SOURCES, program))
  if newer ~= "" then build(name, version) end
  if failed[to] then helper.skip(failed[to]) end
  return program
end

local Process <const> = {}
Process.__index = Process
Process.__close = function(self) self:close() end

local function on_output(process, chunk)
  process.output = process.output .. (chunk or "")
  process.ended = chunk == nil
  process.news:set()
  process.news = loop.event()
end

local function environment_of(more)
  local list = {}
  for name, value in pairs(uv.os_environ()) do
    if (more or {})[name] == nil then list[#list + 1] = name .. "=" .. value end
  end
  for name, value in pairs(more or {}) do
    if value then list[#list + 1] = name .. "=" .. value end
  end
  return list
end

--- What a target's environment is without: a sanitizer of ours is not its own, and
-- slows parts of it down.
dotnet.OWN_ENVIRONMENT = { LD_PRELOAD = false }

--- Runs any program: `{ program, argument, … }`, `env` (false unsets), `uid`,
-- `gid`, `cwd`.
function dotnet.spawn(words, opts)
  opts = opts or {}
  local process <const> = setmetatable({ output = "", news = loop.event(), exit = loop.event(),
    stdin = uv.new_pipe(), stdout = uv.new_pipe() }, Process)
  local handle, pid = uv.spawn(words[1], {
    args = table.move(words, 2, #words, 1, {}), stdio = { process.stdin, process.stdout, 2 },
    env = environment_of(opts.env), uid = opts.uid, gid = opts.gid, cwd = opts.cwd,
  }, loop.guard(function(code, signal) process.exit:set(code, signal) end))
  assert(handle, pid)
  process.handle, process.pid = handle, pid
  process.start_time = (require("sonde.process.proc").stat(pid) or {}).start_time
  process.tmp = opts.env and opts.env.TMPDIR or os.getenv "TMPDIR" or "/tmp"
  process.stdout:read_start(loop.guard(function(_, chunk) on_output(process, chunk) end))
  return process
end

--- Runs a target and waits until it says that it is ready.
function dotnet.start(name, version, opts)
  opts = opts or {}
  local words = { dotnet.program(name, version) }
  table.move(opts.args or {}, 1, #(opts.args or {}), 2, words)
  local env = {}
  for _, from in ipairs { dotnet.OWN_ENVIRONMENT, opts.env or {} } do
    for variable, value in pairs(from) do env[variable] = value end
  end
  local process <const> = dotnet.spawn(words, { env = env, uid = opts.uid, gid = opts.gid,
    cwd = opts.cwd })
  if opts.wait ~= false then assert(process:line "^ready", "the target did not start") end
  return process
end

-- The process of this name somewhere below another.
local function descendant(pid, name)
  local proc <const> = require "sonde.process.proc"
  for _ = 1, 200 do
    for _, candidate in ipairs(proc.pids()) do
      local stat <const> = proc.stat(candidate)
      if stat and stat.name == name and proc.descends(candidate, pid) then return candidate end
    end
    loop.sleep(50 * MS)
  end
  error(("no %s was started"):format(name))
end

--- Runs a target in a mount and a pid namespace of its own, with its own /tmp. Gives
-- what holds it, and its pid as it is seen from here.
function dotnet.start_apart(name, version)
  local _, status = helper.run "unshare -m -p -f --mount-proc true"
  if status ~= 0 then helper.skip "unshare is not allowed here" end
  local program <const> = dotnet.program(name, version)
  local folder <const> = program:match("^(.*)/")
  -- The program may itself be below the /tmp that is hidden here.
  local script <const> = ("exec 9<%s && mount -t tmpfs tmpfs /tmp && mkdir -p %s && "
    .. "mount -c --bind /proc/$$/fd/9 %s && exec %s"):format(folder, folder, folder, program)
  local outer <const> = dotnet.spawn { "unshare", "-m", "-p", "-f", "--kill-child",
    "--mount-proc", "sh", "-c", script }
  assert(outer:line "^ready", "the target did not start")
  return outer, descendant(outer.pid, ("target-" .. name):sub(1, 15))
end

--- The next line of output that matches; nil when none came in time.
function Process:line(pattern, seconds)
  local deadline <const> = loop.after((seconds or 20) * 1000 * MS)
  while true do
    local line, rest = self.output:match("^([^\n]*)\n(.*)$")
    if line then
      self.output = rest
      if line:find(pattern or "") then return line end
    elseif self.ended or not self.news:wait(deadline) then
      return nil
    end
  end
end

--- Sends a command and returns the line that answers.
function Process:command(text)
  self.stdin:write(text .. "\n")
  return self:line()
end

--- Waits for the end: exit status and signal, or nil.
function Process:wait(seconds)
  local done, code, signal = self.exit:wait(loop.after((seconds or 20) * 1000 * MS))
  if done then return code, signal end
end

--- Sends a signal by number.
function Process:kill(signal)
  uv.kill(self.pid, signal)
end

-- A runtime that is killed leaves its socket and its pipes.
local function remove_leftovers(process)
  if process.start_time == nil then return end
  local id <const> = ("%d-%d"):format(process.pid, process.start_time)
  os.remove(("%s/dotnet-diagnostic-%s-socket"):format(process.tmp, id))
  for _, direction in ipairs { "in", "out" } do
    os.remove(("%s/clr-debug-pipe-%s-%s"):format(process.tmp, id, direction))
  end
end

--- Ends it, whatever it does, and leaves nothing of it.
function Process:close()
  if self.handle == nil then return end
  if not self.exit:is_set() then
    uv.kill(self.pid, 18)
    uv.kill(self.pid, 9)
    self:wait()
  end
  for _, handle in ipairs { self.handle, self.stdin, self.stdout } do
    loop.close(handle)
  end
  self.handle = nil
  remove_leftovers(self)
end

--- Runs the command in the background: a process that also has `said()`, what it
-- wrote to stderr so far, and `await(pattern)`, which waits until that matches.
function dotnet.sonde(directory, ...)
  local path <const> = directory .. "/err"
  os.remove(path)
  local process <const> = dotnet.spawn({ "sh", "-c", 'exec "$@" 2>' .. helper.quote(path), "sh",
    helper.command, ... })
  function process.said() return helper.read(path) or "" end
  function process:await(pattern)
    for _ = 1, 1000 do
      if self.said():find(pattern) then return true end
      loop.sleep(20 * MS)
    end
    error(("'%s' was not said, but: %s"):format(pattern, self.said()))
  end
  return process
end

--- Threads of a process with this name: the runtime has one that streams for
-- each open session.
function dotnet.sessions(pid)
  local n = -1   -- the diagnostics server itself
  for _, name in pairs(require("sonde.process.proc").thread_names(pid)) do
    if name == ".NET EventPipe" then n = n + 1 end
  end
  return n
end

--- Is no session open any more? A runtime may take a while to end its threads.
function dotnet.has_no_sessions(pid)
  for _ = 1, 1500 do
    if dotnet.sessions(pid) <= 0 then return true end
    loop.sleep(20 * MS)
  end
  return false
end

return dotnet
