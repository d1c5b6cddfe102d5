--- `sonde version`.
-- @module sonde.cmd.version
local common <const> = require "sonde.cmd.common"

return common.verb {
  name = "version",
  summary = "print the version",
  arguments = {},
  options = {},
  run = function(_, env)
    env.out:write("sonde ", require("sonde").VERSION, "\n")
  end,
}
