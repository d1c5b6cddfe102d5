--- Calls of functions, counted and timed by probes: of native programs and Go.
-- @module sonde.policy.source.probe
local probe = { name = "probe" }

-- Calls that are handed on in a round; what is beyond waits, or is lost.
local MOST <const> = 10000

--- Can it say something of these?
-- @tparam table wanted set of names
-- @treturn boolean
function probe.offers(wanted)
  return wanted.probe ~= nil
end

local Source <const> = {}
Source.__index = Source

local function open_one(facts, spec)
  return require("sonde.probe") { process = { tostring(facts.pid) }, functions = spec.probe,
    binary = spec.binary and { spec.binary } or nil, latency = spec.slower ~= nil, hits = true }
end

--- Opens it for a target.
-- @tparam table facts
-- @tparam table _ set of names
-- @tparam function feed
-- @tparam table opts `specs`: the triggers of probes
-- @treturn ?table
-- @treturn ?string message
-- @treturn ?string code
function probe.open(facts, _, feed, opts)
  local self <const> = setmetatable({ feed = feed, running = {} }, Source)
  for _, spec in ipairs(opts.specs or {}) do
    local one, message, code = open_one(facts, spec)
    if one == nil then
      self:close()
      return nil, message, code
    end
    self.running[#self.running + 1] = { probe = one, slower = spec.slower }
  end
  return self
end

-- With latency a call counts when it returns.
local function look(self, one)
  local left = MOST
  for hit in one.probe:hits() do
    if one.slower == nil or hit.is_return then
      self.feed("probe", { name = hit.func.name, latency_ns = hit.latency_ns })
    end
    left = left - 1
    if left == 0 then break end
  end
end

--- Reads the calls that were made since.
function Source:poll()
  for _, one in ipairs(self.running) do look(self, one) end
end

--- Takes the probes back.
function Source:close()
  for _, one in ipairs(self.running) do one.probe:close() end
  self.running = {}
end

return probe
