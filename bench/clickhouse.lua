--- Measures the store in ClickHouse on a server of its own: records written through
-- the Lua API, then so many more made of them by the server, and the top functions
-- of a window over all; against the plain way, a part as JSON lines read by jq.
--
--    lua5.4 bench/clickhouse.lua [RECORDS] [DIRECTORY]
package.path = "./?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
package.cpath = (os.getenv "SONDE_BUILD" or "build") .. "/lua/?.so;" .. package.cpath

local core <const> = require "sonde.c.core"
local record_json <const> = require "sonde.capture.record_json"
local stores <const> = require "sonde.capture.store"
local uv <const> = require "sonde.base.uv"
require "sonde.profile"

local wanted <const> = math.tointeger(tonumber(arg[1] or "10000000"))
local directory <const> = arg[2] or "build/bench"
local lines_path <const> = directory .. "/clickhouse.jsonl"

local OF_CHECKPOINT <const>, WRITTEN <const>, HOSTS <const> = 5000, 10, 200
local SECOND <const> = 1000000000
local TYPES <const> = { { "alloc_objects", "count" }, { "alloc_space", "bytes" },
  { "inuse_objects", "count" }, { "inuse_space", "bytes" } }

local function seconds(work)
  local began <const> = uv.hrtime()
  work()
  return (uv.hrtime() - began) / 1e9
end

math.randomseed(7)
local function make_profile()
  local profile <const> = core.profile_new { types = TYPES, default = "inuse_space" }
  for i = 1, OF_CHECKPOINT do
    local frames = {}
    for k = 1, 5 + i % 20 do
      local n <const> = (i * 7 + k * k) % 3001
      frames[k] = { name = ("example.com/service/part%d.Method%d"):format(n % 40, n),
        line = n + i // 3001 }
    end
    local n <const> = math.random(1000)
    profile:add(frames, { n, n * 512, n // 3, n // 3 * 512 })
  end
  return profile
end

io.stdout:setvbuf "line"
os.execute("mkdir -p " .. directory)
local server <const> = require("spec.support.clickhouse").keep()
local store <const> = assert(stores.open(("clickhouse://127.0.0.1:%d/bench"):format(server.port)))
local profile <const> = make_profile()
local now <const> = os.time() * SECOND

local written <const> = seconds(function()
  for i = 1, WRITTEN do
    assert(store:write { capture = "bench", checkpoint = { id = "k" .. i,
      taken_at = now - i * SECOND, reason = "periodic" }, parts = { { kind = "goprof",
      key = ("%d:1"):format(i), pid = i, profile = profile,
      fields = { source = "pprof", profile = "heap" } } } })
  end
end)
local first <const> = WRITTEN * #profile * #TYPES
print(("records written     %d in %d checkpoints, %.2f s: %.0f/s"):format(first, WRITTEN, written,
  first / written))

-- The rest of the fleet: what was written, again for other hosts and times of a day.
local copies <const> = math.max(0, wanted // first - 1)
local function columns(name)
  local list = {}
  for row in store:each("DESCRIBE TABLE " .. name) do list[#list + 1] = "`" .. row[1] .. "`" end
  return table.concat(list, ", ")
end

local function copied(name, i)
  local list <const> = columns(name)
  local made = list:gsub("`attempt`", ("concat(`attempt`, '-%d')"):format(i))
  made = made:gsub("`checkpoint_id`", ("concat(`checkpoint_id`, '-%d')"):format(i))
  made = made:gsub("`taken_at`", ("`taken_at` - %d"):format(i * 86400 // (copies + 1) * SECOND))
  if name == "batches" then made = made:gsub("`id`", ("concat(`id`, '-%d')"):format(i)) end
  made = made:gsub("`key`", ("concat(`key`, '@%d')"):format(i % HOSTS))
  store:ask(("INSERT INTO %s (%s) SELECT %s FROM first_%s"):format(name, list, made, name))
end

local TABLES <const> = { "record_goprof", "parts", "batches" }
for _, name in ipairs(TABLES) do
  store:ask(("CREATE TABLE first_%s ENGINE = Log AS SELECT * FROM %s"):format(name, name))
end
local multiplied <const> = seconds(function()
  for i = 1, copies do
    for _, name in ipairs(TABLES) do copied(name, i) end
  end
end)
local n <const> = math.tointeger(tonumber(store:each("SELECT count() FROM record_goprof")()[1]))
print(("records in all      %d (made by the server in %.1f s)"):format(n, multiplied))

local rows
local function top(question)
  local fresh <const> = assert(stores.open(store.name, { mode = "read" }))
  local sum <const> = assert(fresh:profile(question))
  rows = sum:top { n = 10, type = "inuse_space" }
  fresh:close()
end
local times = {}
for i = 1, 3 do
  times[i] = seconds(function()
    top { kind = "goprof", view = "inuse_space", last = 2 * 86400 * SECOND }
  end)
end
table.sort(times)
local groups <const> = seconds(function()
  assert(store:groups { kind = "goprof", by = "process", sample_type = "inuse_space" })
end)

-- The plain way, for a part.
local PART <const> = 100000
local file <const> = assert(io.open(lines_path, "w"))
for record in assert(store:records { kind = "goprof", limit = PART }) do
  file:write(record_json.encode(record), "\n")
end
file:close()
local filter <const> = [[select(.sample_type == "inuse_space") | [.value, .frames[0].func] | @tsv]]
local jq <const> = seconds(function()
  assert(os.execute(("jq -r '%s' %s | awk -F'\t' '{s[$2]+=$1} END {for (f in s) print s[f],f}'"
    .. " | sort -rn | head > %s/jq.txt"):format(filter, lines_path, directory)))
end)
print(("top of the window   %.2f s (median of 3), by process %.2f s; jq %.2f s for %d records: %.0f"
  .. " times as long for all"):format(times[2], groups, jq, PART, jq * n / PART / times[2]))
print(("first function      %s, %d bytes"):format(rows[1].name, rows[1].flat))
os.remove(lines_path)
