--- The difference of two profiles.
-- It keeps both sides: what went away and what is new are rows like all
-- others, and swapping the sides only turns the signs.
-- @module sonde.diff
local core <const> = require "sonde.c.core"
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local reports <const> = require "sonde.report"
local rows_of <const> = require("sonde.base.rows").of
local scope <const> = require "sonde.report.scope"
local units <const> = require "sonde.base.units"

local diff = {}

local Diff <const> = {}
Diff.__index = Diff
Diff.__name = "sonde.diff"

--- Options of a difference, as declared.
diff.options = {
  { name = "type", type = "string", argname = "NAME",
    help = "sample type to compare; the later profile's default one otherwise" },
  { name = "scale", type = "string", argname = "BY", choices = { "none", "total", "time" },
    help = "compare values (none, as otherwise), shares of each side's total, or values per"
      .. " second" },
  { name = "normalize", type = "boolean", default = false,
    help = "the same as scale total" },
}

--- The order of a row's keys in JSON.
Diff.ROW_KEYS = { "schema", "name", "before", "after", "change", "relative", "unit" }

-- How many of the base unit each side's values are worth, when the units
-- differ but measure the same; nil when they do not.
local function common_unit(before, after)
  if before == after then return before, 1, 1 end
  local a <const>, b <const> = units.worth(before), units.worth(after)
  if a == nil or units.family(before) ~= units.family(after) then return nil end
  if a < b then return before, 1, b // a end
  return after, a // b, 1
end

local function side(profile, wanted)
  local index, message, code = scope.find_type(profile, wanted)
  if index == nil then return nil, message, code end
  local entry <const> = profile:types()[index]
  return { profile = profile, index = index, type = entry.type, unit = entry.unit }
end

local NANOSECONDS <const> = 1000000000

-- How long both sides were recorded, in seconds; nil, message, code when one
-- does not say.
local function durations(before, after)
  local seconds = {}
  for i, profile in ipairs { before, after } do
    local ns <const> = profile:info().duration_ns or 0
    if ns <= 0 then
      return nil, ("%s does not say how long it took, so it cannot be scaled by time"):format(
        i == 1 and "before" or "after"), "unavailable"
    end
    seconds[i] = ns / NANOSECONDS
  end
  return seconds
end

--- Compares two profiles.
-- @tparam Profile before
-- @tparam Profile after
-- @tparam ?table opts `type`, `scale`, `normalize`
-- @treturn ?Diff with `type unit scale normalize before after total_before
--   total_after`, of `scale` time also `seconds` (both durations), and the
--   methods below
-- @treturn ?string message
-- @treturn ?string code `unknown_name` when a side lacks the sample type,
--   `unavailable` when the units cannot be compared, `no_samples`
function diff.new(before, after, opts)
  opts = options.check(diff.options, opts, "sonde.diff")
  local to, message, code = side(after, opts.type)
  if to == nil then return nil, "after: " .. message, code end
  local from
  from, message, code = side(before, opts.type or to.type)
  if from == nil then return nil, "before: " .. message, code end
  if #before == 0 and #after == 0 then
    return nil, "no samples in either profile", "no_samples"
  end
  local unit
  unit, from.worth, to.worth = common_unit(from.unit, to.unit)
  if unit == nil then
    return nil, ("before is in %s, after in %s: they cannot be compared"):format(from.unit,
      to.unit), "unavailable"
  end
  local scale <const> = opts.scale or opts.normalize and "total" or "none"
  local seconds
  if scale == "time" then
    seconds, message, code = durations(before, after)
    if seconds == nil then return nil, message, code end
  end
  return setmetatable({
    before = before, after = after, from = from, to = to, type = to.type, unit = unit,
    scale = scale, normalize = scale == "total", seconds = seconds,
    total_before = before:total(from.index, true) * from.worth,
    total_after = after:total(to.index, true) * to.worth,
  }, Diff)
end

function Diff:__tostring()
  return ("diff: %s, before %s, after %s"):format(self.type,
    units.value(self.total_before, self.unit), units.value(self.total_after, self.unit))
end

-- Adds a side's values by name to `rows`, under `field`.
local function collect(one, opts, rows, field)
  local measure <const> = opts.cum and "cum" or "flat"
  for _, node in ipairs(nodes.list(one.profile, one.index, opts)) do
    local row = rows[node.name] or { name = node.name, before = 0, after = 0 }
    row[field] = node[measure] * one.worth
    rows[node.name] = row
  end
end

--- The change as a percentage of before.
-- @tparam number before
-- @tparam number after
-- @treturn number|string "new" or "gone" where one of them is 0
function Diff.relative(before, after)
  if before == after then return 0 end
  if before == 0 then return "new" end
  if after == 0 then return "gone" end
  return ((after + 0.0) / before - 1) * 100 * (before < 0 and -1 or 1)
end

--- The relative change for people: "new", "gone", "+12.5%", "0%".
-- @tparam number|string relative as of `relative`
-- @treturn string
function Diff.relative_text(relative)
  if type(relative) == "string" then return relative end
  return (("%+.1f%%"):format(relative):gsub("%.0%%$", "%%"):gsub("^[+-]0%%$", "0%%"))
end

local function by_change(a, b)
  local x, y = scope.magnitude(a.change), scope.magnitude(b.change)
  if x ~= y then return x > y end
  x = math.max(scope.magnitude(a.before), scope.magnitude(a.after))
  y = math.max(scope.magnitude(b.before), scope.magnitude(b.after))
  if x ~= y then return x > y end
  return a.name < b.name
