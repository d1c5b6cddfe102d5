-- Names and fields of events that describe themselves by neither: what the
-- bytes of each kind mean, and that those of real traces are used up exactly.
local exactness <const> = require "spec.support.exactness"
local helper <const> = require "spec.support.helper"
local made <const> = require "spec.support.made_trace"
local sonde <const> = require "sonde"

local PRIVATE <const> = "Microsoft-Windows-DotNETRuntimePrivate"
local RUNDOWN <const> = "Microsoft-Windows-DotNETRuntimeRundown"
local STRESS <const> = "Microsoft-Windows-DotNETRuntimeStress"
local MONO <const> = "Microsoft-DotNETRuntimeMonoProfiler"

local pack <const> = string.pack

local function wide(text) return text:gsub(".", "%0\0") .. "\0\0" end

local function decoded(kind)
  local bytes <const> = made.trace { { 1000, kind } }
  return (assert(sonde.events { bytes = bytes, name = "made" })())
end

-- Provider (nil: the runtime's), id, name, bytes, what they mean.
local CASES <const> = {
  { PRIVATE, 310, "AllocRequest", pack("<I8I8I4I4I8I2", 0x10, 0x20, 848, 0, 0, 9),
    { LoaderHeapPtr = 0x10, MemoryAddress = 0x20, RequestSize = 848, Unused1 = 0, Unused2 = 0,
      ClrInstanceID = 9 } },
  { PRIVATE, 192, "PrvFinalizeObject", pack("<I8I8I2", 1, 2, 9) .. wide "Shop.Cart",
    { TypeID = 1, ObjectID = 2, ClrInstanceID = 9, TypeName = "Shop.Cart" } },
  { PRIVATE, 194, "PrvSetGCHandle", pack("<I8I8I4I4I8I2", 1, 2, 3, 1, 7, 9),
    { HandleID = 1, ObjectID = 2, Kind = 3, Generation = 1, AppDomainID = 7, ClrInstanceID = 9 } },
  { PRIVATE, 195, "PrvDestroyGCHandle", pack("<I8I2", 1, 9), { HandleID = 1, ClrInstanceID = 9 } },
  { PRIVATE, 199, "PinPlugAtGCTime", pack("<I8I8I8I2", 1, 2, 24, 9),
    { PlugStart = 1, PlugEnd = 2, GapBeforeSize = 24, ClrInstanceID = 9 } },
  { PRIVATE, 80, "EEStartupStart", pack("<I2", 9), { ClrInstanceID = 9 } },
  { PRIVATE, 80, "EEStartupStart", "", {} },
  { PRIVATE, 88, "Main", pack("<I2", 9), { ClrInstanceID = 9 } },
  { PRIVATE, 89, "MainEnd", pack("<I2", 9), { ClrInstanceID = 9 } },
  { PRIVATE, 1, "GCDecision", pack("<I4I2", 1, 9), { DoCompact = true, ClrInstanceID = 9 } },
  { PRIVATE, 22, "BGCOverflow", pack("<I8I8I8I4I2I4", 1, 2, 3, 1, 9, 2),
    { Min = 1, Max = 2, Objects = 3, IsLarge = 1, ClrInstanceID = 9, GenNumber = 2 } },
  { PRIVATE, 158, "ModuleRangeLoadPrivate", pack("<I2I8I4I4BBI2", 9, 5, 16, 32, 1, 2, 0x2d),
    { ClrInstanceID = 9, ModuleID = 5, RangeBegin = 16, RangeSize = 32, RangeType = 1,
      IBCType = 2, SectionType = 0x2d } },
  { PRIVATE, 159, "BindingPolicyPhaseStart",
    pack("<I4I4I4I4", 1, 2, 0, 1) .. wide "/app/Shop.dll" .. wide "Shop" .. pack("<I2", 9),
    { AppDomainID = 1, LoadContextID = 2, FromLoaderCache = 0, DynamicLoad = 1,
      AssemblyCodebase = "/app/Shop.dll", AssemblyName = "Shop", ClrInstanceID = 9 } },
  { PRIVATE, 187, "TokenTransparencyComputationEnd",
    pack("<I4", 0x6000001) .. wide "Shop" .. pack("<I4I4I4I2", 1, 1, 0, 9),
    { Token = 0x6000001, Module = "Shop", AppDomainID = 1, IsCritical = true,
      IsTreatAsSafe = false, ClrInstanceID = 9 } },
  { PRIVATE, 189, "JittedMethodRichDebugInfo", pack("<I2I8I8I8I4s4", 9, 1, 2, 3, 0, "abc"),
    { ClrInstanceID = 9, MethodID = 1, ReJITID = 2, ILVersionID = 3, ChunkIndex = 0, DataSize = 3,
      Data = "abc" } },
  { PRIVATE, 191, "FailFast", wide "out of stock" .. pack("<I8I4I4I2", 1, 134, 0x80131623, 9),
    { FailFastUserMessage = "out of stock", FailedEIP = 1, OSExitCode = 134,
      ClrExitCode = 0x80131623, ClrInstanceID = 9 } },
  { PRIVATE, 193, "CCWRefCountChangeAnsi",
    pack("<I8I8I8I4I8zz", 1, 2, 3, 4, 5, "Cart", "Shop") .. wide "AddRef" .. pack("<I2", 9),
    { HandleID = 1, ObjectID = 2, COMInterfacePointer = 3, NewRefCount = 4, AppDomainID = 5,
      ClassName = "Cart", NameSpace = "Shop", Operation = "AddRef", ClrInstanceID = 9 } },
  { PRIVATE, 201, "MulticoreJit", pack("<I2", 9) .. wide "STOPPROFILE" .. wide ""
    .. pack("<i4i4i4", -1, 2, 3),
    { ClrInstanceID = 9, String1 = "STOPPROFILE", String2 = "", Int1 = -1, Int2 = 2, Int3 = 3 } },
  { STRESS, 0, "StressLogEvent", pack("<I4Bz", 16, 3, "mark") .. pack("<I2", 9),
    { Facility = 16, LogLevel = 3, Message = "mark", ClrInstanceID = 9 } },
  { RUNDOWN, 161, "ModuleRangeDCEnd", pack("<I2I8I4I4B", 9, 5, 16, 32, 4),
    { ClrInstanceID = 9, ModuleID = 5, RangeBegin = 16, RangeSize = 32, RangeType = 4 } },
  { RUNDOWN, 280, "TieredCompilationSettingsDCStart", pack("<I2I4", 9, 3),
    { ClrInstanceID = 9, Flags = 3 } },
  { RUNDOWN, 300, "ExecutionCheckpointDCEnd", pack("<I2", 9) .. wide "Init" .. pack("<i8", -5),
    { ClrInstanceID = 9, Name = "Init", Timestamp = -5 } },
  { nil, 63, "ThreadPoolIOEnqueue", pack("<I8I8I4I2", 1, 2, 1, 9),
    { NativeOverlapped = 1, Overlapped = 2, MultiDequeues = true, ClrInstanceID = 9 } },
  { nil, 36, "GCBulkRootCCW", pack("<I4I2I8I8I8I8I4I4I4", 1, 9, 1, 2, 3, 4, 5, 6, 7),
    { Count = 1, ClrInstanceID = 9, Values = { { GCRootID = 1, ObjectID = 2, TypeID = 3,
      IUnknown = 4, RefCount = 5, PeggedRefCount = 6, Flags = 7 } } } },
  { nil, 186, "MethodJitInliningFailedAnsi", wide "A" .. wide "B" .. wide "C" .. wide "D"
    .. wide "E" .. wide "F" .. wide "G" .. wide "H" .. wide "I" .. pack("<I4zI2", 1, "too deep", 9),
    { MethodBeingCompiledNamespace = "A", MethodBeingCompiledName = "B",
      MethodBeingCompiledNameSignature = "C", InlinerNamespace = "D", InlinerName = "E",
      InlinerNameSignature = "F", InlineeNamespace = "G", InlineeName = "H",
      InlineeNameSignature = "I", FailAlways = true, FailReason = "too deep",
      ClrInstanceID = 9 } },
  -- These two as they lie in the collector's memory, with gaps.
  { nil, 208, "GCLOHCompact", pack("<I2I2I4I4I4xxxxI8I8", 9, 1, 60, 170, 7, 4, 3),
    { ClrInstanceID = 9, Count = 1, Values = { { TimePlan = 60, TimeCompact = 170,
      TimeRelocate = 7, TotalRefs = 4, ZeroRefs = 3 } } } },
  { nil, 209, "GCFitBucketInfo", pack("<I2I2I8I2I2xxI4I8I2xxI4I8", 9, 1, 392, 2, 0, 1, 32, 1, 1,
    360), { ClrInstanceID = 9, BucketKind = 1, TotalSize = 392, Count = 2,
      Values = { { Index = 0, Count = 1, Size = 32 }, { Index = 1, Count = 1, Size = 360 } } } },
  { nil, 260, "CodeSymbols", pack("<I8I2I2s4I2", 5, 1, 0, "BSJB", 9),
    { ModuleId = 5, TotalChunks = 1, ChunkNumber = 0, ChunkLength = 4, Chunk = "BSJB",
      ClrInstanceID = 9 } },
  { nil, 296, "KnownPathProbed", pack("<I2", 9) .. wide "/a.dll" .. pack("<I2i4", 1, -2147024894),
    { ClrInstanceID = 9, FilePath = "/a.dll", Source = 1, Result = -2147024894 } },
  { MONO, 10, "MonoProfilerJitDone", pack("<I8I8I4I4BI8", 1, 2, 3, 1, 0x12, 4),
    { MethodID = 1, ModuleID = 2, MethodToken = 3, Count = 1,
      Values = { { Type = 0x12, ClassID = 4 } } } },
  { MONO, 53, "MonoProfilerGCHeapDumpObjectReference",
    pack("<I8I8I8BI4I4I8I4I8", 1, 2, 24, 0, 2, 8, 3, 16, 4),
    { ObjectID = 1, VTableID = 2, ObjectSize = 24, ObjectGeneration = 0, Count = 2, Values = {
      { ReferenceOffset = 8, ObjectID = 3 }, { ReferenceOffset = 16, ObjectID = 4 } } } },
  { MONO, 44, "MonoProfilerGCFinalizing", "", {} },
}

describe("an event of the runtime's", function()
  for _, case in ipairs(CASES) do
    local provider <const>, id <const>, name <const>, bytes <const>, want <const> =
      table.unpack(case, 1, 5)
    it(("%s of %d bytes has its name and fields"):format(name, #bytes), function()
      local event <const> = decoded { provider = provider, id = id, version = 0, payload = bytes }
      assert.equal(name, event.name)
      assert.same(want, event.payload)
      assert.is_nil(event.payload_status)
    end)
  end

  it("may end where a field would begin, and says when it ends elsewhere", function()
    local kind <const> = { provider = PRIVATE, id = 195, version = 0 }
    for size, status in pairs { [8] = false, [9] = "cut", [10] = false, [12] = "extra" } do
      kind.payload = pack("<I8I2I2", 1, 9, 0):sub(1, size)
      local event <const> = decoded(kind)
      assert.equal(status or nil, event.payload_status)
      assert.equal(1, event.payload.HandleID)
    end
  end)

  it("says so on the command line too", function()
    local path <const> = os.tmpname()
    helper.write(path, made.trace { { 1000, { provider = PRIVATE, id = 89, version = 1,
      payload = pack("<I2I2", 9, 0) } } })
    local out <const> = helper.sonde("events", "--json", path)
    os.remove(path)
    assert.matches('"payload":{"ClrInstanceID":9},"payload_status":"extra"}', out, 1, true)
  end)

  it("without a zero at the end of its text is cut", function()
    local event <const> = decoded { provider = STRESS, id = 0, version = 0,
      payload = pack("<I4B", 16, 3) .. "mark" }
    assert.equal("cut", event.payload_status)
  end)
end)

describe("the redaction of an event of the runtime's", function()
  local events <const> = require "sonde.redact.events"
  local redact <const> = require "sonde.redact"

  local function redacted(provider, id, payload)
    local r <const> = redact.new { key = "k" }
    return events.event(r, decoded { provider = provider, id = id, version = 0,
      payload = payload }).payload, r
  end

  it("judges methods with their classes, each its own", function()
    local shown <const>, r <const> = redacted(nil, 185, wide "Shop.Cart" .. wide "Add"
      .. wide "void  ()" .. wide "System.String" .. wide "Concat" .. wide "class System.String ()"
      .. wide "System.Console" .. wide "WriteLine" .. wide "void  ()" .. pack("<I2", 9))
    assert.equal(r.words:replace "Add", shown.MethodBeingCompiledName)
    assert.equal("Concat", shown.InlinerName)
    assert.equal("System.String", shown.InlinerNamespace)
    assert.equal("WriteLine", shown.InlineeName)
    assert.is_nil(shown.MethodBeingCompiledNamespace:find "Shop")
  end)

  it("leaves nothing of types, paths, messages and symbols", function()
    local shown = redacted(PRIVATE, 192, pack("<I8I8I2", 1, 2, 9) .. wide "Shop.Cart")
    assert.is_nil(shown.TypeName:find "Cart")
    shown = redacted(PRIVATE, 159, pack("<I4I4I4I4", 1, 2, 0, 1) .. wide "/home/bob/Shop.dll"
      .. wide "Shop" .. pack("<I2", 9))
    assert.matches("^/home/[^/]+/[^/]+%.dll$", shown.AssemblyCodebase)
    assert.is_nil(shown.AssemblyCodebase:find "bob")
    assert.is_nil(shown.AssemblyName:find "Shop")
    shown = redacted(PRIVATE, 191, wide "out of carts" .. pack("<I8I4I4I2", 1, 134, 0, 9))
    assert.is_nil(shown.FailFastUserMessage:find "carts")
    shown = redacted(nil, 260, pack("<I8I2I2s4I2", 5, 1, 0, "/home/bob/Cart.cs", 9))
    assert.equal("", shown.Chunk)
  end)
end)

describe("the runtime's events in real traces", function()
  for _, name in ipairs { "real/net10-default.nettrace.gz", "real/sdk-exceptions.nettrace.gz" } do
    it("are used up exactly: " .. name, function()
      assert.same({}, exactness.misread(helper.data(name)))
    end)
  end

  for _, name in ipairs { "public/eventpipe-dotnetcore3.0-win-x64-objver4.nettrace",
    "net10/gc-verbose.nettrace", "net10/lossy.nettrace" } do
    it("are used up exactly: " .. name, function()
      assert.same({}, exactness.misread(helper.shared("traces/" .. name .. ".xz")))
    end)
  end
end)

describe("a keyword", function()
  local providers <const> = require "sonde.dotnet.providers"

  it("is another bit in each of the runtime's providers", function()
    for spec, bits in pairs { ["Microsoft-Windows-DotNETRuntime:gchandle"] = 0x2,
      [PRIVATE .. ":gchandle+loaderheap"] = 0x4010, [PRIVATE .. ":Startup:4"] = 0x80000000,
      [RUNDOWN .. ":end+loader"] = 0x108, [MONO .. ":gcmoves"] = 0x400000,
      ["Acme-Own:gc"] = 0x1 } do
      assert.equal(bits, assert(providers.parse(spec)).keywords, spec)
    end
    local none, why = providers.parse(PRIVATE .. ":startups")
    assert.is_nil(none)
    assert.matches("did you mean 'startup'", why)
  end)
end)
