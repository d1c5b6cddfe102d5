--- What `sonde record --profile contention` asks for.
-- @module sonde.recordings.contention
return {
  summary = "waits for locks that another thread holds, with their stacks",
  providers = { "Microsoft-Windows-DotNETRuntime:contention+loader+jit:5" },
  view = "contention",
}
