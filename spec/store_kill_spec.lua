-- A writer that is killed at any time leaves every acknowledged checkpoint, whole,
-- and none in part. SONDE_KILLS says how often; by hand 200.
local helper <const> = require "spec.support.helper"

local KILLS <const> = math.tointeger(tonumber(os.getenv "SONDE_KILLS" or "12"))

-- Runs a writer until it told so many acknowledgements, and some moments longer;
-- then kills it. The checkpoints that it told of.
local function run_and_kill(path, name, acknowledged, moments)
  local pipe <const> = assert(io.popen(("echo $$; exec lua5.4 spec/support/store_writer.lua %s %s")
    :format(helper.quote(path), name), "r"))
  local pid <const> = pipe:read "l"
  local told = {}
  for i = 1, acknowledged do
    told[i] = pipe:read "l"
    assert(told[i], "the writer ended by itself")
  end
  local waste = 0
  for i = 1, moments do waste = waste + i % 7 end
  helper.run("kill -9 " .. pid)
  for line in pipe:lines() do told[#told + 1] = line end
  pipe:close()
  return told
end

describe("a store whose writer is killed", function()
  it("has every acknowledged checkpoint and none in part", function()
    if not pcall(require, "sonde.c.sqlite") then helper.skip "this build has no SQLite" end
    local stores <const> = require "sonde.capture.store"
    helper.in_directory(function(directory)
      local path <const> = directory .. "/s.db"
      local told = {}
      for i = 1, KILLS do
        -- The first one has written something, so that the store has its kinds.
        local least <const> = i == 1 and 1 or 0
        for _, id in ipairs(run_and_kill(path, ("w%d-"):format(i), math.random(least, 3),
          math.random(0, 1000000))) do
          told[#told + 1] = id
        end
        local store <close> = assert(stores.open(path))
        local found <const> = assert(store:check())
        assert.are.same({}, found.problems)
        local kinds = {}
        for _, kind in ipairs { "goprof", "stacks" } do
          kinds[kind] = {}
          for _, row in ipairs(store:checkpoints(assert(store:query { kind = kind }))) do
            kinds[kind][row.checkpoint_id] = row.records
          end
        end
        for id, records in pairs(kinds.goprof) do
          assert.are.equal(300, records)
          assert.are.equal(100, kinds.stacks[id])
        end
        for _, id in ipairs(told) do assert.is_truthy(kinds.goprof[id], id) end
      end
      local store <close> = assert(stores.open(path, { mode = "read" }))
      local n = 0
      for record in assert(store:records { kind = "stacks", checkpoint = told[#told] }) do
        n = n + 1
        assert.are.equal(("goroutine %d\n"):format(record.goroutine_id), record.raw)
      end
      assert.are.equal(100, n)
    end)
  end)
end)
