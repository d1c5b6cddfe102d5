--- A short profile every so often, when all is well: what there is to compare an
-- incident with (`sonde diff baseline.nettrace incident.nettrace`).
-- Cost: 10 s of sampling in 4 hours.
--
--    sonde diff BASELINE INCIDENT
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch periodic_baseline --record-metrics day.csv
--    sonde policy test periodic_baseline --replay day.csv
return {
  summary = "a CPU profile of 10 s every four hours, to compare with later",
  args = {
    every = "4h",   -- the time between two
    duration = "10s",   -- how long is recorded after the trigger
  },
  targets = { runtime = { "dotnet", "go" } },
  trigger = { every = "%{every}" },
  actions = { { record = { duration = "%{duration}" } } },
  limits = {
    count = 10,
    window = "1d",
    cooldown = "1m",
    disk = "1GiB",
    per_day = "256MiB",
  },
}
