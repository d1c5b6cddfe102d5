--- The gops agent (github.com/google/gops): one byte asks, the answer lasts until
-- the agent closes the connection. It serves one connection at a time, so a
-- request may have to wait for another's profile.
--
--    local gops = require "sonde.golang.gops"
--    local text = assert(gops.ask(assert(gops.address(4242)), "stack"))
-- @module sonde.golang.gops
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local proc <const> = require "sonde.process.proc"
local tcp <const> = require "sonde.base.tcp"

local gops = {}

local SECOND <const> = 1000000000

-- A CPU profile and an execution trace take the agent's own time. A collection
-- can take long on a busy process.
local CPU <const>, TRACE <const> = 30 * SECOND, 5 * SECOND
local ANSWER <const>, COLLECTION <const> = 10 * SECOND, 90 * SECOND

--- The signals: `name`, `byte`, what they give, how long that may take, whether
-- an answer is binary. `set_gc_percent` has an argument.
gops.signals = {
  { name = "stack", byte = 0x1, help = "stacks of all goroutines", timeout = ANSWER },
  { name = "gc", byte = 0x2, help = "runs a garbage collection", timeout = COLLECTION },
  { name = "memstats", byte = 0x3, help = "figures of the allocator", timeout = ANSWER },
  { name = "version", byte = 0x4, help = "the version of Go", timeout = ANSWER },
  { name = "heap", byte = 0x5, help = "heap profile", timeout = ANSWER, binary = true },
  { name = "cpu", byte = 0x6, help = "CPU profile of 30 s", timeout = CPU + ANSWER,
    binary = true },
  { name = "stats", byte = 0x7, help = "numbers of goroutines, threads and processors",
    timeout = ANSWER },
  { name = "trace", byte = 0x8, help = "execution trace of 5 s", timeout = TRACE + ANSWER,
    binary = true },
  { name = "binary", byte = 0x9, help = "the executable", timeout = 60 * SECOND, binary = true },
  { name = "set_gc_percent", byte = 0x10, help = "sets GOGC; -1 is off", timeout = ANSWER },
}

local by_name, by_byte = {}, {}
for _, signal in ipairs(gops.signals) do
  by_name[signal.name], by_byte[signal.byte] = signal, signal
end

--- Options of `gops.ask`.
gops.options = {
  { name = "argument", type = "integer", help = "of set_gc_percent" },
  { name = "timeout", type = "duration", min = 1,
    help = "how long it may take (default: what the request needs, and ten seconds)" },
  { name = "max_bytes", type = "size", default = 256 << 20, default_text = "256MiB", min = 1,
    help = "most of an answer" },
}

