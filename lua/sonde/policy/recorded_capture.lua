--- A store of captures as a timeline: what checkpoints of the kind `process_tree` say
-- of each process.
-- @module sonde.policy.recorded_capture
local recorded_capture = {}

local function identity(record)
  local pid, start = (record.key or ""):match "^(%d+):(%d+)$"
  return math.tointeger(tonumber(pid)) or record.pid, math.tointeger(tonumber(start)) or 0
end

-- The samples of a record. Processor time is a sum: it is told as its growth.
local function put_all(put, record, before)
  if record.state == "exited" then
    if not (before and before.is_gone) then put("exit", "unknown") end
    return
  end
  if before == nil then put("start", true) end
  local passed <const> = before and record.taken_at - before.at or 0
  if passed > 0 and record.cpu_time_ns and before.cpu then
    put("cpu", math.max(0, record.cpu_time_ns - before.cpu) * 100 / passed)
  end
  if record.memory_bytes then put("memory", record.memory_bytes) end
  if record.threads then put("threads", record.threads) end
end

local function rows_of(records)
  local pending, first, last, seen = {}, 1, 0, {}
  local begun
  return function()
    while first > last do
      local record <const> = records()
      if record == nil then return nil end
      begun = begun or record.taken_at
      local pid <const>, start <const> = identity(record)
      local key <const> = ("%d:%d"):format(pid, start)
      put_all(function(name, value)
        last = last + 1
        pending[last] = { record.taken_at - begun, pid, start, record.name or "", name, value }
      end, record, seen[key])
      seen[key] = { at = record.taken_at, cpu = record.cpu_time_ns,
        is_gone = record.state == "exited" }
    end
    local row <const> = pending[first]
    pending[first] = nil
    first = first + 1
    return table.unpack(row, 1, 6)
  end
end

--- Opens a store.
-- @tparam string target path, or `clickhouse://…`
-- @treturn ?function as `sonde.policy.timeline.rows` gives
-- @treturn table `wall_offset`, `close`; or message
-- @treturn ?string code
function recorded_capture.open(target)
  local store, message, code = require("sonde.capture.store").open(target, { mode = "read" })
  if store == nil then return nil, message, code end
  local first <const> = store:records { kind = "process_tree", limit = 1 }
  local record <const> = first and first()
  local records, why, reason = store:records { kind = "process_tree" }
  if records == nil or record == nil then
    store:close()
    return nil, why or (target .. ": no checkpoint of the kind process_tree is in it"),
      reason or "not_found"
  end
  return rows_of(records), { wall_offset = record.taken_at, close = function() store:close() end }
end

return recorded_capture
