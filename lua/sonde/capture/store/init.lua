--- Where captures are kept: one contract, several stores.
--
--    local store = assert(stores.open("captures.db"))      -- SQLite, made when absent
--    assert(store:capture{ id = "c1", root_pid = 4242, started_at = now })
--    assert(store:write{                                    -- one batch
--      capture = "c1",
--      checkpoint = { id = "k1", taken_at = now, reason = "manual" },
--      parts = {
--        { kind = "goprof", key = "4242:1", pid = 4242,
--          fields = { source = "pprof", profile = "heap" },
--          payload = { format = "pprof", bytes = bytes }, profile = profile },
--        { kind = "stacks", key = "4242:1", pid = 4242,
--          fields = { transport = "native", format = "native" },
--          records = { { thread_id = 4242, frames = {…} }, … } },
--      } })
--    for record in store:records{ kind = "stacks", state = { "select" } } do … end
--    local profile = assert(store:profile{ kind = "goprof", last = "1h" })
--
-- A batch is stored whole or not at all. `write` gives true when it survives the
-- end of every process: acknowledged. Otherwise nil, message, code, and whether
-- the store keeps the batch and tries again at the next `write` or `flush`; it
-- keeps at most `buffer` bytes. A batch that was stored is not stored twice.
--
-- A part is what the records of one process and kind have in common. Its records
-- are a list, or a function that gives one after the other; of a profile they are
-- made here, one for each sample type and stack. A part that failed has an `error`
-- and no records, and is read back as one record with it.
--
-- docs/stores.md describes the whole.
-- @module sonde.capture.store
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"

local stores = {}

--- Options of `open`.
stores.options = {
  { name = "mode", type = "string", choices = { "read", "write" }, default = "write",
    help = "read never makes or changes the store" },
  { name = "busy", type = "duration", default = 5000000000, default_text = "5s",
    help = "how long to wait for another writer" },
  { name = "buffer", type = "size", default = 64 << 20, default_text = "64MiB",
    help = "most that is kept of batches which could not be written yet" },
}

--- Opens a store.
-- @tparam string target path of an SQLite file, or `clickhouse://HOST:PORT/DATABASE`
-- @tparam ?table opts see `stores.options`
-- @treturn ?Store
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function stores.open(target, opts)
  opts = options.check(stores.options, opts, "store.open")
  local module <const> = target:find("^clickhouse://") and "clickhouse" or "sqlite"
  local found, backend = errors.pcall(require, "sonde.capture.store." .. module)
  if not found and backend:find("sonde.c.%w+' not found") then
    local library <const> = backend:match("sonde%.c%.(%w+)' not found")
    return nil, ("this build has no sonde.c.%s, which the store needs"):format(library),
      "unavailable", "apt-get install " .. (library == "http" and "libcurl4-openssl-dev"
        or "libsqlite3-dev") .. "; make"
  end
  if not found then error(backend, 0) end
  return backend.open(target, opts)
end

--- Is the object a store?
-- @param object
-- @treturn boolean
function stores.is(object)
  return type(object) == "table" and type(object.records) == "function"
    and type(object.captures) == "function"
end

return stores
