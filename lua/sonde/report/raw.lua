--- All that a profile holds, as text: pprof's `-raw`. Nothing is measured,
-- scaled or left out.
-- @module sonde.report.raw
local labels <const> = require "sonde.report.labels"
local names <const> = require "sonde.report.names"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"

local raw = {}

raw.name = "raw"
raw.summary = "all that a profile holds: samples, locations, mappings"
raw.takes = "profile"
raw.extensions = {}
raw.options = {}
raw.whole = true

local printable <const> = text.printable

-- Nanoseconds with all digits that say something, and no zeros behind them.
local function fraction(ns, digits)
  return ((".%0" .. digits .. "d"):format(ns):gsub("0+$", ""):gsub("^%.$", ""))
end

local function time_words(ns)
  local seconds <const>, rest <const> = ns // 1000000000, ns % 1000000000
  return os.date("!%Y-%m-%d %H:%M:%S", seconds) .. fraction(rest, 9) .. " +0000 UTC"
end

local SMALL <const> = { { 1000, "ns", 1 }, { 1000000, "µs", 1000 }, { 1000000000, "ms", 1000000 } }

-- A duration in the form of Go: 1h2m3.5s.
local function duration_words(ns)
  local sign = ns < 0 and "-" or ""
  ns = math.abs(ns)
  for _, row in ipairs(SMALL) do
    if ns < row[1] then
      local digits <const> = #tostring(row[3]) - 1
      local part <const> = digits > 0 and fraction(ns % row[3], digits) or ""
      return sign .. ns // row[3] .. part .. row[2]
    end
  end
  local seconds <const> = ns // 1000000000
  local words = seconds % 60 .. fraction(ns % 1000000000, 9) .. "s"
  if seconds >= 60 then words = seconds // 60 % 60 .. "m" .. words end
  if seconds >= 3600 then words = seconds // 3600 .. "h" .. words end
  return sign .. words
end

-- The first four characters: so much pprof shows of a duration.
local function four(words)
  local stop <const> = utf8.offset(words, 5)
  return stop and words:sub(1, stop - 1) or words
end

local function write_head(to, profile)
  local info <const> = profile:info()
  for _, comment in ipairs(info.comments) do to:putf("Comment: %s\n", printable(comment)) end
  if info.doc_url ~= "" then to:putf("Doc: %s\n", printable(info.doc_url)) end
  local period <const> = info.period_type
  if period.type ~= "" or period.unit ~= "" then
    to:putf("PeriodType: %s %s\n", printable(period.type), printable(period.unit))
  end
  to:putf("Period: %d\n", info.period)
  if info.time_ns ~= 0 then to:putf("Time: %s\n", time_words(info.time_ns)) end
  if info.duration_ns ~= 0 then
    to:putf("Duration: %s\n", four(duration_words(info.duration_ns)))
  end
  local words = {}
  for i, entry in ipairs(profile:types()) do
    words[i] = ("%s/%s%s"):format(printable(entry.type), printable(entry.unit),
      entry.type == info.default_type_name and "[dflt]" or "")
  end
  to:putf("Samples:\n%s\n", table.concat(words, " "))
end

-- The values of a key: with units when one of them has one.
local function number_words(list)
  local with_units, words = false, {}
  for _, label in ipairs(list) do with_units = with_units or label.unit ~= "" end
  for i, label in ipairs(list) do
    words[i] = with_units and ("%d %s"):format(label.value, label.unit)
      or ("%d"):format(label.value)
  end
  return words
end

local function label_line(map, words_of)
  local list = {}
  for key, values in pairs(map) do
    list[#list + 1] = ("%s:[%s]"):format(printable(key),
      printable(table.concat(words_of(values), " ")))
  end
  if #list == 0 then return "" end
  table.sort(list)
  return (" "):rep(16) .. table.concat(list, " ") .. "\n"
end

local function same(values) return values end

local function label_lines(profile)
  local rows <const> = profile:label_rows()
  return names.memo(function(set)
    local texts, numbers = labels.split(rows[set])
    return label_line(texts, same) .. label_line(numbers, number_words)
  end)
end

local function write_samples(to, profile)
  local lines_of <const> = label_lines(profile)
  local location <const> = profile:frames().location
  for stack, values, _, set in profile:samples() do
    for i, value in ipairs(values) do values[i] = (" %10d"):format(value) end
    to:put(table.concat(values) .. ": ")
    for _, frame in ipairs(stack) do
      if location[frame] ~= location[frame - 1] then to:put(location[frame] .. " ") end
    end
    to:put("\n")
    to:put(lines_of[set])
  end
end

local function line_words(line)
  if not line then return "??" end
  local words <const> = ("%s %s:%d:%d s=%d"):format(printable(line.name), printable(line.file),
    line.line, line.column, line.start_line)
  if line.name == line.system_name then return words end
  return ("%s(%s)"):format(words, printable(line.system_name))
end

-- Where nothing is mapped, pprof pretends that all is in one unknown file.
local NO_MAPPING <const> = { start = 0, limit = 0, offset = 0, file = "", build_id = "" }

local function write_locations(to, profile)
  local pretends <const> = #profile:mappings() == 0
  to:put("Locations\n")
  for i, location in ipairs(profile:locations()) do
    local head = ("%6d: %#x "):format(i, location.address)
    if location.address == 0 then head = ("%6d: 0x0 "):format(i) end
    if pretends then location.mapping = 1 end
    if location.mapping then head = ("%sM=%d "):format(head, location.mapping) end
    if location.folded then head = head .. "[F] " end
    if #location.lines == 0 then to:put(head .. "\n") end
    for k, line in ipairs(location.lines) do
      to:putf("%s%s\n", k == 1 and head or (" "):rep(13), line_words(line))
    end
  end
end

local FLAGS <const> = {
  { "has_functions", "[FN]" }, { "has_filenames", "[FL]" }, { "has_line_numbers", "[LN]" },
  { "has_inline_frames", "[IN]" },
}

local function write_mappings(to, profile)
  to:put("Mappings\n")
  local mappings <const> = profile:mappings()
  for i, mapping in ipairs(#mappings > 0 and mappings or { NO_MAPPING }) do
    local flags = ""
    for _, row in ipairs(FLAGS) do
      if mapping[row[1]] then flags = flags .. row[2] end
    end
    to:putf("%d: 0x%x/0x%x/0x%x %s %s %s\n", i, mapping.start, mapping.limit, mapping.offset,
      printable(mapping.file), printable(mapping.build_id), flags)
  end
end

--- Writes the profile.
-- @param profile
-- @tparam table _ checked options: there are none
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function raw.write(profile, _, out)
  local to <const> = sink.new(out)
  write_head(to, profile)
  write_samples(to, profile)
  write_locations(to, profile)
  write_mappings(to, profile)
  return to:finish()
end

return raw
