--- Figures that Go processes publish by expvar: `expvar/NAME`.
-- @module sonde.policy.source.expvar
local loop <const> = require "sonde.base.loop"

local expvar = { name = "expvar" }

local function names_in(wanted)
  local names = {}
  for name in pairs(wanted) do
    local path <const> = name:match "^expvar/(.+)$"
    if path then names[name] = path end
  end
  return names
end

--- Can it say something of these figures?
-- @tparam table wanted set of names
-- @tparam table facts
-- @treturn boolean
function expvar.offers(wanted, facts)
  return facts.runtime == "go" and next(names_in(wanted)) ~= nil
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
function expvar.open(facts, wanted, feed)
  local address, message, code = require("sonde.golang.expvar").find(facts.pid)
  if address == nil then return nil, message, code end
  local names <const>, every = names_in(wanted), nil
  for name in pairs(names) do every = math.min(every or wanted[name], wanted[name]) end
  return setmetatable({ address = address, names = names, feed = feed, every = every }, Source)
end

local function ask(self)
  local module <const> = require "sonde.golang.expvar"
  local data <const> = module.read(self.address)
  for name, path in pairs(data and self.names or {}) do
    local value <const> = module.number(data, path)
    if value then self.feed(name, value) end
  end
end

--- Asks for them, unless the last answer is still to come.
function Source:poll()
  if self.asking then return end
  self.asking = true
  loop.task(function()
    local _ <close> = setmetatable({}, { __close = function() self.asking = false end })
    ask(self)
  end)
end

--- Nothing is held.
function Source.close()
end

return expvar
