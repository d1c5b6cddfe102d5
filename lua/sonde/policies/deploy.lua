--- Before and after a deploy: touch a file when it begins and when it is done,
-- and compare the two profiles. A gate can judge them:
-- `sonde diff BEFORE AFTER --fail-above 5%`.
-- Cost: 15 s of sampling for each touch.
--
--    sonde diff BEFORE AFTER --fail-above 5%
--
-- Its rule is tried beforehand on what was recorded:
--
--    sonde watch deploy --record-metrics day.csv
--    sonde policy test deploy --replay day.csv
return {
  summary = "a CPU profile each time a file is touched: before and after a deploy",
  args = {
    file = "/run/deploy.mark",   -- the file that is touched
  },
  targets = { runtime = { "dotnet", "go" } },
  trigger = { file = "%{file}" },
  actions = { { record = { duration = "15s" } } },
  limits = {
    count = 6,
    window = "1h",
    cooldown = "20s",
    concurrency = 8,
    disk = "1GiB",
  },
}
