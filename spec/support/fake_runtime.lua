-- A diagnostics server that a spec tells how to misbehave. It runs as tasks
-- on the loop of the spec, and notes whatever clients do: a real runtime is
-- never fed with what might harm it.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"
local wire <const> = require "spec.support.wire"

local fake = {}

local MS <const> = 1000000
local FOREVER <const> = 60000 * MS

--- A whole stream of a real runtime.
function fake.trace()
  return helper.read(helper.data "demo.nettrace")
end

local Connection <const> = {}
Connection.__index = Connection

--- Writes bytes, all of them; nil when the client has gone.
function Connection:write(bytes)
  while #bytes > 0 do
    if self.watch == nil then return nil end
    local n = self.socket:send(bytes)
    if n == nil then return nil end
    bytes = bytes:sub((n or 0) + 1)
    if #bytes > 0 then
      local ready <const> = self.watch:wait("w", loop.after(FOREVER))
      if not ready then return nil end
    end
  end
  return true
end

--- Writes one byte after the other, each on its own.
function Connection:dribble(bytes)
  for i = 1, #bytes do
    if not self:write(bytes:sub(i, i)) then return nil end
    loop.sleep(0)
    if i % 8 == 0 then loop.sleep(MS) end
  end
  return true
end

--- The next bytes; nil when the client has gone or is silent.
function Connection:read(ms)
  while true do
    local bytes <const> = self.socket:receive()
    if bytes == nil or bytes == "" then return nil end
    if bytes then return bytes end
    if not self.watch:wait("r", loop.after((ms or 60000) * MS)) then return nil end
  end
end

function Connection:close()
  if self.watch == nil then return end
  self.watch:close()
  self.socket:close()
  self.watch = nil
end

local Server <const> = {}
Server.__index = Server

-- Reads a request. `pieces` counts how many reads it took: clients have to
-- send it at once.
local function read_request(connection)
  local bytes, pieces = "", 0
  while #bytes < 20 or #bytes < ("<I2"):unpack(bytes, 15) do
    local more <const> = connection:read()
    if more == nil then return nil, bytes end
    bytes, pieces = bytes .. more, pieces + 1
  end
  local request <const> = wire.request(bytes)
  request.pieces = pieces
  return request
end

local FACTS <const> = {
  command_line = "/opt/fake --x", entry_assembly = "fake", version = "10.0.9",
}

local function info_of(server, version)
  local facts = { pid = uv.os_getpid() }
  for name, value in pairs(FACTS) do facts[name] = server.behaviour[name] or value end
  return wire.ok(wire.info(version, facts))
end

-- A session as a runtime runs it: a first part at once, the rest when it is
-- asked to stop, then the end, and only then the answer to the stop.
local function run_session(server, connection, request)
  server.next_id = server.next_id + 1
  local session <const> = { id = server.next_id, request = request, stopping = loop.event(),
    over = loop.event(), connection = connection }
  server.sessions[session.id] = session
  server.open = server.open + 1
  local reply <const> = wire.ok(("<I8"):pack(session.id))
  local stream <const> = server.behaviour.stream
  if stream then
    stream(connection, session, reply)
  else
    local bytes <const> = fake.trace()
    connection:write(reply .. bytes:sub(1, #bytes // 2))
    session.stopping:wait(loop.after(FOREVER))
    connection:write(bytes:sub(#bytes // 2 + 1))
  end
  connection:close()
  server.open = server.open - 1
  session.over:set()
end

local function run_stop(server, connection, request)
  local session <const> = server.sessions[request.session]
  server.stops = server.stops + 1
  if session then
    session.stopping:set()
    session.over:wait(loop.after(FOREVER))
  end
  connection:write(wire.ok(("<I8"):pack(request.session)))
end

local HANDLERS <const> = {
  [0x0400] = function(server, c) c:write(info_of(server, 1)) end,
  [0x0404] = function(server, c) c:write(info_of(server, 2)) end,
  [0x0408] = function(server, c) c:write(info_of(server, 3)) end,
  [0x0402] = function(_, c)
    local payload, body = wire.environment { "A=1", "B=x=y" }
    c:write(wire.ok(payload) .. body)
  end,
  [0x0201] = run_stop,
}
for number = 2, 7 do HANDLERS[0x0200 | number] = run_session end

local function serve(server, socket)
  local connection <const> = setmetatable({ socket = socket, watch = loop.watch(socket:fd()) },
    Connection)
  server.connections = server.connections + 1
  local request, junk = read_request(connection)
  if request then
    server.requests[#server.requests + 1] = request
    local key <const> = request.set << 8 | request.number
    local own <const> = server.behaviour[key] or server.behaviour.any
    if own ~= "default" then
      (own or HANDLERS[key] or function(_, c) c:write(wire.error(0x80131385)) end)(server,
        connection, request)
    end
  elseif junk ~= "" then
    server.junk = server.junk + 1
  end
  connection:close()
end

local function accept(server)
  local watch <close> = loop.watch(server.listener:fd())
  while watch:wait("r", loop.after(FOREVER)) do
    local socket <const> = server.listener:accept()
    if socket then
      server.tasks[#server.tasks + 1] = loop.task(serve, server, socket)
    end
  end
end

--- Starts a server at a path. `behaviour` has functions of the server, the
-- connection and the request by `set << 8 | number`, `stream(connection,
-- session, reply)`, and facts for ProcessInfo.
function fake.start(path, behaviour)
  local server <const> = setmetatable({ path = path, behaviour = behaviour or {}, requests = {},
    sessions = {}, tasks = {}, connections = 0, open = 0, stops = 0, next_id = 0, junk = 0,
    listener = assert(core.unix_listen(path)) }, Server)
  server.task = loop.task(accept, server)
  return server
end

--- The requests that came, as "set/number".
function Server:heard()
  local heard = {}
  for i, request in ipairs(self.requests) do
    heard[i] = ("%d/%d"):format(request.set, request.number)
  end
  return heard
end

--- Ends the server, as a process that is killed would.
function Server:close()
  self.task:cancel()
  for _, task in ipairs(self.tasks) do task:cancel() end
  for _, session in pairs(self.sessions) do session.connection:close() end
  loop.sleep(2 * MS)
  self.listener:close()
end

--- Runs a test with a fake runtime, the target that it is, and a directory.
function fake.with(behaviour, use)
  helper.in_directory(function(directory)
    local server <const> = fake.start(directory .. "/socket", behaviour)
    local ok, what = xpcall(use, debug.traceback,
      require("sonde").target { socket = server.path }, server, directory)
    server:close()
    if not ok then error(what, 0) end
  end)
end

--- What any server may expect, whatever happened: every request was whole and
-- alone on its connection.
function fake.assert_clean(server)
  assert(server.junk == 0, "a client connected and said half of something")
  for _, request in ipairs(server.requests) do
    assert(request.pieces == 1, "a request came in pieces")
  end
end

return fake
