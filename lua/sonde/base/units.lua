--- Units: reading what people type, printing what they can read.
-- Values stay integers until they are printed; a sample type's unit ("count",
-- "nanoseconds", "bytes", …) is the base of everything here, and the rules of
-- scaling are pprof's, so the same profile reads the same in both tools.
-- @module sonde.base.units
local units = {}

-- The members of a family, largest first: what one is worth in the family's
-- base, and the words for it. `typed_only` members are read, never printed.
local TIME <const> = {
  { name = "d", worth = 86400000000000, words = { "d", "day" }, typed_only = true },
  { name = "hrs", worth = 3600000000000, words = { "h", "hr", "hour" } },
  { name = "min", worth = 60000000000, words = { "m", "min", "minute" }, typed_only = true },
  { name = "s", worth = 1000000000, words = { "s", "sec", "second" } },
  { name = "ms", worth = 1000000, words = { "ms", "msec", "millisecond" } },
  { name = "us", worth = 1000, words = { "us", "usec", "μs", "µs", "microsecond" } },
  { name = "ns", worth = 1, words = { "ns", "nsec", "nanosecond" } },
}
local BYTES <const> = {
  { name = "PB", worth = 1 << 50, words = { "p", "pb", "pib", "petabyte" } },
  { name = "TB", worth = 1 << 40, words = { "t", "tb", "tib", "terabyte" } },
  { name = "GB", worth = 1 << 30, words = { "g", "gb", "gib", "gigabyte" } },
  { name = "MB", worth = 1 << 20, words = { "m", "mb", "mib", "megabyte" } },
  { name = "kB", worth = 1 << 10, words = { "k", "kb", "kib", "kbyte", "kilobyte" } },
  { name = "B", worth = 1, words = { "b", "byte" } },
}
-- Google's unit of processor time; its members are never typed.
local GCU <const> = {
  { name = "P*GCU", worth = 1e15, words = { "petagcu" } },
  { name = "T*GCU", worth = 1e12, words = { "teragcu" } },
  { name = "G*GCU", worth = 1e9, words = { "gigagcu" } },
  { name = "M*GCU", worth = 1e6, words = { "megagcu" } },
  { name = "k*GCU", worth = 1e3, words = { "kilogcu" } },
  { name = "GCU", worth = 1.0, words = { "gcu" } },
  { name = "m*GCU", worth = 1e-3, words = { "milligcu" } },
  { name = "u*GCU", worth = 1e-6, words = { "microgcu" } },
  { name = "n*GCU", worth = 1e-9, words = { "nanogcu" } },
}
local COUNT <const> = {
  { name = "G", worth = 1000000000, words = { "g" } },
  { name = "M", worth = 1000000, words = { "m" } },
  { name = "k", worth = 1000, words = { "k" } },
  { name = "", worth = 1, words = { "" } },
}
-- Units that say only "how many": printed as a bare number.
local BARE <const> = {
  [""] = true, count = true, sample = true, unit = true, minimum = true, auto = true,
}

local function index_words(family)
  local index = {}
  for _, member in ipairs(family) do
    for _, word in ipairs(member.words) do index[word] = member end
  end
  return index
end

local TIME_WORDS <const> = index_words(TIME)
local BYTE_WORDS <const> = index_words(BYTES)
local COUNT_WORDS <const> = index_words(COUNT)
local GCU_WORDS <const> = index_words(GCU)

local function normal(word)
  word = word:lower()
  if #word > 2 and word:sub(-1) == "s" then word = word:sub(1, -2) end
  return word
end

-- The family of a sample type's unit, and its member. Of the words of one
-- letter only s and b are taken for a unit; the others are short forms for
-- people's typing.
local function find(word)
  word = normal(word)
  if #word == 1 and word ~= "s" and word ~= "b" then return nil end
  local time <const> = TIME_WORDS[word]
  if time and not time.typed_only then return TIME, time end
  if BYTE_WORDS[word] then return BYTES, BYTE_WORDS[word] end
  if GCU_WORDS[word] then return GCU, GCU_WORDS[word] end
end

--- Whether a unit measures time, memory or neither.
-- @tparam string unit of a sample type
-- @treturn ?string "time" or "bytes"
function units.family(unit)
  local family <const> = find(unit)
  if family == TIME then return "time" end
  if family == BYTES then return "bytes" end
end

