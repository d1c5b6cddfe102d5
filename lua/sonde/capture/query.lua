--- What is asked of a store, in a form that every store understands.
-- Filters are declared by the fields of the kind, so an option of the command, an
-- option of `store:records` and a field of a record have one name.
-- @module sonde.capture.query
local fields <const> = require "sonde.capture.fields"
local options <const> = require "sonde.base.options"
local units <const> = require "sonde.base.units"

local query = {}

local DAY <const> = 86400

-- Days since 1970 of a date; years begin in March, so that the leap day is last.
local function days(year, month, day)
  if month <= 2 then year, month = year - 1, month + 12 end
  local century_day <const> = 365 * year + year // 4 - year // 100 + year // 400
  return century_day + (153 * (month - 3) + 2) // 5 + day - 1 - 719468
end

local TIME <const> = "^(%d%d%d%d)%-(%d%d)%-(%d%d)[T ]?(%d*):?(%d*):?(%d*)(%.?%d*)(.*)$"

local function nanoseconds(fraction)
  if #fraction < 2 then return 0 end
  return math.tointeger(tonumber((fraction:sub(2) .. ("0"):rep(9)):sub(1, 9)))
end

local function zone(text)
  if text == "" or text == "Z" then return 0 end
  local sign <const>, hours <const>, minutes <const> = text:match("^([+-])(%d%d):?(%d%d)$")
  if sign == nil then return nil end
  return (sign == "-" and -1 or 1) * (math.tointeger(tonumber(hours)) * 3600
    + math.tointeger(tonumber(minutes)) * 60)
end

local function in_range(month, day, hour, minute, second)
  return month >= 1 and month <= 12 and day >= 1 and day <= 31 and hour < 24 and minute < 60
    and second < 61
end

local function whole(text)
  return text == "" and 0 or math.tointeger(tonumber(text))
end

--- Reads a time: "2h" (ago), "2026-11-30", "2026-11-30T10:15:00Z", a number of
-- nanoseconds since 1970.
-- @tparam string text
-- @tparam integer now nanoseconds since 1970
-- @treturn ?integer nanoseconds since 1970
-- @treturn ?string why not, to be put behind a name
function query.scan_time(text, now)
  if text:find("^%d+$") and #text > 12 then return math.tointeger(tonumber(text)) end
  local ago <const> = units.scan_duration(text)
  if ago then return now - ago end
  local year, month, day, hour, minute, second, fraction, rest = text:match(TIME)
  local offset <const> = rest and zone(rest)
  if offset then
    year, month, day = whole(year), whole(month), whole(day)
    hour, minute, second = whole(hour), whole(minute), whole(second)
    if in_range(month, day, hour, minute, second) then
      local at <const> = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset
      return at * 1000000000 + nanoseconds(fraction)
    end
  end
  return nil, "is not a time such as 2h (ago) or 2026-11-30T10:15:00Z"
end

