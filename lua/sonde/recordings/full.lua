--- What `sonde record --profile full` asks for.
-- @module sonde.recordings.full
return {
  summary = "everything above of the runtime itself; large, and it slows the program",
  providers = {
    "Microsoft-DotNETCore-SampleProfiler::5",
    "Microsoft-Windows-DotNETRuntime:gc+allocationsampling+loader+jit+exception+contention"
      .. "+threading+compilation+type:5",
    "System.Threading.Tasks.TplEventSource:0x80:4",
  },
  view = "wall",
}
