-- What the world does to a store in SQLite: locks, full disks, files of others.
local helper <const> = require "spec.support.helper"

local function with_path(use)
  if not pcall(require, "sonde.c.sqlite") then helper.skip "this build has no SQLite" end
  helper.in_directory(function(directory)
    use(directory .. "/s.db", require "sonde.capture.store", require "sonde.c.sqlite", directory)
  end)
end

local function batch(i, text)
  return { capture = "c", checkpoint = { id = "k" .. i, taken_at = i }, parts = { {
    kind = "stacks", pid = 1, fields = { transport = "native" },
    records = { { thread_id = i, raw = text or "x" } } } } }
end

local function count(store)
  local n = 0
  for _ in assert(store:records { kind = "stacks" }) do n = n + 1 end
  return n
end

describe("a store in trouble", function()
  it("keeps what a locked file refuses, within its bound, and writes it later", function()
    with_path(function(path, stores, sqlite)
      local store <close> = assert(stores.open(path, { busy = "10ms", buffer = 4000 }))
      assert(store:write(batch(1)))
      local other <close> = assert(sqlite.open(path))
      assert(other:exec "BEGIN IMMEDIATE")
      local done, message, code, kept = store:write(batch(2))
      assert.is_nil(done)
      assert.matches(path, message, 1, true)
      assert.are.equal("timeout", code)
      assert.is_true(kept)
      for i = 3, 9 do done, message, code, kept = store:write(batch(i)) end
      assert.is_nil(done)
      assert.are.equal("limit", code)
      assert.is_false(kept)
      assert.matches("wait to be written", message)
      local waiting <const> = store:waiting()
      assert.is_true(waiting > 0 and waiting < 8)
      assert(other:exec "ROLLBACK")
      assert(store:flush())
      assert.are.equal(0, (store:waiting()))
      assert.are.equal(1 + waiting, count(store))
    end)
  end)

  it("tells of a full disk and loses nothing acknowledged", function()
    with_path(function(path, stores)
      local store <close> = assert(stores.open(path))
      assert(store:write(batch(1)))
      -- SQLite's own limit of pages fails as a full disk does.
      assert(store.db:exec "PRAGMA max_page_count = 30")
      local noise = {}
      for i = 1, 400000 do noise[i] = string.char(math.random(0, 255)) end
      local done, message, code, kept = store:write(batch(2, table.concat(noise)))
      assert.is_nil(done)
      assert.matches("full", message)
      assert.are.equal("unavailable", code)
      assert.is_true(kept)
      assert.are.equal(1, count(store))
      assert.are.same({}, assert(store:check()).problems)
      assert(store.db:exec "PRAGMA max_page_count = 100000")
      assert(store:write(batch(3)))
      assert.are.equal(3, count(store))
    end)
  end)

  it("tells of a file that may not be written", function()
    with_path(function(path, stores)
      local store = assert(stores.open(path))
      assert(store:write(batch(1)))
      store:close()
      store = assert(stores.open(path, { mode = "read" }))
      local done, _, code = store:write(batch(2))
      assert.is_nil(done)
      assert.are.equal("permission", code)
      assert.are.equal(1, count(store))
      store:close()
    end)
  end)

  it("refuses databases of others and of later versions", function()
    with_path(function(path, stores, sqlite)
      local db <const> = assert(sqlite.open(path))
      assert(db:exec "CREATE TABLE t(a)")
      local store, message, code = stores.open(path)
      assert.is_nil(store)
      assert.matches("not a store", message)
      assert.are.equal("malformed", code)
      assert(db:exec "DROP TABLE t")
      assert(stores.open(path)):close()
      assert(db:exec "PRAGMA user_version = 999")
      store, message, code = stores.open(path)
      assert.is_nil(store)
      assert.matches("version 999", message)
      assert.are.equal("unsupported_version", code)
      db:close()
    end)
  end)

  it("reads what a damaged or missing file gives: a message", function()
    with_path(function(path, stores)
      local store, message, code = stores.open(path .. "/none")
      assert.is_nil(store)
      assert.matches("/none", message, 1, true)
      assert.are.equal("not_found", code)
      store = assert(stores.open(path))
      for i = 1, 50 do assert(store:write(batch(i, ("text"):rep(1000)))) end
      store:close()
      local bytes <const> = helper.read(path)
      for at = 20000, #bytes - 1, #bytes // 9 do
        helper.write(path, bytes:sub(1, at) .. ("\xff"):rep(16384) .. bytes:sub(at + 16385))
        store, message, code = stores.open(path, { mode = "read" })
        if store then
          local ok, failure = pcall(count, store)
          if not ok then assert.is_string(tostring(failure.message or failure)) end
          local found, why = store:check()
          assert.is_true(found == nil and why ~= nil or #found.problems > 0
            or ok)
          store:close()
        else
          assert.are.equal("malformed", code, message)
        end
      end
    end)
  end)

  it("brings older versions up to date, one by one", function()
    with_path(function(path, stores, sqlite)
      local schema <const> = require "sonde.capture.store.schema"
      local store <const> = assert(stores.open(path))
      assert(store:write(batch(1)))
      store:close()
      local db <const> = assert(sqlite.open(path))
      local later = {}
      for version = 0, schema.VERSION - 1 do later[version] = "SELECT raise" end
      later[schema.VERSION] = "ALTER TABLE checkpoint ADD COLUMN note TEXT;"
      later[schema.VERSION + 1] = "UPDATE checkpoint SET note = 'new ' || id;"
      assert.is_nil((schema.prepare(db, path, false, later)))
      assert(schema.prepare(db, path, true, later))
      assert(schema.prepare(db, path, true, later))
      assert.are.equal("new k1", (db:prepare "SELECT note FROM checkpoint":row()))
      assert.are.equal(schema.VERSION + 2, (db:prepare "PRAGMA user_version":row()))
      -- One that fails leaves the version before it.
      later[schema.VERSION + 2] = "DROP TABLE batch; SELECT a FROM nowhere;"
      local done, message = schema.prepare(db, path, true, later)
      assert.is_nil(done)
      assert.matches("nowhere", message)
      assert.are.equal(1, (db:prepare "SELECT count(*) FROM batch":row()))
      db:close()
    end)
  end)
end)

describe("a store in ClickHouse in trouble", function()
  it("is complete after a server that is killed in mid-batch", function()
    if not pcall(require, "sonde.c.http") then helper.skip "this build has no libcurl" end
    local server <const> = require("spec.support.clickhouse").keep()
    local stores <const> = require "sonde.capture.store"
    local target <const> = ("clickhouse://127.0.0.1:%d/trouble"):format(server.port)
    local store <close> = assert(stores.open(target))
    assert(store:write(batch(1)))
    -- What an attempt leaves that never came to its last row.
    local insert <const> = store.ask
    local asked = 0
    store.ask = function(self, sql, body)
      if sql:find("^INSERT INTO batches") then
        asked = asked + 1
        server.kill()
      end
      return insert(self, sql, body)
    end
    local done, message, code, kept = store:write(batch(2))
    assert.is_nil(done)
    assert.are.equal(1, asked)
    assert.matches("127.0.0.1", message, 1, true)
    assert.are.equal("unavailable", code)
    assert.is_true(kept)
    store.ask = nil
    done, message, code, kept = store:write(batch(3))
    assert.is_nil(done)
    assert.is_true(kept)
    assert.are.equal(2, (store:waiting()))
    assert.is_string(message .. code)
    server.start()
    assert(store:flush())
    assert.are.equal(3, count(store))
    assert.are.same({}, assert(store:check()).problems)
    server.kill()
  end)
end)
