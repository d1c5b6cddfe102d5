--- A service has requests in hand and does nothing: no processor time is used
-- and their number does not change. Most often a dead lock.
-- Cost: two counters; 5 s of sampling when it fires.
--
--    sonde report threads FILE       and sonde traces FILE
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch hang --record-metrics day.csv
--    sonde policy test hang --replay day.csv
return {
  summary = "where all threads stand when requests are open and nothing moves for 30 s",
  args = {
    span = "30s",   -- for so long without a break
  },
  targets = { runtime = "dotnet" },
  trigger = {
    all = {
      { metric = "cpu", below = 2, ["for"] = "%{span}" },
      { metric = "current_requests", above = 0, ["for"] = "%{span}" },
      { metric = "current_requests", unchanged = true, ["for"] = "%{span}" },
    },
  },
  actions = {
    { log = "%{name} (%{pid}) hangs: %{reason}" },
    { record = { duration = "5s" } },
  },
  limits = {
    count = 2,
    window = "1h",
    cooldown = "15m",
    disk = "256MiB",
  },
}
