--- Keywords of the runtime's providers by name. The same name is another bit in
-- each provider.
-- @module sonde.dotnet.keywords
local keywords = {}

local RUNTIME <const> = {
  gc = 0x1, gchandle = 0x2, assemblyloader = 0x4, fusion = 0x4, loader = 0x8, jit = 0x10,
  ngen = 0x20, startenumeration = 0x40, endenumeration = 0x80, security = 0x400,
  appdomainresourcemanagement = 0x800, jittracing = 0x1000, interop = 0x2000,
  contention = 0x4000, exception = 0x8000, threading = 0x10000,
  jittedmethodiltonativemap = 0x20000, overrideandsuppressngenevents = 0x40000, type = 0x80000,
  gcheapdump = 0x100000, gcsampledobjectallocationhigh = 0x200000,
  gcheapsurvivalandmovement = 0x400000, gcheapcollect = 0x800000,
  managedheapcollect = 0x800000, gcheapandtypenames = 0x1000000,
  gcsampledobjectallocationlow = 0x2000000, perftrack = 0x20000000, stack = 0x40000000,
  threadtransfer = 0x80000000, debugger = 0x100000000, monitoring = 0x200000000,
  codesymbols = 0x400000000, eventsource = 0x800000000, compilation = 0x1000000000,
  compilationdiagnostic = 0x2000000000, methoddiagnostic = 0x4000000000,
  typediagnostic = 0x8000000000, jitinstrumentationdata = 0x10000000000,
  profiler = 0x20000000000, waithandle = 0x40000000000, allocationsampling = 0x80000000000,
}

local RUNDOWN <const> = {
  gc = 0x1, loader = 0x8, jit = 0x10, ngen = 0x20, start = 0x40, ["end"] = 0x100,
  appdomainresourcemanagement = 0x800, threading = 0x10000,
  jittedmethodiltonativemap = 0x20000, overrideandsuppressngenevents = 0x40000,
  perftrack = 0x20000000, stack = 0x40000000, compilation = 0x1000000000,
}

local PRIVATE <const> = {
  gc = 0x1, binding = 0x2, ngenforcerestore = 0x4, fusion = 0x8, loaderheap = 0x10,
  dynamictypeusage = 0x20, security = 0x400, interop = 0x2000, gchandle = 0x4000,
  multicorejit = 0x20000, jittedmethodrichdebuginfo = 0x40000, perftrack = 0x20000000,
  stack = 0x40000000, startup = 0x80000000,
}

local MONO <const> = {
  gc = 0x1, gchandle = 0x2, loader = 0x8, jit = 0x10, contention = 0x4000, exception = 0x8000,
  threading = 0x10000, gcheapdump = 0x100000, gcallocation = 0x200000, gcmoves = 0x400000,
  gcheapcollect = 0x800000, gcfinalization = 0x1000000, gcresize = 0x2000000,
  gcroot = 0x4000000, gcheapdumpvtableclassreference = 0x8000000, methodtracing = 0x20000000,
  typeloading = 0x8000000000, monitor = 0x10000000000,
}

local BY_PROVIDER <const> = {
  ["Microsoft-Windows-DotNETRuntimeRundown"] = RUNDOWN,
  ["Microsoft-Windows-DotNETRuntimePrivate"] = PRIVATE,
  ["Microsoft-Windows-DotNETRuntimeStress"] = { stack = 0x40000000 },
  ["Microsoft-DotNETRuntimeMonoProfiler"] = MONO,
}

--- Keywords of a provider: the runtime's for one of which none are known.
-- @tparam string provider its name
-- @treturn {[string]=integer} bits by name, in lower case
function keywords.of(provider)
  return BY_PROVIDER[provider] or RUNTIME
end

return keywords
