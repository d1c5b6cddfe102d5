--- What `sonde record --profile threadpool` asks for.
-- @module sonde.recordings.threadpool
return {
  summary = "how the thread pool grows, shrinks and runs short",
  providers = { "Microsoft-Windows-DotNETRuntime:threading:4" },
  rundown = false,
}
