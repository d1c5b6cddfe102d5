-- What native symbols and samples cost: names of 100,000 addresses of a library,
-- the processor time of unwinding a sample, and what is lost at 1 kHz when all
-- processors are busy.
-- Usage: lua5.4 bench/native.lua LIBRARY [PID]
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = "build/lua/?.so;" .. package.cpath
local native <const> = require "sonde.c.native"

local library <const>, pid <const> = arg[1], math.tointeger(tonumber(arg[2]))

-- 100,000 places spread over the code, as a sampler asks for them: function and
-- lines.
local function symbolise()
  local began = os.clock()
  local image <close> = assert(native.image(library))
  local info <const> = image:info()
  local ready <const> = os.clock() - began
  local first = assert(image:address_of(0x1000))
  while image:find(first) == nil and select("#", image:find(first)) == 1 do first = first + 64 end
  began = os.clock()
  local known = 0
  for i = 1, 100000 do
    local _, start <const> = image:find(first + i * 37)
    image:frames(first + i * 37)
    if start then known = known + 1 end
  end
  print(("%s: %d symbols, %d functions by rules; opened in %.3f s; 100,000 addresses in %.3f s,"
    .. " %d in functions"):format(library, info.functions, info.unwind_functions, ready,
    os.clock() - began, known))
end

-- The same as the stacks of probes ask: with the file that a process had mapped.
local function resolve()
  local resolver <const> = require("sonde.probe.resolve").new()
  local base <const>, room <const> = 0x7f0000000000, 1 << 30
  local seen <const> = { pid = 1 << 22, inner_pid = 1, root = "", mappings = {
    { from = base, to = base + room, offset = 0, path = library, file = "library" } } }
  local began <const> = os.clock()
  local known = 0
  for i = 1, 100000 do
    local frame <const> = resolver:user(seen, base + 0x200000 + i * 37)
    if frame.start then known = known + 1 end
  end
  print(("stacks of probes: 100,000 addresses in %.3f s, %d in functions"):format(
    os.clock() - began, known))
end

local function sample()
  local loop <const> = require "sonde.base.loop"
  local proc <const> = require "sonde.process.proc"
  local sampler <const> = native.sampler { frequency = 999 }
  sampler:process(pid)
  for _, tid in ipairs(proc.thread_ids(pid)) do assert(sampler:thread(tid)) end
  assert(sampler:start())
  local function take(times)
    local spent, before = 0, sampler:counts().samples
    for _ = 1, times do
      loop.sleep(50000000)
      local began <const> = os.clock()
      sampler:take()
      spent = spent + os.clock() - began
    end
    return spent * 1e6 / math.max(sampler:counts().samples - before, 1)
  end
  local first <const>, later <const> = take(20), take(100)
  local counts <const> = sampler:counts()
  local began <const> = os.clock()
  local bytes <const> = sampler:profile()
  print(("process %d: %d samples, %.1f us each in the first second, then %.1f; %d lost, %d cut;"
    .. " profile of %d bytes in %.3f s"):format(pid, counts.samples, first, later, counts.lost,
    counts.cut, #bytes, os.clock() - began))
end

-- Every processor works, so that there are as many samples as there can be.
local function all_processors()
  local sampling <const> = assert(require("sonde.probe.sample").open { frequency = 1000,
    duration = "10s" })
  local _ <close> = assert(io.popen("for i in $(seq $(nproc)); do timeout 11 sh -c"
    .. " 'while :; do :; done' & done; wait", "r"))
  local began <const> = os.clock()
  sampling:run()
  local counts <const> = sampling:counts()
  print(("all processors at 1 kHz for 10 s: %d samples, %d lost, throttled %d times; %.1f %% of a"
    .. " processor"):format(counts.samples, counts.lost, counts.throttled,
    (os.clock() - began) * 10))
  sampling:close()
end

symbolise()
resolve()
if pid then sample() end
all_processors()
