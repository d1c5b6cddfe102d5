-- A store in ClickHouse, in the shell: as an object, by verbs, and as the input.
local clickhouse <const> = require "spec.support.clickhouse"
local helper <const> = require "spec.support.helper"
local sample_store <const> = require "spec.support.sample_store"

describe("a store in ClickHouse", function()
  it("is a store of the shell like any other", function()
    local server <const> = clickhouse.keep()
    local _ <close> = setmetatable({}, { __close = server.kill })
    local target <const> = ("clickhouse://127.0.0.1:%d/shell"):format(server.port)
    sample_store.fill(target)
    local out, status, err = helper.sonde("shell", helper.data "demo.nettrace",
      "-c", ('s = store "%s"'):format(target), "-c", "s", "-c", "s:captures()",
      "-c", "s:profile{}:top{ n = 3 }", "-c", "sonde query " .. target)
    assert.equal(0, status, err)
    assert(out:find("store " .. target, 1, true), out)
    assert.matches("\nc1 +3 ", out)
    assert.matches("15kB 71%.43%% 71%.43%% +15kB 71%.43%%  main%.ok", out)
    assert.matches("heap +inuse_objects +1  main%.leak", out)
    out, status, err = helper.sonde("shell", target, "-c", "top3")
    assert.equal(0, status, err)
    assert.matches("main%.leak", out)
  end)
end)
