--- What watches one target: the sources that its policies want.
-- @module sonde.policy.attach
local loop <const> = require "sonde.base.loop"
local trigger <const> = require "sonde.policy.trigger"

local attach = {}

local SOURCES <const> = { "process", "counters", "events", "go", "expvar", "probe", "log", "file" }

local Attachment <const> = {}
Attachment.__index = Attachment

local function specs_of(policies, key)
  local list = {}
  for _, policy in ipairs(policies) do
    trigger.each(policy.trigger, function(checked)
      if checked.of.key == key then list[#list + 1] = checked.spec end
    end)
  end
  return list
end

local SPECS <const> = { events = "event", probe = "probe", log = "log", file = "file" }

-- Sources of a runtime are asked for in a task: the process may take its time,
-- or never answer, and the others must not wait for it.
local function open_one(self, module, wanted, opts)
  local source, message = module.open(self.facts, wanted, function(name, value)
    if not self.closed then self.feed(name, value) end
  end, { interval = opts.interval, since = opts.since,
    specs = specs_of(opts.policies, SPECS[module.name]) })
  if source == nil then
    opts.trouble(("%s: %s"):format(module.name, message))
    return
  end
  if self.closed then return source:close() end
  self.sources[#self.sources + 1] = source
end

local function keep_ring(self, opts)
  for _, policy in ipairs(opts.policies) do
    for _, one in ipairs(policy.actions) do
      if one.name == "record" and one.spec.before and self.facts.runtime == "dotnet" then
        local target, message = require("sonde.targets").open(self.facts.pid)
        if target then
          self.rings[policy], message = require("sonde.capture.recorder").keep(target, one.spec)
        end
        if message then opts.trouble("ring: " .. message) end
        if self.closed and self.rings[policy] then self.rings[policy].close() end
      end
    end
  end
end

--- Begins to watch a target.
-- @tparam table facts
-- @tparam table wanted set of names of samples
-- @tparam function feed called with name and value
-- @tparam table opts `policies` (that are about it), `interval`, `since` (when it
--   began, if we saw that), `trouble` (called with a message)
-- @treturn Attachment
function attach.new(facts, wanted, feed, opts)
  local self <const> = setmetatable({ facts = facts, feed = feed, sources = {}, rings = {} },
    Attachment)
  for _, name in ipairs(SOURCES) do
    local module <const> = require("sonde.policy.source." .. name)
    if module.offers(wanted, facts) then
      if module.is_instant then
        open_one(self, module, wanted, opts)
      else
        loop.task(open_one, self, module, wanted, opts)
      end
    end
  end
  loop.task(keep_ring, self, opts)
  return self
end

-- A source that need not be asked in every round says how often.
local function is_due(source, now)
  if source.every == nil then return true end
  if source.next and now < source.next then return false end
  source.next = now + source.every - source.every // 10   -- rounds are not quite on time
  return true
end

--- Reads what has to be read.
-- @tparam integer now
-- @tparam ?table stat of `proc.stat`, read in this round
-- @tparam ?integer read_at when
function Attachment:poll(now, stat, read_at)
  for _, source in ipairs(self.sources) do
    if is_due(source, now) then source:poll(now, stat, read_at) end
  end
end

--- Tells between two rounds what a process uses of a processor.
-- @tparam integer now
-- @tparam table stat of `proc.stat`
function Attachment:early(now, stat)
  for _, source in ipairs(self.sources) do
    if source.early then source:early(now, stat) end
  end
end

--- Stops watching it.
function Attachment:close()
  self.closed = true
  for _, source in ipairs(self.sources) do loop.task(source.close, source) end
  for _, ring in pairs(self.rings) do loop.task(ring.close) end
  self.sources, self.rings = {}, {}
end

return attach
