--- What `sonde record --profile alloc` asks for.
-- @module sonde.recordings.alloc
return {
  summary = "which types are allocated where: one event for each 100 KB or so",
  providers = { "Microsoft-Windows-DotNETRuntime:gc+allocationsampling+loader+jit:5" },
  view = "alloc",
}