-- The agent reads a zig-zag number.
local function zigzag(value)
  local rest, bytes = value < 0 and ~(value << 1) or value << 1, {}
  repeat
    local low <const> = rest & 0x7f
    rest = rest >> 7
    bytes[#bytes + 1] = string.char(rest ~= 0 and low | 0x80 or low)
  until rest == 0
  return table.concat(bytes)
end

local function request_of(what, opts)
  local signal <const> = by_name[what] or by_byte[what]
  local byte <const> = signal and signal.byte or what
  if math.type(byte) ~= "integer" or byte < 0 or byte > 255 then
    error(("bad argument to 'gops.ask' (a signal or a byte expected, got %s)"):format(
      tostring(what)), 3)
  end
  local argument = ""
  if signal and signal.name == "set_gc_percent" then
    if opts.argument == nil then error("bad options to 'gops.ask' (argument is missing)", 3) end
    argument = zigzag(opts.argument)
  end
  return string.char(byte) .. argument, signal,
    signal and signal.name or ("request 0x%x"):format(byte)
end

-- Nothing in time means that a handler failed: the agent writes that to its own
-- error output and leaves the connection open.
local function nothing(address, name, signal, code)
  if code == "timeout" then
    return nil, ("%s: the gops agent took the request %s and sent nothing in time: another request"
      .. " may be running, or a CPU profile"):format(address, name), "timeout"
  end
  if signal == nil then
    return nil, ("%s: the gops agent does not know %s"):format(address, name), "unavailable"
  end
  return nil, ("%s: nothing in answer to %s: an agent that does not know it, or no gops agent")
    :format(address, name), "unavailable"
end

--- Asks an agent.
-- @tparam string address "host:port"
-- @param what the name of a signal, or any byte
-- @tparam ?table given see `gops.options`
-- @treturn ?string the answer as it came
-- @treturn ?string message; beside an answer it says that it is incomplete
-- @treturn ?string code `unavailable timeout truncated malformed limit not_found`
function gops.ask(address, what, given)
  local opts <const> = options.check(gops.options, given, "gops.ask")
  local bytes <const>, signal <const>, name <const> = request_of(what, opts)
  local timeout <const> = opts.timeout or signal and signal.timeout or ANSWER
  local answer, message, code = tcp.ask(address, bytes, {
    deadline = loop.after(timeout), max_bytes = opts.max_bytes,
  })
  if answer == nil then return nil, message, code end
  if answer == "" then return nothing(address, name, signal, code) end
  if answer:find("^HTTP/1") then
    return nil, ("%s: an HTTP server and no gops agent"):format(address), "malformed",
      "sonde http://" .. address
  end
  -- Bytes that the agent did not read make the system reset the connection
  -- behind a complete answer.
  if code == "truncated" then return answer end
  return answer, message, code
end

-- Where agents of somebody with this environment leave their port files.
local function directory_of(environment)
  if (environment.GOPS_CONFIG_DIR or "") ~= "" then return environment.GOPS_CONFIG_DIR end
  local config <const>, home <const> = environment.XDG_CONFIG_HOME or "", environment.HOME or ""
  if config ~= "" then return config .. "/gops" end
  if home ~= "" then return home .. "/.config/gops" end
end

local function own_environment()
  local own <const> = {}
  for _, name in ipairs { "GOPS_CONFIG_DIR", "XDG_CONFIG_HOME", "HOME" } do
    own[name] = os.getenv(name)
  end
  return own
end

-- The files in which a process's port may be: by our environment, and by its own
-- as it sees it.
local function candidates(pid)
  local paths, seen = {}, {}
  local function add(root, environment, number)
    local directory <const> = directory_of(environment)
    local path <const> = directory and ("%s%s/%d"):format(root, directory, number)
    if path and not seen[path] then
      seen[path] = true
      paths[#paths + 1] = path
    end
  end
  add("", own_environment(), pid)
  local status <const> = proc.status(pid)
  local its <const> = proc.environment(pid)
  if status and its then
    if not status.nested then add("", its, pid) end
    add(("/proc/%d/root"):format(pid), its, status.inner_pid)
  end
  return paths
end

-- A port, or why a file does not hold one.
local function port_in(path)
  local content <const>, _, code <const> = core.read_file(path, 64)
  if content == nil then return nil, nil, code end
  local word <const> = content:match("^%s*(.-)%s*$")
  local port <const> = word:find("^%d+$") and math.tointeger(tonumber(word))
  if port and port >= 1 and port <= 65535 then return port end
  return nil, ('port file %s holds "%s", expected a port number'):format(path,
    require("sonde.base.text").printable(word)), "malformed"
end

--- The port file of a process's agent.
-- @tparam integer pid
-- @treturn ?string path
-- @treturn integer|string port, or a message that names all places that were tried
-- @treturn ?string code `not_found` or `malformed`
function gops.port_file(pid)
  local paths <const>, wrong = candidates(pid), nil
  for _, path in ipairs(paths) do
    local port, why, code = port_in(path)
    if port then return path, port end
    wrong = wrong or why and { why, code }
  end
  if wrong then return nil, wrong[1], wrong[2] end
  return nil, ("process %d has no gops port file (tried %s)"):format(pid,
    #paths > 0 and table.concat(paths, ", ") or "nothing: no home directory is known"), "not_found"
end

--- The address of a process's agent, by its port file: an agent that listens
-- elsewhere than on the loopback cannot be found so.
-- @tparam integer pid
-- @treturn ?string "127.0.0.1:port"
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function gops.address(pid)
  local path <const>, port <const>, code <const> = gops.port_file(pid)
  if path == nil then return nil, port, code, "--gops HOST:PORT" end
  if proc.stat(pid) == nil then
    return nil, ("port file %s is stale: process %d is not running"):format(path, pid), "not_found"
  end
  return "127.0.0.1:" .. port
end

--- The processes that have port files in our own directory.
-- @treturn {table,...} in order of pid: `pid path`, `port` or `reason` (why the file
--   holds none), `running`
function gops.list()
  local uv <const> = require "sonde.base.uv"
  local directory <const> = directory_of(own_environment())
  local list = {}
  local request <const> = directory and uv.fs_scandir(directory)
  while request do
    local name <const> = uv.fs_scandir_next(request)
    if name == nil then break end
    local pid <const> = name:find("^%d+$") and math.tointeger(tonumber(name))
    if pid then
      local path <const> = directory .. "/" .. name
      local port, reason = port_in(path)
      list[#list + 1] = { pid = pid, path = path, port = port, reason = reason,
        running = proc.stat(pid) ~= nil }
    end
  end
  table.sort(list, function(a, b) return a.pid < b.pid end)
  return list
end

return gops
