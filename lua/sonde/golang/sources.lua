--- Where a running Go process can be asked: its pprof server, found by the sockets
-- on which it listens, and its gops agent, found by the port file. Who answers is
-- asked for its command line first, so that it is the process that was meant.
-- @module sonde.golang.sources
local gops <const> = require "sonde.golang.gops"
local loop <const> = require "sonde.base.loop"
local pprof <const> = require "sonde.golang.pprof"
local proc <const> = require "sonde.process.proc"
local sockets <const> = require "sonde.process.sockets"
local text <const> = require "sonde.base.text"

local sources = {}

local MS <const> = 1000000

-- A server on this machine answers at once, or is busy; sockets that are tried.
local ANSWER <const> = 2000 * MS
local MOST_SOCKETS <const> = 16

local function same_words(a, b)
  if #a ~= #b then return false end
  for i, word in ipairs(a) do
    if word ~= b[i] then return false end
  end
  return true
end

local function address_of(socket)
  if socket.path then return "unix:" .. socket.path .. ":" end
  return ("http://%s:%d"):format(socket.host, socket.port)
end

-- Does the process answer there? Otherwise why not.
local function ask(address, words, timeout)
  local got, message, code = pprof.command_line(address, { timeout = timeout })
  if got == nil then
    if code == "not_found" then return nil, "serves no /debug/pprof" end
    return nil, message:gsub("^.-: ", "", 1)
  end
  if not same_words(got, words) then return nil, "answers for another process" end
  return true
end

-- Asks all sockets at once, until one answers: others may be silent.
local function ask_all(list, words, timeout)
  local over, reasons, left = loop.event(), {}, math.min(#list, MOST_SOCKETS)
  local tasks = {}
  for i = 1, left do
    local address <const> = address_of(list[i])
    tasks[i] = loop.task(function()
      local answers, why = ask(address, words, timeout)
      reasons[i] = ("%s %s"):format(address:gsub("^http://", ""),
        text.cut(text.printable(why or ""), 100))
      left = left - 1
      if answers then over:set(address) elseif left == 0 then over:set() end
    end)
  end
  local _, found = over:wait(loop.after(timeout + ANSWER))
  for _, task in ipairs(tasks) do
    task:cancel()
    task:join(loop.after(ANSWER))
  end
  return found, reasons
end

local function others_than(list, port)
  local rest = {}
  for _, socket in ipairs(list) do
    if socket.port == nil or socket.port ~= port then rest[#rest + 1] = socket end
  end
  return rest
end

--- The address of a process's pprof server.
-- @tparam integer pid
-- @tparam ?integer timeout how long one that listens may take to answer, in ns
-- @tparam ?table cache see `sockets.listening`
-- @treturn ?string address for `sonde.golang.pprof`
-- @treturn ?string message
-- @treturn ?string code `unavailable` or `permission`
-- @treturn ?string hint
function sources.pprof(pid, timeout, cache)
  if sockets.has_own_network(pid) then
    return nil, ("process %d is in a network of its own: its ports are not reached from here")
      :format(pid), "unavailable", ("nsenter -t %d -n sonde …"):format(pid)
  end
  local list, message, code = sockets.listening(pid, cache)
  if list == nil then return nil, message, code end
  local _, agent = gops.port_file(pid)
  list = others_than(list, agent)
  if #list == 0 then
    return nil, ("process %d listens on no socket: it serves no net/http/pprof"):format(pid),
      "unavailable"
  end
  local found, told = ask_all(list, proc.command_line(pid), timeout or ANSWER)
  if found then return found end
  local reasons = {}
  for i = 1, math.min(#list, MOST_SOCKETS) do reasons[#reasons + 1] = told[i] end
  return nil, ("process %d serves no net/http/pprof that is known: %s"):format(pid,
    table.concat(reasons, "; ")), "unavailable", "sonde URL, when it is served elsewhere"
end

--- The address of a process's gops agent.
-- @tparam integer pid
-- @tparam ?integer _ for the pprof server only
-- @tparam ?table cache see `sockets.listening`
-- @treturn ?string "host:port"
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function sources.gops(pid, _, cache)
  local address, message, code, hint = gops.address(pid)
  if address == nil then return nil, message, code, hint end
  if sockets.has_own_network(pid) then
    return nil, ("process %d is in a network of its own: its gops agent is not reached from here")
      :format(pid), "unavailable", ("nsenter -t %d -n sonde …"):format(pid)
  end
  local list <const>, port <const> = sockets.listening(pid, cache),
    tonumber(address:match(":(%d+)$"))
  for _, socket in ipairs(list or {}) do
    if socket.port == port then return ("%s:%d"):format(socket.host, port) end
  end
  if list == nil then return address end   -- not ours to see: the answer will tell
  return nil, ("the gops port file of process %d is stale: it does not listen on port %d")
    :format(pid, port), "not_found"
end

--- Which sources of a process answer.
-- @tparam integer pid
-- @tparam ?integer timeout in ns
-- @tparam ?table cache of what several processes share, for calls that follow each other
-- @treturn table `pprof` and `gops`: addresses; `reasons`: by the same names, why not
function sources.of(pid, timeout, cache)
  local found = { reasons = {} }
  for _, name in ipairs { "pprof", "gops" } do
    local address, message = sources[name](pid, timeout, cache)
    found[name], found.reasons[name] = address, not address and message or nil
  end
  return found
end

return sources
