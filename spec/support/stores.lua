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

return {
  { name = "SQLite", with = sqlite },
}
