--- Goroutines are started and never end. Their number is looked at over ten
-- minutes; the profile tells where those wait that have piled up.
-- Cost: one question for a number every 10 s, one goroutine profile an hour.
--
--    sonde top FILE                  the stacks that have piled up
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch goroutine_leak --record-metrics day.csv
--    sonde policy test goroutine_leak --replay day.csv
return {
  summary = "goroutine profile when their number grows for ten minutes",
  args = {
    growth = 100,   -- more than at the beginning of the window
    over = "10m",   -- the window that is looked at
  },
  targets = { runtime = "go" },
  trigger = {
    metric = "goroutines", stat = "change", over = "%{over}", above = "%{growth}", gap = "1m",
  },
  actions = { { record = { profile = "goroutine", duration = "1s" } } },
  limits = {
    count = 3,
    window = "1d",
    cooldown = "1h",
    disk = "256MiB",
  },
  interval = "10s",
}
