-- The binding to SQLite: types, columns, failures, lives of objects.
local helper <const> = require "spec.support.helper"

local function module()
  local found, sqlite = pcall(require, "sonde.c.sqlite")
  if not found then helper.skip "this build has no SQLite" end
  return sqlite
end

local function memory()
  return assert(module().open ":memory:")
end

-- All rows of a statement, each as a list.
local function all(statement, ...)
  local list = {}
  statement:start(...)
  while assert(select("#", ...) >= 0) and statement:step() do
    list[#list + 1] = table.pack(statement:get())
  end
  return list
end

describe("sonde.c.sqlite", function()
  it("keeps every type as it was", function()
    local db <close> = memory()
    assert(db:exec "CREATE TABLE t(a)")
    local insert <const>, read <const> = db:prepare "INSERT INTO t VALUES(?)",
      db:prepare "SELECT a, typeof(a) FROM t WHERE rowid = ?"
    local values <const> = { 9007199254740993, math.mininteger, math.maxinteger, 1.5, "a\0b", "" }
    for i, value in ipairs(values) do
      assert(insert:run(value))
      local back <const> = read:row(i)
      assert.are.equal(value, back)
      assert.are.equal(math.type(value), math.type(back))
    end
    assert(insert:run(nil))
    assert.is_nil((read:row(#values + 1)))
    assert(insert:run { blob = "\0\1\255" })
    local bytes, kind = read:row(#values + 2)
    assert.are.equal("\0\1\255", bytes)
    assert.are.equal("blob", kind)
  end)

  it("inserts columns: lists, packed integers, one value for all", function()
    local db <close> = memory()
    assert(db:exec "CREATE TABLE t(a, b, c, d)")
    local insert <const> = db:prepare "INSERT INTO t VALUES(?, ?, ?, ?)"
    assert(insert:insert(3, { int64 = string.pack("i8i8i8", 7, math.maxinteger, -1) },
      { "x", nil, 2.5 }, "all", { blob = "z" }))
    assert.are.same({ { 7, "x", "all", "z", n = 4 }, { math.maxinteger, nil, "all", "z", n = 4 },
      { -1, 2.5, "all", "z", n = 4 } }, all(db:prepare "SELECT * FROM t"))
    assert(insert:insert(0, {}, {}, {}, {}))
    assert.has_error(function() insert:insert(2, { int64 = "12345678" }, {}, {}, {}) end)
    assert.has_error(function() insert:insert(1, 1, 2) end)
    assert.has_error(function() insert:insert(1, { print }, 1, 1, 1) end)
    assert.are.equal(3, (db:prepare "SELECT count(*) FROM t":row()))
  end)

  it("sums by group", function()
    local db <close> = memory()
    assert(db:exec("CREATE TABLE t(k, s, v); INSERT INTO t VALUES(5, 0, 1), (9, 1, 10),"
      .. " (5, 1, 100), (5, 0, 1000), (9, 7, 5), (3, 0, 9223372036854775807), (3, 0, 1)"))
    local n, keys, sums = db:prepare "SELECT k, s, v FROM t WHERE v <> ?":sums(2, 0)
    assert.are.equal(3, n)
    assert.are.same({ 5, 9, 3, 25 }, { string.unpack("i8i8i8", keys) })
    assert.are.same({ 1001, 0, math.maxinteger, 25 }, { string.unpack("i8i8i8", sums[1]) })
    assert.are.same({ 100, 10, 0, 25 }, { string.unpack("i8i8i8", sums[2]) })
  end)

  it("finds stacks that have one of some frames", function()
    local db <close> = memory()
    local any <const> = db:prepare "SELECT any_frame(?, ?)"
    local function has(frames, mask)
      return any:row({ blob = string.pack(("<I4"):rep(#frames), table.unpack(frames)) },
        { blob = mask })
    end
    assert.are.equal(1, has({ 1, 9 }, "\0\2"))
    assert.are.equal(0, has({ 1, 8, 4000000000 }, "\0\2"))
    assert.are.equal(0, has({}, "\255"))
  end)

  it("tells what failed, with a code", function()
    local sqlite <const> = module()
    helper.in_directory(function(directory)
      local _, message, code = sqlite.open(directory .. "/none/x.db")
      assert.matches("/none/x.db", message, 1, true)
      assert.are.equal("not_found", code)
      helper.write(directory .. "/text", ("no database "):rep(100))
      local db <close> = assert(sqlite.open(directory .. "/text"))
      _, _, code = db:exec "SELECT * FROM sqlite_master"
      assert.are.equal("malformed", code)
      local one <close> = assert(sqlite.open(directory .. "/a.db"))
      assert(one:exec "CREATE TABLE t(a); BEGIN IMMEDIATE; INSERT INTO t VALUES(1)")
      local two <close> = assert(sqlite.open(directory .. "/a.db", { busy_ms = 10 }))
      _, message, code = two:exec "INSERT INTO t VALUES(2)"
      assert.matches("locked", message)
      assert.are.equal("timeout", code)
      local reader <close> = assert(sqlite.open(directory .. "/a.db", { mode = "read" }))
      _, _, code = reader:exec "INSERT INTO t VALUES(2)"
      assert.are.equal("permission", code)
    end)
  end)

  it("refuses wrong use", function()
    local db <const> = memory()
    assert.has_error(function() module().open("x\0y") end)
    assert.has_error(function() module().open(":memory:", { mode = "what" }) end)
    assert.has_error(function() db:prepare "" end)
    assert.has_error(function() db:prepare "SELECT ?":row() end)
    assert.has_error(function() db:prepare "SELECT 1":get() end)
    local statement <const> = db:prepare "SELECT 1"
    db:close()
    db:close()
    assert.has_error(function() statement:step() end)
    assert.has_error(function() db:exec "SELECT 1" end)
    assert.matches("closed", tostring(db))
    statement:close()
  end)

  it("survives a collector that takes objects in any order", function()
    for i = 1, 200 do
      local db = memory()
      assert(db:exec "CREATE TABLE t(a)")
      local insert, read = db:prepare "INSERT INTO t VALUES(?)", db:prepare "SELECT * FROM t"
      assert(insert:run(("text"):rep(100) .. i))
      read:start()
      assert(read:step())
      if i % 3 == 0 then db = nil end
      collectgarbage()
      assert.matches("texttext", (read:get()))
      if i % 2 == 0 then insert, read = nil, nil end
      collectgarbage "step"
      if db and i % 5 == 0 then db:close() end
      assert(insert == nil or read)
    end
    collectgarbage()
  end)

  it("is stopped", function()
    local db <close> = memory()
    db:interrupt()   -- nothing runs: no harm
    local statement <const> = db:prepare("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
      .. " FROM n) SELECT count(*) FROM n")
    debug.sethook(function() end, "", 1000000)
    debug.sethook()
    -- A hook that appears while SQLite works is what a signal leaves.
    local out <const>, status <const> = helper.run(("LUA_CPATH=%s timeout 20 lua5.4 -e %s"):format(
      helper.quote(package.cpath), helper.quote [[
        local core = require "sonde.c.core"
        core.catch_signal(14, true)
        local db = require("sonde.c.sqlite").open ":memory:"
        local s = db:prepare("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
          .. " SELECT count(*) FROM n")
        os.execute("(sleep 0.3; kill -ALRM " .. io.open("/proc/self/stat"):read("n") .. ") &")
        print(pcall(s.row, s))
      ]]))
    assert.are.equal(0, status)
    assert.matches("interrupted", out)
    statement:close()
  end)
end)
