--- What a report is about: one sample type of one profile, its total, what
-- percentages are taken of, and the words that say so. Every report begins
-- here, so that all of them name the same things in the same way.
-- @module sonde.report.scope
local calls <const> = require "sonde.report.calls"
local names <const> = require "sonde.report.names"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local scope = {}

local Scope <const> = {}
Scope.__index = Scope

local MAX_NOTES <const> = 12
local MAX_NOTE_LENGTH <const> = 300
local MAX_NAME_LENGTH <const> = 400

--- A number without its fraction.
-- @tparam number x
-- @treturn number
function scope.truncate(x)
  return x < 0 and math.ceil(x) or math.floor(x)
end

--- Options that every report has which shows values of one sample type.
scope.options = {
  { name = "type", type = "string", argname = "NAME",
    help = "sample type to measure, by name or number (from 0); else the profile's default" },
  { name = "unit", type = "string", argname = "UNIT", default = "auto",
    help = "unit to print: ns us ms s hrs, B kB MB GB TB PB, or auto" },
  { name = "relative", type = "boolean", default = false, aliases = { "relative_percentages" },
    help = "percentages of what the filters left, not of the whole" },
  { name = "mean", type = "boolean", default = false,
    help = "the mean: values divided by those of the first sample type" },
  { name = "divide_by", type = "number", argname = "X",
    help = "divide what is printed by this" },
}

--- The option of reports that cannot show negative values.
scope.sign_option = {
  name = "sign", type = "string", choices = { "positive", "negative" },
  help = "of a profile with negative values, the half to write; negative ones by magnitude",
}

--- A value without its sign; the most negative one gives the largest.
-- @tparam integer value
-- @treturn integer
function scope.magnitude(value)
  if value == math.mininteger then return math.maxinteger end
  return value < 0 and -value or value
end

local function type_names(types)
  local list = {}
  for i, entry in ipairs(types) do list[i] = text.printable(entry.type) end
  return table.concat(list, ", ")
end

local function type_named(types, wanted)
  for i, entry in ipairs(types) do
    if entry.type == wanted then return i end
  end
end

--- Finds a sample type.
-- As in pprof, a number counts from 0, and "inuse_space" also means "space";
-- the other way round too.
-- @param profile
-- @tparam ?string wanted its name; nil for the default
-- @treturn ?integer index, from 1
-- @treturn ?string message
-- @treturn ?string code `unknown_name`
function scope.find_type(profile, wanted)
  local types <const> = profile:types()
  if #types == 0 then return nil, "no samples: the profile has no sample types", "no_samples" end
  if wanted == nil then return profile:info().default_type or #types end
  local found <const> = type_named(types, wanted)
    or type_named(types, (wanted:gsub("^inuse_", ""))) or type_named(types, "inuse_" .. wanted)
  if found then return found end
  local number <const> = wanted:match("^%d+$") and math.tointeger(tonumber(wanted))
  if number and number < #types then return number + 1 end
  return nil, ("no sample type '%s': the profile has %s"):format(
    text.printable(wanted), type_names(types)), "unknown_name"
end

-- The default type that a profile names but does not have; pprof takes the
-- last one then, without a word.
local function unknown_default(self)
  local name <const> = self.info.default_type_name or ""
  if name ~= "" and name ~= self.type then return name end
end

--- How much a profile holds: "1.23s, 492 samples". A row of a profile stands
-- for many samples, so their number is known only where it is a type.
-- @param profile
-- @tparam integer index sample type
-- @treturn string
function scope.amount(profile, index)
  local types <const> = profile:types()
  local words = units.value(profile:total(index, true), types[index].unit)
  for i, entry in ipairs(types) do
    if entry.type == "samples" and entry.unit == "count" then
      local n <const> = profile:total(i, true)
      local noun <const> = n == 1 and "sample" or "samples"
      if i == index then return ("%s %s"):format(units.count(n), noun) end
      return ("%s, %s %s"):format(words, units.count(n), noun)
    end
  end
  return words
