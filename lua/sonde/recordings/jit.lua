--- What `sonde record --profile jit` asks for.
-- @module sonde.recordings.jit
return {
  summary = "methods as they are compiled, and how long that takes",
  providers = { "Microsoft-Windows-DotNETRuntime:jit+loader+compilation:5" },
  view = "jit",
}
