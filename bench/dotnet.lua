--- Measures sonde on live .NET processes against the dotnet-* tools, in one
-- run, turn by turn.
--
--    lua5.4 bench/dotnet.lua build/sonde [RUNS [PART]]
--
-- Peers are installed under build/bench/tools where the .NET SDK is. Targets
-- are those of spec/targets/dotnet. Figures are medians. Parts: record dump
-- counters throughput ps firehose; all of them when none is named.
io.stdout:setvbuf "line"
package.path = "lua/?.lua;lua/?/init.lua;./?.lua;" .. package.path
package.cpath = "build/lua/?.so;" .. package.cpath
local dotnet <const> = require "spec.support.dotnet"
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local sonde <const> = assert(arg[1], "usage: bench/dotnet.lua SONDE [RUNS]")
local runs <const> = math.tointeger(tonumber(arg[2] or "3"))
local dir <const> = "build/bench"
local TOOLS <const> = { "dotnet-trace", "dotnet-stack", "dotnet-counters" }
local TOOL_VERSION <const> = "10.0.750501"
local SECOND <const>, MS <const> = 1000000000, 1000000

local harness <const> = dofile "bench/harness.lua"
local shell <const>, median <const>, say <const> = harness.shell, harness.median, harness.say

local function tool(name)
  return dir .. "/tools/" .. name
end

