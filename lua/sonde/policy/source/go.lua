--- Figures of Go processes: of their pprof server, or else of their gops agent.
-- @module sonde.policy.source.go
local loop <const> = require "sonde.base.loop"

local go = { name = "go" }

local SECOND <const> = 1000000000

-- How long a figure may take to come.
local ANSWER <const> = 5 * SECOND

-- Memory's figures stop the program for a moment: they are not asked for more
-- often than this.
local MEMORY_EVERY <const> = 5 * SECOND

--- The names of its figures: `goroutines`, `go_heap` (bytes in use), `go_gcs`
-- (collections so far), `go_gc_cpu_share` (percent since the start).
go.METRICS = { "goroutines", "go_heap", "go_gcs", "go_gc_cpu_share" }

--- Can it say something of these figures?
-- @tparam table wanted set of names
-- @tparam table facts
-- @treturn boolean
function go.offers(wanted, facts)
  if facts.runtime ~= "go" then return false end
  for _, name in ipairs(go.METRICS) do
    if wanted[name] then return true end
  end
  return false
end

local Source <const> = {}
Source.__index = Source

--- Opens it for a target.
-- @tparam table facts
-- @tparam table wanted set of names
-- @tparam function feed called with a name and its value
-- @treturn ?table
-- @treturn ?string message
-- @treturn ?string code
function go.open(facts, wanted, feed)
  local sources <const> = require "sonde.golang.sources"
  local found <const> = sources.of(facts.pid)
  if found.pprof == nil and found.gops == nil then
    return nil, ("%s; %s"):format(found.reasons.pprof, found.reasons.gops), "unavailable"
  end
  local every
  for _, name in ipairs(go.METRICS) do
    if math.type(wanted[name]) then every = math.min(every or wanted[name], wanted[name]) end
  end
  return setmetatable({ feed = feed, wanted = wanted, pprof = found.pprof, gops = found.gops,
    memory_at = 0, every = every }, Source)
end

local function wants_memory(self)
  return self.wanted.go_heap or self.wanted.go_gcs or self.wanted.go_gc_cpu_share
end

local function number(text, pattern)
  return text and tonumber(text:match(pattern))
end

local function give(self, name, value)
  if value and self.wanted[name] then self.feed(name, value) end
end

-- The words behind a heap profile as text are the runtime's MemStats.
local function ask_pprof(self)
  local pprof <const> = require "sonde.golang.pprof"
  if self.wanted.goroutines then
    local counts <const> = pprof.index(self.pprof, { timeout = ANSWER })
    give(self, "goroutines", counts and counts.goroutine)
  end
  if not wants_memory(self) or loop.now() - self.memory_at < MEMORY_EVERY then return end
  self.memory_at = loop.now()
  local text <const> = pprof.fetch(self.pprof, "heap", "debug=1", { timeout = ANSWER })
  local share <const> = number(text, "\n# GCCPUFraction = (%S+)")
  give(self, "go_heap", number(text, "\n# HeapAlloc = (%d+)"))
  give(self, "go_gcs", number(text, "\n# NumGC = (%d+)"))
  give(self, "go_gc_cpu_share", share and share * 100)
end

local function bytes_of(text, field)
  local exact <const> = number(text, field .. ":[^\n]*%((%d+) bytes%)")
  return exact or number(text, field .. ":%s*(%d+) bytes")
end

local function ask_gops(self)
  local gops <const> = require "sonde.golang.gops"
  if self.wanted.goroutines then
    local text <const> = gops.ask(self.gops, "stats", { timeout = ANSWER })
    give(self, "goroutines", number(text, "goroutines: (%d+)"))
  end
  if not wants_memory(self) or loop.now() - self.memory_at < MEMORY_EVERY then return end
  self.memory_at = loop.now()
  local text <const> = gops.ask(self.gops, "memstats", { timeout = ANSWER })
  local share <const> = number(text, "gc%-cpu%-fraction: (%S+)")
  give(self, "go_heap", text and bytes_of(text, "\nalloc") or text and bytes_of(text, "alloc"))
  give(self, "go_gcs", number(text, "num%-gc: (%d+)"))
  give(self, "go_gc_cpu_share", share and share * 100)
end

--- Asks for the figures, unless the last answer is still to come.
function Source:poll()
  if self.asking then return end
  self.asking = true
  loop.task(function()
    local _ <close> = setmetatable({}, { __close = function() self.asking = false end })
    if self.pprof then ask_pprof(self) else ask_gops(self) end
  end)
end

--- Nothing is held.
function Source.close()
end

return go
