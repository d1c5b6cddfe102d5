--- Addresses of HTTP servers: `http://host:port/path`, `https://…`, and Unix
-- sockets as `unix:/path/to.sock:/path` or `http+unix://%2Fpath%2Fto.sock/path`.
-- @module sonde.base.url
local secrets <const> = require "sonde.base.secrets"

local url = {}

local function unescape(text)
  return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

--- Text as it may stand in a query.
-- @tparam string text
-- @treturn string
function url.escape(text)
  return (text:gsub("[^%w%-._~]", function(byte) return ("%%%02X"):format(byte:byte()) end))
end

--- Could this be an address?
-- @tparam string text
-- @treturn boolean
function url.is(text)
  return text:find("^[hH][tT][tT][pP][sS]?://") ~= nil or text:find("^http%+unix://") ~= nil
    or text:find("^unix:/") ~= nil
end

--- An address as it may be shown: without its password.
-- @tparam string text
-- @treturn string
function url.shown(text)
  return secrets.words({ text })[1]
end

local function split_path(rest)
  local authority <const>, path <const> = rest:match("^([^/?#]*)(.*)$")
  local clean = path:gsub("#.*$", "")
  if clean:sub(1, 1) ~= "/" then clean = "/" .. clean end
  return authority, clean
end

local function of_socket(path, rest)
  if path == "" then return nil, "no path of a socket in it" end
  if rest == "" then rest = "/" end
  return { scheme = "http", host = "localhost", port = 80, unix_socket = path,
    origin = "unix:" .. path, path = rest:gsub("#.*$", "") }
end

local PORTS <const> = { http = 80, https = 443 }

local function of_host(scheme, rest)
  local authority <const>, path <const> = split_path(rest)
  local userinfo, place = authority:match("^(.*)@([^@]*)$")
  place = place or authority
  local host, port = place:match("^(%[[%x:.%%]+%]):?(%d*)$")
  if host == nil then host, port = place:match("^([^:%[%]]+):?(%d*)$") end
  if host == nil then return nil, "no host in it" end
  port = port == "" and PORTS[scheme] or math.tointeger(tonumber(port))
  if port == 0 or port > 65535 then return nil, "no such port" end
  local user, password = (userinfo or ""):match("^([^:]*):?(.*)$")
  return { scheme = scheme, host = host:lower(), port = port, path = path,
    user = userinfo and unescape(user) or nil, password = userinfo and unescape(password) or nil,
    origin = ("%s://%s"):format(scheme, place:lower()) }
end

--- Takes an address apart.
-- @tparam string text
-- @treturn ?table `scheme` ("http" or "https"), `host port path` (with the
--   query), `origin` (what a path may be put behind), `user password unix_socket`
--   when there are such
-- @treturn ?string why it is none
-- @treturn ?string code `malformed`
function url.parse(text)
  local parsed, why
  if text:find("[%c ]") then
    why = "a blank or a control in it"
  elseif text:find("^http%+unix://") then
    local socket <const>, rest <const> = split_path(text:sub(13))
    parsed, why = of_socket(unescape(socket), rest)
  elseif text:find("^unix:/") then
    local socket, rest = text:match("^unix:(/.-):(/.*)$")
    parsed, why = of_socket(socket and socket or text:sub(6), rest or "/")
  else
    local scheme <const>, rest <const> = text:match("^(%a+)://(.*)$")
    local known <const> = scheme and scheme:lower()
    if PORTS[known] == nil then
      why = "no http, https or Unix socket"
    else
      parsed, why = of_host(known, rest)
    end
  end
  if parsed then return parsed end
  return nil, ("%s: no address: %s"):format(url.shown(text), why), "malformed"
end

--- Is the server on this machine? Those are asked without a proxy.
-- @tparam table parsed
-- @treturn boolean
function url.is_local(parsed)
  local host <const> = parsed.host
  return parsed.unix_socket ~= nil or host == "localhost" or host == "[::1]"
    or host:find("^127%.%d+%.%d+%.%d+$") ~= nil or host:find("%.localhost$") ~= nil
end

--- The address of another path on the same server.
-- @tparam table parsed
-- @tparam string path with its query
-- @treturn string
function url.at(parsed, path)
  if parsed.unix_socket then return ("unix:%s:%s"):format(parsed.unix_socket, path) end
  return parsed.origin .. path
end

return url
