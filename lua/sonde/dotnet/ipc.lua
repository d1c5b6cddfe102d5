--- Requests to a runtime's diagnostics socket.
-- The server of a runtime is one thread that reads with infinite patience: a
-- client that connects and says nothing, or half of something, holds up
-- everybody. So here a connection serves one request, which is written whole
-- at once, and is then read to its end.
-- @module sonde.dotnet.ipc
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"

local ipc = {}

local MS <const> = 1000000

--- How long a request may take unless its caller says otherwise.
ipc.TIMEOUT = 10000 * MS

-- A listener's queue that is full is tried again after this.
local RETRY <const> = 10 * MS

-- A reply that takes longer makes us look whether the process runs at all.
local PATIENCE <const> = 1000 * MS

-- What a runtime that has answered may take to end the connection.
local DRAIN <const> = 1000 * MS

local function subject(endpoint)
  if endpoint.pid then return ("process %d"):format(endpoint.pid) end
  return endpoint.path
end

local Connection <const> = {}
Connection.__index = Connection
Connection.__close = function(self) self:close() end

local function connect_message(endpoint, name, message)
  if name == "ECONNREFUSED" then
    return ("the socket of %s exists, but nobody listens: it is ending, or was killed"):format(
      subject(endpoint)), "no_endpoint"
  end
  if name == "ENOENT" then
    return ("the socket of %s is gone: %s"):format(subject(endpoint), endpoint.path), "no_endpoint"
  end
  if name == "EACCES" then
    local owner <const> = uv.fs_stat(endpoint.path)
    if owner then
      return ("%s belongs to user %s (uid %d), and only that user and root may connect"):format(
        endpoint.path, proc.user(owner.uid), owner.uid)
    end
  end
  return ("cannot connect to %s: %s"):format(subject(endpoint), message)
end

local function connect(endpoint, deadline)
  while true do
    local socket, message, code, name = core.unix_connect(endpoint.path)
    if socket then return socket end
    if name ~= "EAGAIN" then
      local words, own_code = connect_message(endpoint, name, message)
      return nil, words, own_code or code
    end
    if loop.now() >= deadline then
      return nil, ("the diagnostics queue of %s is full"):format(subject(endpoint)), "timeout"
    end
    local slept, why, reason = loop.sleep(RETRY)
    if not slept then return nil, why, reason end
  end
end

-- Is it the process we mean? A peer outside of our pid namespace has no
-- number there, which says nothing.
local function verify(socket, endpoint)
  local pid, message, code = socket:peer()
  if pid == nil then return nil, message, code end
  if pid == 0 or endpoint.pid == nil or pid == endpoint.pid then return true end
  return nil, ("the socket %s belongs to process %d, not to %d"):format(endpoint.path, pid,
    endpoint.pid), "no_endpoint"
end

-- A runtime that connects to us keeps a connection waiting for a request.
local function open_socket(endpoint, deadline)
  if endpoint.reverse == nil then return connect(endpoint, deadline) end
  local socket, message, code = endpoint.reverse:take(deadline)
  if socket then return socket end
  return nil, ("%s has not connected again: %s"):format(subject(endpoint), message), code
end

--- Connects to an endpoint. A request has to follow at once.
-- @tparam table endpoint `path`, and `pid` when it is known
-- @tparam integer deadline
-- @treturn ?Connection
-- @treturn ?string message
-- @treturn ?string code
function ipc.connect(endpoint, deadline)
  local socket, message, code = open_socket(endpoint, deadline)
  if socket == nil then return nil, message, code end
  local right, why, reason = verify(socket, endpoint)
  if not right then
    socket:close()
    return nil, why, reason
  end
  return setmetatable({ socket = socket, endpoint = endpoint, watch = loop.watch(socket:fd()) },
    Connection)
end

--- Closes. The runtime takes that as it comes.
function Connection:close()
  if self.watch == nil then return end
  self.watch:close()
  self.watch = nil
  self.socket:close()
end

-- Why a process does not answer, when its state says so.
local function silence(endpoint)
  if not proc.is_alive(endpoint.pid) then
    return ("process %d has ended"):format(endpoint.pid), "no_endpoint"
  end
  local stat <const> = endpoint.pid and proc.stat(endpoint.pid)
  if stat and (stat.state == "T" or stat.state == "t") then
    return ("process %d does not answer: it is stopped (SIGSTOP or a debugger)"):format(
      endpoint.pid), "timeout", ("kill -CONT %d"):format(endpoint.pid)
  end
  return ("%s does not answer: another client may hold its only diagnostics thread"):format(
    subject(endpoint)), "timeout"
end

-- A failed wait, put in words: nil, message, code, hint.
local function waited(endpoint, message, code)
  if code == "timeout" then return nil, silence(endpoint) end
  return nil, ("%s: %s"):format(subject(endpoint), message), code
end

--- Writes a whole message.
-- @tparam string bytes
-- @tparam integer deadline
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Connection:send(bytes, deadline)
  while true do
    local sent, message, code = self.socket:send(bytes)
    if sent == nil then
      return nil, ("%s: %s"):format(subject(self.endpoint), message), code
    end
    if sent == #bytes then return true end
    bytes = bytes:sub((sent or 0) + 1)
    local free, why, reason = self.watch:wait("w", deadline)
    if not free then return waited(self.endpoint, why, reason) end
  end
end

