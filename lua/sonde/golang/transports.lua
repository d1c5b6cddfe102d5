--- Transports of goroutine dumps: ways to get the text of one out of a running
-- process. Each is small enough to be chosen by whoever takes dumps: `name`,
-- `destructive`, `available(pid)` (true, or nil, message, code, hint) and
-- `dump(pid, deadline)`.
-- @module sonde.golang.transports
local gops <const> = require "sonde.golang.gops"
local loop <const> = require "sonde.base.loop"
local pprof <const> = require "sonde.golang.pprof"
local sources <const> = require "sonde.golang.sources"

local transports = {}

local MS <const> = 1000000

local function dumped(name, bytes, message, code, hint)
  if bytes == nil then return nil, message, code, hint end
  return { transport = name, format = "go", text = bytes, collected_at = os.time() }, message, code
end

local function left(deadline)
  return math.max(MS, deadline - loop.now())
end

-- What each asks for at an address.
local ASK <const> = {
  pprof = function(address, timeout)
    return pprof.fetch(address, "goroutine", "debug=2", { timeout = timeout })
  end,
  gops = function(address, timeout)
    return gops.ask(address, "stack", { timeout = timeout })
  end,
}

--- Makes a transport.
-- @tparam string name "pprof" (net/http/pprof: `goroutine?debug=2`) or "gops"
-- @tparam ?function address_of gives the address for a pid, or nil, message, code,
--   hint; without one the process is searched for it
-- @treturn table `name destructive available dump`
function transports.new(name, address_of)
  local ask <const> = ASK[name]
  if ask == nil then
    error(("bad argument to 'transports.new' (pprof or gops expected, got %s)"):format(
      tostring(name)), 2)
  end
  address_of = address_of or sources[name]
  return {
    name = name, destructive = false,
    available = function(pid)
      local address, message, code, hint = address_of(pid)
      if address == nil then return nil, message, code, hint end
      return true
    end,
    dump = function(pid, deadline)
      local address, message, code, hint = address_of(pid)
      if address == nil then return nil, message, code, hint end
      return dumped(name, ask(address, left(deadline)))
    end,
  }
end

--- net/http/pprof.
transports.pprof = transports.new "pprof"

--- A gops agent.
transports.gops = transports.new "gops"

--- The same by names, the one that is preferred first.
transports.list = { transports.pprof, transports.gops }

return transports
