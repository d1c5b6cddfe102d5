--- A gate for builds: did anything grow by more than what is allowed, and by
-- more than chance?
--
-- Growth is in percent of the total before, whatever the scale: percentage
-- points of the shares (by total), the rate's growth in percent of the total
-- rate (by time), or the value's in percent of the total value. So 5 always
-- means a twentieth of the whole, and a function that took nothing and doubles
-- fails no build.
-- @module sonde.gate
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local units <const> = require "sonde.base.units"

local gate = {}

--- Options of a gate, as declared.
gate.options = {
  { name = "fail_above", type = "percent", min = 0,
    help = "exit with 1 when a function grew by more than this percentage of the total" },
  { name = "min_samples", type = "integer", min = 1, argname = "N",
    help = "judge only functions with so many samples after; 20 otherwise" },
}

local DEFAULT_SAMPLES <const> = 20
-- One judgement in twenty may be wrong by chance, over all functions together.
local ERROR_RATE <const> = 0.05

local MEASURES <const> = { total = "share", time = "rate", none = "value" }

-- The value that a standard normal variable exceeds with probability p < 0.5
-- (Abramowitz and Stegun, 26.2.23).
local function exceeded(p)
  local t <const> = math.sqrt(-2 * math.log(p))
  return t - (2.515517 + 0.802853 * t + 0.010328 * t * t)
    / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t)
end

-- The sample type that counts observations; nil when a profile has none.
local function count_type(side)
  local types <const> = side.profile:types()
  for i, entry in ipairs(types) do
    if entry.type == "samples" and entry.unit == "count" then return i end
  end
  if #types == 1 and types[1].unit == "count" then return 1 end
end

-- The number of samples of each row, and of all.
local function counts_of(side, opts)
  local index <const> = count_type(side)
  if index == nil then return nil end
  local field <const> = opts.cum and "cum" or "flat"
  local n = {}
  for _, node in ipairs(nodes.list(side.profile, index, opts)) do n[node.name] = node[field] end
  return n, side.profile:total(index, true)
end

-- The standard error of a share that n of all samples have. One sample more
-- than there is keeps the error of none from being 0.
local function share_error(n, all)
  local p <const> = (n + 1) / (all + 2)
  return math.sqrt(p * (1 - p) / all)
end

-- The relative error of a value that n samples make up.
local function value_error(n)
  return 1 / math.sqrt(n + 1)
end

-- One side's part in the error of a row's growth, in percent of the total
-- before.
local function error_of(diff, value, n, all, whole)
  if diff.scale == "total" then return 100 * share_error(n, all) end
  if n == 0 then return 0 end
  return 100 * math.abs(value / whole) * value_error(n)
end

local function total_rate(diff)
  if diff.scale == "time" then return diff.total_before / diff.seconds[1] end
  return diff.total_before
end

-- A row with its growth, and the error of that when samples are counted.
local function judged(diff, row, samples, whole)
  local result = {
    name = row.name, before = row.before, after = row.after, unit = row.unit,
    relative = row.relative,
    growth = diff.scale == "total" and row.change or row.change / whole * 100,
  }
  if samples then
    local n <const>, m <const> = samples.before[row.name] or 0, samples.after[row.name] or 0
    result.samples_before, result.samples_after = n, m
    local a <const> = error_of(diff, row.before, n, samples.all_before, whole)
    local b <const> = error_of(diff, row.after, m, samples.all_after, whole)
    result.error = math.sqrt(a * a + b * b)
  end
  return result
end

-- The total as a row of its own; shares have none.
local function total_row(diff)
  if diff.scale == "total" then return nil end
  local before, after = diff.total_before, diff.total_after
  if diff.scale == "time" then
    before, after = before / diff.seconds[1], after / diff.seconds[2]
  end
  return {
    name = "total", before = before, after = after, change = after - before,
    unit = diff.unit .. (diff.scale == "time" and "/second" or ""),
    relative = diff.relative(before, after), is_total = true,
  }
end

local function samples_of(diff, opts)
  local before <const>, all_before = counts_of(diff.from, opts)
  local after <const>, all_after = counts_of(diff.to, opts)
  if before == nil or after == nil then return nil end
  before.total, after.total = all_before, all_after
  return { before = before, after = after, all_before = all_before, all_after = all_after }
end

local function too_few(samples, least)
  for _, side in ipairs { "before", "after" } do
    local n <const> = samples["all_" .. side]
    if n < least then
      return nil, ("%s has %s samples, too few to judge: %s are needed (min_samples)"):format(side,
        units.count(n), units.count(least)), "no_samples"
    end
  end
  return true
end

