--- `sonde top INPUT`: the functions with the largest values, of a file or of a
-- process that runs.
-- @module sonde.cmd.top
local live <const> = require "sonde.cmd.live"

local of_file <const> = require("sonde.cmd.report").verb_of(require "sonde.report.top", "top", {
  "sonde top api.nettrace -n 10",
  "sonde top api.nettrace --view alloc",
  "sonde top api.nettrace --focus Json --hide '^System'",
  "sonde top heap.pb.gz --view inuse_space",
  "sonde top -p Api                             # a running process, as it changes",
})

return live.either(of_file, "sonde.cmd.top_live")
