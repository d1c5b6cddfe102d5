--- The store in ClickHouse, over its HTTP interface: for fleets.
-- A batch is written by an attempt of its own: payloads, stacks, rows, parts, and last
-- the attempt's row in `batches`, which commits it. Rows of an attempt that has none
-- are never read, so a batch whose writer or server ended in the middle can be
-- written again and is there once. Tables are partitioned by day.
-- @module sonde.capture.store.clickhouse
local batch <const> = require "sonde.capture.store.batch"
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"
local fields <const> = require "sonde.capture.fields"
local groups <const> = require "sonde.capture.store.clickhouse_groups"
local http <const> = require "sonde.base.http"
local json <const> = require "sonde.base.json"
local reading <const> = require "sonde.capture.store.clickhouse_reading"
local tsv <const> = require "sonde.capture.store.tsv"
local unique <const> = require "sonde.base.unique"
local waiting <const> = require "sonde.capture.store.waiting"

local module = {}

local Store <const> = {}
Store.__index = Store
Store.__name = "sonde.Store"
waiting.add_to(Store)
reading.add_to(Store)
groups.add_to(Store)
require("sonde.capture.store.clickhouse_keeping").add_to(Store)
require("sonde.capture.answers").add_to(Store)

local SETTINGS <const> = "allow_experimental_low_cardinality_type=1&max_query_size=50000000"
  .. "&max_ast_elements=5000000&max_expanded_ast_elements=5000000"

local function must(value, message, code)
  if value == nil then errors.raise { message = message, code = code } end
  return value
end

local TABLES <const> = {
  [[captures(day Date, id String, written Int64, about String)
    ENGINE = MergeTree PARTITION BY day ORDER BY id]],
  [[kinds(name String, fields String) ENGINE = ReplacingMergeTree ORDER BY name]],
  [[batches(day Date, id String, attempt String, checkpoint String, host LowCardinality(String))
    ENGINE = MergeTree PARTITION BY day ORDER BY (id, attempt)]],
  [[stacks(hash UInt64, frames String) ENGINE = ReplacingMergeTree ORDER BY hash]],
  [[payloads(day Date, attempt String, id UInt32, format LowCardinality(String), packed UInt8,
    bytes String) ENGINE = MergeTree PARTITION BY day ORDER BY (attempt, id)]],
  [[parts(day Date, attempt String, part UInt32, kind LowCardinality(String),
    capture_id LowCardinality(String), checkpoint_id String, taken_at Int64,
    reason LowCardinality(String), key LowCardinality(String), pid Nullable(Int64),
    error String, truncated Nullable(UInt8), records UInt32, payload Nullable(UInt32),
    own String) ENGINE = MergeTree PARTITION BY day ORDER BY (kind, taken_at, attempt, part)]],
}

-- Exceptions of the server that may pass: it took too long, has too much to do, no
-- memory, no room on its disk, too many parts to merge.
local PASSING <const> = { ["159"] = true, ["202"] = true, ["241"] = true, ["243"] = true,
  ["252"] = true }

-- What a refusal means: one that may pass is tried again.
local function code_of(answer)
  if answer.status == 401 or answer.status == 403 then return "permission" end
  if answer.status >= 502 and answer.status <= 504
    or PASSING[answer.body:match "Code: (%d+)"] then return "unavailable" end
  return "malformed"
end

--- Asks the server. Raises a failure.
-- @tparam string sql
-- @tparam ?string body rows to insert
-- @treturn string
function Store:ask(sql, body)
  local url <const> = ("%s/?database=%s&%s"):format(self.url, self.database, SETTINGS)
  local answer, message, code = http.request {
    url = body and url .. "&query=" .. tsv.percent(sql) or url, method = "POST",
    body = body or sql, timeout = "120s", max_bytes = "2GiB",
  }
  if answer == nil or message then
    -- A connection that broke is one to a server that went away.
    errors.raise { message = ("%s: %s"):format(self.name, message),
      code = (code == "not_found" or code == "truncated") and "unavailable" or code }
  end
  if answer.status ~= 200 then
    local words <const> = answer.body:match("e%.displayText%(%) = (.-)%s*$") or answer.body
    errors.raise { message = ("%s: %s"):format(self.name, words:sub(1, 400)),
      code = code_of(answer) }
  end
  return answer.body
end

--- The rows of an answer.
-- @tparam string sql without a format
-- @treturn function iterator of lists of texts (nil for NULL)
function Store:each(sql)
  return tsv.rows(self:ask(sql .. " FORMAT TabSeparated"))
end

local function set_up(self, mode)
  if mode == "read" then return end
  local database <const> = self.database
  self.database = "default"
  self:ask("CREATE DATABASE IF NOT EXISTS " .. database)
  self.database = database
  for _, sql in ipairs(TABLES) do self:ask("CREATE TABLE IF NOT EXISTS " .. sql) end
end