--- Prints a time.
-- @tparam integer ns since 1970
-- @treturn string
function query.time(ns)
  return os.date("!%Y-%m-%dT%H:%M:%S", ns // 1000000000)
    .. (".%03dZ"):format(ns // 1000000 % 1000)
end

--- Options that choose records of any kind.
query.window = {
  { name = "kind", type = "string", argname = "KIND",
    help = "of a store: stacks, goprof, nettrace, process_tree, or one of your own" },
  { name = "capture", type = "string", many = true, argname = "ID",
    help = "of a store: only these captures" },
  { name = "checkpoint", type = "string", many = true, argname = "ID",
    help = "of a store: only these checkpoints; 'last' and 'first' are those of the rest" },
  { name = "last", aliases = { "window" }, type = "duration",
    help = "of a store: only what was taken in so long until now" },
  { name = "since", type = "string", argname = "TIME",
    help = "of a store: only what was taken from this time on: 2h (ago) or 2026-11-30T10:00:00Z" },
  { name = "until", type = "string", argname = "TIME",
    help = "of a store: only what was taken before this time" },
  { name = "where", type = "string", many = true, argname = "FIELD=VALUE",
    help = "of a store: only records with this value of a field; of one field any of several" },
}

--- Further options of queries.
query.order = {
  { name = "func", aliases = { "function" }, type = "pattern",
    help = "only stacks with a function that matches" },
  { name = "sort", type = "string", argname = "FIELD",
    help = "sort by this field; -FIELD for the largest first" },
  { name = "limit", aliases = { "n" }, short = "n", type = "count",
    help = "at most so many" },
}

local function range_help(field)
  return field.help .. "; N, N.. or N..M"
end

--- The options that filter by the fields of a kind.
-- @tparam {table,...} list of fields
-- @treturn {table,...} declared options
function query.filters(list)
  local declared = {}
  for _, field in ipairs(list) do
    if field.filter ~= "none" and field.name ~= "taken_at" then
      local option = { name = field.name, type = "string", help = field.help, many = true,
        argname = field.filter == "range" and "RANGE" or nil }
      if field.filter == "range" then option.help = range_help(field) end
      if field.type == "boolean" then
        option.many, option.argname = nil, "true|false"
        option.choices = { "true", "false" }
      end
      declared[#declared + 1] = option
    end
  end
  return declared
end

local function number(text)
  return text:find("^[+-]?%d+$") and math.tointeger(tonumber(text))
    or units.scan_size(text) or units.scan_duration(text)
end

-- A range: "5", "5..", "..9", "5..9", or { min =, max = }.
local function scan_range(text)
  local exact <const> = number(text)
  if exact then return { min = exact, max = exact } end
  local low <const>, high <const> = text:match("^(.-)%.%.(.*)$")
  if low == nil or low .. high == "" then return nil end
  local range = { min = low ~= "" and number(low) or nil, max = high ~= "" and number(high) or nil }
  if low ~= "" and range.min == nil or high ~= "" and range.max == nil then return nil end
  return range
end

local function bad(field, value)
  return nil, ("%s: '%s' is not %s"):format(options.flag(field.name), tostring(value),
    field.filter == "range" and "a number or a range such as 5.. or 5..9"
    or field.type == "hash" and "a hash of 16 hex digits" or "a whole number")
end

local function hash_of(text)
  if not text:find("^%x+$") or #text ~= 16 then return nil end
  return math.tointeger(tonumber("0x" .. text))
end

-- One value that a field is compared with.
local function scan_value(field, value)
  if field.type == "hash" then return type(value) == "string" and hash_of(value:lower()) or nil end
  if field.type == "integer" then
    if math.type(value) == "integer" then return value end
    return type(value) == "string" and value:find("^[+-]?%d+$") and math.tointeger(tonumber(value))
      or nil
  end
  if field.type == "boolean" then
    if type(value) == "boolean" then return value end
    if value == "true" or value == "false" then return value == "true" end
    return nil
  end
  return tostring(value)
end

local function range_of(field, value)
  if type(value) == "table" and (value.min or value.max) then
    return { field = field, min = value.min, max = value.max }
  end
  if type(value) == "table" then value = value[1] end
  if math.type(value) == "integer" then return { field = field, min = value, max = value } end
  local range <const> = scan_range(tostring(value))
  if range == nil then return bad(field, value) end
  range.field = field
  return range
end

local function terms_of(field, value)
  local values = {}
  for i, item in ipairs(type(value) == "table" and value or { value }) do
    values[i] = scan_value(field, item)
    if values[i] == nil then return bad(field, item) end
  end
  return { field = field, values = values }
end

local function condition(field, value)
  if field.filter == "range" then return range_of(field, value) end
  return terms_of(field, value)
end

local OWN <const> = { kind = true, capture = true, checkpoint = true, last = true, since = true,
  ["until"] = true, func = true, sort = true, limit = true, where = true }

local function add_times(q, opts, now)
  local message
  if opts.last then
    local ago = opts.last
    if type(ago) == "string" then
      ago, message = units.scan_duration(ago)
      if ago == nil then return nil, "--last: " .. message .. (": '%s'"):format(opts.last) end
    end
    q.since = now - ago
  end
  for _, name in ipairs { "since", "until" } do
    local at = opts[name]
    if type(at) == "string" then
      at, message = query.scan_time(at, now)
      if at == nil then
        return nil, ("%s: %s: '%s'"):format(options.flag(name), message, opts[name])
      end
    end
    local bound <const> = name == "until" and "before" or name
    q[bound] = at or q[bound]
  end
  return true
end

local function add_sort(q, list, sort)
  if sort == nil then return true end
  local name <const> = sort:match("^%-?(.+)$")
  local field <const> = name and fields.find(list, name)
  if field == nil or not field.sort then
    local names = {}
    for _, other in ipairs(list) do
      if other.sort then names[#names + 1] = other.name end
    end
    return nil, ("--sort: records of this kind are not sorted by '%s' (by %s)"):format(sort,
      table.concat(names, ", "))
  end
  q.sort = { field = field, descending = sort:sub(1, 1) == "-" }
  return true
end

local function listed(value)
  if value == nil then return nil end
  return type(value) == "table" and value or { value }
end

-- Names of options, for a message about an unknown one.
local function unknown(list, name)
  local names = {}
  for _, field in ipairs(list) do names[#names + 1] = field.name end
  for own in pairs(OWN) do names[#names + 1] = own end
  table.sort(names)
  local near <const> = options.suggest(tostring(name), names)
  return ("unknown filter '%s'%s"):format(tostring(name), near
    and (" (did you mean '%s'?)"):format(near) or "")
end

-- Filters given as texts, `FIELD=VALUE`, beside those given by name.
local function with_texts(opts)
  if opts.where == nil or #opts.where == 0 then return opts end
  local all, given = {}, {}
  for name, value in pairs(opts) do all[name] = value end
  for _, text in ipairs(opts.where) do
    local name <const>, value <const> = text:match("^([%w_-]+)=(.*)$")
    if name == nil then return nil, ("--where: '%s' is not FIELD=VALUE"):format(text) end
    local field <const> = name:gsub("-", "_")
    if OWN[field] then return nil, ("--where: '%s' is no field of records"):format(name) end
    given[field] = given[field] or {}
    table.insert(given[field], value)
  end
  for name, values in pairs(given) do all[name] = values end
  return all
end

--- Brings what is asked into one form.
-- @tparam {table,...} list the fields of the kind
-- @tparam table opts `kind`, the options above, and filters by field
-- @treturn ?table `kind fields conditions captures checkpoints since before func sort
--   limit`
-- @treturn ?string what is wrong
function query.check(list, opts)
  local wrong
  opts, wrong = with_texts(opts)
  if opts == nil then return nil, wrong end
  local q <const> = { kind = opts.kind, fields = list, conditions = {}, func = opts.func,
    limit = opts.limit, captures = listed(opts.capture), checkpoints = listed(opts.checkpoint) }
  local done, message = add_times(q, opts, (opts.now or os.time() * 1000000000))
  if not done then return nil, message end
  done, message = add_sort(q, list, opts.sort)
  if not done then return nil, message end
  for name, value in pairs(opts) do
    if not OWN[name] and name ~= "now" then
      local field <const> = fields.find(list, name)
      if field == nil or field.filter == "none" then return nil, unknown(list, name) end
      local made, why = condition(field, value)
      if made == nil then return nil, why end
      q.conditions[#q.conditions + 1] = made
    end
  end
  table.sort(q.conditions, function(a, b) return a.field.name < b.field.name end)
  return q
end

return query
