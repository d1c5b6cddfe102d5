--- The policies that come with sonde, in the order in which they are listed.
-- @module sonde.policy.shipped
return {
  "cpu_spike",
  "memory_growth",
  "gc_pressure",
  "heap_growth",
  "exception_storm",
  "threadpool_starvation",
  "lock_contention",
  "slow_requests",
  "goroutine_leak",
  "hang",
  "crash_loop",
  "slow_start",
  "fd_leak",
  "error_log",
  "periodic_baseline",
  "deploy",
}
