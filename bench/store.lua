--- Measures the store in SQLite against the plain way: the same records as JSON
-- lines in a file, read by jq (a tenth of them: a record is some kilobytes there).
--
--    lua5.4 bench/store.lua [RECORDS] [DIRECTORY]
--
-- Records of 4 sample types and 5,000 stacks of 5 to 30 frames a checkpoint, drawn
-- from 20,000; each checkpoint is acknowledged (synced) before the next. The times
-- of writing begin with a Profile and its pprof file, as they come from a program.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = (os.getenv "SONDE_BUILD" or "build") .. "/lua/?.so;" .. package.cpath

local core <const> = require "sonde.c.core"
local record_json <const> = require "sonde.capture.record_json"
local stores <const> = require "sonde.capture.store"
local uv <const> = require "sonde.base.uv"
require "sonde.profile"

local wanted <const> = math.tointeger(tonumber(arg[1] or "1000000"))
local directory <const> = arg[2] or "build/bench"
local path <const> = directory .. "/store.db"
local lines_path <const> = directory .. "/store.jsonl"

local STACKS <const>, OF_CHECKPOINT <const> = 20000, 5000
local TYPES <const> = { { "alloc_objects", "count" }, { "alloc_space", "bytes" },
  { "inuse_objects", "count" }, { "inuse_space", "bytes" } }

local function seconds(work)
  local began <const> = uv.hrtime()
  work()
  return (uv.hrtime() - began) / 1e9
end

-- A tree of calls, so that stacks share their outer frames as real ones do.
math.randomseed(7)
local function make_stacks()
  local tree, stacks = { {} }, {}
  for i = 1, STACKS do
    local frames = { table.unpack(tree[math.random(#tree)]) }
    for _ = 1, math.random(3) do
      if #frames < 30 then
        local k <const> = math.random(3000)
        table.insert(frames, 1, { name = ("example.com/service/internal/part%d.(*Type%d).Method%d")
          :format(k % 40, k % 300, k), file = ("/src/service/internal/part%d/file%d.go")
          :format(k % 40, k % 200), line = k + math.random(4) })
      end
    end
    tree[#tree + 1], stacks[i] = frames, frames
  end
  return stacks
end

local function make_profile(stacks)
  local profile <const> = core.profile_new { types = TYPES, default = "inuse_space" }
  local start <const> = math.random(STACKS)
  for i = 0, OF_CHECKPOINT - 1 do
    local frames <const> = stacks[(start + i * 3) % STACKS + 1]
    local n <const> = math.random(1000)
    profile:add(frames, { n, n * 512, n // 3, n // 3 * 512 })
  end
  return profile
end

local function size_of(name)
  local _, _, size = core.path_info(name)
  return size or 0
end

os.execute("mkdir -p " .. directory .. " && rm -f " .. path .. "* " .. lines_path)
local stacks <const> = make_stacks()
local profiles = {}
for i = 1, 8 do
  local profile <const> = make_profile(stacks)
  local bytes <const> = profile:encode()
  profiles[i] = { profile = core.pprof_decode(bytes), bytes = bytes }
end

local store <const> = assert(stores.open(path))
local now <const> = os.time() * 1000000000
local checkpoints <const> = wanted // (OF_CHECKPOINT * #TYPES)
local payload_bytes = 0

local function write(i)
  local given <const> = profiles[i % #profiles + 1]
  payload_bytes = payload_bytes + #given.bytes
  assert(store:write { capture = "bench",
    checkpoint = { id = "k" .. i, taken_at = now - (checkpoints - i) * 1000000000,
      reason = "periodic" },
    parts = { { kind = "goprof", key = "4242:1", pid = 4242, profile = given.profile,
      fields = { source = "pprof", profile = "heap" },
      payload = { format = "pprof", bytes = given.bytes } } } })
end

-- The first checkpoints bring the stacks, which are no records.
local learning <const> = seconds(function() for i = 1, 8 do write(-i) end end)
local before <const> = assert(store:check())
local written <const> = seconds(function() for i = 1, checkpoints do write(i) end end)
local n <const> = checkpoints * OF_CHECKPOINT * #TYPES
store:close()
local whole <const> = assert(stores.open(path))
assert(whole:compact())
local after <const> = assert(whole:check())
assert(#after.problems == 0, after.problems[1])
whole:close()

print(("records written     %d in %d checkpoints, %.2f s: %.0f/s (8 first ones with all stacks"
  .. " %.2f s)"):format(n, checkpoints, written, n / written, learning))
local own <const> = (after.size - after.free) - (before.size - before.free)
  - (after.payload_bytes - before.payload_bytes)
print(("bytes of a record   %.1f beside payloads (%d of these, %.1f MB)"):format(own / n,
  after.payloads, after.payload_bytes / 1e6))

-- The plain way.
local reader <const> = assert(stores.open(path, { mode = "read" }))
local exported <const> = seconds(function()
  local file <close> = assert(io.open(lines_path, "w"))
  file:setvbuf("full", 1 << 20)
  for record in assert(reader:records { kind = "goprof", limit = n // 10 }) do
    file:write(record_json.encode(record), "\n")
  end
end)
print(("records read        a tenth in %.2f s as Lua tables and JSON lines (%.0f MB, %.0f bytes a"
  .. " record)"):format(exported, size_of(lines_path) / 1e6, size_of(lines_path) / (n // 10)))

local function top()
  local fresh <const> = assert(stores.open(path, { mode = "read" }))
  local profile <const> = assert(fresh:profile { kind = "goprof", view = "inuse_space",
    since = now - 2 * checkpoints * 1000000000 })
  local rows <const> = profile:top { n = 10, type = "inuse_space" }
  fresh:close()
  return rows
end

local rows
local times = {}
for i = 1, 3 do times[i] = seconds(function() rows = top() end) end
table.sort(times)
local filter <const> = [[select(.sample_type == "inuse_space") | [.value, .frames[0].func] | @tsv]]
local jq <const> = seconds(function()
  assert(os.execute(("jq -r '%s' %s | awk -F'\\t' '{s[$2]+=$1} END {for (f in s) print s[f],f}'"
    .. " | sort -rn | head > %s/jq.txt"):format(filter, lines_path, directory)))
end)
print(("top of the window   %.2f s (median of 3); jq %.2f s for a tenth of it as JSON lines: %.0f"
  .. " times as long for all"):format(times[2], jq, 10 * jq / times[2]))
print(("first function      %s, %d bytes"):format(rows[1].name, rows[1].flat))
