--- The store in one file of SQLite.
-- A batch is one transaction: payloads, then rows, then the batch's own row. The
-- log of the database (WAL) is synced before `write` says true.
-- @module sonde.capture.store.sqlite
local batch <const> = require "sonde.capture.store.batch"
local core <const> = require "sonde.c.core"
local dkjson <const> = require "dkjson"
local errors <const> = require "sonde.base.errors"
local fields <const> = require "sonde.capture.fields"
local intern <const> = require "sonde.capture.store.intern"
local json <const> = require "sonde.base.json"
local schema <const> = require "sonde.capture.store.schema"
local sqlite <const> = require "sonde.c.sqlite"
local uv <const> = require "sonde.base.uv"
local waiting <const> = require "sonde.capture.store.waiting"

local module = {}

local Store <const> = {}
Store.__index = Store
Store.__name = "sonde.Store"
waiting.add_to(Store)
require("sonde.capture.store.reading").add_to(Store)
require("sonde.capture.store.keeping").add_to(Store)
require("sonde.capture.answers").add_to(Store)

--- What the methods are called on; for specs.
module.Store = Store

local SETTINGS <const> = [[
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768;
  PRAGMA wal_autocheckpoint = 2000;
]]

-- These count only before there is a page. Large pages: a part's records fill them
-- from end to end, and half as many bytes of the log are written.
local FIRST_SETTINGS <const> = "PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL;"

-- Raises a failure, which `put` and its like turn into results.
local function must(value, message, code)
  if value == nil then errors.raise { message = message, code = code } end
  return value
end

-- Without tables SQLite has made no page yet, so that it can still be chosen.
local function set_up(db, path, mode)
  if mode ~= "read" then
    local done, message, code = db:exec(FIRST_SETTINGS .. SETTINGS)
    if not done then return nil, message, code end
  end
  return schema.prepare(db, path, mode ~= "read")
end

local function opened(path, where, opts)
  local db, message, code = sqlite.open(where, {
    mode = opts.mode == "read" and (where == path and "read" or "still") or "create",
    busy_ms = opts.busy // 1000000,
  })
  if db == nil then return nil, message, code end
  local done, why, reason, hint = set_up(db, path, opts.mode)
  if done then return db end
  db:close()
  return nil, why:find(path, 1, true) and why or path .. ": " .. why, reason, hint
end

-- A file that is not being written may lie where nothing can be written, such as a
-- medium: readers of a log (WAL) want a file beside it, unless told that it is still.
local function opened_still(path, opts)
  local uri <const> = "file:" .. path:gsub("[%%?#]", function(c)
    return ("%%%02x"):format(c:byte())
  end) .. "?immutable=1"
  return opened(path, uri, opts)
end

-- What tells a file from another one that has its name later.
local function identity_of(path)
  local stat <const> = uv.fs_stat(path)
  return stat and ("%d:%d"):format(stat.dev, stat.ino)
end

--- Opens a store.
-- @tparam string path
-- @tparam table opts of `sonde.capture.store.open`, checked
-- @treturn ?Store
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function module.open(path, opts)
  local db, message, code, hint = opened(path, path, opts)
  if db == nil and opts.mode == "read" and core.path_info(path)
    and not core.path_info(path .. "-wal") and (code == "permission" or code == "unavailable"
    or code == "not_found") then
    db, message, code, hint = opened_still(path, opts)
  end
  if db == nil then return nil, message, code, hint end
  local self <const> = setmetatable({ db = db, path = path, name = path, mode = opts.mode,
    statements = {}, opts = opts, cache = {}, identity = identity_of(path),
    -- Where it is, wherever the program goes.
    place = uv.fs_realpath(path) or path }, Store)
  waiting.prepare(self, opts.buffer)
  return self
end

function Store:__tostring()
  return ("store %s%s"):format(self.name, self.db and "" or " (closed)")
end

--- Where files that belong to the store lie: segments of traces.
-- @treturn string a directory beside the file; it need not exist
function Store:directory()
  return self.path .. ".files"
end

