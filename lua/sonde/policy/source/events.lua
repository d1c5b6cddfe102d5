--- Exceptions, requests and other events of .NET processes.
-- @module sonde.policy.source.events
local events = { name = "events" }

local RUNTIME <const> = "Microsoft-Windows-DotNETRuntime"
local HOSTING <const> = "Microsoft.AspNetCore.Hosting"
local EXCEPTIONS <const> = 0x8000
local GC <const> = 0x1
local EXCEPTION_THROWN <const> = 80

-- Every keyword of a provider; the runtime's own would be a flood.
local ALL <const> = -1

-- It goes on for as long as somebody watches.
local LONG <const> = 1 << 62

-- The kinds of triggers that need a session, and what each listens to.
local NEEDS <const> = {
  exception = { { name = RUNTIME, keywords = EXCEPTIONS, level = 4 } },
  request = { { name = HOSTING, keywords = 0, level = 4 },
    { name = "System.Threading.Tasks.TplEventSource", keywords = 0x80, level = 4 } },
}

--- Can it say something of these?
-- @tparam table wanted set of names
-- @tparam table facts
-- @treturn boolean
function events.offers(wanted, facts)
  if facts.runtime ~= "dotnet" then return false end
  return wanted.exception ~= nil or wanted.request ~= nil or wanted.event ~= nil
end

local function providers_of(wanted, specs)
  local by_name, list = {}, {}
  local function add(provider)
    local known <const> = by_name[provider.name]
    if known then
      known.keywords, known.level = known.keywords | provider.keywords,
        math.max(known.level, provider.level)
      return
    end
    local own <const> = { name = provider.name, keywords = provider.keywords,
      level = provider.level }
    by_name[provider.name] = own
    list[#list + 1] = own
  end
  for kind, needed in pairs(NEEDS) do
    if wanted[kind] then for _, provider in ipairs(needed) do add(provider) end end
  end
  for _, spec in ipairs(wanted.event and specs or {}) do
    for _, name in ipairs(spec.provider or { RUNTIME }) do
      add { name = name, level = spec.level,
        keywords = spec.keywords or name == RUNTIME and GC | EXCEPTIONS or ALL }
    end
  end
  return list
end

-- A request is known when it ends; where it began is kept by its activity.
local function take_request(self, event)
  local name <const>, payload <const> = event.name, event.payload or {}
  if name:find "Start" and payload.path then
    self.open[event.activity or event.thread] = { at = event.time_ns, path = payload.path }
  elseif name:find "Stop" then
    local begun <const> = self.open[event.activity or event.thread]
    self.open[event.activity or event.thread] = nil
    if begun then
      self.feed("request", { path = begun.path, duration_ns = event.time_ns - begun.at,
        status = begun.failed and 500 or nil })
    end
  elseif name:find "Failed" then
    local begun <const> = self.open[event.activity or event.thread]
    if begun then begun.failed = true end
  end
end

--- Is it that of an exception which is thrown?
-- @tparam table event
-- @treturn boolean
function events.is_exception(event)
  return event.provider == RUNTIME and event.id == EXCEPTION_THROWN
end

local function take(self, event)
  if events.is_exception(event) then
    self.feed("exception", { type = event.payload.ExceptionType,
      message = event.payload.ExceptionMessage })
  elseif event.provider == HOSTING then
    take_request(self, event)
  end
  if self.wanted.event then
    self.feed("event", { provider = event.provider, name = event.name, payload = event.payload,
      thread = event.thread })
  end
end

--- What turns events into samples.
-- @tparam table wanted set of kinds
-- @tparam function feed called with a kind and what happened
-- @treturn function of an event
function events.translator(wanted, feed)
  local self <const> = { wanted = wanted, feed = feed, open = {} }
  return function(event) take(self, event) end
end

local Source <const> = {}
Source.__index = Source

--- Opens it for a target.
-- @tparam table facts
-- @tparam table wanted set of names
-- @tparam function feed called with a kind and what happened
-- @tparam table opts `specs`: the triggers of events
-- @treturn ?table
-- @treturn ?string message
-- @treturn ?string code
function events.open(facts, wanted, feed, opts)
  local target, message, code = require("sonde.targets").open(facts.pid)
  if target == nil then return nil, message, code end
  local self <const> = setmetatable({}, Source)
  local translate <const> = events.translator(wanted, feed)
  self.session, message, code = target:trace {
    providers = providers_of(wanted, opts.specs or {}), rundown = false, decode = false,
    stackwalk = false, buffer_mb = 16, max_bytes = LONG,
    on_event = translate,
  }
  if self.session == nil then return nil, message, code end
  return self
end

--- Nothing is to be read: events come by themselves.
function Source.poll()
end

--- Ends the session.
function Source:close()
  self.session:stop { timeout = "5s" }
end

return events
