--- Open descriptors grow: files, sockets or pipes that nobody closes. The list
-- of them is written down, and where the process is.
-- Cost: counting a folder of /proc every 10 s.
--
--    sort -k 11 FILE | uniq -c -f 10 | sort -n      which files
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch fd_leak --record-metrics day.csv
--    sonde policy test fd_leak --replay day.csv
return {
  summary = "the list of open files when their number grows for ten minutes",
  args = {
    growth = 100,   -- more than at the beginning of the window
    over = "10m",   -- the window that is looked at
  },
  trigger = {
    metric = "fds", stat = "change", over = "%{over}", above = "%{growth}", gap = "1m",
  },
  actions = {
    { run = { command = { "ls", "-l", "/proc/%{pid}/fd" } }, as = "files" },
    { write = { path = "%{name}_%{pid}_files.txt", text = "%{reason}\n%{files.output}" } },
  },
  limits = {
    count = 3,
    window = "1d",
    cooldown = "1h",
    disk = "64MiB",
  },
  interval = "10s",
}