--- A prepared statement, made once. Raises a failure when it cannot be made.
-- @tparam string sql
-- @treturn userdata
function Store:statement(sql)
  local statement = self.statements[sql]
  if statement == nil then
    statement = must(self.db:prepare(sql))
    self.statements[sql] = statement
  end
  return statement
end

local function run(self, sql, ...)
  return must(self:statement(sql):run(...))
end

-- The value of a statement with one, or nil.
local function value(self, sql, ...)
  local found, message, code = self:statement(sql):row(...)
  if found == nil and message then must(nil, message, code) end
  return found
end

-- Somebody moved the file away, or removed it, while it was open. What was
-- acknowledged is in its log, which bears the old name: it is brought into the file,
-- wherever that is, before another one is made.
local function leave_file(self)
  self.db:exec "PRAGMA wal_checkpoint(TRUNCATE)"
  if self.intern then self.intern:forget() end
  self.db:close()
end

local function go_on_in_new_file(self)
  leave_file(self)
  self.statements, self.cache, self.known, self.intern = {}, {}, nil, nil
  local db <const>, message <const> = opened(self.path, self.place, self.opts)
  if db == nil then
    -- It is tried again: false is the identity of no file, and no store without a
    -- database is open.
    self.db, self.identity = must(sqlite.open(":memory:", { mode = "create" })), false
    return nil, message, "unavailable"
  end
  self.db = db
  self.identity, self.n_files = identity_of(self.place), (self.n_files or 1) + 1
  return true
end

-- Numbers that were given to texts are good until somebody throws unused ones
-- away; the generation tells.
local function begin(self)
  if identity_of(self.place) ~= self.identity then must(go_on_in_new_file(self)) end
  must(self.db:exec "BEGIN IMMEDIATE")
  local generation <const> = value(self, "SELECT value FROM store WHERE name = 'generation'")
  if self.intern == nil then self.intern = must(intern.new(self.db)) end
  if generation ~= self.generation then self.intern:forget() end
  self.generation = generation
end

--- Runs a function in a transaction: all that it writes, or nothing.
-- @tparam function work
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Store:transaction(work)
  local ok, failure = pcall(function()
    begin(self)
    work()
    must(self.db:exec "COMMIT")
  end)
  if ok then return true end
  if self.db:in_transaction() then self.db:exec "ROLLBACK" end
  if self.intern then self.intern:forget() end
  self.known = nil
  if not errors.is_failure(failure) then error(failure, 0) end
  local message <const> = failure.message:find(self.path, 1, true) and failure.message
    or self.path .. ": " .. failure.message
  return nil, message, failure.code
end

--- Writes what is known of a capture; what was known before and is not given
-- stays.
-- @tparam table about `id`, and any of `root_pid root_key host service started_at
--   ended_at kinds` (list) `params` (table)
-- @treturn ?boolean true when it is on the disk
-- @treturn ?string message
-- @treturn ?string code
function Store:capture(about)
  return self:transaction(function()
    run(self, "INSERT OR IGNORE INTO capture(id) VALUES(?)", about.id)
    for _, name in ipairs { "root_pid", "root_key", "host", "service", "started_at", "ended_at" } do
      if about[name] ~= nil then
        run(self, ("UPDATE capture SET %s = ? WHERE id = ?"):format(name), about[name], about.id)
      end
    end
    for _, name in ipairs { "kinds", "params" } do
      if about[name] ~= nil then
        run(self, ("UPDATE capture SET %s = ? WHERE id = ?"):format(name),
          json.encode(about[name]), about.id)
      end
    end
  end)
end

-- Fields that a later version of a kind has and the store's tables have not.
local function add_fields(self, kind, text)
  local list <const> = fields.of(kind)
  local had <const> = dkjson.decode(text, 1, nil)
  local is_new = false
  for _, at in ipairs { "part", "record" } do
    for _, field in ipairs(schema.columns(list, at)) do
      if fields.find(had, field.name) == nil then
        is_new = true
        must(self.db:exec(schema.add_column(kind, field)))
      end
    end
  end
  if is_new then run(self, "UPDATE kind SET fields = ? WHERE name = ?", json.encode(list), kind) end