end

--- The scope of a report.
-- @param profile
-- @tparam table opts checked options, of which `type unit relative` are used
-- @treturn ?table the scope: `profile index type unit total whole view n`
-- @treturn ?string message
-- @treturn ?string code `no_samples`; `unknown_name` for an unknown type
function scope.new(profile, opts)
  local index, message, code = scope.find_type(profile, opts.type)
  if index == nil then return nil, message, code end
  local entry <const> = profile:types()[index]
  local notes <const> = profile:notes()
  -- "minimum" is pprof's word for a unit that shows the least value.
  local unit <const> = opts.unit ~= "minimum" and opts.unit or "auto"
  if not units.fits(entry.unit, unit) then
    return nil, ("values in %s cannot be printed in %s"):format(
      text.printable(entry.unit), text.printable(unit)), "unknown_name"
  end
  local self <const> = setmetatable({
    profile = profile, index = index, type = entry.type, unit = entry.unit,
    view = notes.view, filters = notes.filters, n = #profile,
    out_unit = unit, bare = units.family(entry.unit) == nil, info = profile:info(),
  }, Scope)
  if self.n == 0 then return nil, scope.nothing(profile), "no_samples" end
  self.unknown_default = opts.type == nil and unknown_default(self) or nil
  self.mean, self.divide_by = opts.mean, opts.divide_by
  self.total = profile:whole(index, opts.mean)
  local wholes <const> = opts.mean and notes.whole_mean or notes.whole
  self.whole = not opts.relative and wholes and wholes[index] or self.total
  return self
end

--- Says that a profile has nothing to report, and why as far as it is known.
-- @param profile
-- @treturn string
function scope.nothing(profile)
  local notes <const> = profile:notes()
  local what = "no samples"
  if notes.view then what = what .. " in view " .. notes.view end
  if #notes.filters > 0 then
    return what .. ": nothing is left by " .. table.concat(notes.filters, ", ")
  end
  local why <const> = (profile:info().comments or {})[1]
  if why then what = what .. ": " .. text.printable(why) end
  return what
end

local function first_negative(self)
  local tree <const> = self.profile:calltree { type = self.index }
  if tree.bare < 0 then return names.NO_STACK, tree.bare end
  for i = 1, tree.n do
    if tree.self[i] < 0 then return calls.stack(tree, i), tree.self[i] end
  end
end

--- The sign by which a report multiplies values that it can show only when
-- they are positive: 1, or -1 for the negative half.
-- @tparam ?string asked "positive", "negative", or nil when nothing was said
-- @tparam ?string advice what to do about negative values
-- @treturn ?integer nil when there are negative values and nothing was said
-- @treturn ?string message that names a stack
-- @treturn ?string code `unavailable`; `no_samples` when there is no value
function Scope:sign(asked, advice)
  local sum <const> = self.profile:total(self.index)
  if self.total == 0 then
    return nil, "no values to write: all samples are 0 in " .. self:title(), "no_samples"
  end
  local wrong <const> = asked == "negative" and 1 or -1
  if sum == self.total * wrong then
    if asked then return nil, "no " .. asked .. " values in " .. self:title(), "no_samples" end
  elseif asked or sum == self.total then
    return -wrong
  end
  local stack, value = first_negative(self)
  if stack == nil then return 1 end
  return nil, ("%s is negative in stack %s; this form has no negative values: %s"):format(
    units.value(value, self.unit), text.cut(text.utf8(stack), MAX_NOTE_LENGTH),
    advice or "choose sign = positive or negative"), "unavailable"
end

-- A value as it is printed: divided when that was asked for.
local function divided(self, value)
  if self.divide_by == nil then return value end
  return math.tointeger(scope.truncate(value * (1 / self.divide_by))) or value
end

