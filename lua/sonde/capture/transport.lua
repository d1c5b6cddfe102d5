--- The registry of transports: ways to take the stacks of a running process.
-- A transport has `name`, `destructive` (a dump ends the process),
-- `available(pid)` (true, or nil, message, code, hint) and `dump(pid, deadline)`:
-- `{ transport, format, collected_at }` with either `text` (formats `go` and
-- `native`) or `records` (`dotnet` and `lua`); or nil, message, code, hint.
--
--    local registry = transport.default()
--    registry:add(my_transport, 1)
--    for _, row in ipairs(registry:of(4242)) do print(row.name, row.reason) end
--    local dump = assert(registry:dump(4242, { timeout = "5s" }))
--
-- @module sonde.capture.transport
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"

local transport = {}

local SECOND <const> = 1000000000

--- The names of those that come with sonde, in the order of preference.
transport.NAMES = { "inprocess", "pprof", "gops", "eventpipe", "native", "sigquit" }

--- Names as constants.
transport.TRANSPORT_IN_PROCESS = "inprocess"
transport.TRANSPORT_NATIVE = "native"
transport.TRANSPORT_PPROF = "pprof"
transport.TRANSPORT_GOPS = "gops"

--- Formats of a dump.
transport.FORMAT_GO = "go"
transport.FORMAT_NATIVE = "native"

--- Options of `Registry:dump`.
transport.options = {
  { name = "transport", type = "string", help = "which; the first that does no harm otherwise" },
  { name = "timeout", type = "duration", default = 30 * SECOND, default_text = "30s", min = 1,
    help = "how long it may take" },
  { name = "consent", type = "boolean",
    help = "a transport that ends the process may be used when it is named" },
}

local Registry <const> = {}
Registry.__index = Registry

--- A registry.
-- @tparam {table,...} list transports, the one that is preferred first
-- @treturn Registry
function transport.new(list)
  local self <const> = setmetatable({ list = {}, by_name = {} }, Registry)
  for _, one in ipairs(list) do self:add(one) end
  return self
end

--- The registry of those that come with sonde.
-- @tparam ?table addresses functions `pprof(pid)` and `gops(pid)` that give
--   "host:port", or nil, message, code; by default what listens is asked
-- @treturn Registry
function transport.default(addresses)
  local go <const> = require "sonde.golang.transports"
  local list = {}
  for i, name in ipairs(transport.NAMES) do
    if name == "pprof" or name == "gops" then
      list[i] = go.new(name, addresses and addresses[name])
    else
      list[i] = require("sonde.capture.transports." .. name).new()
    end
  end
  return transport.new(list)
end

--- Adds a transport; one of the same name makes room for it.
-- @tparam table one
-- @tparam ?integer place in the order of preference; the last when not given
function Registry:add(one, place)
  for i, known in ipairs(self.list) do
    if known.name == one.name then table.remove(self.list, i) break end
  end
  table.insert(self.list, math.min(place or #self.list + 1, #self.list + 1), one)
  self.by_name[one.name] = one
end

--- What can dump a process, and why the others cannot.
-- @tparam integer pid
-- @treturn {table,...} `name destructive available` and, when it is not, `reason`
function Registry:of(pid)
  local rows = {}
  for i, one in ipairs(self.list) do
    local available, reason = one.available(pid)
    rows[i] = { name = one.name, destructive = one.destructive, available = available == true,
      reason = not available and reason or nil }
  end
  return rows
end

local function named(self, name, consent)
  local one <const> = self.by_name[name]
  if one == nil then
    local names = {}
    for i, known in ipairs(self.list) do names[i] = known.name end
    local near <const> = options.suggest(name, names)
    return nil, ("no transport is called '%s'%s"):format(name,
      near and (" (did you mean '%s'?)"):format(near)
        or " (one of " .. table.concat(names, ", ") .. ")"), "not_found"
  end
  if one.destructive and not consent then
    return nil, ("the transport %s ends the process: it is used with consent only"):format(name),
      "permission", "--consent"
  end
  return one
end

--- The transport for a dump.
-- @tparam integer pid
-- @tparam ?table opts `transport consent`
-- @treturn ?table
-- @treturn ?string message: of each, why it cannot
-- @treturn ?string code
-- @treturn ?string hint
function Registry:choose(pid, opts)
  local name <const> = opts and opts.transport
  if name then
    local one, message, code, hint = named(self, name, opts.consent)
    if one == nil then return nil, message, code, hint end
    local available, why, reason, help = one.available(pid)
    if not available then return nil, ("%s: %s"):format(name, why), reason, help end
    return one
  end
  local reasons = {}
  for _, one in ipairs(self.list) do
    if not one.destructive then
      local available, why = one.available(pid)
      if available then return one end
      reasons[#reasons + 1] = ("%s: %s"):format(one.name, why)
    end
  end
  return nil, ("no transport can dump process %d: %s"):format(pid, table.concat(reasons, "; ")),
    "unavailable"
end

--- Takes the stacks of a process.
-- @tparam integer pid
-- @tparam ?table given see `transport.options`
-- @treturn ?table see above
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Registry:dump(pid, given)
  local opts <const> = options.check(transport.options, given, "registry:dump")
  local one, message, code, hint = self:choose(pid, opts)
  if one == nil then return nil, message, code, hint end
  local dump, why, reason, help = one.dump(pid, loop.after(opts.timeout))
  if dump == nil then return nil, ("%s: %s"):format(one.name, why), reason, help end
  return dump, why, reason
end

return transport
