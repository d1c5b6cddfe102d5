--- Variables that a Go process publishes by expvar, at /debug/vars.
-- @module sonde.golang.expvar
local http <const> = require "sonde.base.http"
local proc <const> = require "sonde.process.proc"
local sockets <const> = require "sonde.process.sockets"

local expvar = {}

local SECOND <const> = 1000000000
local ANSWER <const> = 2 * SECOND
local MOST <const> = 8 << 20
local MOST_SOCKETS <const> = 16

--- Reads them.
-- @tparam string address "http://host:port", or of a Unix socket
-- @tparam ?integer timeout nanoseconds
-- @treturn ?table
-- @treturn ?string message
-- @treturn ?string code
function expvar.read(address, timeout)
  local answer, message, code = http.request { url = address .. "/debug/vars",
    timeout = timeout or ANSWER, max_bytes = MOST }
  if answer == nil then return nil, message, code end
  local refused, why = http.refusal(answer)
  if refused then return nil, refused, why end
  local data <const> = require("dkjson").decode(answer.body)
  if type(data) ~= "table" then
    return nil, address .. "/debug/vars: is no JSON object", "malformed"
  end
  return data
end

local function is_of(data, words)
  if type(data.cmdline) ~= "table" or #data.cmdline ~= #words then return false end
  for i, word in ipairs(words) do
    if data.cmdline[i] ~= word then return false end
  end
  return true
end

--- Where a process publishes them: who answers is asked for its command line.
-- @tparam integer pid
-- @treturn ?string address
-- @treturn ?string message
-- @treturn ?string code `unavailable` or `permission`
function expvar.find(pid)
  if sockets.has_own_network(pid) then
    return nil, ("process %d is in a network of its own: its ports are not reached from here")
      :format(pid), "unavailable"
  end
  local list, message, code = sockets.listening(pid)
  if list == nil then return nil, message, code end
  local words <const> = proc.command_line(pid)
  for i = 1, math.min(#list, MOST_SOCKETS) do
    local socket <const> = list[i]
    local address <const> = socket.path and "unix:" .. socket.path .. ":"
      or ("http://%s:%d"):format(socket.host, socket.port)
    local data <const> = expvar.read(address)
    if data and is_of(data, words) then return address end
  end
  return nil, ("process %d serves no /debug/vars (does it import expvar?)"):format(pid),
    "unavailable"
end

--- A number in it.
-- @tparam table data
-- @tparam string path its names, with dots between: "memstats.HeapAlloc"
-- @treturn ?number
function expvar.number(data, path)
  local value = data[path]
  if value == nil then
    value = data
    for part in path:gmatch "[^.]+" do
      if type(value) ~= "table" then return nil end
      value = value[part]
    end
  end
  return type(value) == "number" and value or nil
end

return expvar
