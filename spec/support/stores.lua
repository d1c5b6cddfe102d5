--- The stores that the contract is checked over: each gives, to a function, one that
-- opens the same store again and again.
local helper <const> = require "spec.support.helper"

local function sqlite(use)
  if not pcall(require, "sonde.c.sqlite") then helper.skip "this build has no SQLite" end
  helper.in_directory(function(directory)
    use(function(opts)
      return require("sonde.capture.store").open(directory .. "/s.db", opts)
    end)
  end)
end

-- A database of its own for each use, on one server for all: starting one takes a
-- second or two. It ends with the process.
local server
local count = 0

local function clickhouse(use)
  if not pcall(require, "sonde.c.http") then helper.skip "this build has no libcurl" end
  server = server or require("spec.support.clickhouse").keep()
  count = count + 1
  local target <const> = ("clickhouse://127.0.0.1:%d/spec%d"):format(server.port, count)
  use(function(opts) return require("sonde.capture.store").open(target, opts) end)
end

return {
  { name = "SQLite", with = sqlite },
  { name = "ClickHouse", with = clickhouse },
}
