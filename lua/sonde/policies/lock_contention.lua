--- Threads wait for locks again and again. Records which locks, and who waits.
-- Cost: contention events with stacks for 15 s, at most 3 times an hour.
--
--    sonde top FILE --view contention
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch lock_contention --record-metrics day.csv
--    sonde policy test lock_contention --replay day.csv
return {
  summary = "which locks are fought for when 200 waits a second last for 10 s",
  args = {
    rate = 200,   -- waits a second
  },
  targets = { runtime = "dotnet" },
  trigger = { metric = "contention_rate", above = "%{rate}", ["for"] = "10s", rearm = 50 },
  actions = { { record = { profile = "contention", duration = "15s" } } },
  limits = {
    count = 3,
    window = "1h",
    cooldown = "10m",
    disk = "512MiB",
  },
}