--- What one of a unit is worth in the base of its family (ns, bytes).
-- @tparam string unit
-- @treturn ?integer nil for a unit without a family
function units.worth(unit)
  local _, member = find(unit)
  return member and member.worth
end

-- A decimal number times an integer. Only the fraction, which is less than
-- one unit and so below 2^50, passes through a double.
local function times(whole, fraction, worth)
  local value <const> = math.tointeger(tonumber(whole == "" and "0" or whole))
  if value == nil or value > math.maxinteger // worth then return nil end
  local part = 0
  if fraction ~= "" then part = math.floor(tonumber("0." .. fraction) * worth + 0.5) end
  if value * worth > math.maxinteger - part then return nil end
  return value * worth + part
end

-- One number with its unit at the start of `text`: the value and the rest.
local function scan_one(text, words)
  local whole, fraction, rest = text:match("^(%d*)%.?(%d*)%s*(.*)$")
  if whole .. fraction == "" then return nil end
  local word, after = rest:match("^([%a\x80-\xff]*)%s*(.*)$")
  local member <const> = words[normal(word)] or words[word:lower()]
  if member == nil then return nil end
  return times(whole, fraction, member.worth), after
end

--- Reads a duration: "10s", "1.5ms", "1h30m", "250us"; a bare "0" too.
-- @tparam string text
-- @treturn ?integer nanoseconds
-- @treturn ?string why not, to be put behind a name
function units.scan_duration(text)
  local why <const> = "is not a duration such as 10s, 1.5ms or 1h30m"
  local rest = text:match("^%s*(.-)%s*$")
  if rest == "0" then return 0 end
  if rest == "" then return nil, why end
  local total = 0
  while rest ~= "" do
    local value
    value, rest = scan_one(rest, TIME_WORDS)
    if value == nil or total > math.maxinteger - value then return nil, why end
    total = total + value
  end
  return total
end

local function scan_whole(text, words, why)
  local value, rest = scan_one(text:match("^%s*(.-)%s*$"), words)
  if value == nil or rest ~= "" then return nil, why end
  return value
end

--- Reads a size: "1GiB", "64MB", "12.5k", "4096". Every prefix is a power of
-- 1024, with or without the i.
-- @tparam string text
-- @treturn ?integer bytes
-- @treturn ?string why not, to be put behind a name
function units.scan_size(text)
  local bare <const> = text:match("^%s*%d+%s*$") and math.tointeger(tonumber(text))
  if bare then return bare end
  return scan_whole(text, BYTE_WORDS, "is not a size such as 64MB, 1GiB or 4096")
end

--- Reads a count: "250", "10k", "1.5M".
-- @tparam string text
-- @treturn ?integer
-- @treturn ?string why not, to be put behind a name
function units.scan_count(text)
  return scan_whole(text, COUNT_WORDS, "is not a count such as 250, 10k or 1.5M")
end

-- The largest number of 64 bits.
local MAX_UNSIGNED <const> = "18446744073709551615"

--- Reads an unsigned integer of 64 bits.
-- @tparam string text decimal digits
-- @treturn ?integer negative above 2^63; nil when it does not fit
function units.scan_unsigned(text)
  local digits <const> = text:match("^0*(%d+)$")
  if digits == nil or #digits > #MAX_UNSIGNED
    or #digits == #MAX_UNSIGNED and digits > MAX_UNSIGNED then
    return nil
  end
  local value = 0
  for digit in digits:gmatch("%d") do value = value * 10 + math.tointeger(digit) end
  return value
end

--- Reads a percentage: "5%", "0.5%"; a bare number is one too.
-- @tparam string text
-- @treturn ?number 5 for "5%"
-- @treturn ?string why not, to be put behind a name
function units.scan_percent(text)
  local value <const> = tonumber(text:match("^%s*([%d.]+)%s*%%?%s*$"))
  if value then return value end
  return nil, "is not a percentage such as 5%"
end

-- |value| as a double: the most negative integer has no positive twin.
local function magnitude(value)
  return math.abs(value + 0.0)
end

