--- .NET: providers, keywords and defaults by name.
-- @module sonde.dotnet
local dotnet = {}

--- The provider of thread samples.
dotnet.PROVIDER_SAMPLE_PROFILER = "Microsoft-DotNETCore-SampleProfiler"
--- The runtime's own provider.
dotnet.PROVIDER_RUNTIME = "Microsoft-Windows-DotNETRuntime"
--- The runtime's provider of what is there when a session ends.
dotnet.PROVIDER_RUNDOWN = "Microsoft-Windows-DotNETRuntimeRundown"

--- Keyword of the runtime's provider: module and assembly loads.
dotnet.KEYWORD_LOADER = 0x8
--- Keyword of the runtime's provider: method loads.
dotnet.KEYWORD_JIT = 0x10

--- Buffer in the runtime of a session that names none, in MB.
dotnet.DEFAULT_BUFFER_MB = 256
--- Cap on the bytes of a session's stream that names none.
dotnet.DEFAULT_MAX_STREAM_BYTES = 1 << 30

return dotnet