--- Opens a store.
-- @tparam string target `clickhouse://HOST[:PORT][/DATABASE]`
-- @tparam table opts of `sonde.capture.store.open`, checked
-- @treturn ?Store
-- @treturn ?string message
-- @treturn ?string code
function module.open(target, opts)
  local place <const>, path <const> = target:match("^clickhouse://([^/]+)/?(.*)$")
  local database <const> = path == "" and "sonde" or path
  if place == nil or not database:find("^[%a_][%w_]*$") then
    return nil, target .. ": not an address such as clickhouse://localhost:8123/sonde",
      "not_found"
  end
  if not place:find(":%d+$") then return module.open(("clickhouse://%s:8123/%s"):format(place,
    database), opts) end
  local self <const> = setmetatable({ name = target, url = "http://" .. place,
    database = database, mode = opts.mode, known = {}, cache = {} }, Store)
  self.book = core.stack_book()
  waiting.prepare(self, opts.buffer)
  local _, message, code = errors.returned(function()
    set_up(self, opts.mode)
    self:ask "SELECT 1"
    return true
  end)
  if message then return nil, message, code end
  return self
end

function Store:__tostring()
  return "store " .. self.name
end

--- Where files that belong to the store lie: a server has none.
-- @treturn string
function Store.directory()
  return "."
end

local function insert(self, into, rows)
  if #rows == 0 then return end
  self:ask(("INSERT INTO %s FORMAT TabSeparated"):format(into), table.concat(rows))
end

