--- A process is busy for longer than usual: what is it doing? Looks at the
-- processor time of each process, whatever runs it, and records where it goes.
-- For .NET the ring holds what came before the trigger.
-- Cost: 20 s of sampling, at most 3 times an hour; a few MB each.
--
--    sonde FILE                      the summary; sonde FILE -o page.html to explore
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch cpu_spike --record-metrics day.csv
--    sonde policy test cpu_spike --replay day.csv
return {
  summary = "CPU profile when a process is busy for 10 s, with the 10 s before",
  args = {
    cpu = 80,   -- percent of one processor
    span = "10s",   -- for so long without a break
    duration = "10s",   -- how long is recorded after the trigger
  },
  targets = { runtime = { "dotnet", "go" } },
  trigger = { metric = "cpu", above = "%{cpu}", ["for"] = "%{span}", rearm = 40 },
  actions = {
    { record = { duration = "%{duration}", before = "10s" } },
  },
  limits = {
    count = 3,
    window = "1h",
    cooldown = "5m",
    disk = "1GiB",
  },
}
