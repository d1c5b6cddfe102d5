--- A diagnostic port: runtimes connect to us, instead of us to them. One that
-- is told so in its environment waits for us at its first instruction.
-- @module sonde.dotnet.port
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"

local port = {}

local MS <const> = 1000000

-- A runtime greets at once; whoever does not is none.
local GREETING <const> = 1000 * MS
local LOOK <const> = 200 * MS   -- how often we look whether it lives at all
local FOREVER <const> = 365 * 24 * 3600 * 1000 * MS

local PRIVATE <const> = tonumber("700", 8)

--- The variable that tells a runtime where to connect.
port.VARIABLE = "DOTNET_DiagnosticPorts"

-- A runtime that has connected. It keeps one connection waiting for a request,
-- and makes another as soon as that is used.
local Runtime <const> = {}
Runtime.__index = Runtime

local function new_runtime(path, answer, pid)
  local runtime <const> = setmetatable({ cookie = answer.cookie, inner_pid = answer.pid,
    offered = loop.event() }, Runtime)
  runtime.endpoint = { path = path, pid = pid > 0 and pid or nil, reverse = runtime }
  return runtime
end

-- Only the newest connection is alive on the other side.
local function offer(runtime, socket)
  if runtime.socket then runtime.socket:close() end
  runtime.socket = socket
  runtime.offered:set()
end

--- Takes the connection that waits, for one request.
-- @tparam integer deadline
-- @return ?socket
-- @treturn ?string message
-- @treturn ?string code
function Runtime:take(deadline)
  local there, message, code
  repeat
    there, message, code = self.offered:wait(math.min(deadline, loop.after(LOOK)))
    if not there and code ~= "timeout" then return nil, message, code end
    if not there and not proc.is_alive(self.endpoint.pid) then
      return nil, "it has ended", "no_endpoint"
    end
  until there or loop.now() >= deadline
  if not there then return nil, message, code end
  local socket <const> = self.socket
  self.socket, self.offered = nil, loop.event()
  return socket
end

local Port <const> = {}
Port.__index = Port
Port.__close = function(self) self:close() end

-- Reads what a runtime says first.
local function greet(socket)
  local greeting <const> = core.ipc_advertise()
  local deadline <const> = loop.after(GREETING)
  local watch <close> = loop.watch(socket:fd())
  while true do
    local bytes <const> = socket:receive(64)
    if bytes == nil or bytes == "" then return nil end
    local done = bytes and greeting:feed(bytes)
    if bytes and done == nil then return nil end
    if done then return greeting:answer() end
    if not watch:wait("r", deadline) then return nil end
  end
end

local function welcome(self, socket)
  local pid <const> = socket:peer()
  local answer <const> = greet(socket)
  if answer == nil or self.listener == nil then
    socket:close()
    return
  end
  local known = self.runtimes[answer.cookie]
  if known then return offer(known, socket) end
  known = new_runtime(self.path, answer, pid or 0)
  self.runtimes[answer.cookie] = known
  offer(known, socket)
  self.arrived(known)
end

local function accept(self)
  local watch <close> = loop.watch(self.listener:fd())
  while self.listener and watch:wait("r", loop.after(FOREVER)) do
    local socket = self.listener and self.listener:accept()
    while socket do
      loop.task(welcome, self, socket)
      socket = self.listener:accept()
    end
  end
end

-- A place for a socket that nobody else can reach.
local function private_path()
  local base <const> = os.getenv "XDG_RUNTIME_DIR" or os.getenv "TMPDIR" or "/tmp"
  local directory, message = uv.fs_mkdtemp(base .. "/sonde-XXXXXX")
  if directory == nil then return nil, message end
  uv.fs_chmod(directory, PRIVATE)
  return directory .. "/port", directory
end

-- Takes the place of a socket on which nobody listens any more.
local function listen(path)
  local listener, message, code, name = core.unix_listen(path)
  if listener or name ~= "EADDRINUSE" then return listener, message, code end
  local busy <const>, _, _, why = core.unix_connect(path)
  if busy then busy:close() end
  if why ~= "ECONNREFUSED" then return nil, message, code end
  uv.fs_unlink(path)
  return core.unix_listen(path)
end

--- Opens a port.
-- @tparam function arrived called in a task with each runtime that comes:
--   `cookie inner_pid endpoint` (for `sonde.dotnet.target.of_endpoint`)
-- @tparam ?string path in a private directory when not given
-- @treturn ?Port `path`; to be closed
-- @treturn ?string message
-- @treturn ?string code
function port.open(arrived, path)
  local directory
  if path == nil then path, directory = private_path() end
  if path == nil then return nil, directory, "unavailable" end
  local listener, message, code = listen(path)
  if listener == nil then
    if directory then uv.fs_rmdir(directory) end
    return nil, "cannot listen: " .. message, code
  end
  local self <const> = setmetatable({ path = path, directory = directory, listener = listener,
    arrived = arrived, runtimes = {} }, Port)
  self.task = loop.task(accept, self)
  return self
end

--- Forgets a runtime whose process has ended.
-- @tparam table runtime as `arrived` got it
function Port:forget(runtime)
  if runtime.socket then runtime.socket:close() end
  runtime.socket = nil
  self.runtimes[runtime.cookie] = nil
end

--- What the variable has to be for a runtime to wait for us.
-- @treturn string
function Port:value()
  return self.path .. ",suspend,connect"
end

--- Closes the port; nothing of it stays. Runtimes do not mind.
function Port:close()
  if self.listener == nil then return end
  self.task:cancel()
  self.listener:close()
  self.listener = nil
  for _, runtime in pairs(self.runtimes) do
    if runtime.socket then runtime.socket:close() end
    runtime.socket = nil
  end
  uv.fs_unlink(self.path)
  if self.directory then uv.fs_rmdir(self.directory) end
end

return port