end

-- The kind's tables, made when it is written for the first time.
local function know_kind(self, kind)
  self.known = self.known or {}
  if self.known[kind] then return end
  local text <const> = value(self, "SELECT fields FROM kind WHERE name = ?", kind)
  if text then
    add_fields(self, kind, text)
  else
    local list <const> = fields.of(kind)
    must(self.db:exec(schema.kind_tables(kind, list)))
    run(self, "INSERT INTO kind VALUES(?, ?)", kind, json.encode(list))
  end
  self.known[kind] = true
end

local function add_payload(self, payload)
  local packed <const> = payload.bytes:sub(1, 2) ~= "\x1f\x8b"
  local bytes <const> = packed and must(core.gzip(payload.bytes)) or payload.bytes
  run(self, "INSERT INTO payload(format, size, packed, bytes) VALUES(?, ?, ?, ?)",
    payload.format, #payload.bytes, packed, { blob = bytes })
  return self.db:last_id()
end

local function add_part(self, checkpoint, part, own, n, payload)
  run(self, "INSERT INTO part(checkpoint, kind, key, pid, error, truncated, records, payload)"
    .. " VALUES(?, ?, ?, ?, ?, ?, ?, ?)", checkpoint, part.kind, part.key, part.pid, part.error,
    part.truncated, n, payload)
  local id <const> = self.db:last_id()
  local columns <const> = schema.columns(fields.of(part.kind), "part")
  local values, names = { id }, { "part" }
  for i, field in ipairs(columns) do
    names[i + 1], values[i + 1] = ("%q"):format(field.name), own[field.name]
  end
  run(self, ("INSERT INTO part_%s(%s) VALUES(?%s)"):format(part.kind, table.concat(names, ", "),
    (", ?"):rep(#columns)), table.unpack(values, 1, #columns + 1))
  return id
end

-- Each sample type is a part of its own; they share the payload.
local function add_profile(self, checkpoint, part, payload)
  local n <const>, ids <const>, values <const> = self.intern:profile(part.profile)
  for i, type in ipairs(batch.types(part)) do
    local own <const> = setmetatable(type, { __index = part.fields })
    local id <const> = add_part(self, checkpoint, part, own, n, payload)
    must(self:statement(("INSERT INTO record_%s VALUES(?, ?, ?)"):format(part.kind))
      :insert(n, id, { int64 = ids }, { int64 = values[i] }))
  end
end

-- Texts of records are packed together: chunks of about a megabyte. A place is
-- chunk, offset and length in one number.
local CHUNK <const> = 1 << 20

local function flush_texts(self, texts)
  if texts.size == 0 then return end
  run(self, "INSERT INTO text VALUES(?, ?, ?)", texts.part, texts.chunk,
    { blob = must(core.gzip(table.concat(texts.pieces))) })
  texts.chunk, texts.size, texts.pieces = texts.chunk + 1, 0, {}
end

local function add_text(self, texts, text)
  if texts.size + #text > CHUNK then flush_texts(self, texts) end
  local place <const> = texts.chunk << 42 | texts.size << 21 | #text
  texts.pieces[#texts.pieces + 1], texts.size = text, texts.size + #text
  return place
end

-- How a field's value becomes that of a column.
local WRITE <const> = {
  string = function(self, text) return self.intern:string(text) end,
  frames = function(self, list) return self.intern:stack(list) end,
  frame = function(self, frame) return self.intern:frame(frame) end,
  json = function(self, table) return self.intern:json(table) end,
  text = function(self, text, texts) return add_text(self, texts, text) end,
}

-- The columns of all records of a part, each a list.
local function columns_of(self, columns, records, texts)
  local lists = {}
  for i, field in ipairs(columns) do
    local list, write <const> = {}, WRITE[field.type]
    for n, record in ipairs(records) do
      local given = record[field.name]
      if field.type == "text" and given then
        local cut
        given, cut = batch.text(given)
        texts.cut[n] = cut or nil
      end
      if field.name == "truncated" and texts.cut[n] then given = true end
      if given ~= nil and write then given = write(self, given, texts) end
      list[n] = given
    end
    lists[i] = list
  end
  return lists
end

-- Texts come first: cutting one is told in another column.
local function texts_first(columns)
  local ordered = {}
  for _, field in ipairs(columns) do
    table.insert(ordered, field.type == "text" and 1 or #ordered + 1, field)
  end
  return ordered
end

local function add_records(self, checkpoint, part, payload)
  local list <const> = fields.of(part.kind)
  local records <const> = part.records or {}
  local id <const> = add_part(self, checkpoint, part, part.fields or {}, #records, payload)
  local columns <const> = texts_first(schema.columns(list, "record"))
  local names, marks, numbers = {}, {}, {}
  for i, field in ipairs(columns) do names[i], marks[i] = ("%q"):format(field.name), "?" end
  for i = 1, #records do numbers[i] = i end
  local texts <const> = { part = id, chunk = 0, size = 0, pieces = {}, cut = {} }
  local lists <const> = columns_of(self, columns, records, texts)
  flush_texts(self, texts)
  local sql <const> = ("INSERT INTO record_%s(part, n, %s) VALUES(?, ?, %s)"):format(part.kind,
    table.concat(names, ", "), table.concat(marks, ", "))
  must(self:statement(sql):insert(#records, id, numbers, table.unpack(lists)))
end

-- Records that are a number and a stack: those of one stack are one.
local function add_by_stack(self, checkpoint, part, payload)
  local columns <const> = schema.columns(fields.of(part.kind), "record")
  local sums, stacks, values = {}, {}, {}
  for _, record in ipairs(part.records or {}) do
    local stack <const> = self.intern:stack(record[columns[2].name] or {})
    if sums[stack] == nil then stacks[#stacks + 1] = stack end
    sums[stack] = (sums[stack] or 0) + (record[columns[1].name] or 0)
  end
  for i, stack in ipairs(stacks) do values[i] = sums[stack] end
  local id <const> = add_part(self, checkpoint, part, part.fields or {}, #stacks, payload)
  must(self:statement(("INSERT INTO record_%s VALUES(?, ?, ?)"):format(part.kind))
    :insert(#stacks, id, stacks, values))
end

local function add(self, checkpoint, part)
  know_kind(self, part.kind)
  local payload <const> = part.payload and add_payload(self, part.payload)
  if part.profile then
    add_profile(self, checkpoint, part, payload)
  elseif schema.is_by_stack(fields.of(part.kind)) then
    add_by_stack(self, checkpoint, part, payload)
  else
    add_records(self, checkpoint, part, payload)
  end
end

local function add_checkpoint(self, given)
  local at <const> = given.checkpoint
  run(self, "INSERT OR IGNORE INTO checkpoint(id, capture, taken_at, reason) VALUES(?, ?, ?, ?)",
    at.id, given.capture, at.taken_at, at.reason)
  run(self, "INSERT OR IGNORE INTO capture(id, started_at) VALUES(?, ?)", given.capture,
    at.taken_at)
  return value(self, "SELECT n FROM checkpoint WHERE id = ?", at.id)
end

--- Writes a batch, whole or not at all; who calls is `write`.
-- @tparam table given
-- @treturn ?boolean true when it is on the disk
-- @treturn ?string message
-- @treturn ?string code
function Store:put(given)
  return self:transaction(function()
    if value(self, "SELECT 1 FROM batch WHERE id = ?", given.id) then return end
    local checkpoint <const> = add_checkpoint(self, given)
    for _, part in ipairs(given.parts or {}) do add(self, checkpoint, part) end
    run(self, "INSERT INTO batch VALUES(?, ?, ?)", given.id, checkpoint,
      given.checkpoint.taken_at)
  end)
end

--- Closes the store. What waits to be written is lost, so `flush` comes first.
function Store:close()
  if self.db == nil then return end
  if self.mode ~= "read" and identity_of(self.place) ~= self.identity then
    leave_file(self)
  else
    if self.intern then self.intern:forget() end
    self.db:close()
  end
  self.db = nil
end

Store.__close = Store.close

return module
