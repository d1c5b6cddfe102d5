--- Questions to the store in ClickHouse.
-- @module sonde.capture.store.clickhouse_reading
local core <const> = require "sonde.c.core"
local dkjson <const> = require "dkjson"
local errors <const> = require "sonde.base.errors"
local fields <const> = require "sonde.capture.fields"
local files <const> = require "sonde.base.files"
local pattern <const> = require "sonde.base.pattern"
local query <const> = require "sonde.capture.query"
local rows_of <const> = require("sonde.base.rows").of
local tsv <const> = require "sonde.capture.store.tsv"

local reading = {}

local Reading <const> = {}

-- Records of one answer, stacks that are kept, hashes in one question.
local PAGE <const>, MOST <const>, ASKED <const> = 20000, 100000, 5000

-- Of a batch that several attempts wrote, one counts.
local COMMITTED <const> = "attempt IN (SELECT min(attempt) FROM batches GROUP BY id)"

local HEAD <const> = "capture_id, checkpoint_id, taken_at, reason, key, pid"

--- Fields that are columns of a kind beyond those that all kinds have.
-- @tparam {table,...} list
-- @treturn {table,...}
function reading.columns(list)
  local columns = {}
  for _, field in ipairs(list) do
    local in_head <const> = field.at == "checkpoint" or field.name == "key" or field.name == "pid"
    if not in_head and field.type ~= "hash" then columns[#columns + 1] = field end
  end
  return columns
end

local function integer(text)
  return text and math.tointeger(tonumber(text))
end

local function some(text)
  return text ~= "" and text or nil
end

--- The kinds of which the store has records.
-- @treturn {string,...}
function Reading:kinds()
  local names = {}
  for row in self:each("SELECT DISTINCT kind FROM parts WHERE " .. COMMITTED
    .. " ORDER BY kind") do
    names[#names + 1] = row[1]
  end
  return names
end

--- The fields of a kind as the store has them.
-- @tparam string kind
-- @treturn ?{table,...}
-- @treturn ?string message
-- @treturn ?string code
function Reading:fields(kind)
  local row <const> = self:each(("SELECT fields FROM kinds WHERE name = %s LIMIT 1"):format(
    tsv.quote(kind)))()
  if row == nil then
    local kinds <const> = self:kinds()
    return nil, ("%s: no records of the kind '%s' (there are %s)"):format(self.name, kind,
      #kinds > 0 and table.concat(kinds, ", ") or "none of any"), "no_samples"
  end
  local list <const> = dkjson.decode(row[1], 1, nil)
  local wrong <const> = fields.check(kind, list)
  if wrong then
    return nil, ("%s: the kind '%s': %s"):format(self.name, kind, wrong), "malformed"
  end
  return list
end

local function quoted(values, with)
  local list = {}
  for i, value in ipairs(values) do list[i] = with(value) end
  return "(" .. table.concat(list, ", ") .. ")"
end

local function literal(value)
  return math.type(value) == "integer" and ("%d"):format(value) or tsv.quote(tostring(value))
end

local function condition_of(condition)
  local field <const> = condition.field
  local name <const> = "`" .. field.name .. "`"
  if condition.values == nil then
    local both = {}
    if condition.min then both[1] = ("%s >= %d"):format(name, condition.min) end
    if condition.max then both[#both + 1] = ("%s <= %d"):format(name, condition.max) end
    return table.concat(both, " AND ")
  end
  if #condition.values == 0 then return "0" end
  if field.type == "hash" then
    return "frames IN " .. quoted(condition.values, tsv.unsigned)
  end
  if field.type == "boolean" then
    return ("ifNull(%s, 0) = %d"):format(name, condition.values[1] and 1 or 0)
  end
  return ("%s IN %s"):format(name, quoted(condition.values, literal))
end

local function window_of(q)
  local where = { COMMITTED }
  if q.since then where[#where + 1] = ("taken_at >= %d"):format(q.since) end
  if q.before then where[#where + 1] = ("taken_at < %d"):format(q.before) end
  -- Days tell the server which partitions there are to read.
  local function day(ns) return tsv.quote(os.date("!%Y-%m-%d", ns // 1000000000)) end
  if q.since then where[#where + 1] = "day >= toDate(" .. day(q.since) .. ")" end
  if q.before then where[#where + 1] = "day <= toDate(" .. day(q.before) .. ")" end
  if q.captures then where[#where + 1] = "capture_id IN " .. quoted(q.captures, tsv.quote) end
  if q.checkpoints then
    where[#where + 1] = "checkpoint_id IN " .. quoted(q.checkpoints, tsv.quote)
  end
  return where
end

local function where_records(q)
  local where <const> = window_of(q)
  for _, condition in ipairs(q.conditions) do where[#where + 1] = condition_of(condition) end
  if q.hashes then
    where[#where + 1] = #q.hashes > 0 and "frames IN (" .. table.concat(q.hashes, ", ") .. ")"
      or "0"
  end
  return " WHERE " .. table.concat(where, " AND ")
end

-- Whether a part fits conditions on its own fields, which are one JSON text there.
local function fits(part, conditions)
  for _, condition in ipairs(conditions) do
    local found = false
    for _, value in ipairs(condition.values or {}) do
      found = found or part[condition.field.name] == value
    end
    if not found then return false end
  end
  return true
end

--- The parts that a query names.
-- @tparam table q
-- @treturn function iterator, as of the store in SQLite
function Reading:parts(q)
  local where <const>, own = window_of(q), {}
  where[#where + 1] = "kind = " .. tsv.quote(q.kind)
  for _, condition in ipairs(q.conditions) do
    local field <const> = condition.field
    if field.at == "checkpoint" or field.at == "part" and (field.name == "key"
      or field.name == "pid" or field.name == "error") then
      where[#where + 1] = condition_of(condition)
    elseif field.at == "part" and condition.values then
      own[#own + 1] = condition
    end
  end
  local following <const> = self:each(("SELECT %s, error, truncated, attempt, part, records,"
    .. " payload, own FROM parts WHERE %s ORDER BY taken_at, attempt, part"):format(HEAD,
    table.concat(where, " AND ")))
  return function()
    for row in following do
      local part <const> = dkjson.decode(row[13], 1, nil) or {}
      part.capture_id, part.checkpoint_id, part.taken_at = row[1], row[2], integer(row[3])
      part.reason, part.key, part.pid = some(row[4]), some(row[5]), integer(row[6])
      part.error, part.truncated = some(row[7]), row[8] == "1" or nil
      part.attempt, part.part, part.records = row[9], integer(row[10]), integer(row[11])
      part.payload = row[12] and row[9] .. ":" .. row[12]
      if fits(part, own) then return part end
    end
  end
end

--- A payload, as it came.
-- @tparam string id of a part's `payload`
-- @treturn string bytes
-- @treturn ?string format
function Reading:payload(id)
  local attempt <const>, number <const> = id:match("^(.*):(%d+)$")
  local row <const> = self:each(("SELECT bytes, packed, format FROM payloads WHERE attempt = %s"
    .. " AND id = %s LIMIT 1"):format(tsv.quote(attempt), number))()
  if row == nil then
    errors.raise { message = ("%s: no payload %s"):format(self.name, id), code = "malformed" }
  end
  if row[2] == "0" then return row[1], row[3] end
  return files.read_all(core.input(row[1]):inflate "gzip", 1 << 31), row[3]
end

local function frames_of(text)
  local frames = {}
  for i, frame in ipairs(dkjson.decode(text, 1, nil) or {}) do
    frames[i] = { func = frame[1], file = some(frame[2]), line = frame[3] ~= 0 and frame[3] or nil }
  end
  return frames
end

-- Brings the stacks of these hashes (texts of unsigned numbers) into the cache.
local function load_stacks(self, hashes)
  local cache = self.cache.stacks
  if cache == nil or cache.n > MOST then
    cache = { n = 0, found = {} }
    self.cache.stacks = cache
  end
  local missing, seen = {}, {}
  for _, hash in ipairs(hashes) do
    if not cache.found[hash] and not seen[hash] then
      seen[hash], missing[#missing + 1] = true, hash
    end
  end
  for i = 1, #missing, ASKED do
    local some_of <const> = table.concat(missing, ", ", i, math.min(i + ASKED - 1, #missing))
    for row in self:each(("SELECT hash, any(frames) FROM stacks WHERE hash IN (%s)"
      .. " GROUP BY hash"):format(some_of)) do
      cache.found[row[1]], cache.n = frames_of(row[2]), cache.n + 1
    end
  end
  return cache.found
end

-- The hashes of stacks with a function that matches.
local function hashes_of(self, source)
  local matches <const> = pattern.matcher(source, "--func")
  local known, list = {}, {}
  for row in self:each "SELECT hash, any(frames) FROM stacks GROUP BY hash" do
    for _, frame in ipairs(frames_of(row[2])) do
      if known[frame.func] == nil then known[frame.func] = matches(frame.func) end
      if known[frame.func] then
        list[#list + 1] = row[1]
        break
      end
    end
  end
  return list
end

--- Brings a question into the form of `sonde.capture.query`.
-- @tparam table opts
-- @treturn ?table
-- @treturn ?string message
-- @treturn ?string code
function Reading:query(opts)
  local list, message, code = self:fields(opts.kind)
  if list == nil then return nil, message, code end
  local q, wrong = query.check(list, opts)
  if q == nil then errors.usage(wrong, "sonde query --help") end
  if q.func then q.hashes = hashes_of(self, q.func) end
  local ids = {}
  for i, id in ipairs(q.checkpoints or {}) do
    if id == "last" or id == "first" then
      local wanted <const> = q.checkpoints
      q.checkpoints = nil
      local first, last
      for part in self:parts(q) do first, last = first or part, part end
      q.checkpoints = wanted
      local part <const> = id == "last" and last or first
      id = part and part.checkpoint_id or ""
    end
    ids[i] = id
  end
  if q.checkpoints then q.checkpoints = ids end
  return q
end

local READ <const> = {
  integer = integer, string = some, text = some,
  boolean = function(text) return text == "1" or nil end,
  json = function(text) return some(text) and dkjson.decode(text, 1, nil) end,
  frame = function(text) return some(text) and (dkjson.decode(text, 1, nil)) end,
}

local function plain(value)
  if type(value) == "table" then setmetatable(value, nil) end
  return value
end

local function record_of(q, columns, row, stacks)
  local record <const> = { kind = q.kind, capture_id = row[1], checkpoint_id = row[2],
    taken_at = integer(row[3]), reason = some(row[4]), key = some(row[5]),
    pid = integer(row[6]) }
  for i, field in ipairs(columns) do
    local text <const> = row[6 + i]
    if field.type == "frames" then
      if text ~= "0" then
        record[field.name] = stacks[text]
        record.stack_hash = ("%016x"):format(tsv.signed(text))
      end
    elseif text then
      record[field.name] = plain(READ[field.type](text))
    end
  end
  return record
end

-- The records of one answer.
local function page(self, q, columns, sql)
  local rows, hashes, at = {}, {}, nil
  for i, field in ipairs(columns) do
    if field.type == "frames" then at = 6 + i end
  end
  for row in self:each(sql) do
    rows[#rows + 1] = row
    if at and row[at] ~= "0" then hashes[#hashes + 1] = row[at] end
  end
  local stacks <const> = load_stacks(self, hashes)
  for i, row in ipairs(rows) do rows[i] = record_of(q, columns, row, stacks) end
  return rows
end

-- Parts in groups of about a page.
local function grouped(self, q)
  local groups, size = {}, PAGE
  for part in self:parts(q) do
    if size >= PAGE then
      groups[#groups + 1], size = {}, 0
    end
    size = size + part.records + 1
    table.insert(groups[#groups], ("(%s, %d)"):format(tsv.quote(part.attempt), part.part))
  end
  return groups
end

local function each_of(next_page)
  local rows, i = {}, 0
  return function()
    i = i + 1
    while rows and rows[i] == nil do rows, i = next_page(), 1 end
    return rows and rows[i]
  end
end

--- Iterates over the records that a query names.
-- @tparam table q
-- @treturn function
function Reading:rows(q)
  local columns <const> = reading.columns(q.fields)
  local names = { HEAD }
  for i, field in ipairs(columns) do names[i + 1] = "`" .. field.name .. "`" end
  local sql <const> = ("SELECT %s FROM record_%s%s"):format(table.concat(names, ", "), q.kind,
    where_records(q))
  local limit <const> = q.limit and (" LIMIT %d"):format(q.limit) or ""
  if q.sort then
    local order <const> = (" ORDER BY `%s` %s, taken_at, attempt, part, n"):format(
      q.sort.field.name, q.sort.descending and "DESC" or "ASC")
    local done = false
    return each_of(function()
      if done then return nil end
      done = true
      return page(self, q, columns, sql .. order .. limit)
    end)
  end
  local groups <const> = grouped(self, q)
  local at, n = 0, 0
  local following <const> = each_of(function()
    at = at + 1
    if groups[at] == nil then return nil end
    return page(self, q, columns, ("%s AND (attempt, part) IN (%s)"
      .. " ORDER BY taken_at, attempt, part, n%s"):format(sql, table.concat(groups[at], ", "),
      limit))
  end)
  return function()
    n = n + 1
    if q.limit and n > q.limit then return nil end
    return following()
  end
end

--- The captures in the store.
-- @treturn Rows as of the store in SQLite
function Reading:captures()
  local by_id, list = {}, {}
  local function of(id)
    if by_id[id] == nil then
      by_id[id] = { id = id, checkpoints = 0, records = 0 }
      list[#list + 1] = by_id[id]
    end
    return by_id[id]
  end
  for row in self:each "SELECT id, about FROM captures ORDER BY written" do
    local capture <const> = of(row[1])
    for name, value in pairs(dkjson.decode(row[2], 1, nil) or {}) do
      capture[name] = plain(value)
    end
    -- 0 stands for a capture that was gone on with.
    if capture.ended_at == 0 then capture.ended_at = nil end
  end
  for row in self:each("SELECT capture_id, uniqExact(checkpoint_id), sum(records), min(taken_at),"
    .. " max(taken_at) FROM parts WHERE " .. COMMITTED .. " GROUP BY capture_id") do
    local capture <const> = of(row[1])
    capture.checkpoints, capture.records = integer(row[2]), integer(row[3])
    capture.first, capture.last = integer(row[4]), integer(row[5])
  end
  table.sort(list, function(a, b)
    local x <const>, y <const> = a.started_at or a.first or 0, b.started_at or b.first or 0
    if x ~= y then return x < y end
    return a.id < b.id
  end)
  return rows_of(list)
end

-- What `sonde.capture.store.clickhouse_groups` shares with this module.
reading.integer, reading.some, reading.ASKED = integer, some, ASKED
reading.load_stacks, reading.where_records = load_stacks, where_records

--- Gives a class of stores these methods.
-- @tparam table class
function reading.add_to(class)
  for name, method in pairs(Reading) do class[name] = method end
end

return reading
