--- Requests take too long. What the service did while they were slow is in the
-- ring, since the trigger comes when they end.
-- Cost: request events all the time, sampling into a ring of 30 s.
--
--    sonde FILE -o page.html         time order shows what came before
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch slow_requests --record-metrics day.csv
--    sonde policy test slow_requests --replay day.csv
return {
  summary = "CPU and waits around five requests of more than 2 s within a minute",
  args = {
    path = "",   -- what the path of the request matches; "" is any
    slow = "2s",   -- longer than this
    count = 5,   -- so often
  },
  targets = { runtime = "dotnet" },
  trigger = { request = "%{path}", above = "%{slow}", count = "%{count}", within = "1m" },
  actions = { { record = { duration = "5s", before = "20s" } } },
  limits = {
    count = 3,
    window = "1h",
    cooldown = "10m",
    disk = "1GiB",
  },
}
