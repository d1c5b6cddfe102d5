--- What `sonde record --profile startup` asks for.
-- @module sonde.recordings.startup
return {
  summary = "a start from its first method: samples, compilation, loads, exceptions",
  providers = {
    "Microsoft-DotNETCore-SampleProfiler::5",
    "Microsoft-Windows-DotNETRuntime:loader+jit+compilation+fusion+exception:5",
  },
  view = "wall",
}
