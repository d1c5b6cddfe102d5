--- A process is still busy long after its start: compiling, loading, filling
-- caches. Records where its start goes.
-- Cost: 10 s of sampling and compilation events, once for each process.
--
--    sonde report jit FILE           and sonde top FILE
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch slow_start --record-metrics day.csv
--    sonde policy test slow_start --replay day.csv
return {
  summary = "what a start is spent on when it keeps the processor busy for 15 s",
  args = {
    cpu = 70,   -- percent of one processor
    span = "15s",   -- for so long without a break
  },
  targets = { runtime = "dotnet" },
  trigger = {
    sequence = {
      { start = true },
      { metric = "cpu", above = "%{cpu}", ["for"] = "%{span}" },
    },
    within = "1m",
  },
  actions = { { record = { profile = { "cpu", "jit" }, duration = "10s" } } },
  limits = {
    once = true,
    disk = "512MiB",
  },
}