-- What a process has used: seconds on a processor.
local function cpu_seconds(pid)
  local file <const> = io.open(("/proc/%d/stat"):format(pid))
  if file == nil then return nil end
  local fields <const> = file:read("a"):match "%) (.*)"
  file:close()
  local list = {}
  for field in fields:gmatch "%S+" do list[#list + 1] = tonumber(field) end
  return (list[11] + list[12]) / 100   -- the state is no number
end

local function peak_mib(pid)
  local file <const> = io.open(("/proc/%d/status"):format(pid))
  if file == nil then return nil end
  local text <const> = file:read "a"
  file:close()
  return tonumber(text:match "VmHWM:%s+(%d+)") / 1024
end

local function stream_bytes(path)
  local size = 0
  local request <const> = uv.fs_scandir(dir)
  local name = uv.fs_scandir_next(request)
  while name do
    if name:sub(1, #path) == path then
      local stat <const> = uv.fs_stat(dir .. "/" .. name)
      size = math.max(size, stat and stat.size or 0)
    end
    name = uv.fs_scandir_next(request)
  end
  return size
end

local function spawn(words)
  words[1] = words[1]:sub(1, 1) == "/" and words[1] or uv.cwd() .. "/" .. words[1]
  return dotnet.spawn({ "sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh", table.unpack(words) })
end

-- One recording of some seconds: seconds to the first byte and to stop, CPU
-- and memory of the recorder.
local function record(words, path, seconds)
  os.remove(dir .. "/" .. path)
  local began <const> = loop.now()
  local process <close> = spawn(words)
  while stream_bytes(path) == 0 and loop.now() - began < 20 * SECOND do loop.sleep(MS) end
  local first <const> = (loop.now() - began) / 1e9
  loop.sleep(seconds * SECOND)
  local used <const>, memory <const> = cpu_seconds(process.pid), peak_mib(process.pid)
  local stop <const> = loop.now()
  process:kill(2)
  process:wait(60)
  return { first = first, stop = (loop.now() - stop) / 1e9, cpu = used, memory = memory }
end

local function recordings(pid)
  local rows <const> = {
    { "sonde record", { sonde, "record", "-p", tostring(pid), "-o", dir .. "/mine.nettrace" },
      "mine.nettrace" },
    { "dotnet-trace collect", { tool "dotnet-trace", "collect", "-p", tostring(pid), "--profile",
      "dotnet-sampled-thread-time", "--providers", "Microsoft-Windows-DotNETRuntime:0x18:5", "-o",
      dir .. "/peer.nettrace" }, "peer.nettrace" },
  }
  local results <const> = { {}, {} }
  for _ = 1, runs do
    for i, row in ipairs(rows) do
      table.insert(results[i], record({ table.unpack(row[2]) }, row[3], 4))
    end
  end
  say("\n| recording a busy process for 4 s | first byte s | stop s | CPU s | peak MiB |")
  say("|---|---|---|---|---|")
  for i, row in ipairs(rows) do
    local columns = {}
    for _, key in ipairs { "first", "stop", "cpu", "memory" } do
      local list = {}
      for _, result in ipairs(results[i]) do list[#list + 1] = result[key] end
      columns[#columns + 1] = ("%.3f"):format(median(list))
    end
    say("| %s | %s |", row[1], table.concat(columns, " | "))
  end
end

-- Whole commands, in turns.
local function commands(title, rows)
  local seconds = {}
  for turn = 0, runs do
    for i, row in ipairs(rows) do
      seconds[i] = seconds[i] or {}
      local began <const> = loop.now()
      local done <const> = shell("%s >/dev/null 2>&1", row[2])
      if turn > 0 and done then table.insert(seconds[i], (loop.now() - began) / 1e9) end
    end
  end
  say("\n| %s | s |\n|---|---|", title)
  for i, row in ipairs(rows) do say("| %s | %.3f |", row[1], median(seconds[i])) end
end

-- CPU and memory of commands that go on until they are stopped.
local function watchers(title, rows, seconds)
  say("\n| %s | CPU s | peak MiB |\n|---|---|---|", title)
  for _, row in ipairs(rows) do
    local process <close> = spawn(row[2])
    loop.sleep(seconds * SECOND)
    say("| %s | %.2f | %.1f |", row[1], cpu_seconds(process.pid), peak_mib(process.pid))
    process:kill(2)
    process:wait(20)
  end
end

-- What the program gets done while somebody records it.
local function throughput()
  local program <const> = dotnet.program("cpu", "10.0")
  local function run(words)
    local process <close> = dotnet.spawn { program, "30" }
    loop.sleep(SECOND // 2)
    local recorder <const> = words and spawn(words(process.pid)) or nil
    local line <const> = process:line("^{", 120) or ""
    if recorder then
      recorder:wait(20)
      recorder:close()
    end
    return 30 / tonumber(line:match '"phase1_s":([%d.]+)')
  end
  local rows <const> = {
    { "alone" },
    { "sonde record", function(pid) return { sonde, "record", "-p", tostring(pid), "-o",
      dir .. "/mine.nettrace" } end },
    { "dotnet-trace collect", function(pid) return { tool "dotnet-trace", "collect", "-p",
      tostring(pid), "--profile", "dotnet-sampled-thread-time", "--providers",
      "Microsoft-Windows-DotNETRuntime:0x18:5", "-o", dir .. "/peer.nettrace" } end },
  }
  local rates <const> = {}
  for _ = 1, runs do
    for i, row in ipairs(rows) do
      rates[i] = rates[i] or {}
      table.insert(rates[i], run(row[2]))
    end
  end
  say("\n| the program's rounds per second | |\n|---|---|")
  for i, row in ipairs(rows) do say("| %s | %.2f |", row[1], median(rates[i])) end
end

-- A fake runtime that sends a large trace as fast as it can, to sessions that
-- decode it as it comes and hand it to `on_bytes`.
local function firehose(path, sessions)
  local socket <const> = dir .. "/firehose.socket"
  os.remove(socket)
  local server <close> = dotnet.spawn { dir .. "/firehose", socket, path }
  assert(server:line "^ready", "the fake runtime did not start")
  local before <const> = peak_mib(uv.os_getpid())
  local tasks, ends, taken, whole = {}, {}, 0, true
  local began <const> = loop.now()
  for i = 1, sessions do
    tasks[i] = loop.task(function()
      local session <const> = assert(require("sonde").target { socket = socket }:trace {
        max_bytes = 1 << 40, on_bytes = function(bytes) taken = taken + #bytes end })
      session:wait { timeout = 300 * SECOND }
      ends[i] = (loop.now() - began) / 1e9
      whole = session:stop() == true and session:counts().complete and whole
      session:trace():close()
    end)
  end
  for _, task in ipairs(tasks) do task:join(loop.after(600 * SECOND)) end
  table.sort(ends)
  say("| %d | %.0f | %.0f | %.2f | %.2f | %.1f | %s |", sessions, taken / 1e6,
    taken / 1e6 / ends[#ends], ends[1], ends[#ends], peak_mib(uv.os_getpid()) - before,
    whole and "yes" or "no")
end

local function listing()
  local _ <close> = dotnet.start("idle", "10.0")
  local sleepers <const> = {}
  while #require("sonde.process.proc").pids() < 300 do
    sleepers[#sleepers + 1] = dotnet.spawn { "sleep", "600" }
  end
  commands(("%d processes"):format(#require("sonde.process.proc").pids()),
    { { "sonde ps", sonde .. " ps" } })
  for _, sleeper in ipairs(sleepers) do sleeper:close() end
end

-- The parts, in order.
local PARTS <const> = {
  { name = "record", run = function()
    local busy <close> = dotnet.spawn { dotnet.program("cpu", "10.0"), "100000" }
    loop.sleep(2 * SECOND)
    recordings(busy.pid)
  end },
  { name = "dump", run = function()
    local idle <close> = dotnet.start("idle", "10.0")
    commands("stacks of all threads, once", {
      { "sonde dump", ("%s dump %d"):format(sonde, idle.pid) },
      { "dotnet-stack report", ("%s report -p %d"):format(tool "dotnet-stack", idle.pid) },
    })
  end },
  { name = "counters", run = function()
    local idle <close> = dotnet.start("idle", "10.0")
    local pid <const> = tostring(idle.pid)
    watchers("counters, 6 s", {
      { "sonde counters", { sonde, "counters", pid } },
      { "dotnet-counters collect", { tool "dotnet-counters", "collect", "-p", pid, "-o",
        dir .. "/counters" } },
    }, 6)
  end },
  { name = "throughput", run = throughput },
  { name = "ps", run = listing },
  { name = "firehose", run = function()
    local path <const> = dir .. "/large.nettrace"
    if not uv.fs_stat(path) then
      shell("lua5.4 bench/repeat_trace.lua spec/data/demo.nettrace %s 200", path)
    end
    assert(shell("${CC:-cc} -std=c11 -O2 -o %s/firehose bench/firehose.c", dir),
      "a C compiler is needed")
    say("\n| sessions | MB | MB/s | first done s | last done s | memory grew MiB | whole |")
    say("|---|---|---|---|---|---|---|")
    firehose(path, 1)
    firehose(path, 5)
  end },
}

local function main()
  shell("mkdir -p %s", dir)
  for _, name in ipairs(TOOLS) do
    if not uv.fs_stat(tool(name)) then
      shell("dotnet tool install %s --version %s --tool-path %s/tools >/dev/null", name,
        TOOL_VERSION, dir)
    end
  end
  for _, part in ipairs(PARTS) do
    if arg[3] == nil or arg[3] == part.name then part.run() end
  end
  harness.keep "dotnet.md"
end

main()
