--- A line in the log that tells of trouble: what was the service doing? The
-- ring holds the time before it.
-- Cost: reading what is added to a file; sampling into a ring of 20 s.
--
--    sonde FILE -o page.html         time order shows what came before
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch error_log --record-metrics day.csv
--    sonde policy test error_log --replay day.csv
return {
  summary = "the 15 s before and 5 s after a line of the log that matches",
  args = {
    line = "\\bFATAL\\b|Unhandled exception|panic:",   -- a regular expression
    path = "/var/log/%{name}.log",   -- the file; the process fills it in
  },
  targets = { runtime = "dotnet" },
  trigger = { log = "%{line}", path = "%{path}" },
  actions = { { record = { duration = "5s", before = "15s" } } },
  limits = {
    count = 3,
    window = "1h",
    cooldown = "10m",
    disk = "512MiB",
  },
}
