--- Counters of a running process: those of EventSources (EventCounters) and
-- those of meters (System.Diagnostics.Metrics).
--
--    local counters = assert(target:counters{ interval = "1s" })
--    counters:wait{ timeout = "3s" }
--    for _, row in ipairs(counters:rows()) do print(row.name, row.value) end
--    counters:stop()
--
-- @module sonde.dotnet.counters
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local unique <const> = require "sonde.base.unique"
local version <const> = require "sonde.dotnet.version"

local counters = {}

local METRICS <const> = "System.Diagnostics.Metrics"
local MS <const>, SECOND <const> = 1000000, 1000000000

-- Values of one row that are kept, for a sparkline.
local HISTORY <const> = 30

--- Options of `Target:counters`.
counters.options = {
  { name = "provider", type = "string", many = true, argname = "NAME",
    help = "an EventSource whose counters to show, NAME or NAME[COUNTER,…]; may be repeated" },
  { name = "meter", type = "string", many = true, argname = "NAME",
    help = "a meter whose instruments to show, NAME or NAME\\INSTRUMENT; may be repeated" },
  { name = "interval", type = "duration", default = SECOND, default_text = "1s", min = 100 * MS,
    help = "how often the process publishes values" },
  { name = "max_series", type = "integer", default = 1000, default_text = "1000", min = 1,
    help = "most combinations of tags, over all meters" },
}

local Counters <const> = {}
Counters.__index = Counters
Counters.__name = "sonde.counters"

local function seconds(ns)
  return (("%.3f"):format(ns / SECOND):gsub("%.?0+$", ""))
end

local function new_id()
  local hex <const> = unique.hex(16)
  return ("%s-%s-4%s-8%s-%s"):format(hex:sub(1, 8), hex:sub(9, 12), hex:sub(14, 16),
    hex:sub(18, 20), hex:sub(21, 32))
end

-- Meters are listened to by all tools together from .NET 8 on; before, by one
-- at a time.
local function meter_arguments(meters, opts, own_version)
  local shared <const> = version.at_least(own_version, "8.0")
  local id <const> = new_id()
  return ("SessionId=%s;Metrics=%s;RefreshInterval=%s;MaxTimeSeries=%d;MaxHistograms=20%s"):format(
    shared and "SHARED" or id, table.concat(meters, ","), seconds(opts.interval), opts.max_series,
    shared and ";ClientId=" .. id or "")
end

-- "NAME[a,b]": a provider and the counters that are wanted of it.
local function read_filter(text)
  local name, list = text:match("^(.-)%[(.*)%]$")
  if name == nil then return text end
  local only = {}
  for counter in list:gmatch("[^,%s]+") do only[counter] = true end
  return name, only
end

local function providers_of(self, opts, own_version)
  local list, meters = {}, opts.meter or {}
  local names <const> = opts.provider or {}
  if #names == 0 and #meters == 0 then
    -- From .NET 9 on the runtime's counters are a meter.
    if version.at_least(own_version, "9.0") then meters = { "System.Runtime" }
    else names[1] = "System.Runtime" end
  end
  for i, text in ipairs(names) do
    local name, only = read_filter(text)
    self.only[name] = only
    list[i] = { name = name, keywords = 0, level = 4,
      arguments = "EventCounterIntervalSec=" .. seconds(opts.interval) }
  end
  if #meters > 0 then
    list[#list + 1] = { name = METRICS, keywords = 0x2, level = 4,
      arguments = meter_arguments(meters, opts, own_version) }
  end
  self.asked = { providers = names, meters = meters }
  return list
end

local function read_tags(text)
  local tags = {}
  for name, value in (text or ""):gmatch("([^=,]+)=([^,]*)") do tags[name] = value end
  return tags
end

