--- What `sonde record --profile cpu` asks for.
-- @module sonde.recordings.cpu
return {
  summary = "samples of all threads, 1 ms apart, and what names their methods",
  providers = {
    "Microsoft-DotNETCore-SampleProfiler::5",
    "Microsoft-Windows-DotNETRuntime:loader+jit:5",
  },
  view = "wall",
}
