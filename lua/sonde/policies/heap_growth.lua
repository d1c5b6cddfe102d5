--- The heap grows after each collection: what stays alive? Looks at the heap as
-- the runtime counts it, not at memory that the system may take back.
-- Cost: a heap profile (Go), or 30 s of allocations (.NET), twice a day.
--
--    sonde diff EARLIER LATER        two of them show what stays
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch heap_growth --record-metrics day.csv
--    sonde policy test heap_growth --replay day.csv
return {
  summary = "what stays on the heap when it has grown for 20 minutes",
  args = {
    bytes_per_second = 50000,   -- growth, as a slope over the window
    over = "20m",   -- the window that is looked at
  },
  targets = { runtime = { "dotnet", "go" } },
  trigger = {
    any = {
      { metric = "heap", stat = "slope", over = "%{over}", above = "%{bytes_per_second}",
        gap = "1m" },
      { metric = "go_heap", stat = "slope", over = "%{over}", above = "%{bytes_per_second}",
        gap = "1m" },
    },
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
