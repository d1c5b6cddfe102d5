--- One request over TCP to a server that answers and closes.
-- @module sonde.base.tcp
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local tcp = {}

-- What libuv says, with the code that it means.
local MEANINGS <const> = {
  ECONNREFUSED = { "connection refused", "unavailable" },
  ECONNRESET = { "the connection was reset", "truncated" },
  EPIPE = { "the connection was closed", "truncated" },
  ETIMEDOUT = { "no connection: timed out", "timeout" },
  EHOSTUNREACH = { "the host cannot be reached", "unavailable" },
  ENETUNREACH = { "the network cannot be reached", "unavailable" },
  EAI_NONAME = { "no host of that name", "not_found" },
  EAI_AGAIN = { "the host's name cannot be looked up now", "unavailable" },
}

local function failure(err, name)
  local meaning <const> = MEANINGS[name or tostring(err):match("^(E[%w_]+)")]
  if meaning then return nil, meaning[1], meaning[2] end
  return nil, tostring(err), "unavailable"
end

--- Takes "host:port" apart.
-- @tparam string address
-- @treturn ?string host
-- @treturn integer|string port, or why it is no address
-- @treturn ?string code `malformed`
function tcp.parse(address)
  local host, port = address:match("^%[([%x:.]+)%]:(%d+)$")
  if host == nil then host, port = address:match("^([^%s:/]*):(%d+)$") end
  port = math.tointeger(tonumber(port))
  if host == nil or port < 1 or port > 65535 then
    return nil, ("%s: no address (host:port expected)"):format(address), "malformed"
  end
  return host == "" and "127.0.0.1" or host, port
end

local function resolve(host, deadline)
  if host:find("^[%d.]+$") or host:find(":", 1, true) then return host end
  local event <const> = loop.event()
  uv.getaddrinfo(host, nil, { socktype = "stream" }, loop.guard(function(err, list)
    event:set(err, list)
  end))
  local known, message, code = event:wait(deadline)
  if not known then return nil, message, code end
  local err, list = message, code
  if err then return failure(err) end
  return list[1].addr
end

local function connect(socket, host, port, deadline)
  local event <const> = loop.event()
  local begun, err, name = socket:connect(host, port, loop.guard(function(why) event:set(why) end))
  if not begun then return failure(err, name) end
  local happened, message, code = event:wait(deadline)
  if not happened then
    return nil, code == "timeout" and "no connection in time" or message, code
  end
  if message then return failure(message) end
  return true
end

-- A request is small, and the connection new: all of it goes at once.
local function send(socket, bytes)
  local sent <const>, message, _, name = core.send(socket:fileno(), bytes)
  if sent == nil then return failure(message, name) end
  if sent ~= #bytes then return nil, "the request is too large", "limit" end
  return true
end

-- Reads until the peer closes: all that came, and what ended it otherwise.
local function read_all(socket, opts)
  local pieces, size, over = {}, 0, loop.event()
  socket:read_start(loop.guard(function(err, chunk)
    if err then return over:set(failure(err)) end
    if chunk == nil then return over:set(true) end
    local kept <const> = chunk:sub(1, opts.max_bytes - size)
    size = size + #kept
    pieces[#pieces + 1] = kept
    if #kept < #chunk then
      socket:read_stop()
      over:set(nil, ("the answer is larger than %s"):format(
        require("sonde.base.units").bytes(opts.max_bytes)), "limit")
    end
  end))
  local happened, well, message, code = over:wait(opts.deadline)
  if not happened then message, code = well, message
  elseif well then message, code = nil, nil end
  return table.concat(pieces), message, code
end

--- Sends bytes and reads the answer until the peer closes.
-- @tparam string address "host:port"
-- @tparam string bytes
-- @tparam table opts `deadline` (of the loop), `max_bytes`
-- @treturn ?string the answer; nil when nothing was sent
-- @treturn ?string message; beside an answer it says why it may be incomplete
-- @treturn ?string code
function tcp.ask(address, bytes, opts)
  local host, port, code = tcp.parse(address)
  if host == nil then return nil, port, code end
  local resolved, message
  resolved, message, code = resolve(host, opts.deadline)
  if resolved == nil then return nil, ("%s: %s"):format(address, message), code end
  local socket <const> = uv.new_tcp()
  local _ <close> = setmetatable({}, { __close = function() loop.close(socket) end })
  local connected
  connected, message, code = connect(socket, resolved, port, opts.deadline)
  if not connected then return nil, ("%s: %s"):format(address, message), code end
  local sent
  sent, message, code = send(socket, bytes)
  if not sent then return nil, ("%s: %s"):format(address, message), code end
  local answer
  answer, message, code = read_all(socket, opts)
  return answer, message and ("%s: %s"):format(address, message), code
end

return tcp
