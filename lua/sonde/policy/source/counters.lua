--- Counters and meters of .NET processes, by names `PROVIDER/COUNTER`.
-- @module sonde.policy.source.counters
local counters = { name = "counters" }

-- Names that are easier to remember, and what they stand for.
local ALIASES <const> = {
  gc_pause_share = "System.Runtime/time-in-gc",
  heap = "System.Runtime/gc-heap-size",
  exception_rate = "System.Runtime/exception-count",
  threadpool_queue = "System.Runtime/threadpool-queue-length",
  threadpool_threads = "System.Runtime/threadpool-thread-count",
  contention_rate = "System.Runtime/monitor-lock-contention-count",
  allocation_rate = "System.Runtime/alloc-rate",
  request_rate = "Microsoft.AspNetCore.Hosting/requests-per-second",
  current_requests = "Microsoft.AspNetCore.Hosting/current-requests",
}

-- "time-in-gc" is a percentage, "gc-heap-size" in millions of bytes.
local SCALES <const> = { heap = 1000000 }

counters.ALIASES = ALIASES

local PERCENTILES <const> = { ["0.5"] = 50, ["0.95"] = 95, ["0.99"] = 99 }

-- "A/b{x=y}:p95" without what follows the name.
local function bare(name)
  return (name:gsub("{.*$", ""):gsub(":p%d+$", ""))
end

-- By counter: the names under which it is wanted.
local function parse(wanted)
  local by_counter, any = {}, false
  for name in pairs(wanted) do
    local full <const> = ALIASES[name] or bare(name)
    if full:find("/", 1, true) then
      by_counter[full] = by_counter[full] or {}
      table.insert(by_counter[full], name)
      any = true
    end
  end
  return by_counter, any
end

--- Can it say something of these figures?
-- @tparam table wanted set of names
-- @tparam table facts
-- @treturn boolean
function counters.offers(wanted, facts)
  if facts.runtime ~= "dotnet" then return false end
  return select(2, parse(wanted))
end

-- Nobody knows from a name whether it is of an EventSource or of a meter: both
-- are asked for.
local function ask_for(by_counter)
  local providers, meters, seen = {}, {}, {}
  for full in pairs(by_counter) do
    local provider, name = full:match "^(.*)/([^/]*)$"
    if not seen[provider] then providers[#providers + 1] = provider end
    seen[provider] = true
    meters[#meters + 1] = provider .. "\\" .. name
  end
  return providers, meters
end

local function suffix_of(row)
  if not row.tags or not next(row.tags) then return "" end
  return require("sonde.policy.trigger.metric").channel("", row.tags)
end

local function hand_on(self, row)
  local names <const> = self.by_counter[("%s/%s"):format(row.provider, row.name)]
  if names == nil then return end
  local suffix <const> = suffix_of(row)
  local value <const> = row.rate or row.value
  for _, name in ipairs(names) do
    if value and ALIASES[name] then self.feed(name, value * (SCALES[name] or 1)) end
  end
  local full <const> = ("%s/%s%s"):format(row.provider, row.name, suffix)
  if value then self.feed(full, value) end
  for quantile, percentile in pairs(PERCENTILES) do
    local its <const> = row.quantiles and row.quantiles[quantile]
    if its then self.feed(("%s:p%d"):format(full, percentile), its) end
  end
end

--- What turns rows of counters into samples.
-- @tparam table wanted set of names
-- @tparam function feed called with a name and its value
-- @treturn function of a row, as `Target:counters` gives them
function counters.translator(wanted, feed)
  local self <const> = { by_counter = (parse(wanted)), feed = feed }
  return function(row) hand_on(self, row) end
end

local Source <const> = {}
Source.__index = Source

--- Opens it for a target.
-- @tparam table facts
-- @tparam table wanted set of names
-- @tparam function feed called with a name and its value
-- @tparam table opts `interval` nanoseconds
-- @treturn ?table
-- @treturn ?string message
-- @treturn ?string code
function counters.open(facts, wanted, feed, opts)
  local target, message, code = require("sonde.targets").open(facts.pid)
  if target == nil then return nil, message, code end
  local self <const> = setmetatable({}, Source)
  local providers <const>, meters <const> = ask_for((parse(wanted)))
  self.counters, message, code = target:counters { provider = providers, meter = meters,
    interval = opts.interval, on_value = counters.translator(wanted, feed) }
  if self.counters == nil then return nil, message, code end
  return self
end

--- Nothing is to be read: values come by themselves.
function Source.poll()
end

--- Stops listening.
function Source:close()
  self.counters:stop { timeout = "5s" }
end

return counters
