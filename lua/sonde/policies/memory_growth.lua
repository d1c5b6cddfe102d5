--- Resident memory grows without end: a leak, or a cache without a bound. The
-- slope of half an hour is looked at, so that a start or a burst is none.
-- For .NET the allocations of 30 s are recorded, for Go the heap profile.
-- Cost: allocation sampling for 30 s, at most twice a day.
--
--    sonde top FILE --view alloc     for .NET; sonde top FILE for Go
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch memory_growth --record-metrics day.csv
--    sonde policy test memory_growth --replay day.csv
return {
  summary = "what allocates when memory has grown steadily for half an hour",
  args = {
    bytes_per_second = 100000,   -- growth, as a slope over the window
    over = "30m",   -- the window that is looked at
  },
  targets = { runtime = { "dotnet", "go" } },
  trigger = {
    metric = "memory", stat = "slope", over = "%{over}", above = "%{bytes_per_second}",
    gap = "1m",
  },
  actions = { { record = { profile = "alloc", duration = "30s" } } },
  limits = {
    count = 2,
    window = "1d",
    cooldown = "1h",
    disk = "512MiB",
  },
  interval = "10s",
}
