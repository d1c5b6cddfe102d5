--- Work waits for a thread of the pool while threads are added one by one: most
-- often code that blocks on asynchronous work. Records where threads wait.
-- Cost: 10 s of sampling and thread-pool events, at most 3 times an hour.
--
--    sonde top FILE --view wall      what the pool's threads wait for
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch threadpool_starvation --record-metrics day.csv
--    sonde policy test threadpool_starvation --replay day.csv
return {
  summary = "where threads block when work queues up for the thread pool",
  args = {
    queue = 50,   -- items of work that wait
  },
  targets = { runtime = "dotnet" },
  trigger = { metric = "threadpool_queue", above = "%{queue}", ["for"] = "5s", rearm = 5 },
  actions = { { record = { profile = { "cpu", "threadpool" }, duration = "10s" } } },
  limits = {
    count = 3,
    window = "1h",
    cooldown = "10m",
    disk = "512MiB",
  },
}
