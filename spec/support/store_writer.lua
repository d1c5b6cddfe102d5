-- Writes checkpoints to a store for ever and tells each acknowledgement on its
-- standard output: a process to kill. Arguments: where the store is, its name.
package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
package.cpath = "./" .. (os.getenv "SONDE_BUILD" or "build") .. "/lua/?.so;" .. package.cpath
local core <const> = require "sonde.c.core"
local stores <const> = require "sonde.capture.store"
require "sonde.profile"

local store <const> = assert(stores.open(arg[1]))
io.stdout:setvbuf "no"

local function profile_of(i)
  local profile <const> = core.profile_new { types = { { "inuse_space", "bytes" } } }
  for k = 1, 300 do
    profile:add({ { name = ("f%d"):format((i * 7 + k) % 1000), line = k }, "main" }, { i })
  end
  return profile
end

local function records_of(i)
  local list = {}
  for k = 1, 100 do
    list[k] = { goroutine_id = k, state = "state " .. i, raw = ("goroutine %d\n"):format(k),
      frames = { { func = ("g%d"):format(i * k % 500) } } }
  end
  return list
end

for i = 1, math.maxinteger do
  local profile <const> = profile_of(i)
  assert(store:write { capture = "c", checkpoint = { id = arg[2] .. i, taken_at = i,
    reason = "periodic" }, parts = {
    { kind = "goprof", key = "1:1", pid = 1, fields = { profile = "heap", source = "file" },
      profile = profile, payload = { format = "pprof", bytes = profile:encode() } },
    { kind = "stacks", key = "1:1", pid = 1, fields = { transport = "pprof" },
      records = records_of(i) } } })
  print(arg[2] .. i)
end
