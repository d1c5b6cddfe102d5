-- How captures end, go on, and stand a store in trouble.
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"
local uv <const> = require "sonde.base.uv"

if not pcall(require, "sonde.c.sqlite") then
  it("captures are kept in SQLite", function() helper.skip "libsqlite3 was missing" end)
  return
end

local function count(store, question)
  local n = 0
  for _ in assert(store:records(question)) do n = n + 1 end
  return n
end

describe("a capture whose store is in trouble", function()
  local function with_store(use)
    helper.in_directory(function(directory)
      local path <const> = directory .. "/s.db"
      local store <close> = assert(require("sonde.capture.store").open(path, { busy = "10ms" }))
      local capture <const> = assert(sonde.capture { store = store, kinds = { "process_tree" } })
      use(capture, store, path)
    end)
  end

  it("keeps what a lock refuses, and writes it with the next checkpoint", function()
    with_store(function(capture, store, path)
      assert(capture:checkpoint())
      local other <close> = assert(require("sonde.c.sqlite").open(path))
      assert(other:exec "BEGIN IMMEDIATE")
      local done, message, code, kept = capture:checkpoint()
      assert.is_nil(done)
      assert.matches(path, message, 1, true)
      assert.same({ "timeout", true }, { code, kept })
      assert(other:exec "ROLLBACK")
      assert(capture:checkpoint())
      assert(capture:close())
      assert.equal(3, #store:checkpoints(assert(store:query { kind = "process_tree" })))
    end)
  end)

  it("loses nothing acknowledged on a full disk, and says what is lost at its end", function()
    with_store(function(capture, store)
      assert(capture:checkpoint())
      assert(store.db:exec "PRAGMA max_page_count = 1")
      local noise = {}
      for i = 1, 200000 do noise[i] = string.char(math.random(0, 255)) end
      local done, message, code, kept = capture:checkpoint { kind = "stacks", pid = 999999,
        dump = { format = "go", text = table.concat(noise) } }
      assert.is_nil(done)
      assert.matches("full", message)
      assert.same({ "unavailable", true }, { code, kept })
      done, message = capture:close()
      assert.is_nil(done)
      assert.matches("1 batches are lost", message)
      assert.is_true(count(store, { kind = "process_tree" }) >= 1)
      assert.same({}, assert(store:check()).problems)
    end)
  end)
end)

describe("a capture that is gone on with", function()
  it("has the same root, and not another process of its number", function()
    local process <close> = dotnet.spawn { "sleep", "600" }
    helper.in_directory(function(directory)
      local path <const> = directory .. "/s.db"
      local capture <const> = assert(sonde.capture { root = process.pid, store = path })
      capture:close()
      local again <const> = assert(sonde.capture { id = capture.id, store = path })
      assert.equal(process.pid, again.root)
      again:close()
      local store <const> = assert(require("sonde.capture.store").open(path))
      assert(store:capture { id = capture.id, root_key = process.pid .. ":1" })
      local none, message, code = sonde.capture { id = capture.id, store = store }
      assert.is_nil(none)
      assert.matches("the number was given again", message)
      assert.equal("not_found", code)
      store:close()
    end)
  end)
end)

-- Starts the command and waits for its first checkpoint; ends it by `finish`.
local function run_until(finish, target, ...)
  local command <close> = dotnet.spawn { helper.command, "capture", "-p", tostring(target.pid),
    "--kind", "process_tree", "--json", ... }
  assert(command:line("checkpoint", 20))
  finish(command)
  return command:wait(20)
end

describe("sonde capture", function()
  it("ends when it is told to, when the process ends, and when its time is over", function()
    local process <close> = dotnet.spawn { "sleep", "600" }
    helper.in_directory(function(directory)
      local path <const> = directory .. "/s.db"
      local status = run_until(function(command) uv.kill(command.pid, 2) end, process, "--store",
        path, "--every", "10m")
      assert.equal(0, status)
      local began <const> = loop.now()
      local _, code = helper.sonde("capture", "-p", tostring(process.pid), "--store", path,
        "--kind", "process_tree", "--every", "10m", "--duration", "1s")
      assert.equal(0, code)
      local took <const> = (loop.now() - began) / 1e9
      assert.is_true(took >= 1 and took < 60, took)
      status = run_until(function() uv.kill(process.pid, 9) end, process, "--store", path,
        "--every", "10m")
      assert.equal(0, status)
      for _, row in ipairs(helper.json_lines((helper.sonde("captures", path, "--json")))) do
        assert.truthy(row.ended_at)
      end
    end)
  end)
end)
