--- Several profiles made one: sums, scaled copies, differences with a base.
-- Sample types and units are made compatible first, as pprof does it.
-- @module sonde.combine
local core <const> = require "sonde.c.core"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local combine = {}

local function type_list(profile)
  local words = {}
  for i, entry in ipairs(profile:types()) do
    words[i] = ("%s/%s"):format(text.printable(entry.type), text.printable(entry.unit))
  end
  return table.concat(words, ", ")
end

-- The index of each sample type by name.
local function index_types(profile)
  local index = {}
  for i, entry in ipairs(profile:types()) do index[entry.type] = index[entry.type] or i end
  return index
end

-- The names that all profiles have, in the order of the first; and those that
-- some lack.
local function common_types(profiles)
  local indexes, shared, dropped, seen = {}, {}, {}, {}
  for i, profile in ipairs(profiles) do indexes[i] = index_types(profile) end
  for _, profile in ipairs(profiles) do
    for _, entry in ipairs(profile:types()) do
      local everywhere = true
      for _, index in ipairs(indexes) do everywhere = everywhere and index[entry.type] ~= nil end
      if not seen[entry.type] then
        local list <const> = everywhere and shared or dropped
        list[#list + 1] = entry.type
      end
      seen[entry.type] = true
    end
  end
  return shared, dropped, indexes
end

-- The finest of units, and how much of it one of each is worth.
local function common_unit(list)
  local finest = list[1]
  for _, unit in ipairs(list) do
    if unit ~= finest then
      if units.family(unit) == nil or units.family(unit) ~= units.family(finest) then
        return nil, unit
      end
      if units.worth(unit) < units.worth(finest) then finest = unit end
    end
  end
  local factors = {}
  for i, unit in ipairs(list) do
    factors[i] = unit == finest and 1 or units.worth(unit) // units.worth(finest)
  end
  return finest, factors
end

-- Profiles of the same types, as they mostly are: each column as it is.
local function plan_same(profiles)
  local words <const>, first <const> = type_list(profiles[1]), profiles[1]:types()
  for _, profile in ipairs(profiles) do
    if type_list(profile) ~= words then return nil end
  end
  local columns, factors, out_units = {}, {}, {}
  for i in ipairs(profiles) do columns[i], factors[i] = {}, {} end
  for k, entry in ipairs(first) do
    out_units[k] = entry.unit
    for i in ipairs(profiles) do columns[i][k], factors[i][k] = k, 1 end
  end
  return { columns = columns, factors = factors, units = out_units, dropped = {} }
end

-- Which columns of each profile to take, and what to multiply them by.
local function plan(profiles)
  local same <const> = plan_same(profiles)
  if same then return same end
  local shared, dropped, indexes = common_types(profiles)
  if #shared == 0 then
    return nil, ("the profiles have no sample type in common: (%s) and (%s)"):format(
      type_list(profiles[1]), type_list(profiles[2])), "malformed"
  end
  local columns, factors, out_units = {}, {}, {}
  for i in ipairs(profiles) do columns[i], factors[i] = {}, {} end
  for k, name in ipairs(shared) do
    local list = {}
    for i, profile in ipairs(profiles) do
      columns[i][k] = indexes[i][name]
      list[i] = profile:types()[columns[i][k]].unit
    end
    local finest, worth = common_unit(list)
    if finest == nil then
      return nil, ("sample type %s is in %s and in %s"):format(text.printable(name),
        text.printable(list[1]), text.printable(worth)), "malformed"
    end
    out_units[k] = finest
    for i in ipairs(profiles) do factors[i][k] = worth[i] end
  end
  return { columns = columns, factors = factors, units = out_units, dropped = dropped }
end

-- A copy whose period is in another unit; itself when it is in that one.
local function with_period(profile, unit, factor)
  local info <const> = profile:info()
  if info.period_type.unit == unit then return profile end
  local copy <const> = assert(core.merge { { profile, 1 } })
  copy:set_info { period = info.period * factor,
    period_type = { info.period_type.type, unit } }
  return copy
end

local function same_periods(profiles)
  local list = {}
  for i, profile in ipairs(profiles) do list[i] = profile:info().period_type.unit end
  local finest, factors = common_unit(list)
  if finest == nil then return profiles end
  local result = {}
  for i, profile in ipairs(profiles) do result[i] = with_period(profile, finest, factors[i]) end
  return result
end

local function join(parts)
  local profiles = {}
  for i, part in ipairs(parts) do profiles[i] = part[1] end
  profiles = same_periods(profiles)
  local planned, message, code = plan(profiles)
  if planned == nil then return nil, message, code end
  local sources = {}
  for i, part in ipairs(parts) do
    local factors <const> = planned.factors[i]
    for k, factor in ipairs(factors) do
      factors[k] = factor * (part.ratios and part.ratios[planned.columns[i][k]] or part[2] or 1)
    end
    sources[i] = { profiles[i], 1, columns = planned.columns[i], factors = factors,
      base = part.base }
  end
  local result
  result, message, code = core.merge(sources, { units = planned.units })
  if result == nil then return nil, message, code end
  if #planned.dropped > 0 then
    message = "not in all profiles and left out: " .. text.printable(
      table.concat(planned.dropped, ", "))
  end
  return result, message
end

--- The sum of profiles. It has the sample types that all of them have, each in
-- the finest of their units.
-- @tparam {Profile,...} profiles
-- @treturn ?Profile
-- @treturn ?string message; beside a profile it names the sample types left out
-- @treturn ?string code `malformed` when they have no sample type in common
function combine.merge(profiles)
  local parts = {}
  for i, profile in ipairs(profiles) do parts[i] = { profile, 1 } end
  return join(parts)
end

--- A copy with all values multiplied; what comes to zero is left out.
-- @tparam Profile profile
-- @tparam number factor an integer is exact, else the nearest integers
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
function combine.scale(profile, factor)
  return core.merge { { profile, factor } }
end

--- Options of a difference with a base.
combine.options = {
  { name = "mark", type = "boolean", default = false,
    help = "mark the base's samples, so that percentages are of the base" },
  { name = "normalize", type = "boolean", default = false,
    help = "scale the profile to the base's totals first" },
}

-- By sample type: what makes the sum of a profile that of the base.
local function ratios(profile, base)
  local list, index = {}, index_types(base)
  for i, entry in ipairs(profile:types()) do
    local own <const> = profile:total(i)
    local other <const> = index[entry.type] and base:total(index[entry.type]) or 0
    list[i] = own == 0 and 0 or (other + 0.0) / own
    if list[i] == 1.0 then list[i] = 1 end
  end
  return list
end

--- A profile minus its base, stack by stack: what went away is negative.
-- With `mark` as pprof's `-diff_base`, else as its `-base`.
-- @tparam Profile profile
-- @tparam Profile base
-- @tparam ?table opts `mark`, `normalize`
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
function combine.minus(profile, base, opts)
  opts = options.check(combine.options, opts, "profile:minus")
  return join {
    { profile, 1, ratios = opts.normalize and ratios(profile, base) or nil },
    { base, -1, base = opts.mark or nil },
  }
end

return combine
