--- The garbage collector takes a large part of the time: who makes it work?
-- Records collections and allocations by type and stack.
-- Cost: 15 s of GC and allocation events, at most 3 times an hour.
--
--    sonde report gc FILE            and sonde top FILE --view alloc
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch gc_pressure --record-metrics day.csv
--    sonde policy test gc_pressure --replay day.csv
return {
  summary = "who allocates when garbage collection takes a fifth of the time",
  args = {
    share = 20,   -- percent of the time, as the runtime counts it
  },
  targets = { runtime = "dotnet" },
  trigger = { metric = "gc_pause_share", above = "%{share}", ["for"] = "10s", rearm = 10 },
  actions = { { record = { profile = "alloc", duration = "15s" } } },
  limits = {
    count = 3,
    window = "1h",
    cooldown = "10m",
    disk = "512MiB",
  },
}
