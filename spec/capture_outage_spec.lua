-- What becomes of a running `sonde capture` whose store goes away.
local clickhouse <const> = require "spec.support.clickhouse"
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"
local uv <const> = require "sonde.base.uv"

if not pcall(require, "sonde.c.sqlite") then
  it("captures are kept in SQLite", function() helper.skip "libsqlite3 was missing" end)
  return
end

local MS <const> = 1000000

-- A capture every 100 ms, whose words are a file.
local function start(directory, store, target)
  local process <const> = dotnet.spawn { "sh", "-c",
    'exec "$@" >' .. helper.quote(directory .. "/said") .. " 2>&1", "sh", helper.command,
    "capture", "-p", tostring(target.pid), "--kind", "process_tree", "--every", "100ms",
    "--store", store }
  function process.said() return helper.read(directory .. "/said") or "" end
  function process.acknowledged()
    return select(2, process.said():gsub("checkpoint %S+: process_tree", ""))
  end
  function process.until_(is_so)
    local deadline <const> = loop.after(60 * 1000 * MS)
    while not is_so() and loop.now() < deadline do loop.sleep(50 * MS) end
    assert.truthy(is_so(), process.said())
  end
  -- Waits for so many more checkpoints that were acknowledged.
  function process.more(n)
    local wanted <const> = process.acknowledged() + n
    process.until_(function() return process.acknowledged() >= wanted end)
  end
  return process
end

local function checkpoints(path)
  local store <close> = assert(require("sonde.capture.store").open(path))
  local n <const> = #store:checkpoints(assert(store:query { kind = "process_tree" }))
  if store.check then assert.same({}, assert(store:check()).problems) end
  return n
end

describe("a running capture", function()
  it("goes on in a new file when its own is moved away, and loses nothing", function()
    local target <close> = dotnet.spawn { "sleep", "600" }
    helper.in_directory(function(directory)
      local path <const> = directory .. "/s.db"
      local capture <close> = start(directory, path, target)
      capture.more(3)
      assert(os.rename(path, directory .. "/moved.db"))
      capture.until_(function() return capture.said():find "was moved or removed" end)
      capture.more(2)
      -- What stands in its place now can be no store: it waits until it can.
      assert(os.remove(path))
      assert(uv.fs_mkdir(path, 448))
      capture.until_(function() return capture.said():find "kept in memory" end)
      assert(uv.fs_rmdir(path))
      capture.more(2)
      uv.kill(capture.pid, 2)
      assert.equal(0, capture:wait(20), capture.said())
      assert.is_true(checkpoints(directory .. "/moved.db") >= 3)
      assert.is_true(checkpoints(path) >= 3)
    end)
  end)

  it("keeps its file when the program changes its directory", function()
    local before <const> = uv.cwd()
    local _ <close> = setmetatable({}, { __close = function() uv.chdir(before) end })
    helper.in_directory(function(directory)
      -- Modules are found from where the specs run: all are loaded before.
      local first <const> = assert(sonde.capture { store = directory .. "/first.db",
        kinds = { "process_tree" } })
      assert(first:checkpoint())
      assert(first:close())
      uv.chdir(directory)
      local capture <const> = assert(sonde.capture { store = "s.db", kinds = { "process_tree" } })
      assert(capture:checkpoint())
      uv.chdir(before)
      assert(capture:checkpoint())
      assert(capture:close())
      assert.equal(2, checkpoints(directory .. "/s.db"))
      assert.is_nil(uv.fs_stat "s.db")
    end)
  end)

  it("says that a file may not be written", function()
    if uv.getuid() ~= 0 then helper.skip "only root can become another user" end
    local target <close> = dotnet.spawn { "sleep", "600" }
    helper.in_directory(function(directory)
      local path <const> = directory .. "/s.db"
      assert(sonde.store(path)):close()
      helper.run(("chmod 755 %s; chmod 444 %s"):format(directory, path))
      local out, status = helper.run(("setpriv --reuid 65534 --clear-groups %s capture -p %d"
        .. " --kind process_tree --store %s 2>&1"):format(helper.command, target.pid, path))
      assert.equal(3, status, out)
      assert.matches("readonly", out)
    end)
  end)

  it("waits for a ClickHouse server that is away, and writes what it kept", function()
    local server <const> = clickhouse.keep()
    local _ <close> = setmetatable({}, { __close = server.kill })
    local target <close> = dotnet.spawn { "sleep", "600" }
    helper.in_directory(function(directory)
      local name <const> = ("clickhouse://127.0.0.1:%d/outage"):format(server.port)
      local capture <close> = start(directory, name, target)
      capture.more(2)
      server.kill()
      capture.until_(function() return capture.said():find "kept in memory" end)
      server.start()
      capture.more(2)
      uv.kill(capture.pid, 2)
      assert.equal(0, capture:wait(30), capture.said())
      local kept <const> = select(2, capture.said():gsub("kept in memory", ""))
      local store <close> = assert(sonde.store(name))
      local stored <const> = #store:checkpoints(assert(store:query { kind = "process_tree" }))
      assert.is_true(stored >= capture.acknowledged() + kept,
        ("%d of %d and %d"):format(stored, capture.acknowledged(), kept))
    end)
  end)
end)
