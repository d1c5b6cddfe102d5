-- A small HTTP server for specs, in their own process and on their own loop. It
-- answers as its handlers say, also in ways that no server should.
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local http_server = {}

local Peer <const> = {}
Peer.__index = Peer

--- Writes bytes as they are.
function Peer:write(bytes)
  if not self.socket:is_closing() then self.socket:write(bytes) end
end

--- Writes a whole answer.
function Peer:reply(status, body, headers)
  local lines = { ("HTTP/1.1 %d X"):format(status), "Content-Length: " .. #body }
  for name, value in pairs(headers or {}) do lines[#lines + 1] = name .. ": " .. value end
  self:write(table.concat(lines, "\r\n") .. "\r\n\r\n" .. body)
end

--- Ends the connection when all is written.
function Peer:close()
  if self.socket:is_closing() then return end
  self.socket:shutdown(loop.guard(function() loop.close(self.socket) end))
end

local function parse(bytes)
  local head <const>, body <const> = bytes:match("^(.-\r\n)\r\n(.*)$")
  if head == nil then return nil end
  local method <const>, target <const> = head:match("^(%u+) (%S+)")
  local headers = {}
  for name, value in head:gmatch("\n([^:\r\n]+): *([^\r\n]*)") do headers[name:lower()] = value end
  local length <const> = math.tointeger(tonumber(headers["content-length"] or 0))
  if #body < length then return nil end
  return { method = method, target = target, path = target:match("^[^?]*"),
    query = target:match("%?(.*)$"), headers = headers, body = body:sub(1, length) },
    body:sub(length + 1)
end

local function serve(server, socket)
  local peer <const>, bytes = setmetatable({ socket = socket }, Peer), ""
  server.connections = server.connections + 1
  server.open[socket] = true
  socket:read_start(loop.guard(function(_, chunk)
    if chunk == nil then
      server.open[socket] = nil
      return loop.close(socket)
    end
    bytes = bytes .. chunk
    if server.raw then return server.raw(peer, chunk) end
    local request, rest = parse(bytes)
    if request == nil then return end
    bytes = rest
    server.requests[#server.requests + 1] = request
    local handler <const> = server.handlers[request.path] or server.handlers["*"]
    if handler == nil then return peer:reply(404, "404 page not found\n") end
    loop.task(handler, peer, request)
  end))
end

local Server <const> = {}
Server.__index = Server

--- Ends the server and its connections.
function Server:close()
  loop.close(self.listener)
  for socket in pairs(self.open) do loop.close(socket) end
  self.open = {}
end

Server.__close = Server.close

--- Starts one. `handlers` are by path, `"*"` for all others; each is called in a
-- task with a peer and a request `method path query headers body`. `opts`: `unix`
-- (a path to listen on), `raw` (called with a peer and bytes instead).
function http_server.start(handlers, opts)
  opts = opts or {}
  local server <const> = setmetatable({ handlers = handlers, raw = opts.raw, open = {},
    requests = {}, connections = 0 }, Server)
  local listener <const> = opts.unix and uv.new_pipe() or uv.new_tcp()
  assert(listener:bind(opts.unix or "127.0.0.1", not opts.unix and 0 or nil))
  server.listener = listener
  assert(listener:listen(128, loop.guard(function()
    local socket <const> = opts.unix and uv.new_pipe() or uv.new_tcp()
    listener:accept(socket)
    serve(server, socket)
  end)))
  if opts.unix then
    server.url = "unix:" .. opts.unix .. ":"
  else
    server.port = listener:getsockname().port
    server.url = "http://127.0.0.1:" .. server.port
  end
  return server
end

--- Calls a function in a task, so that waiting leaves the server running too.
function http_server.in_task(fn)
  return select(2, assert(loop.task(fn):join(loop.after(60 * 1000000000))))
end

return http_server
