--- Questions to the store in SQLite.
-- What every store answers in its own way; `sonde.capture.answers` makes the rest
-- of these.
-- @module sonde.capture.store.reading
local core <const> = require "sonde.c.core"
local dkjson <const> = require "dkjson"
local errors <const> = require "sonde.base.errors"
local fields <const> = require "sonde.capture.fields"
local files <const> = require "sonde.base.files"
local pattern <const> = require "sonde.base.pattern"
local query <const> = require "sonde.capture.query"
local rows_of <const> = require("sonde.base.rows").of
local schema <const> = require "sonde.capture.store.schema"
local select <const> = require "sonde.capture.store.select"

local reading = {}

local Reading <const> = {}

-- Texts, frames and stacks that are kept while records are read.
local MOST <const> = 100000

-- A payload or text that unpacks to more is damaged.
local LARGEST <const> = 1 << 31

local function must(value, message, code)
  if value == nil then errors.raise { message = message, code = code } end
  return value
end

-- Steps through a statement that nobody else uses.
local function rows(self, sql, values)
  local statement = must(self.db:prepare(sql))
  statement:start(table.unpack(values, 1, #values))
  return function()
    if statement == nil then return nil end
    local is_row, message, code = statement:step()
    if is_row then return statement:get() end
    statement:close()
    statement = nil
    if is_row == nil then
      errors.raise { message = self.path .. ": " .. message, code = code }
    end
  end
end

-- What is found by number, remembered.
local function cached(self, what, id, find)
  local cache = self.cache[what]
  if cache == nil or cache.n > MOST then
    cache = { n = 0, found = {} }
    self.cache[what] = cache
  end
  local found = cache.found[id]
  if found == nil then
    found = find(self, id)
    cache.found[id], cache.n = found, cache.n + 1
  end
  return found
end

local function missing(self, what, id)
  errors.raise { code = "malformed",
    message = ("%s: no %s with the number %s"):format(self.path, what, tostring(id)) }
end

local function find_text(self, id)
  return self:statement("SELECT text FROM string WHERE id = ?"):row(id)
    or missing(self, "string", id)
end

local function text_of(self, id)
  return cached(self, "string", id, find_text)
end

local function find_frame(self, id)
  local func, file, line = self:statement("SELECT func, file, line FROM frame WHERE id = ?")
    :row(id)
  if func == nil then missing(self, "frame", id) end
  file = text_of(self, file)
  return { func = text_of(self, func), file = file ~= "" and file or nil,
    line = line ~= 0 and line or nil }
end

local function frame_of(self, id)
  return cached(self, "frame", id, find_frame)
end

local function find_stack(self, id)
  local packed, hash = self:statement("SELECT frames, hash FROM stack WHERE id = ?"):row(id)
  if packed == nil then missing(self, "stack", id) end
  local frames, unpack = {}, string.unpack
  local known = self.cache.frame and self.cache.frame.found or {}
  for at = 1, #packed - 3, 4 do
    local number <const> = unpack("<I4", packed, at)
    frames[#frames + 1] = known[number] or frame_of(self, number)
  end
  return { frames = frames, hash = ("%016x"):format(hash) }
end

local function stack_of(self, id)
  return cached(self, "stack", id, find_stack)
end

local function unpacked(bytes)
  return must(files.read_all(core.input(bytes):inflate "gzip", LARGEST))
end

-- Places of texts: see the writer.
local function text_at(self, part, place)
  local chunk <const>, offset <const>, length <const> =
    place >> 42, place >> 21 & 0x1fffff, place & 0x1fffff
  local kept = self.cache.chunk
  if kept == nil or kept.part ~= part or kept.chunk ~= chunk then
    local bytes <const> = self:statement("SELECT bytes FROM text WHERE part = ? AND chunk = ?")
      :row(part, chunk) or missing(self, "text of part", part)
    kept = { part = part, chunk = chunk, text = unpacked(bytes) }
    self.cache.chunk = kept
  end
  return kept.text:sub(offset + 1, offset + length)
end

local READ <const> = {
  integer = function(_, value) return value end,
  boolean = function(_, value) return value == 1 or nil end,
  string = text_of,
  frames = function(self, id) return stack_of(self, id).frames end,
  frame = frame_of,
  json = function(self, id) return (dkjson.decode(text_of(self, id), 1, nil)) end,
  text = function(self, place, part) return text_at(self, part, place) end,
}

--- The kinds of which the store has records.
-- @treturn {string,...}
function Reading:kinds()
  local names = {}
  for name in rows(self, "SELECT DISTINCT kind FROM part ORDER BY kind", {}) do
    names[#names + 1] = name
  end
  return names
end

--- The fields of a kind as the store has them.
-- @tparam string kind
-- @treturn ?{table,...} nil when the store has no such records
-- @treturn ?string message
-- @treturn ?string code `no_samples`
-- @treturn ?string hint
function Reading:fields(kind)
  local text <const> = self:statement("SELECT fields FROM kind WHERE name = ?"):row(kind)
  if text == nil then
    local kinds <const> = self:kinds()
    return nil, ("%s: no records of the kind '%s' (there are %s)"):format(self.path, kind,
      #kinds > 0 and table.concat(kinds, ", ") or "none of any"), "no_samples",
      kinds[1] and ("sonde query %s --kind %s"):format(self.path, kinds[1])
        or "sonde capture --help"
  end
  local list <const> = dkjson.decode(text, 1, nil)
  local wrong <const> = fields.check(kind, list)
  if wrong then
    return nil, ("%s: the kind '%s': %s"):format(self.path, kind, wrong), "malformed"
  end
  return list
end

-- A bit for each frame whose function matches.
local function mask_of(self, source)
  local matches <const> = pattern.matcher(source, "--func")
  local known, bytes = {}, {}
  for id, text, func in rows(self, "SELECT f.id, s.text, f.func FROM frame f JOIN string s"
    .. " ON s.id = f.func", {}) do
    if known[func] == nil then known[func] = matches(text) end
    if known[func] then bytes[id // 8] = (bytes[id // 8] or 0) | 1 << id % 8 end
  end
  local last = 0
  for at in pairs(bytes) do last = math.max(last, at) end
  local list = {}
  for at = 0, last do list[at + 1] = string.char(bytes[at] or 0) end
  return table.concat(list)
end

-- 'last' and 'first' stand for checkpoints that fit the rest of the query.
local function resolve_checkpoints(self, q)
  local ids = {}
  for i, id in ipairs(q.checkpoints or {}) do
    if id == "last" or id == "first" then
      local wanted <const> = q.checkpoints
      q.checkpoints = nil
      local sql <const>, values <const> = select.parts(q)
      q.checkpoints = wanted
      local order <const> = id == "last" and "DESC" or "ASC"
      local statement <close> = must(self.db:prepare(("SELECT c.id %s ORDER BY c.taken_at %s,"
        .. " c.n %s LIMIT 1"):format(sql, order, order)))
      id = statement:row(table.unpack(values))
    end
    ids[i] = id or ""
  end
  if q.checkpoints then q.checkpoints = ids end
end

--- Brings a question into the form of `sonde.capture.query`. A mistake in it
-- raises a usage failure.
-- @tparam table opts `kind` is needed
-- @treturn ?table
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Reading:query(opts)
  local list, message, code, hint = self:fields(opts.kind)
  if list == nil then return nil, message, code, hint end
  local q, wrong = query.check(list, opts)
  if q == nil then errors.usage(wrong, "sonde query --help") end
  if q.func then q.mask = mask_of(self, q.func) end
  resolve_checkpoints(self, q)
  return q
end

local HEAD <const> = "SELECT c.id, c.capture, c.taken_at, c.reason, p.id, p.key, p.pid, p.error,"
  .. " p.truncated"

-- Fields of a query's records beyond those of HEAD, each with its column.
local function further(q)
  local list, columns = {}, {}
  for _, at in ipairs { "part", "record" } do
    for _, field in ipairs(schema.columns(q.fields, at)) do
      list[#list + 1] = field
      columns[#columns + 1] = ", " .. select.column(field)
    end
  end
  return list, table.concat(columns)
end

local function decode(self, q, list, id, capture, taken_at, reason, part, key, pid, problem,
  truncated, ...)
  if id == nil then return nil end
  local record <const> = { kind = q.kind, capture_id = capture, checkpoint_id = id,
    taken_at = taken_at, reason = reason, key = key, pid = pid, error = problem,
    truncated = truncated == 1 or nil }
  for i = 1, #list do
    local value = (_G.select(i, ...))
    local field <const> = list[i]
    if value ~= nil then
      if field.type == "frames" then record.stack_hash = stack_of(self, value).hash end
      if field.at == "record" or field.type ~= "string" then
        value = READ[field.type](self, value, part)
      end
      record[field.name] = value
    end
  end
  return record
end

--- Iterates over the records that a query names.
-- @tparam table q of `reading.query`
-- @treturn function gives a record; a failure of reading raises
function Reading:rows(q)
  local list <const>, columns <const> = further(q)
  local sql <const>, values <const> = select.records(q)
  local following <const> = rows(self, HEAD .. columns .. " " .. sql .. select.order(q), values)
  return function() return decode(self, q, list, following()) end
end

--- The parts that a query names: what their records have in common.
-- @tparam table q
-- @treturn function iterator of tables: `id payload records checkpoint_id capture_id
--   taken_at reason key pid error` and the kind's fields of parts
function Reading:parts(q)
  local own <const> = schema.columns(q.fields, "part")
  local columns = {}
  for i, field in ipairs(own) do columns[i] = ", " .. select.column(field) end
  local sql <const>, values <const> = select.parts(q)
  local following <const> = rows(self, HEAD .. ", p.payload, p.records" .. table.concat(columns)
    .. " " .. sql, values)
  local function decoded(id, capture, taken_at, reason, part, key, pid, problem, truncated,
    payload, records, ...)
    if id == nil then return nil end
    local row <const> = { id = part, payload = payload, records = records, checkpoint_id = id,
      capture_id = capture, taken_at = taken_at, reason = reason, key = key, pid = pid,
      error = problem, truncated = truncated == 1 or nil }
    for i = 1, #own do row[own[i].name] = (_G.select(i, ...)) end
    return row
  end
  return function() return decoded(following()) end
end

--- A payload, as it came.
-- @tparam integer id of a part's `payload`
-- @treturn string bytes
-- @treturn ?string format
function Reading:payload(id)
  local bytes, packed, format = self:statement(
    "SELECT bytes, packed, format FROM payload WHERE id = ?"):row(id)
  if bytes == nil then missing(self, "payload", id) end
  return packed == 1 and unpacked(bytes) or bytes, format
end

--- Sums a number of the records that a query names, by stack and by a text of
-- their parts.
-- @tparam table q
-- @tparam string what field that is summed
-- @tparam {string,...} slots texts of the field `by`, in the order of the sums;
--   with one and no `by`, all records count
-- @tparam ?string by field of parts
-- @treturn function iterator: frames, list of sums, hash
function Reading:sums(q, what, slots, by)
  local field <const> = fields.find(q.fields, what)
  local sql <const>, values <const> = select.records(q, true)
  local slot, bound = "0", { }
  if by then
    local cases = {}
    for i, text in ipairs(slots) do
      cases[i] = ("WHEN ? THEN %d"):format(i - 1)
      bound[i] = text
    end
    slot = ("CASE %s %s ELSE -1 END"):format(select.column(fields.find(q.fields, by)),
      table.concat(cases, " "))
  end
  table.move(values, 1, #values, #bound + 1, bound)
  local stack_of_row <const> = select.stack(q)
  local statement <close> = must(self.db:prepare(("SELECT %s, %s, %s %s AND %s IS NOT NULL"):format(
    stack_of_row, slot, field and ("coalesce(%s, %d)"):format(select.column(field),
    what == "count" and 1 or 0) or "1", sql, stack_of_row)))
  local n <const>, keys <const>, sums <const> = statement:sums(#slots, table.unpack(bound))
  if n == nil then errors.raise { message = self.path .. ": " .. keys, code = sums } end
  local i = 0
  return function()
    if i == n then return nil end
    local at <const>, row = 8 * i + 1, {}
    i = i + 1
    for k = 1, #slots do row[k] = (("=i8"):unpack(sums[k], at)) end
    local stack <const> = stack_of(self, (("=i8"):unpack(keys, at)))
    return stack.frames, row, stack.hash
  end
end

local function number_column(q, name)
  local field <const> = fields.find(q.fields, name)
  return field and select.column(field) or "NULL"
end

--- Counts the goroutines of each process and checkpoint by stack.
-- @tparam table q
-- @treturn function iterator: key (or pid) of the process, id of the
--   checkpoint, the stack (for `Reading:stack`), how many
function Reading:counts(q)
  local stack_of_row <const> = select.stack(q)
  local sql <const>, values <const> = select.records(q, true)
  -- One number for part and stack: both are counted from 1.
  local statement <close> = must(self.db:prepare(("SELECT p.id << 32 | %s, 0, coalesce(%s, 1) %s"
    .. " AND %s IS NOT NULL AND %s IS NOT NULL"):format(stack_of_row, number_column(q, "count"),
    sql, stack_of_row, number_column(q, "goroutine_id"))))
  local n <const>, keys <const>, sums <const> = statement:sums(1, table.unpack(values))
  if n == nil then errors.raise { message = self.path .. ": " .. keys, code = sums } end
  local parts, i = {}, 0
  for part in self:parts(q) do parts[part.id] = part end
  return function()
    if i == n then return nil end
    local both <const>, amount <const> = ("=i8"):unpack(keys, 8 * i + 1),
      ("=i8"):unpack(sums[1], 8 * i + 1)
    i = i + 1
    local part <const>, stack <const> = parts[both >> 32], both & 0xffffffff
    return part.key or tostring(part.pid), part.checkpoint_id, stack, amount
  end
end

--- A stack of `Reading:counts`.
-- @tparam integer id
-- @treturn table `frames`, `hash`
function Reading:stack(id)
  return stack_of(self, id)
end

-- The column of a field and whether it holds numbers of texts; NULL when the kind
-- has no such field.
local function text_column(q, name)
  if name == "capture_id" then return "c.capture", false end
  local field <const> = fields.find(q.fields, name)
  if field == nil then return "NULL", false end
  return select.column(field), field.at == "record" and field.type == "string"
end

--- Groups the records that a query names, by a text or by their stack.
-- @tparam table q
-- @tparam string by name of a field, or "stack"
-- @treturn function iterator of tables: `key` (text, or the stack's hash) `frames`
--   (by stack) `sample_type unit records value count longest_wait first last`
function Reading:tally(q, by)
  local key, is_number = text_column(q, by)
  if by == "stack" then key = select.stack(q) end
  local type <const>, is_type_number <const> = text_column(q, "sample_type")
  local value <const>, own <const> = number_column(q, "value"), number_column(q, "count")
  local sql <const>, values <const> = select.records(q)
  local following <const> = rows(self, ("SELECT %s, %s, %s, max(%s), count(*), sum(%s),"
    .. " sum(CASE WHEN %s IS NULL THEN coalesce(%s, 1) END), max(%s), min(c.taken_at),"
    .. " max(c.taken_at) %s GROUP BY 1, 2, 3"):format(key, by == "error" and "p.error" or "NULL",
    type, text_column(q, "unit"), value, value, own, number_column(q, "wait_minutes"), sql), values)
  local function text(id, is_text_number)
    if id == nil or not is_text_number then return id end
    return text_of(self, id)
  end
  local function decoded(id, problem, sample_type, unit, n, sum, count, wait, first, last)
    if n == nil then return nil end
    local row <const> = { sample_type = text(sample_type, is_type_number), unit = unit,
      records = n, value = sum, count = count, longest_wait = wait, first = first, last = last }
    if by == "stack" then
      local stack <const> = id and stack_of(self, id)
      row.key, row.frames = stack and stack.hash or "", stack and stack.frames
    else
      row.key = text(id, is_number) or problem or ""
    end
    return row
  end
  return function() return decoded(following()) end
end

--- The captures in the store.
-- @function Store:captures
-- @treturn Rows `id root_pid root_key host service started_at ended_at kinds
--   params checkpoints records first last`
function Reading:captures()
  local list = {}
  local sql <const> = "SELECT a.id, a.root_pid, a.root_key, a.host, a.service, a.started_at,"
    .. " a.ended_at, a.kinds, a.params,"
    .. " (SELECT count(*) FROM checkpoint c WHERE c.capture = a.id),"
    .. " (SELECT total(p.records) FROM checkpoint c JOIN part p ON p.checkpoint = c.n"
    .. "  WHERE c.capture = a.id),"
    .. " (SELECT min(c.taken_at) FROM checkpoint c WHERE c.capture = a.id),"
    .. " (SELECT max(c.taken_at) FROM checkpoint c WHERE c.capture = a.id)"
    .. " FROM capture a ORDER BY a.started_at, a.id"
  for id, root_pid, root_key, host, service, started_at, ended_at, kinds, params, checkpoints,
    records, first, last in rows(self, sql, {}) do
    list[#list + 1] = { id = id, root_pid = root_pid, root_key = root_key, host = host,
      service = service, started_at = started_at,
      -- 0 stands for a capture that was gone on with.
      ended_at = ended_at ~= 0 and ended_at or nil,
      kinds = kinds and dkjson.decode(kinds, 1, nil), first = first, last = last,
      params = params and dkjson.decode(params, 1, nil), checkpoints = checkpoints,
      records = math.tointeger(records) }
  end
  return rows_of(list)
end

--- Gives a class of stores these methods.
-- @tparam table class
function reading.add_to(class)
  for name, method in pairs(Reading) do class[name] = method end
end

return reading
