--- A store with three checkpoints of one process, and the profiles in it.
local helper <const> = require "spec.support.helper"

local SECOND <const> = 1000000000

local sample_store = {}

--- Fills a new store at a path; gives the profiles that are in it, encoded.
-- Skips the running test where stores cannot be opened.
function sample_store.fill(path)
  if not pcall(require, "sonde.c.sqlite") then helper.skip "this build has no SQLite" end
  local core <const> = require "sonde.c.core"
  local stores <const> = require "sonde.capture.store"
  require "sonde.profile"
  local store <const> = assert(stores.open(path))
  local start <const> = (os.time() - 60) * SECOND
  local profiles = {}
  assert(store:capture { id = "c1", root_pid = 42, host = "h", started_at = start,
    kinds = { "goprof", "stacks" } })
  for i = 1, 3 do
    local profile <const> = core.profile_new {
      types = { { "inuse_objects", "count" }, { "inuse_space", "bytes" } } }
    profile:add({ { name = "main.leak", file = "m.go", line = 3 }, "main.main" }, { i, i << 10 })
    profile:add({ { name = "main.ok", file = "m.go", line = 8 }, "main.main" }, { 5, 5 << 10 })
    profiles[i] = profile:encode()
    local records = { { goroutine_id = 1, state = "running", count = 1, frames = {},
      raw = "goroutine 1 [running]:\nmain.main()\n" } }
    for k = 1, 10 * i do
      records[k + 1] = { goroutine_id = k + 1, state = "select", wait_minutes = k, count = 1,
        frames = { { func = "main.wait", file = "m.go", line = 30 } } }
    end
    assert(store:write { capture = "c1", checkpoint = { id = "k" .. i,
      taken_at = start + i * SECOND, reason = "manual" }, parts = {
      { kind = "goprof", key = "42:1", pid = 42, profile = profile,
        fields = { source = "pprof", profile = "heap" },
        payload = { format = "pprof", bytes = profiles[i] } },
      { kind = "stacks", key = "42:1", pid = 42, fields = { transport = "pprof",
        format = "go" }, records = records } } })
  end
  store:close()
  return profiles
end

return sample_store
