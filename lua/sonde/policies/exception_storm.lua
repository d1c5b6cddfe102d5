--- Many exceptions in a short time: which, and from where? A service that
-- swallows them shows nothing but a processor that is busy unwinding.
-- Cost: exception events with stacks for 15 s, at most 3 times an hour.
--
--    sonde report exceptions FILE    types, counts and places
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch exception_storm --record-metrics day.csv
--    sonde policy test exception_storm --replay day.csv
return {
  summary = "the exceptions of 15 s when 100 are thrown within 10 s",
  args = {
    type = "",   -- what the type of the exception matches; "" is any
    count = 100,   -- so often
    within = "10s",   -- in this time
  },
  targets = { runtime = "dotnet" },
  trigger = { exception = "%{type}", count = "%{count}", within = "%{within}" },
  actions = {
    { log = "%{name} (%{pid}) throws: %{reason}" },
    { record = { profile = "exceptions", duration = "15s" } },
  },
  limits = {
    count = 3,
    window = "1h",
    cooldown = "10m",
    disk = "256MiB",
  },
}
