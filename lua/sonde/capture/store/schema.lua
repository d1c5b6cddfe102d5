--- The tables of the store in SQLite, and how older ones become today's.
-- The number of a version is the file's `user_version`; each migration is run in
-- one transaction with that number, so a store is at one version or the other.
-- @module sonde.capture.store.schema
local schema = {}

--- What `application_id` says of files of ours: "snde".
schema.APPLICATION = 0x736e6465

-- Rows of records lie in tables of their kind, made when the kind is first
-- written; see `schema.kind_tables`.
local MIGRATIONS <const> = {
  -- Version 0 is an empty file.
  [0] = [[
    CREATE TABLE store(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
    INSERT INTO store VALUES('generation', 1);
    CREATE TABLE capture(id TEXT PRIMARY KEY, root_pid INTEGER, root_key TEXT, host TEXT,
      service TEXT, started_at INTEGER, ended_at INTEGER, kinds TEXT, params TEXT) WITHOUT ROWID;
    CREATE TABLE checkpoint(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, capture TEXT NOT NULL,
      taken_at INTEGER NOT NULL, reason TEXT);
    CREATE INDEX checkpoint_time ON checkpoint(taken_at);
    CREATE INDEX checkpoint_capture ON checkpoint(capture, taken_at);
    CREATE TABLE batch(id TEXT PRIMARY KEY, checkpoint INTEGER NOT NULL, written_at INTEGER)
      WITHOUT ROWID;
    CREATE TABLE kind(name TEXT PRIMARY KEY, fields TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE frame(id INTEGER PRIMARY KEY, func INTEGER NOT NULL, file INTEGER NOT NULL,
      line INTEGER NOT NULL, UNIQUE(func, file, line));
    CREATE TABLE stack(id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, frames BLOB NOT NULL);
    CREATE INDEX stack_hash ON stack(hash);
    CREATE TABLE payload(id INTEGER PRIMARY KEY, format TEXT, size INTEGER NOT NULL,
      packed INTEGER NOT NULL, bytes BLOB NOT NULL);
    CREATE TABLE part(id INTEGER PRIMARY KEY, checkpoint INTEGER NOT NULL, kind TEXT NOT NULL,
      key TEXT, pid INTEGER, error TEXT, truncated INTEGER, records INTEGER NOT NULL,
      payload INTEGER);
    CREATE INDEX part_checkpoint ON part(checkpoint, kind);
    CREATE INDEX part_process ON part(kind, pid);
    CREATE INDEX part_payload ON part(payload);
    CREATE TABLE text(part INTEGER NOT NULL, chunk INTEGER NOT NULL, bytes BLOB NOT NULL,
      PRIMARY KEY(part, chunk)) WITHOUT ROWID;
  ]],
}

--- The version that this build writes.
schema.VERSION = #MIGRATIONS + 1

-- The SQL type of a field in the table of records or of parts.
local COLUMNS <const> = {
  integer = "INTEGER", boolean = "INTEGER", frames = "INTEGER", frame = "INTEGER",
  json = "INTEGER", text = "INTEGER", string = "INTEGER",
}

--- The fields that a table of a kind holds: those of its parts or its records.
-- @tparam {table,...} list the kind's fields
-- @tparam string at "part" or "record"
-- @treturn {table,...}
function schema.columns(list, at)
  local columns = {}
  for _, field in ipairs(list) do
    local elsewhere <const> = at == "part" and (field.name == "key" or field.name == "pid"
      or field.name == "error" or field.name == "truncated")
    if field.at == at and field.type ~= "hash" and not elsewhere then
      columns[#columns + 1] = field
    end
  end
  return columns
end

--- Whether the records of a kind are told apart by their stack alone: a few
-- numbers each, which a place of their own would double.
-- @tparam {table,...} list
-- @treturn boolean
function schema.is_by_stack(list)
  local columns <const> = schema.columns(list, "record")
  return #columns == 2 and columns[1].type == "integer" and columns[2].type == "frames"
end

--- The statements that make the tables of a kind.
-- @tparam string name
-- @tparam {table,...} list
-- @treturn string SQL
function schema.kind_tables(name, list)
  local part = { "part INTEGER PRIMARY KEY" }
  for _, field in ipairs(schema.columns(list, "part")) do
    part[#part + 1] = ("%q %s"):format(field.name, field.type == "string" and "TEXT"
      or COLUMNS[field.type])
  end
  local lines = { ("CREATE TABLE part_%s(%s);"):format(name, table.concat(part, ", ")) }
  if schema.is_by_stack(list) then
    local columns <const> = schema.columns(list, "record")
    lines[2] = ('CREATE TABLE record_%s(part INTEGER, %q INTEGER, %q INTEGER,'
      .. ' PRIMARY KEY(part, %q)) WITHOUT ROWID;'):format(name, columns[2].name,
      columns[1].name, columns[2].name)
    return table.concat(lines, "\n")
  end
  local record = { "part INTEGER", "n INTEGER" }
  for _, field in ipairs(schema.columns(list, "record")) do
    record[#record + 1] = ("%q %s"):format(field.name, COLUMNS[field.type])
  end
  lines[2] = ("CREATE TABLE record_%s(%s, PRIMARY KEY(part, n)) WITHOUT ROWID;"):format(name,
    table.concat(record, ", "))
  return table.concat(lines, "\n")
end

--- The statement that adds a column for a field to the tables of a kind.
-- @tparam string name
-- @tparam table field
-- @treturn string SQL
function schema.add_column(name, field)
  local kind <const> = field.at == "part" and field.type == "string" and "TEXT"
    or COLUMNS[field.type]
  return ("ALTER TABLE %s_%s ADD COLUMN %q %s"):format(field.at, name, field.name, kind)
end

local function number(db, pragma)
  local statement, message, code = db:prepare("PRAGMA " .. pragma)
  if statement == nil then return nil, message, code end
  local value
  value, message, code = statement:row()
  statement:close()
  return value, message, code
end

local function has_tables(db)
  local statement <close> = assert(db:prepare "SELECT count(*) FROM sqlite_master")
  return statement:row() ~= 0
end

local function migrate(db, from, migrations)
  for version = from, #migrations do
    local done, message, code = db:exec("BEGIN IMMEDIATE")
    if not done then return nil, message, code end
    -- Another process may have been faster.
    local now <const> = number(db, "user_version")
    if now == version then
      done, message, code = db:exec(migrations[version]
        .. ("PRAGMA user_version = %d; PRAGMA application_id = %d;"):format(version + 1,
          schema.APPLICATION))
    end
    if done then done, message, code = db:exec("COMMIT") end
    if not done then
      db:exec("ROLLBACK")
      return nil, message, code
    end
  end
  return true
end

--- Brings a database to this build's version.
-- @tparam userdata db
-- @tparam string path for messages
-- @tparam boolean may_write
-- @tparam ?table migrations others than this build's: from 0, each the SQL that
--   makes a version the next one
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code `unsupported_version` for a store of a later version
-- @treturn ?string hint
function schema.prepare(db, path, may_write, migrations)
  migrations = migrations or MIGRATIONS
  local wanted <const> = #migrations + 1
  local version, message, code = number(db, "user_version")
  if version == nil then return nil, message, code end
  local application <const> = number(db, "application_id")
  if application ~= schema.APPLICATION and (version ~= 0 or has_tables(db)) then
    return nil, path .. ": an SQLite database, but not a store of captures", "malformed"
  end
  if version > wanted then
    return nil, ("%s: a store of version %d; this build knows up to %d"):format(path, version,
      wanted), "unsupported_version", "a newer sonde"
  end
  if version == wanted then return true end
  if not may_write then
    return nil, ("%s: a store of version %d, to be brought to version %d first"):format(path,
      version, wanted), "unsupported_version", "sonde store check " .. path
  end
  return migrate(db, version, migrations)
end

return schema
