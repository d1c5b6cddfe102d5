--- `sonde top INPUT`: the functions with the largest values.
-- @module sonde.cmd.top
return require("sonde.cmd.report").verb_of(require "sonde.report.top", "top", {
  "sonde top api.nettrace -n 10",
  "sonde top api.nettrace --view alloc",
  "sonde top api.nettrace --focus Json --hide '^System'",
  "sonde top heap.pb.gz --view inuse_space",
})
