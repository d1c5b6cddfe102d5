--- What `sonde record --profile gc` asks for.
-- @module sonde.recordings.gc
return {
  summary = "garbage collections and their pauses",
  providers = {
    "Microsoft-Windows-DotNETRuntime:gc:4",
    "Microsoft-Windows-DotNETRuntimePrivate:gc:4",
  },
  rundown = false,
  view = "gc",
}
