--- The trigger `{ metric = "cpu", above = 80, ["for"] = "10s" }`: a figure is
-- beyond a threshold, in every sample for that long.
-- @module sonde.policy.trigger.metric
local check <const> = require "sonde.policy.check"
local window <const> = require "sonde.policy.window"
local words <const> = require "sonde.policy.words"

local metric = { key = "metric", summary = "a figure is beyond a threshold for some time" }

--- Fields.
metric.fields = {
  { name = "metric", type = "string", required = true,
    help = "what is measured: cpu, memory, …, or PROVIDER/COUNTER" },
  { name = "tags", type = "table", help = "of a meter's instrument: only this row of it" },
  { name = "percentile", type = "integer", min = 1, max = 99,
    help = "of a histogram: which of its percentiles" },
  { name = "above", type = "number", help = "fires when every sample is more" },
  { name = "below", type = "number", help = "fires when every sample is less" },
  { name = "unchanged", type = "boolean", help = "fires when every sample is the same" },
  { name = "for", type = "duration", default = 0, help = "for this long" },
  { name = "stat", type = "string", choices = window.STATS,
    help = "look at a statistic instead of the value" },
  { name = "over", type = "duration", min = 1, help = "the statistic's window" },
  { name = "rearm", type = "number",
    help = "after it fired the value must come back to here before it may again" },
  { name = "gap", type = "duration", min = 1,
    help = "no run goes on over a longer time without samples (three times the interval)" },
}

