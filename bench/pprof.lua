--- Measures sonde against `go tool pprof` on generated profiles, whole
-- processes in one run.
--
--    lua5.4 bench/pprof.lua build/sonde [RUNS] [SAMPLES,...]
--
-- Peers: `go tool pprof`, and as a floor `gzip -dc` and `gzip -1`. Commands of
-- a row take turns, figures are medians. The peer needs a minute and gigabytes
-- for a million samples, so it runs once there; what takes it longer than
-- PATIENCE (a picture of many calls takes it a quarter of an hour) is ended.
local sonde <const> = assert(arg[1], "usage: bench/pprof.lua SONDE [RUNS] [SAMPLES,...]")
local runs <const> = math.tointeger(tonumber(arg[2] or "3"))
local sizes <const> = arg[3] or "10000,100000,1000000"
local dir <const> = "build/bench"
local ONCE <const> = 1000000
local PATIENCE <const> = 120

local harness <const> = dofile "bench/harness.lua"
local quote <const>, shell <const>, exists <const> = harness.quote, harness.shell, harness.exists
local say <const> = harness.say

local function median(rows, field)
  return harness.median(harness.column(rows, field))
end

local function race(commands)
  for turn = 1, runs do
    for _, command in ipairs(commands) do
      command.rows = command.rows or {}
      if turn == 1 or not command.once then
        command.rows[#command.rows + 1] = harness.measure(command.run)
      end
    end
  end
end

local TASKS <const> = {
  { "top", "top %s", "-top %s" },
  { "tree", "report tree %s", "-tree %s" },
  { "dot", "report dot %s", "-dot %s" },
  { "traces", "report traces %s", "-traces %s" },
  { "proto", "convert %s -o build/bench/out.pb.gz", "-proto -output=build/bench/peer.pb.gz %s" },
  { "merge of 10", "convert %s -o build/bench/out.pb.gz",
    "-proto -output=build/bench/peer.pb.gz %s", copies = 10 },
  { "diff", "top %s --diff-base %s", "-top -diff_base=%s %s", two = true },
}

-- The inputs of a task as words of a command line.
local function inputs(task, path, other)
  if task.copies == nil then return quote(path) end
  local list = { quote(path), quote(other) }
  for i = 3, task.copies do list[i] = list[(i - 1) % 2 + 1] end
  return table.concat(list, " ")
end

local PEER <const> = ("HOME=build/bench PPROF_TMPDIR=build/bench timeout %d "
  .. "go tool pprof -symbolize=none "):format(PATIENCE)

local function task_commands(task, path, other, n)
  local words <const> = inputs(task, path, other)
  local ours = sonde .. " " .. task[2]:format(words, quote(other))
  local theirs = PEER .. (task.two and task[3]:format(quote(other), words) or task[3]:format(words))
  return {
    { name = "sonde", run = ours }, { name = "go tool pprof", run = theirs, once = n >= ONCE },
  }
end

local function report_task(task, path, other, n)
  local commands <const> = task_commands(task, path, other, n)
  race(commands)
  local ours <const>, theirs <const> = commands[1].rows, commands[2].rows
  if #ours == 0 then return say("| %s | failed | | | |", task[1]) end
  local function ratio(field)
    if #theirs == 0 then return "-" end
    return ("%.1f"):format(median(theirs, field) / math.max(median(ours, field), 0.01))
  end
  say("| %s | %.2f | %.2f | %.0f | %s | %s |", task[1], median(ours, "wall"), median(ours, "cpu"),
    median(ours, "kib") / 1024, ratio "cpu", ratio "kib")
end

local function report_floor(path)
  local plain <const> = dir .. "/plain.pb"
  shell("gzip -dc %s > %s", quote(path), plain)
  local floors <const> = {
    { name = "gzip -dc", run = "gzip -dc " .. quote(path) },
    { name = "gzip -1", run = "gzip -1 -c " .. plain },
  }
  race(floors)
  for _, floor in ipairs(floors) do
    say("| %s | %.2f | %.2f | %.0f | | |", floor.name, median(floor.rows, "wall"),
      median(floor.rows, "cpu"), median(floor.rows, "kib") / 1024)
  end
end

local function made(n, seed)
  local path <const> = ("%s/made-%d-%d.pb.gz"):format(dir, n, seed)
  if not exists(path) then
    assert(shell("lua5.4 bench/make_profile.lua %s %d %d", quote(path), n, seed))
  end
  return path
end

local function main()
  assert(shell("mkdir -p %s", dir))
  say("Median of %d runs each, in turn. Ratios are the peer's processor time and memory over"
    .. " sonde's.", runs)
  for word in sizes:gmatch("%d+") do
    local n <const> = math.tointeger(tonumber(word))
    local path <const>, other <const> = made(n, 1), made(n, 2)
    say("\n%d samples of depth 30\n", n)
    say("| task | seconds | of the processor | peak MiB | time of go / ours"
      .. " | memory of go / ours |")
    say("|---|---|---|---|---|---|")
    report_floor(path)
    for _, task in ipairs(TASKS) do
      if n < ONCE or task.copies == nil then report_task(task, path, other, n) end
    end
  end
  harness.keep "pprof.md"
end

main()
