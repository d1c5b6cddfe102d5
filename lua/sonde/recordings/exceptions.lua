--- What `sonde record --profile exceptions` asks for.
-- @module sonde.recordings.exceptions
return {
  summary = "exceptions that are thrown, with their stacks",
  providers = { "Microsoft-Windows-DotNETRuntime:exception+loader+jit:5" },
  view = "exception",
}