-- Waits for bytes; not to the deadline when the process is seen not to run.
local function wait_readable(self, deadline)
  local there, message, code = self.watch:wait("r", math.min(deadline, loop.after(PATIENCE)))
  if there or code ~= "timeout" or loop.now() >= deadline then return there, message, code end
  if self.stops then return self.watch:wait("r", deadline) end
  local stat <const> = self.endpoint.pid and proc.stat(self.endpoint.pid)
  if stat and stat.state:find("[Tt]") then return nil, message, code end
  return self.watch:wait("r", deadline)
end

-- The next bytes; "" at the end.
local function receive(self, deadline)
  while true do
    local bytes, message, code, name = self.socket:receive()
    if bytes then return bytes end
    if name == "ECONNRESET" then return "" end
    if bytes == nil then
      return nil, ("%s: %s"):format(subject(self.endpoint), message), code
    end
    local there, why, reason = wait_readable(self, deadline)
    if not there then return waited(self.endpoint, why, reason) end
  end
end

local function ended(self, message, code)
  if not proc.is_alive(self.endpoint.pid) then
    return nil, ("process %d ended while it handled the request"):format(self.endpoint.pid),
      "no_endpoint"
  end
  return nil, ("%s: %s"):format(subject(self.endpoint), message), code
end

--- Reads the reply to a command.
-- @tparam string command
-- @tparam integer deadline
-- @treturn ?table the answer; `ok` false when the runtime refused
-- @return ?string what followed the reply; else why there is none
-- @treturn ?string code
-- @treturn ?string hint
function Connection:reply(command, deadline)
  local reply <close> = core.ipc_reply(command)
  while true do
    local bytes, message, code, hint = receive(self, deadline)
    if bytes == nil then return nil, message, code, hint end
    local done, rest, why
    if bytes == "" then
      done, rest, why = reply:finish()
      if done == nil then return ended(self, rest, why) end
    else
      done, rest, why = reply:feed(bytes)
    end
    if done == nil then
      return nil, ("%s does not speak the diagnostics protocol: %s"):format(
        subject(self.endpoint), rest), why
    end
    if done then return reply:answer(), rest end
  end
end

--- Puts a runtime's refusal in words.
-- @tparam table endpoint
-- @tparam string command
-- @tparam table answer
-- @treturn nil
-- @treturn string message
-- @treturn string `runtime_error`
-- @treturn ?string hint
-- @treturn integer hresult, 0 when the reply had none
function ipc.refused(endpoint, command, answer)
  local known <const> = core.ipc_hresult(answer.hresult)
  local what = ("0x%08x"):format(answer.hresult)
  if known then what = ("%s (%s %s)"):format(known.meaning, known.name, what) end
  if answer.error then what = ("%s: %s"):format(what, answer.error) end
  return nil, ("%s refused %s: %s"):format(subject(endpoint), command, what), "runtime_error",
    known and known.advice, answer.hresult
end

-- A process stands still while its core is dumped.
local STOPS <const> = { GenerateCoreDump = true, GenerateCoreDump2 = true,
  GenerateCoreDump3 = true }

--- Makes one request and returns what a runtime answers.
-- @tparam table endpoint
-- @tparam string command
-- @tparam ?table fields of its payload
-- @tparam ?integer deadline
-- @treturn ?table the answer
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult when the code is `runtime_error`
function ipc.request(endpoint, command, fields, deadline)
  deadline = deadline or loop.after(ipc.TIMEOUT)
  local bytes, wrong, kind = core.ipc_request(command, fields or {})
  if bytes == nil then return nil, wrong, kind end
  local connection <close>, message, code = ipc.connect(endpoint, deadline)
  if connection == nil then return nil, message, code end
  connection.stops = STOPS[command]
  local sent, why, reason, hint = connection:send(bytes, deadline)
  if not sent then return nil, why, reason, hint end
  local answer
  answer, message, code, hint = connection:reply(command, deadline)
  if answer == nil then return nil, message, code, hint end
  connection:drain(deadline)
  if answer.ok then return answer end
  return ipc.refused(endpoint, command, answer)
end

--- Waits for the runtime to close, which it does after each reply.
-- @tparam integer deadline
function Connection:drain(deadline)
  deadline = math.min(deadline, loop.after(DRAIN))
  while true do
    local bytes <const> = receive(self, deadline)
    if bytes == nil or bytes == "" then return end
  end
end

-- Facts about a process, by the newest command that its runtime knows.
local INFO_COMMANDS <const> = { "ProcessInfo3", "ProcessInfo2", "ProcessInfo" }

local UNKNOWN_COMMAND <const> = 0x80131385

--- Asks a runtime who it is.
-- @tparam table endpoint
-- @tparam integer deadline
-- @tparam ?integer first 2 to leave out ProcessInfo3, which tells only the
--   runtime identifier more
-- @treturn ?table `pid` (in its own namespace) `cookie command_line system
--   architecture`, and from .NET 6 on `entry_assembly version`; `{}` for
--   runtimes before .NET 5, which have no such command
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function ipc.info(endpoint, deadline, first)
  for i = first or 1, #INFO_COMMANDS do
    local answer, message, code, hint, hresult = ipc.request(endpoint, INFO_COMMANDS[i], nil,
      deadline)
    if answer then
      answer.ok = nil
      return answer
    end
    if hresult ~= UNKNOWN_COMMAND then return nil, message, code, hint end
  end
  return {}
end

return ipc
