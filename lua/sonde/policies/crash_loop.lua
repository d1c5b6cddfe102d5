--- A service starts again and again. Processes of one name are looked at
-- together, since each start is another process.
-- Cost: none; it tells, and records the start of the one that came last.
--
--    sonde report exceptions FILE    when it got so far
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch crash_loop --record-metrics day.csv
--    sonde policy test crash_loop --replay day.csv
return {
  summary = "the first seconds of a service that starts five times in five minutes",
  args = {
    count = 5,   -- so often
    within = "5m",   -- in this time
  },
  targets = { runtime = { "dotnet", "go" } },
  per = "name",
  trigger = { start = true, count = "%{count}", within = "%{within}" },
  actions = {
    { log = "%{name} starts again and again: %{reason}" },
    { record = { duration = "5s" }, on_failure = "go_on" },
  },
  limits = {
    count = 2,
    window = "1h",
    cooldown = "10m",
    disk = "256MiB",
  },
}
