--- Measures sonde against what people use today, whole processes in one run.
--
--    lua5.4 bench/run.lua build/sonde [RUNS]
--
-- Peers: `dotnet-trace report topN` and `convert` (installed under
-- build/bench where the .NET SDK is), `gzip -dc` and `wc -c` on the same
-- file. The commands of a row take turns, so a machine whose speed drifts
-- slows them alike; figures are medians, ratios are taken turn by turn.
local sonde <const> = assert(arg[1], "usage: bench/run.lua SONDE [RUNS]")
local runs <const> = math.tointeger(tonumber(arg[2] or "3"))
local TOOL_VERSION <const> = "10.0.750501"

local harness <const> = dofile "bench/harness.lua"
local dir <const> = harness.directory
local quote <const>, shell <const>, exists <const> = harness.quote, harness.shell, harness.exists
local median <const>, say <const> = harness.median, harness.say
local tool <const> = dir .. "/tools/dotnet-trace"

local function size_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:seek("end")
end

-- Rows of one file: every command `runs` times, in turn, after one warm-up.
local function race(commands)
  local seconds, memory = {}, {}
  for i in ipairs(commands) do seconds[i], memory[i] = {}, {} end
  for turn = 0, runs do
    for i, command in ipairs(commands) do
      local row <const> = harness.measure(command.run)
      if row and turn > 0 then
        table.insert(seconds[i], math.max(row.wall, 0.01))
        table.insert(memory[i], row.kib)
      end
    end
  end
  return seconds, memory
end

local function ratio(of, to)
  local list = {}
  for turn = 1, math.min(#of, #to) do list[turn] = of[turn] / to[turn] end
  return #list > 0 and median(list) or nil
end

local function report(file, label)
  local path <const> = quote(file)
  local commands = {
    { name = "sonde top", run = sonde .. " top " .. path },
    { name = "sonde convert to speedscope",
      run = sonde .. " convert " .. path .. " -o " .. dir .. "/out.speedscope.json" },
    { name = "sonde convert to pprof",
      run = sonde .. " convert " .. path .. " -o " .. dir .. "/out.pb.gz" },
    { name = "wc -c (through a pipe)", run = "cat " .. path .. " | wc -c" },
    { name = "gzip -dc of the same bytes", run = "gzip -dc " .. quote(dir .. "/packed.gz") },
  }
  shell("gzip -1 -c %s > %s/packed.gz", path, dir)
  if exists(tool) then
    table.insert(commands, { name = "dotnet-trace report topN",
      run = tool .. " report " .. path .. " topN -n 20" })
    table.insert(commands, { name = "dotnet-trace convert",
      run = tool .. " convert " .. path .. " --format Speedscope -o " .. dir .. "/peer.json" })
  end
  local bytes <const> = size_of(file)
  local seconds <const>, memory <const> = race(commands)
  say("\n%s, %.1f MB\n", label, bytes / 1e6)
  say("| command | seconds | MB/s | peak MiB | time of it / time of sonde top |")
  say("|---|---|---|---|---|")
  for i, command in ipairs(commands) do
    if #seconds[i] == 0 then
      say("| %s | failed | | | |", command.name)
    else
      local middle <const> = median(seconds[i])
      say("| %s | %.2f | %.0f | %.1f | %.1f |", command.name, middle, bytes / 1e6 / middle,
        median(memory[i]) / 1024, ratio(seconds[i], seconds[1]) or 0)
    end
  end
end

-- Inputs: the one of the repository always, larger ones when they are beside
-- the checkout.
local function unpack_shared(name)
  local packed <const> = "../shared/traces/" .. name .. ".xz"
  if not exists(packed) then return nil end
  local path <const> = dir .. "/" .. name:gsub("/", "-")
  if not exists(path) then shell("xz -dc %s > %s", quote(packed), quote(path)) end
  return path
end

local function install_peer()
  if exists(tool) then return end
  if not shell("command -v dotnet >/dev/null")
    or not shell("dotnet tool install dotnet-trace --version %s --tool-path %s/tools >/dev/null",
      TOOL_VERSION, dir)
  then
    print("dotnet-trace is not here and could not be installed: no figures of it")
  end
end

local function main()
  shell("mkdir -p %s", dir)
  install_peer()
  say("Median of %d runs each, in turn, after one warm-up.", runs)
  report("spec/data/demo.nettrace", "The repository's trace")
  local middle <const> = unpack_shared "net10/verbose-all.nettrace"
  if middle then report(middle, "All events of a .NET 10 process") end
  local small <const> = unpack_shared "public/eventpipe-dotnetcore3.0-win-x64-objver4.nettrace"
  if small then
    local large <const> = dir .. "/large.nettrace"
    if not exists(large) then
      shell("lua5.4 bench/repeat_trace.lua %s %s 95", quote(small), quote(large))
    end
    report(large, "10,026,300 events, made by repeating a real trace")
  end
  harness.keep "results.md"
end

main()