local function day_of(ns)
  return os.date("!%Y-%m-%d", ns // 1000000000)
end

--- Writes what is known of a capture; see the store in SQLite.
-- @tparam table about
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Store:capture(about)
  return errors.returned(function()
    local at <const> = about.started_at or os.time() * 1000000000
    self.written = math.max(os.time() * 1000000000, (self.written or 0) + 1)
    insert(self, "captures", { tsv.row(day_of(at), about.id, self.written, json.encode(about)) })
    return true
  end)
end

local COLUMNS <const> = {
  integer = "Nullable(Int64)", boolean = "Nullable(UInt8)", frames = "UInt64",
  frame = "String", json = "String", text = "String", string = "LowCardinality(String)",
}

local HEAD <const> = "day Date, attempt String, part UInt32, n UInt32,"
  .. " capture_id LowCardinality(String), checkpoint_id String, taken_at Int64,"
  .. " reason LowCardinality(String), key LowCardinality(String), pid Nullable(Int64)"

local function know_kind(self, kind)
  if self.known[kind] then return end
  local list <const> = fields.of(kind)
  local columns = {}
  for i, field in ipairs(reading.columns(list)) do
    columns[i] = (", `%s` %s"):format(field.name, COLUMNS[field.type])
  end
  self:ask(("CREATE TABLE IF NOT EXISTS record_%s(%s%s) ENGINE = MergeTree PARTITION BY day"
    .. " ORDER BY (taken_at, attempt, part, n)"):format(kind, HEAD, table.concat(columns)))
  insert(self, "kinds", { tsv.row(kind, json.encode(list)) })
  self.known[kind] = true
end

-- What an attempt writes, table by table.
local function new_attempt(given)
  return { id = ("%s-%s"):format(given.id, unique.hex(4)),
    day = day_of(given.checkpoint.taken_at), given = given, stacks = {}, payloads = {},
    parts = {}, rows = {}, kinds = {}, n_parts = 0 }
end

-- The hash of a stack, which is written when this store has not yet done so.
local function stack(self, attempt, node)
  local hash = self.book:id(node)
  if hash == nil then
    hash = self.book:hash(node)
    local frames = {}
    for i, number in ipairs(self.book:stack(node)) do
      local func <const>, file <const>, line <const> = self.book:frame(number)
      frames[i] = { func, file, line }
    end
    attempt.stacks[#attempt.stacks + 1] = tsv.row(tsv.unsigned(hash),
      json.encode(json.array(frames)))
    self.book:set(node, hash)
  end
  return hash
end

local WRITE <const> = {
  frame = function(_, _, frame) return json.encode(frame) end,
  json = function(_, _, value) return json.encode(value) end,
  frames = function(self, attempt, list)
    return tsv.unsigned(stack(self, attempt, must(self.book:add(list))))
  end,
  text = function(_, _, text) return (batch.text(text)) end,
}

local function add_row(attempt, part, own, n, cells)
  local at <const> = attempt.given.checkpoint
  local list <const> = attempt.kinds[part.kind] or {}
  attempt.kinds[part.kind] = list
  list[#list + 1] = tsv.row(attempt.day, attempt.id, own.number, n, attempt.given.capture, at.id,
    at.taken_at, at.reason or "", own.key or "", own.pid, table.unpack(cells, 1, cells.n))
end

local function add_part(attempt, part, own, records, payload)
  local at <const> = attempt.given.checkpoint
  attempt.n_parts = attempt.n_parts + 1
  attempt.parts[attempt.n_parts] = tsv.row(attempt.day, attempt.id, attempt.n_parts, part.kind,
    attempt.given.capture, at.id, at.taken_at, at.reason or "", part.key or "", part.pid,
    part.error or "", part.truncated, records, payload, json.encode(json.object(own)))
  return attempt.n_parts
end

local function cells_of(self, attempt, columns, part, own, record)
  local cells <const> = { n = #columns }
  for i, field in ipairs(columns) do
    local value = record[field.name]
    if field.at == "part" then value = own[field.name] end
    if value == nil and (field.name == "error" or field.name == "truncated") then
      value = part[field.name]
    end
    if value ~= nil and WRITE[field.type] then
      value = WRITE[field.type](self, attempt, value)
    end
    if value == nil then
      local kind <const> = COLUMNS[field.type]
      value = kind == "UInt64" and 0 or not kind:find("^Nullable") and "" or nil
    end
    cells[i] = value
  end
  return cells
end

-- A record whose text will be cut says so.
local function with_cuts(columns, record)
  for _, field in ipairs(columns) do
    local value <const> = field.type == "text" and record[field.name]
    if value and #value > batch.LONGEST_TEXT then
      return setmetatable({ truncated = true }, { __index = record })
    end
  end
  return record
end

local function add_records(self, attempt, part, payload)
  local columns <const> = reading.columns(fields.of(part.kind))
  local records <const> = part.records or {}
  local number <const> = add_part(attempt, part, part.fields or {}, #records, payload)
  local own <const> = { number = number, key = part.key, pid = part.pid }
  for n, record in ipairs(records) do
    record = with_cuts(columns, record)
    add_row(attempt, part, { number = number, key = record.key or own.key,
      pid = record.pid or own.pid }, n, cells_of(self, attempt, columns, part, part.fields or {},
      record))
  end
  if #records == 0 and part.error then
    add_row(attempt, part, own, 0, cells_of(self, attempt, columns, part, part.fields or {}, {}))
  end
end

local function add_profile(self, attempt, part, payload)
  local columns <const> = reading.columns(fields.of(part.kind))
  local n <const>, fresh = self.book:take(part.profile)
  if n == nil then errors.raise { message = self.name .. ": " .. fresh, code = "limit" } end
  for _, node in ipairs(fresh) do stack(self, attempt, node) end
  local ids <const>, values <const> = self.book:columns()
  for i, type in ipairs(batch.types(part)) do
    local own = { sample_type = type.sample_type, unit = type.unit }
    for name, value in pairs(part.fields or {}) do own[name] = value end
    local number <const> = add_part(attempt, part, own, n, payload)
    local base <const> = cells_of(self, attempt, columns, part, own, {})
    local at = {}
    for k, field in ipairs(columns) do at[field.name] = k end
    for row = 1, n do
      base[at.frames] = tsv.unsigned((("=i8"):unpack(ids, 8 * row - 7)))
      base[at.value] = (("=i8"):unpack(values[i], 8 * row - 7))
      add_row(attempt, part, { number = number, key = part.key, pid = part.pid }, row, base)
    end
  end
end

local function add(self, attempt, part)
  know_kind(self, part.kind)
  local payload
  if part.payload then
    payload = #attempt.payloads + 1
    local packed <const> = part.payload.bytes:sub(1, 2) ~= "\x1f\x8b"
    attempt.payloads[payload] = tsv.row(attempt.day, attempt.id, payload,
      part.payload.format or "", packed,
      packed and must(core.gzip(part.payload.bytes)) or part.payload.bytes)
  end
  if part.profile then return add_profile(self, attempt, part, payload) end
  add_records(self, attempt, part, payload)
end

--- Writes a batch, whole or not at all; who calls is `write`.
-- @tparam table given
-- @treturn ?boolean true when the server has all of it
-- @treturn ?string message
-- @treturn ?string code
function Store:put(given)
  local done, message, code = errors.returned(function()
    if self:each(("SELECT 1 FROM batches WHERE id = %s LIMIT 1"):format(tsv.quote(given.id)))() then
      return true
    end
    local attempt <const> = new_attempt(given)
    for _, part in ipairs(given.parts or {}) do add(self, attempt, part) end
    insert(self, "payloads", attempt.payloads)
    insert(self, "stacks", attempt.stacks)
    for kind, rows in pairs(attempt.kinds) do insert(self, "record_" .. kind, rows) end
    insert(self, "parts", attempt.parts)
    insert(self, "batches", { tsv.row(attempt.day, given.id, attempt.id, given.checkpoint.id,
      given.host or "") })
    return true
  end)
  if done then return true end
  -- What was said to be written may not be: stacks are told anew.
  self.book:close()
  self.book, self.known = core.stack_book(), {}
  return nil, message, code
end

--- Closes the store. What waits to be written is lost, so `flush` comes first.
function Store:close()
  self.book:close()
end

Store.__close = Store.close

return module
