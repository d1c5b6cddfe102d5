--- Measures `sonde probe` against bpftrace in one run: start and stop for 1, 100
-- and 1,000 functions with the memory that takes, what a hit costs, and how long
-- 1,000 functions take to be detached.
--
--    lua5.4 bench/probe.lua build/sonde [RUNS] [starts|hits|detach]
--
-- Both trace the same functions of the same program; turns alternate, figures
-- are medians with the spread of the middle half. bpftrace needs more than a
-- minute for 1,000 functions, so it does that once.
local sonde <const> = assert(arg[1], "usage: bench/probe.lua SONDE [RUNS] [PART]")
local runs <const> = math.tointeger(tonumber(arg[2] or "11"))
local part <const> = arg[3] or "all"
local dir <const> = "build/bench"
local CALLS <const> = 20000
local FEWER <const> = { [1] = 1, [100] = 3, [1000] = 9 }   -- runs are divided by it

local harness <const> = dofile "bench/harness.lua"
local shell <const>, quantile <const> = harness.shell, harness.quantile

local function read(path)
  local file <close> = io.open(path)
  return file and file:read("a") or ""
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

local function prepare()
  assert(shell("mkdir -p %s", dir))
  local lines = { "int main(void) { return 0; }" }
  for i = 1, 1000 do lines[i + 1] = ("int many_%04d(void) { return %d; }"):format(i, i) end
  write(dir .. "/many.c", table.concat(lines, "\n"))
  assert(shell("gcc -O0 -o %s/many %s/many.c", dir, dir))
  assert(shell("gcc -std=gnu11 -O0 -g -fno-omit-frame-pointer -pthread -o %s/calls"
    .. " spec/targets/native/calls.c", dir))
end

local function spread(list)
  return quantile(list, 0.75) - quantile(list, 0.25)
end

local PATTERNS <const> = { [1] = { "^many_0001$", "many_0001" }, [100] = { "^many_01..$",
  "many_01*" }, [1000] = { "^many_", "many_*" } }

local function start_and_stop(n)
  local binary <const> = dir .. "/many"
  local commands <const> = {
    ("%s probe -b %s -f '%s' --duration 1ms"):format(sonde, binary, PATTERNS[n][1]),
    ("env BPFTRACE_MAX_PROBES=4000 BPFTRACE_MAX_BPF_PROGS=4000"
      .. " bpftrace -e 'uprobe:%s:%s { @[probe] = count(); }"
      .. " interval:ms:1 { exit(); }'"):format(binary, PATTERNS[n][2]),
  }
  local times, memory = { {}, {} }, { {}, {} }
  for turn = 1, math.max(1, runs // FEWER[n]) do
    for i, command in ipairs(commands) do
      -- Ours says by its status that nobody called anything.
      local row <const> = harness.measure(command, i == 1)
      if row == nil then
        return print(("start and stop, %4d functions: this failed: %s"):format(n, command))
      end
      times[i][turn], memory[i][turn] = row.wall, row.kib
    end
  end
  local ours, theirs = quantile(times[1], 0.5), quantile(times[2], 0.5)
  local small, large = quantile(memory[1], 0.5), quantile(memory[2], 0.5)
  print(("start and stop, %4d functions: %6.2f s, bpftrace %6.2f s (%.0f times); %.1f MiB, %.1f MiB"
    .. " (%.2f)"):format(n, ours, theirs, theirs / ours, small / 1024, large / 1024, small / large))
end

-- Nanoseconds per call of a program that a tool looks at.
local function per_call(tool)
  write(dir .. "/run.sh", ([[
rm -f %s/ns; mkfifo %s/in 2>/dev/null
%s/calls <%s/in >%s/ns & target=$!
exec 3>%s/in
%s >/dev/null 2>&1 </dev/null & tool=$!
i=0
while [ $i -lt 60 ]; do
  echo "calls %d" >&3; sleep 0.1; i=$((i+1))
  [ "$(grep -c '^did' %s/ns)" -ge $i ] || sleep 1
  n=$(sed -n 's/^ns //p' %s/ns | tail -1)
  [ "${n:-0}" -gt %d ] && break
done
echo "calls %d" >&3; sleep 0.2
while [ "$(grep -c '^did' %s/ns)" -le $i ]; do sleep 0.1; done
kill -TERM $tool; wait $tool; exec 3>&-; wait $target
]]):format(dir, dir, dir, dir, dir, dir, tool, 500, dir, dir, 500 * 1000, CALLS, dir))
  shell("sh %s/run.sh 2>/dev/null", dir)
  local last
  for ns in read(dir .. "/ns"):gmatch("ns (%d+)") do last = tonumber(ns) end
  return last / CALLS
end

local MODES <const> = {
  { "count", "", "uprobe:%s:counted { @ = count(); }" },
  { "latency", "--latency", "uprobe:%s:counted { @s[tid] = nsecs; }"
    .. " uretprobe:%s:counted /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }" },
  { "stack", "--stacks", "uprobe:%s:counted { @[ustack] = count(); }" },
  { "both", "--latency --stacks", "uprobe:%s:counted { @s[tid] = nsecs; @c[ustack] = count(); }"
    .. " uretprobe:%s:counted /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }" },
}

local function a_hit(mode)
  local binary <const> = dir .. "/calls"
  local ours, theirs = {}, {}
  for turn = 1, runs do
    ours[turn] = per_call(("%s probe -b %s -f '^counted$' %s"):format(sonde, binary, mode[2]))
    theirs[turn] = per_call(("bpftrace -e '%s'"):format(mode[3]:gsub("%%s", binary)))
  end
  local us <const>, they <const> = quantile(ours, 0.5), quantile(theirs, 0.5)
  print(("a hit, %-8s %7.0f ns (spread %.0f), bpftrace %7.0f ns (spread %.0f): %.2f%s"):format(
    mode[1] .. ":", us, spread(ours), they, spread(theirs), us / they,
    us <= they + spread(theirs) and "" or "  SLOWER"))
end

-- In this process, since the command does other things besides.
local function detach()
  package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
  package.cpath = "build/lua/?.so;" .. package.cpath
  local sonde_probe <const>, loop <const> = require "sonde.probe", require "sonde.base.loop"
  for _, latency in ipairs { false, true } do
    local times = {}
    for turn = 1, runs do
      local probe <const> = assert(sonde_probe { binary = dir .. "/many", functions = "^many_",
        latency = latency })
      local began <const> = loop.now()
      probe.run:detach()
      times[turn] = (loop.now() - began) / 1e6
      probe:close()
    end
    print(("detach of 1,000 functions%s: %.1f ms (spread %.1f)"):format(
      latency and ", and of their returns" or "", quantile(times, 0.5), spread(times)))
  end
end

local function asked(name)
  return part == "all" or part == name
end

prepare()
if asked "starts" then
  for _, n in ipairs { 1, 100, 1000 } do start_and_stop(n) end
end
if asked "hits" then
  for _, mode in ipairs(MODES) do a_hit(mode) end
end
if asked "detach" then detach() end