--- The unit that a set of values is printed in, from now on.
-- @tparam integer smallest least magnitude among them that is not 0
function Scope:choose_unit(smallest)
  self.bare = false
  if self.out_unit ~= "auto" then return end
  if smallest == 0 then smallest = self.whole end
  local least <const> = divided(self, smallest)
  self.out_unit = least == 0 and smallest ~= 0 and units.auto(self.unit, 0)
    or units.choose(self.unit, least, divided(self, self.whole))
  if self.out_unit == "" then self.out_unit = "auto" end
end

--- A value as text.
-- @tparam integer value
-- @treturn string
function Scope:value(value)
  -- Until a unit has been chosen, one of no family is not printed.
  local unit <const> = self.bare and "count" or self.unit
  return units.value(divided(self, value), unit, self.out_unit)
end

--- A value as text in a column of ten, as in pprof's tables.
-- @tparam integer value
-- @treturn string
function Scope:column(value)
  return ("%10s"):format(self:value(value))
end

--- A value's share of the whole as text.
-- @tparam number value
-- @treturn string
function Scope:percent(value)
  return units.percent(value, self.whole)
end

--- The name of what is measured: "cpu", "mean_cpu".
-- @treturn string
function Scope:type_name()
  return (self.mean and "mean_" or "") .. self.type
end

--- What is measured, in a few words: "wall (nanoseconds)".
-- @treturn string
function Scope:title()
  local title = ("%s (%s)"):format(text.printable(self:type_name()), text.printable(self.unit))
  if self.view and self.view ~= self.type then
    title = ("%s, %s"):format(self.view, title)
  end
  return title
end

local function add_notes(lines, comments)
  local shown = 0
  for _, comment in ipairs(comments or {}) do
    if comment:sub(1, 1) ~= "#" then
      shown = shown + 1
      if shown <= MAX_NOTES then
        local note = text.cut(text.utf8(text.printable(comment)), MAX_NOTE_LENGTH)
        lines[#lines + 1] = "Note: " .. note
      end
    end
  end
  if shown > MAX_NOTES then
    lines[#lines + 1] = ("Note: and %d more comments"):format(shown - MAX_NOTES)
  end
end

function Scope:left_out()
  local gone <const> = self.filters_whole - self.total
  return ("%s (%s of %s) left out"):format(units.value(gone, self.unit),
    (units.percent(gone, self.filters_whole):gsub("^ +", "")),
    units.value(self.filters_whole, self.unit))
end

--- The lines that head a report of text.
-- @treturn {string,...}
function Scope:header()
  local info <const> = self.info
  local lines = { "Type: " .. self:title() }
  if (info.time_ns or 0) ~= 0 then
    lines[#lines + 1] = os.date("!Time: %Y-%m-%d %H:%M:%S UTC", info.time_ns // 1000000000)
  end
  local total = "Total: " .. scope.amount(self.profile, self.index)
  if (info.duration_ns or 0) ~= 0 then
    total = ("Duration: %s, %s"):format(units.duration(info.duration_ns),
      total:gsub("^T", "t"))
  end
  lines[#lines + 1] = total
  local whole <const> = self.profile:notes().whole
  if #self.filters > 0 then
    self.filters_whole = whole and whole[self.index] or self.total
    lines[#lines + 1] = ("Filters: %s; %s"):format(
      table.concat(self.filters, ", "), self:left_out())
  end
  if self.unknown_default then
    lines[#lines + 1] = ("Note: the profile's default sample type '%s' is none of its types")
      :format(text.printable(self.unknown_default))
  end
  add_notes(lines, info.comments)
  return lines
end

--- What percentages are of, as words that end a line.
-- @treturn string
function Scope:denominator()
  return ("percentages are of %s, %s"):format(
    self.whole == self.total and "the total" or "the total before filters",
    units.value(self.whole, self.unit))
end

--- A name for a line of text.
-- @tparam string name
-- @treturn string
function scope.name(name)
  if name == "" then return "<unknown>" end
  name = text.printable(name)
  if #name <= MAX_NAME_LENGTH then return name end
  return text.cut_middle(name, MAX_NAME_LENGTH)
end

return scope
