--- A statistic over a sliding window of time.
-- Values come in order. Sums are kept as values come and go; a percentile
-- keeps the window's values sorted as well.
-- @module sonde.policy.window
local window = {}

local Window <const> = {}
Window.__index = Window

--- The statistics, and how each is said.
window.STATS = { "mean", "min", "max", "p50", "p90", "p95", "p99", "rate", "slope", "change" }

--- A window.
-- @tparam string stat one of `window.STATS`
-- @tparam integer span nanoseconds
-- @treturn table
function window.new(stat, span)
  local self <const> = setmetatable({ span = span, times = {}, values = {}, first = 1, last = 0,
    sum = 0.0, stat = stat }, Window)
  self.share = tonumber(stat:match "^p(%d+)$")
  if self.share or stat == "min" or stat == "max" then self.sorted = {} end
  self.compute = Window[stat] or (self.share and Window.percentile)
  return self
end

-- The first place in the sorted list whose value is not less.
local function place_of(sorted, value)
  local low, high = 1, #sorted + 1
  while low < high do
    local middle <const> = (low + high) // 2
    if sorted[middle] < value then low = middle + 1 else high = middle end
  end
  return low
end

local function drop(self)
  local value <const> = self.values[self.first]
  self.times[self.first], self.values[self.first] = nil, nil
  self.first = self.first + 1
  self.sum = self.sum - value
  if self.sorted then table.remove(self.sorted, place_of(self.sorted, value)) end
end

--- Takes a value.
-- @tparam integer time nanoseconds
-- @tparam number value
-- @treturn ?number the statistic; nil until the values reach back over the
--   whole window
function Window:push(time, value)
  self.last = self.last + 1
  self.times[self.last], self.values[self.last] = time, value
  self.sum = self.sum + value
  if self.sorted then table.insert(self.sorted, place_of(self.sorted, value), value) end
  -- One value at or before the window's start stays: it shows that the
  -- window is covered, and a rate is measured from it.
  while self.last > self.first and self.times[self.first + 1] <= time - self.span do drop(self) end
  if time - self.times[self.first] < self.span then return nil end
  return self:compute()
end

--- Forgets everything, after a gap.
function Window:clear()
  self.times, self.values, self.first, self.last, self.sum = {}, {}, 1, 0, 0.0
  if self.sorted then self.sorted = {} end
end

function Window:mean()
  return self.sum / (self.last - self.first + 1)
end

function Window:min()
  return self.sorted[1]
end

function Window:max()
  return self.sorted[#self.sorted]
end

-- The smallest value that the share of all values does not exceed.
function Window:percentile()
  return self.sorted[math.max(1, math.ceil(#self.sorted * self.share / 100))]
end

function Window:change()
  return self.values[self.last] - self.values[self.first]
end

-- Growth a second, from the window's ends.
function Window:rate()
  return self:change() / ((self.times[self.last] - self.times[self.first]) / 1e9)
end

-- Growth a second, by least squares: one value out of line changes it little.
function Window:slope()
  local n, x, y, xx, xy = 0, 0.0, 0.0, 0.0, 0.0
  local origin <const> = self.times[self.first]
  for i = self.first, self.last do
    local t <const> = (self.times[i] - origin) / 1e9
    n, x, y, xx, xy = n + 1, x + t, y + self.values[i], xx + t * t, xy + t * self.values[i]
  end
  local spread <const> = n * xx - x * x
  return spread == 0 and 0.0 or (n * xy - x * y) / spread
end

return window
