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

-- What a transport asks, by the address that its source gives for a process.
local function transport(name, ask)
  return {
    name = name, destructive = false,
    available = function(pid)
      local address, message, code, hint = sources[name](pid)
      if address == nil then return nil, message, code, hint end
      return true
    end,
    dump = function(pid, deadline)
      local address, message, code, hint = sources[name](pid)
      if address == nil then return nil, message, code, hint end
      return dumped(name, ask(address, left(deadline)))
    end,
  }
end

--- net/http/pprof: `goroutine?debug=2`.
transports.pprof = transport("pprof", function(address, timeout)
  return pprof.fetch(address, "goroutine", "debug=2", { timeout = timeout })
end)

--- A gops agent.
transports.gops = transport("gops", function(address, timeout)
  return gops.ask(address, "stack", { timeout = timeout })
end)

--- The same by names, the one that is preferred first.
transports.list = { transports.pprof, transports.gops }

return transports