local function tag_text(tags)
  local parts = {}
  for name, value in pairs(tags) do parts[#parts + 1] = ("%s=%s"):format(name, value) end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

--- The name under which a figure's samples come.
-- @tparam string name
-- @tparam ?table tags
-- @tparam ?integer percentile
-- @treturn string
function metric.channel(name, tags, percentile)
  if tags and next(tags) then name = name .. tag_text(tags) end
  if percentile then name = ("%s:p%d"):format(name, percentile) end
  return name
end

local function has_condition(spec)
  local n = 0
  for _, name in ipairs { "above", "below", "unchanged" } do
    if spec[name] then n = n + 1 end
  end
  return n == 1
end

--- Checks a trigger of this kind.
-- @param given
-- @tparam string where
-- @tparam table problems
-- @tparam table policy its `interval`
-- @treturn table
function metric.check(given, where, problems, policy)
  local spec <const> = check.fields(metric.fields, given, where, problems)
  if not has_condition(spec) then
    problems:add(where, "needs exactly one of above, below and unchanged")
  end
  if spec.stat and spec.over == nil then
    problems:add(where, ("needs 'over', the window of %s"):format(spec.stat))
  elseif spec.over and spec.stat == nil then
    problems:add(where .. ".over", "is the window of a statistic; name it with 'stat'")
  end
  spec.gap = spec.gap or 3 * policy.interval
  spec.channel = metric.channel(tostring(spec.metric), spec.tags, spec.percentile)
  return spec
end

local function condition_words(spec)
  if spec.unchanged then return "unchanged" end
  if spec.above then return "above " .. words.number(spec.above) end
  return "below " .. words.number(spec.below)
end

local function subject_words(spec)
  if spec.stat == nil then return spec.channel end
  return ("%s of %s over %s"):format(spec.stat, spec.channel, words.duration(spec.over))
end

--- Says what it waits for.
-- @tparam table spec
-- @treturn string
function metric.explain(spec)
  local text = ("%s is %s"):format(subject_words(spec), condition_words(spec))
  if spec["for"] > 0 then
    text = ("%s in every sample for %s (a gap of more than %s begins anew)"):format(text,
      words.duration(spec["for"]), words.duration(spec.gap))
  end
  if spec.rearm then
    text = ("%s, and was back at %s since it last fired"):format(text, words.number(spec.rearm))
  end
  return text
end

local Instance <const> = { is_plain = true }
Instance.__index = Instance

--- Waits for it in one target.
-- @tparam table spec as `check` made it
-- @treturn table
function metric.new(spec)
  return setmetatable({ spec = spec, channels = { spec.channel }, holding = false, armed = true,
    threshold = spec.above or spec.below, span = spec["for"],
    window = spec.stat and window.new(spec.stat, spec.over) or nil }, Instance)
end

local function holds(self, value)
  local spec <const> = self.spec
  if spec.above then return value > spec.above end
  if spec.below then return value < spec.below end
  return value == (self.run_value or value)
end

-- "above 80 from 10s to 18s (8s of 10s), then 79"
local function end_run(self, why)
  local from <const>, to <const> = self.run_from, self.last
  self.run_from, self.run_value, self.holding = nil, nil, false
  if from == nil then return end
  if to - from >= self.span then return end
  return "not", ("%s %s from %s to %s (%s of %s), then %s"):format(subject_words(self.spec),
    condition_words(self.spec), words.instant(from), words.instant(to), words.duration(to - from),
    words.duration(self.span), why)
end

local function note(self, value)
  local spec <const> = self.spec
  if self.nearest == nil or spec.below and value < self.nearest
    or not spec.below and value > self.nearest then
    self.nearest = value
  end
  if spec.rearm and not self.armed then
    self.armed = spec.below and value >= spec.rearm or spec.above and value <= spec.rearm or false
  end
end

local function fire_words(self, time)
  local spec <const> = self.spec
  local text <const> = ("%s %s"):format(subject_words(spec), condition_words(spec))
  if self.span == 0 then return ("%s: %s"):format(text, words.number(self.value)) end
  return ("%s from %s to %s, for %s; now %s"):format(text, words.instant(self.run_from),
    words.instant(time), words.duration(time - self.run_from), words.number(self.value))
end

local function judge(self, time, value)
  self.value = value
  if value ~= value then return end_run(self, "a value that is no number") end
  note(self, value)
  if not holds(self, value) then
    local outcome, why
    if self.run_from then outcome, why = end_run(self, words.number(value)) end
    if self.spec.unchanged then self.run_from, self.run_value = time, value end
    return outcome, why
  end
  if self.run_from == nil then self.run_from, self.run_value = time, value end
  local since <const> = self.fired_at and math.max(self.fired_at, self.run_from) or self.run_from
  self.holding = time - self.run_from >= self.span
  if not self.armed or time - since < self.span or self.fired_at == time then return nil end
  return "fires", nil
end

--- Takes a sample.
-- @tparam integer time nanoseconds
-- @tparam number value
-- @treturn ?string "fires", or "not" when a run ended too early; nil otherwise
-- @treturn ?string why, for people
function Instance:feed(time, value)
  local last <const> = self.last
  local outcome, why
  if last and time - last > self.spec.gap then
    outcome, why = end_run(self, ("no sample for %s"):format(words.duration(time - last)))
    if self.window then self.window:clear() end
  end
  if type(value) ~= "number" then value = tonumber(value) or 0 / 0 end
  if self.window and value == value then value = self.window:push(time, value) end
  if value == nil then
    self.last = time
    return outcome, why
  end
  local result <const>, reason <const> = judge(self, time, value)
  self.last = time
  if result == "fires" then return result, fire_words(self, time) end
  return result or outcome, reason or why
end

--- It fired, and no limit was against it.
-- @tparam integer time
function Instance:fired(time)
  self.fired_at = time
  self.armed = self.spec.rearm == nil
  if self.spec.rearm then self.run_from, self.run_value = nil, nil end
end

--- How near it is, for people.
-- @treturn string
function Instance:state()
  local spec <const> = self.spec
  if self.last == nil then return ("no sample of %s came"):format(spec.channel) end
  if self.run_from and self.span == 0 then
    return ("%s %s since %s"):format(subject_words(spec), condition_words(spec),
      words.instant(self.run_from))
  end
  if self.run_from then
    return ("%s %s since %s (%s of %s)"):format(subject_words(spec), condition_words(spec),
      words.instant(self.run_from), words.duration(self.last - self.run_from),
      words.duration(self.span))
  end
  if self.nearest == nil then return ("the window of %s is not yet full"):format(spec.channel) end
  return ("%s is not %s; nearest was %s"):format(subject_words(spec), condition_words(spec),
    words.number(self.nearest))
end

return metric
