--- Triggers of several: `{ all = { … } }`, `{ any = { … } }`,
-- `{ sequence = { … }, within = "1m" }`.
-- @module sonde.policy.trigger.combined
local check <const> = require "sonde.policy.check"
local words <const> = require "sonde.policy.words"

local combined = {}

local SECOND <const> = 1000000000

local FIELDS <const> = {
  all = {
    { name = "all", type = "table", required = true, help = "triggers" },
    { name = "within", type = "duration", default = 10 * SECOND, min = 1,
      help = "how long something that happened counts" },
  },
  any = { { name = "any", type = "table", required = true, help = "triggers" } },
  sequence = {
    { name = "sequence", type = "table", required = true, help = "triggers, in their order" },
    { name = "within", type = "duration", required = true, min = 1,
      help = "from the first to the last" },
  },
}

local function check_parts(key, given, where, problems, policy)
  local trigger <const> = require "sonde.policy.trigger"
  local spec <const> = check.fields(FIELDS[key], given, where, problems)
  spec.key, spec.parts = key, {}
  if type(given[key]) ~= "table" then return spec end
  if #given[key] < 1 then problems:add(where, ("needs a list of triggers in '%s'"):format(key)) end
  for i, part in ipairs(given[key]) do
    spec.parts[i] = trigger.check(part, ("%s.%s[%d]"):format(where, key, i), problems, policy)
  end
  return spec
end

local function explain(spec)
  local trigger <const> = require "sonde.policy.trigger"
  local parts = {}
  for i, part in ipairs(spec.parts) do parts[i] = "(" .. trigger.explain(part) .. ")" end
  if spec.key == "all" then return words.list(parts) .. " at the same time" end
  if spec.key == "any" then return words.list(parts, "or") end
  return ("%s, in this order within %s"):format(table.concat(parts, ", then "),
    words.duration(spec.within))
end

local Instance <const> = {}
Instance.__index = Instance

local function channels_of(parts)
  local list, by_channel = {}, {}
  for i, part in ipairs(parts) do
    for _, channel in ipairs(part.channels) do
      if by_channel[channel] == nil then
        by_channel[channel] = {}
        list[#list + 1] = channel
      end
      table.insert(by_channel[channel], i)
    end
  end
  return list, by_channel
end

local function new(spec)
  local trigger <const> = require "sonde.policy.trigger"
  local self <const> = setmetatable({ spec = spec, parts = {}, at = {}, why = {}, step = 1 },
    Instance)
  for i, part in ipairs(spec.parts) do
    self.parts[i] = trigger.new(part)
    self.is_timed = self.is_timed or self.parts[i].is_timed
    self.is_called = self.is_called or self.parts[i].is_called
  end
  self.channels, self.by_channel = channels_of(self.parts)
  return self
end

-- A part that fired begins anew, whatever becomes of the whole.
local function take(self, i, time, why)
  self.at[i], self.why[i] = time, why
  if self.spec.key ~= "all" then self.parts[i]:fired(time) end
end

local Judge <const> = {}

function Judge.any(self, i)
  return "fires", self.why[i]
end

local function is_now(self, i, time)
  if self.parts[i].holding ~= nil then return self.parts[i].holding end
  return self.at[i] ~= nil and time - self.at[i] <= self.spec.within
end

function Judge.all(self, _, time)
  for i = 1, #self.parts do
    if not is_now(self, i, time) then return nil end
  end
  local why = {}
  for i in ipairs(self.parts) do why[i] = self.why[i] or self.parts[i]:state() end
  return "fires", table.concat(why, "; ")
end

-- The parts before the one that is waited for have happened, in their order.
function Judge.sequence(self, i, time)
  if i == 1 and self.step ~= 2 then self.step, self.began = 1, time end
  if self.step > 1 and time - self.began > self.spec.within then
    self.step = 1
    if i ~= 1 then return "not", ("only the first part came within %s"):format(
      words.duration(self.spec.within)) end
    self.began = time
  end
  if i ~= self.step then return nil end
  if self.step == 1 then self.began = time end
  self.step = self.step + 1
  if self.step <= #self.parts then return nil end
  self.step = 1
  return "fires", table.concat(self.why, "; then ")
end

local function pass(self, i, time, outcome, why)
  if outcome == "fires" then
    take(self, i, time, why)
    return Judge[self.spec.key](self, i, time)
  end
  if self.spec.key == "any" then return outcome, why end
end

-- What the parts say of one sample: a firing before anything else.
local function pass_all(self, time, indices, ask)
  local outcome, why
  for _, i in ipairs(indices) do
    local said, reason = pass(self, i, time, ask(self.parts[i]))
    if said == "fires" then return said, reason end
    outcome, why = outcome or said, why or reason
  end
  return outcome, why
end

--- Takes a sample.
-- @tparam integer time
-- @param value
-- @tparam string channel
-- @treturn ?string "fires" or "not"
-- @treturn ?string why
function Instance:feed(time, value, channel)
  return pass_all(self, time, self.by_channel[channel], function(part)
    return part:feed(time, value, channel)
  end)
end

local function all_indices(self, field)
  local list = {}
  for i, part in ipairs(self.parts) do
    if part[field] then list[#list + 1] = i end
  end
  return list
end

--- Time has come this far.
-- @tparam integer time
-- @tparam table clock
-- @treturn ?string "fires"
-- @treturn ?string why
function Instance:tick(time, clock)
  return pass_all(self, time, all_indices(self, "is_timed"), function(part)
    return part:tick(time, clock)
  end)
end

--- All samples of an instant have come.
-- @tparam integer time
-- @tparam table facts
-- @treturn ?string "fires"
-- @treturn ?string why
function Instance:round(time, facts)
  return pass_all(self, time, all_indices(self, "is_called"), function(part)
    return part:round(time, facts)
  end)
end

--- It fired.
-- @tparam integer time
function Instance:fired(time)
  for _, part in ipairs(self.parts) do part:fired(time) end
  self.at, self.why, self.step = {}, {}, 1
end

--- How near it is.
-- @treturn string
function Instance:state()
  local parts = {}
  for i, part in ipairs(self.parts) do parts[i] = part:state() end
  return table.concat(parts, "; ")
end

--- The triggers.
-- @treturn {table,...}
function combined.triggers()
  local list = {}
  for i, row in ipairs { { "all", "all of several, at the same time" },
    { "any", "one of several" }, { "sequence", "several, one after the other" } } do
    list[i] = { key = row[1], summary = row[2], explain = explain, new = new,
      check = function(given, where, problems, policy)
        return check_parts(row[1], given, where, problems, policy)
      end }
  end
  return list
end

return combined