--- The largest unit in which a value is at least one.
-- @tparam string unit the value's own
-- @tparam integer value
-- @treturn string a unit to give to `units.value`; "" when it has no family
function units.auto(unit, value)
  local family, own = find(unit)
  if family == nil then return BARE[unit] and "" or unit end
  local base <const> = magnitude(value) * own.worth
  if base == 0 and family == TIME then return "s" end
  for _, member in ipairs(family) do
    if not member.typed_only and base >= member.worth then return member.name end
  end
  return family[#family].name
end

--- One unit for a whole table: pprof's rule. It is the smallest row's, or,
-- where the total would need a larger one, that in which the smallest row
-- still shows as 0.01.
-- @tparam string unit the values' own
-- @tparam integer smallest least magnitude that is not 0; 0 when there is none
-- @tparam integer total
-- @treturn string
function units.choose(unit, smallest, total)
  if smallest == 0 then smallest = total end
  local small <const> = units.auto(unit, smallest)
  if small ~= units.auto(unit, total) and magnitude(smallest) * 100 < magnitude(total) then
    return units.auto(unit, 100 * magnitude(smallest))
  end
  return small
end

--- Whether values of one unit can be printed in another.
-- @tparam string unit
-- @tparam string out "auto" always can
-- @treturn boolean
function units.fits(unit, out)
  if out == "auto" then return true end
  local from <const> = find(unit)
  if from == nil then return normal(unit) == normal(out) end
  return from == find(out)
end

local function number(value)
  local text <const> = ("%.2f"):format(value):gsub("%.00$", "")
  return text == "-0" and "0" or text
end

--- Prints a value with its unit: "1.23s", "12.50MB", "4096", "0".
-- @tparam integer value
-- @tparam string unit its own
-- @tparam ?string out unit to print in; nil or "auto" chooses
-- @treturn string
function units.value(value, unit, out)
  local from, own = find(unit)
  if from == nil then
    local suffix <const> = BARE[unit] and "" or unit
    local text <const> = math.type(value) == "integer" and tostring(value) or number(value)
    return text == "0" and text or text .. suffix
  end
  if out == nil or out == "auto" or out == "" then out = units.auto(unit, value) end
  local _, member = find(out)
  local text <const> = number((value + 0.0) * own.worth / member.worth)
  return text == "0" and text or text .. member.name
end

--- A value in another unit, without its fraction.
-- @tparam integer value
-- @tparam string unit its own
-- @tparam string out of the same family; "" or its own leave it as it is
-- @treturn integer
function units.whole(value, unit, out)
  local from, own = find(unit)
  local _, member = find(out)
  if from == nil or member == nil or own.worth == member.worth then return value end
  local scaled <const> = (value + 0.0) * own.worth / member.worth
  return math.tointeger(scaled < 0 and math.ceil(scaled) or math.floor(scaled)) or value
end

--- Prints nanoseconds.
-- @tparam integer ns
-- @treturn string
function units.duration(ns)
  return units.value(ns, "ns")
end

--- Prints bytes.
-- @tparam integer bytes
-- @treturn string
function units.bytes(bytes)
  return units.value(bytes, "bytes")
end

--- Prints a count with its thousands marked: "398,922".
-- @tparam integer count
-- @treturn string
function units.count(count)
  local sign, digits = tostring(count):match("^(%-?)(%d+)$")
  digits = digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")
  return sign .. digits
end

--- Prints a count with what is counted: "1 thread", "12 threads", "1,784 records".
-- @tparam integer count
-- @tparam string noun of one
-- @tparam[opt] string nouns of several, when it is not noun .. "s"
-- @treturn string
function units.several(count, noun, nouns)
  return ("%s %s"):format(units.count(count), count == 1 and noun or nouns or noun .. "s")
end

--- Prints a share as pprof does: "  100%", "12.50%", "0.023%". Six columns
-- or more.
-- @tparam number value
-- @tparam number total
-- @treturn string
function units.percent(value, total)
  local ratio <const> = total == 0 and 0 or math.abs((value + 0.0) / (total + 0.0)) * 100
  if ratio >= 99.95 and ratio <= 100.05 then return "  100%" end
  return (ratio >= 1 and "%5.2f%%" or "%5.2g%%"):format(ratio)
end

--- A share of a count. What is not all of it never reads as 100 %.
-- @tparam integer part
-- @tparam integer whole
-- @treturn string such as "1.43%"
function units.share(part, whole)
  local text <const> = units.percent(part, whole):gsub("^ +", "")
  if text ~= "100%" or part == whole then return text end
  return ("%.3f%%"):format(math.min((part + 0.0) / whole * 100, 99.999))
end

return units