end

local function share(value, total)
  return total == 0 and 0.0 or (value + 0.0) / total * 100
end

-- In percent, the shares of both sides; a row's unit says so.
local function to_shares(row, self)
  row.before = share(row.before, self.total_before)
  row.after = share(row.after, self.total_after)
  row.unit = "percent"
end

local function to_rates(row, self)
  row.before, row.after = row.before / self.seconds[1], row.after / self.seconds[2]
  row.unit = self.unit .. "/second"
end

local SCALES <const> = { none = function() end, total = to_shares, time = to_rates }

--- By what the values of after are multiplied where both sides are drawn in
-- one picture or profile.
-- @treturn number 1 when they are not scaled
function Diff:factor()
  if self.scale == "total" and self.total_after ~= 0 then
    return (self.total_before + 0.0) / self.total_after
  end
  if self.scale == "time" then return self.seconds[1] / self.seconds[2] end
  return 1
end

--- How the sides are scaled, in words.
-- @treturn string
function Diff:scale_text()
  if self.scale == "total" then return "scaled by total: shares of each side are compared" end
  if self.scale == "time" then
    return ("scaled by time: before took %.3gs, after %.3gs"):format(self.seconds[1],
      self.seconds[2])
  end
  return "not scaled: values are compared as they are"
end

--- The rows: what each function had before and has after.
-- @tparam ?table opts `by`, `label` (as in top), `cum` (values with callees)
-- @treturn Rows `{ name, before, after, change, relative, unit }`, the
--   largest change first; `relative` is a percentage of before, or "new" or
--   "gone" where one side is 0. When scaled by total, values are percentages
--   of each side's total and `unit` is "percent"; by time, they are per second.
function Diff:rows(opts)
  opts = opts or {}
  local found, rows = {}, {}
  collect(self.from, opts, found, "before")
  collect(self.to, opts, found, "after")
  for _, row in pairs(found) do
    if row.before ~= 0 or row.after ~= 0 then
      row.unit = self.unit
      SCALES[self.scale](row, self)
      row.change = row.after - row.before
      row.relative = self.relative(row.before, row.after)
      rows[#rows + 1] = row
    end
  end
  table.sort(rows, by_change)
  return rows_of(rows)
end

--- The rows, as a listing that prints as the report `diff` prints it.
-- @tparam ?table opts options of the report `diff`
-- @treturn Rows as `Diff:rows`
function Diff:top(opts)
  return reports.rows(self, "diff", "diff", opts, "diff:top")
end

--- After minus before as a profile: what went away is negative. It has all
-- sample types and all of pprof's detail. When scaled, a comment says so.
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
function Diff:profile()
  local factor <const> = self:factor()
  local result, message, code = core.merge { { self.after, factor }, { self.before, -1 } }
  if result and self.scale ~= "none" then
    local comments <const> = result:info().comments or {}
    comments[#comments + 1] = ("%s; after is multiplied by %.4g"):format(self:scale_text(), factor)
    result:set_info { comments = comments }
  end
  return result, message, code
end

-- Frames without what may differ between two runs of a program: addresses and
-- line numbers. One table for each frame, so that stacks share them.
local function frame_tables(profile)
  local frames <const> = profile:frames()
  local list = {}
  for i = 1, frames.n do
    list[i] = {
      name = frames.name[i] ~= "" and frames.name[i] or nil,
      file = frames.file[i], module = frames.module[i],
    }
  end
  return list
end

local function add_side(joined, one, scale, place)
  local tables <const> = frame_tables(one.profile)
  for stack, values, labels in one.profile:samples() do
    local value = values[one.index] * one.worth
    if scale ~= 1 then value = math.floor(value * scale + 0.5) end
    if value ~= 0 then
      for i = 1, #stack do stack[i] = tables[stack[i]] end
      local row = { 0, 0, value }
      row[place] = value
      local added, message, code = joined:add(stack, row, labels)
      if not added then return nil, message, code end
    end
  end
  return true
end

--- Both sides in one profile with the sample types before, after and both (the
-- sum), for reports that draw them together. When scaled, the values of after
-- are: to the total, or to the time of before.
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
function Diff:joined()
  local joined <const> = core.profile_new {
    types = { { "before", self.unit }, { "after", self.unit }, { "both", self.unit } },
    default = "both",
  }
  local done, message, code = add_side(joined, self.from, 1, 1)
  if done then done, message, code = add_side(joined, self.to, self:factor(), 2) end
  if not done then return nil, message, code end
  return joined
end

--- Is what grew within limits? See `sonde.gate`.
-- @tparam table opts `fail_above` (percent), `min_samples`, and `by`, `label`,
--   `cum` as in `rows`
-- @treturn ?table the verdict
-- @treturn ?string message
-- @treturn ?string code
function Diff:gate(opts)
  return require("sonde.gate").check(self, opts)
end

--- Writes the difference as a report or in a format.
-- @tparam string|table path as of `Profile:write`
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `unavailable` for a form that has no difference
function Diff:write(path)
  return reports.write(self, "diff", path, "diff:write")
end

--- The text that `write` would write.
-- @tparam string format a report's name
-- @tparam ?table opts its options
-- @treturn ?string
-- @treturn ?string message
-- @treturn ?string code
function Diff:render(format, opts)
  return reports.render(self, "diff", format, opts, "diff:render")
end

return diff