-- The rows that are judged, the others' number, and the bound of chance.
local function collect(diff, opts, samples, least)
  local whole <const> = total_rate(diff)
  local rows <const> = diff:rows { by = opts.by, label = opts.label, cum = opts.cum }
  rows[#rows + 1] = total_row(diff)
  local list, left_out = {}, 0
  for _, row in ipairs(rows) do
    if samples == nil or (samples.after[row.name] or 0) >= least then
      list[#list + 1] = judged(diff, row, samples, whole)
    else
      left_out = left_out + 1
    end
  end
  local factor <const> = exceeded(ERROR_RATE / math.max(1, #list))
  for _, row in ipairs(list) do row.noise = row.error and row.error * factor end
  return list, left_out
end

local function by_growth(a, b)
  if a.growth ~= b.growth then return a.growth > b.growth end
  return a.name < b.name
end

local Verdict <const> = {}
Verdict.__index = Verdict

--- Judges a difference.
-- @tparam Diff diff
-- @tparam table opts `fail_above`, `min_samples`; `by`, `label`, `cum` as of
--   `Diff:rows`
-- @treturn ?table verdict: `failed`, `measure` (share, rate, value), `limit`,
--   `rows` (all that were judged, the largest growth first, each `name before
--   after growth noise samples_before samples_after failed`), `grown` (those
--   that failed), `left_out` (how many had too few samples), `coarse` (the
--   largest noise, when it is above the limit); `lines()` says it in words
-- @treturn ?string message
-- @treturn ?string code `no_samples` when there is too little to judge,
--   `unavailable` when samples are asked for that the profiles do not count
function gate.check(diff, opts)
  opts = options.check(options.join(gate.options, nodes.options, {
    { name = "cum", type = "boolean" },
  }), opts, "diff:gate")
  if opts.fail_above == nil then error("'fail_above' is needed", 2) end
  local samples <const> = samples_of(diff, opts)
  if samples == nil and opts.min_samples then
    return nil, "the profiles do not say how many samples they have, so min_samples cannot be"
      .. " applied", "unavailable"
  end
  if diff.total_before == 0 then return nil, "before is empty: nothing to compare with",
    "no_samples" end
  local least <const> = opts.min_samples or DEFAULT_SAMPLES
  if samples then
    local enough, message, code = too_few(samples, least)
    if not enough then return nil, message, code end
  end
  local rows <const>, left_out <const> = collect(diff, opts, samples, least)
  table.sort(rows, by_growth)
  return gate.judge(diff, rows, opts.fail_above, left_out, least)
end

--- Makes the verdict of rows; for `check`.
-- @tparam Diff diff
-- @tparam {table,...} rows
-- @tparam number limit
-- @tparam integer left_out
-- @tparam integer least
-- @treturn table
function gate.judge(diff, rows, limit, left_out, least)
  local verdict <const> = setmetatable({
    limit = limit, rows = rows, grown = {}, left_out = left_out, least = least,
    measure = MEASURES[diff.scale], scale_text = diff:scale_text(), unit = diff.unit,
  }, Verdict)
  for _, row in ipairs(rows) do
    row.failed = row.growth > limit and row.growth > (row.noise or 0)
    if row.failed then verdict.grown[#verdict.grown + 1] = row end
    if row.noise and row.noise > math.max(limit, verdict.coarse or 0) then
      verdict.coarse = row.noise
    end
  end
  verdict.failed = #verdict.grown > 0
  return verdict
end

local function percent(value)
  local text <const> = ("%+.2f%%"):format(value):gsub("^[+-](0%.00%%)$", "%1")
  return text
end

local function side_text(verdict, value)
  if verdict.measure == "share" then return ("%.2f%%"):format(value) end
  return units.value(value, verdict.unit) .. (verdict.measure == "rate" and "/s" or "")
end

local function row_line(verdict, row)
  local noise <const> = row.noise and ("±%.2f%%"):format(row.noise) or "±?"
  local samples <const> = row.samples_after
    and ("%d to %d"):format(row.samples_before, row.samples_after) or "?"
  return ("%9s %9s %11s %11s %15s  %s"):format(percent(row.growth), noise,
    side_text(verdict, row.before), side_text(verdict, row.after), samples, scope.name(row.name))
end

local function noise_text(verdict)
  local first <const> = verdict.rows[1]
  if first == nil or first.noise == nil then
    return "Noise: unknown, since the profiles do not say how many samples they have"
  end
  return ("Noise (±) is what chance adds in sampling, with 95%% for all %d judged together; runs"
    .. " of a program differ by more"):format(#verdict.rows)
end

--- The verdict in words.
-- @treturn {string,...} lines
function Verdict:lines()
  local n <const> = #self.grown
  local limit <const> = ("%g%%"):format(self.limit)
  local lines = {
    self.failed and ("Gate: FAILED, %d grew by more than %s of the total, by %s"):format(n, limit,
      self.measure)
      or ("Gate: passed, nothing grew by more than %s of the total, by %s"):format(limit,
        self.measure),
  }
  -- When nothing failed, what came nearest shows how near that was.
  local shown <const> = self.failed and self.grown or { self.rows[1] }
  if #shown > 0 then
    lines[#lines + 1] = ("%9s %9s %11s %11s %15s"):format("growth", "noise", "before", "after",
      "samples")
  end
  for _, row in ipairs(shown) do lines[#lines + 1] = row_line(self, row) end
  lines[#lines + 1] = noise_text(self)
  if self.left_out > 0 then
    lines[#lines + 1] = ("Left out: %d with fewer than %d samples after"):format(self.left_out,
      self.least)
  end
  if self.coarse then
    lines[#lines + 1] = ("Note: some noise (±%.1f%%) is above the limit: record for longer to see"
      .. " growth that small"):format(self.coarse)
  end
  return lines
end

return gate