-- Puts a value into its row, made when it is new.
local function put(self, value)
  if value.value == nil and value.rate == nil and value.quantiles == nil then return end
  local key <const> = table.concat({ value.provider, value.name, value.tag_text or "" }, "\0")
  local row = self.by_key[key]
  if row == nil then
    row = { history = {}, key = key }
    self.by_key[key] = row
    self.order[#self.order + 1] = row
  end
  for name, its in pairs(value) do row[name] = its end
  row.updated = loop.now()
  local shown <const> = value.rate or value.value
  if shown then
    table.insert(row.history, shown)
    if #row.history > HISTORY then table.remove(row.history, 1) end
  end
  self.updates = self.updates + 1
  self.newest, self.first = row.updated, self.first or row.updated
  if self.on_value then self.on_value(row) end
end

local function take_event_counter(self, event)
  local body = event.payload[""] or event.payload
  body = body.Payload or body
  if type(body) ~= "table" or body.Name == nil then return end
  local only <const> = self.only[event.provider]
  if only and not only[body.Name] then return end
  local is_rate <const> = body.CounterType == "Sum"
  put(self, {
    provider = event.provider, name = body.Name, display_name = body.DisplayName,
    unit = body.DisplayUnits ~= "" and body.DisplayUnits or nil,
    kind = is_rate and "rate" or "mean", interval_s = body.IntervalSec,
    rate = is_rate and body.Increment or nil, value = not is_rate and body.Mean or nil,
    count = body.Count, min = body.Min, max = body.Max, deviation = body.StandardDeviation,
  })
end

local function instrument(event, kind)
  local p <const> = event.payload
  return {
    provider = p.meterName, name = p.instrumentName, unit = p.unit ~= "" and p.unit or nil,
    kind = kind, tags = read_tags(p.tags), tag_text = p.tags ~= "" and p.tags or nil,
  }
end

local METRIC_EVENTS <const> = {
  [4] = function(event)
    local value <const> = instrument(event, "counter")
    value.rate, value.value = tonumber(event.payload.rate), tonumber(event.payload.value)
    return value
  end,
  [5] = function(event)
    local value <const> = instrument(event, "gauge")
    value.value = tonumber(event.payload.lastValue)
    return value
  end,
  [6] = function(event)
    local value <const> = instrument(event, "histogram")
    value.quantiles = {}
    for point, its in (event.payload.quantiles or ""):gmatch("([%d.]+)=([^;]+)") do
      value.quantiles[point] = tonumber(its)
    end
    value.value = value.quantiles["0.5"]
    value.count, value.sum = event.payload.count, event.payload.sum
    return value
  end,
  [16] = function(event)
    local value <const> = instrument(event, "updown")
    value.value = tonumber(event.payload.value)
    return value
  end,
}

-- What goes wrong with meters, in words.
local METRIC_TROUBLE <const> = {
  [9] = function(p) return "the process cannot give metrics: " .. tostring(p.errorMessage) end,
  [12] = function()
    return "there are more combinations of tags than asked for: some are missing"
  end,
  [13] = function() return "there are more histograms than asked for: some are missing" end,
  [14] = function(p) return "an instrument failed: " .. tostring(p.errorMessage) end,
  [15] = function()
    return "another tool listens to the meters of this process (needs .NET 8 to share)"
  end,
  [17] = function(p)
    return ("another tool listens to the meters of this process, every %s s"):format(
      tostring(p.expectedRefreshInterval or "?"))
  end,
}

local function take_metric(self, event)
  local read <const> = METRIC_EVENTS[event.id]
  if read then return put(self, read(event)) end
  local trouble <const> = METRIC_TROUBLE[event.id]
  local text <const> = trouble and trouble(event.payload)
  if text and not self.told[text] then
    self.told[text] = true
    self.troubles[#self.troubles + 1] = text
  end
end

local function take(self, event)
  if event.provider == METRICS then return take_metric(self, event) end
  take_event_counter(self, event)
end

local function want(provider, name)
  return provider == METRICS or name == "EventCounters"
end

--- What reads counters out of events, for those of a trace.
-- @tparam function on_value gets each row that has changed
-- @treturn function of an event
function counters.reader(on_value)
  local self <const> = { only = {}, by_key = {}, order = {}, updates = 0, told = {}, troubles = {},
    on_value = on_value }
  return function(event)
    if want(event.provider, event.name) then take(self, event) end
  end
end

--- Begins to listen: `Target:counters`.
-- @tparam Target target
-- @tparam ?table given `provider meter` (lists), `interval max_series`, and
--   `on_value`, a function that gets each row that has changed
-- @treturn ?Counters
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult
function counters.start(target, given)
  local declared = {}
  for name, value in pairs(given or {}) do declared[name] = value end
  local on_value <const> = declared.on_value
  declared.on_value = nil
  local opts <const> = options.check(counters.options, declared, "target:counters")
  local info, message, code, hint = target:info()
  if info == nil then return nil, message, code, hint end
  local self <const> = setmetatable({ target = target, interval = opts.interval, only = {},
    by_key = {}, order = {}, updates = 0, told = {}, troubles = {}, on_value = on_value }, Counters)
  local hresult
  self.session, message, code, hint, hresult = target:trace {
    providers = providers_of(self, opts, info.version), rundown = false, decode = false,
    want = want, on_event = function(event) take(self, event) end,
  }
  if self.session == nil then return nil, message, code, hint, hresult end
  return self
end

--- Lets time pass, in which values come.
-- @tparam ?table opts `timeout`
-- @treturn ?boolean true when the process has ended
-- @treturn ?string message
-- @treturn ?string code `timeout` in all other cases
function Counters:wait(opts)
  return self.session:wait(opts)
end

--- The newest values.
-- @treturn {table,...} by provider and name: `provider name display_name unit
--   kind` (`mean rate counter gauge updown histogram`) `value rate count min
--   max quantiles tags history`, and `stale` when the last one is older than
--   two intervals
function Counters:rows()
  local rows <const> = table.move(self.order, 1, #self.order, 1, {})
  table.sort(rows, function(a, b) return a.key < b.key end)
  for _, row in ipairs(rows) do
    row.stale = loop.now() - row.updated > 2 * self.interval + SECOND
  end
  return rows
end

-- After the first value of an interval the others come at once.
local SETTLE <const> = 300 * MS

--- Have the values of an interval come?
-- @treturn boolean
function Counters:is_settled()
  return self.newest ~= nil and loop.now() - self.newest > SETTLE
end

--- Has every value come that comes by itself? Rates need two intervals, and some
-- values come an interval late.
-- @treturn boolean
function Counters:is_complete()
  return self:is_settled() and loop.now() - self.first > self.interval + 2 * SETTLE
end

--- Waits until every value has come.
-- @tparam ?table opts `timeout`; five intervals otherwise
-- @treturn ?{table,...} as of `rows`
-- @treturn ?string message
-- @treturn ?string code `no_samples` when nothing came
function Counters:read(opts)
  local deadline <const> = loop.after(opts and opts.timeout or 5 * self.interval + 2 * SECOND)
  while not self:is_complete() and loop.now() < deadline do
    if self:wait { timeout = 100 * MS } then break end
  end
  if self.updates > 0 then return self:rows() end
  return nil, ("nothing has come from process %s"):format(self.target.pid or "?"), "no_samples"
end

--- Ends listening.
-- @tparam ?table opts `timeout`
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Counters:stop(opts)
  return self.session:stop(opts)
end

return counters
