--- Sums and groups of records in ClickHouse, which makes them itself.
-- @module sonde.capture.store.clickhouse_groups
local fields <const> = require "sonde.capture.fields"
local reading <const> = require "sonde.capture.store.clickhouse_reading"
local tsv <const> = require "sonde.capture.store.tsv"

local groups = {}

local Groups <const> = {}

local ASKED <const>, integer <const>, some <const> = reading.ASKED, reading.integer, reading.some
local load_stacks <const>, where_records <const> = reading.load_stacks, reading.where_records

--- Sums a number of the records that a query names, by stack; see the store in SQLite.
-- @tparam table q
-- @tparam string what
-- @tparam {string,...} slots
-- @tparam ?string by
-- @treturn function iterator: frames, list of sums, hash
function Groups:sums(q, what, slots, by)
  local place, rows, order, hashes = {}, {}, {}, {}
  for i, slot in ipairs(slots) do place[slot] = i end
  local group <const> = by and ("`%s`"):format(by) or "''"
  for row in self:each(("SELECT frames, %s, sum(ifNull(`%s`, %d)) FROM record_%s%s AND frames != 0"
    .. " GROUP BY frames%s"):format(group, what, what == "count" and 1 or 0, q.kind,
    where_records(q), by and ", " .. group or "")) do
    local slot <const> = by and place[row[2]] or not by and 1
    local sums = rows[row[1]]
    if slot and sums == nil then
      sums = {}
      for i = 1, #slots do sums[i] = 0 end
      rows[row[1]], order[#order + 1], hashes[#hashes + 1] = sums, row[1], row[1]
    end
    if slot then sums[slot] = integer(row[3]) end
  end
  local i = 0
  return function()
    i = i + 1
    local hash <const> = order[i]
    if hash == nil then return nil end
    if i % ASKED == 1 then
      load_stacks(self, table.move(hashes, i, math.min(i + ASKED - 1, #hashes), 1, {}))
    end
    local frames <const> = self.cache.stacks.found[hash] or load_stacks(self, { hash })[hash]
    return frames or {}, rows[hash], ("%016x"):format(tsv.signed(hash))
  end
end

local function has(q, name)
  return fields.find(q.fields, name) ~= nil
end

-- What each group of `tally` is asked for, in this order.
local function tally_columns(q, by)
  local wait <const> = has(q, "wait_minutes") and "max(wait_minutes)" or "NULL"
  local value <const> = has(q, "value") and "value" or "CAST(NULL AS Nullable(Int64))"
  local own <const> = has(q, "count") and "ifNull(count, 1)" or "1"
  local key = "''"
  if by == "stack" then key = "frames"
  elseif by == "capture_id" or has(q, by) then key = "`" .. by .. "`" end
  return ("%s AS k, %s AS t, %s, count(), sum(%s), countIf(isNotNull(%s)),"
    .. " sumIf(toInt64(%s), isNull(%s)), %s, min(taken_at), max(taken_at)"):format(key,
    has(q, "sample_type") and "sample_type" or "''", has(q, "unit") and "any(unit)" or "''",
    value, value, own, value, wait)
end

--- Counts the goroutines of each process and checkpoint by stack; see the store in
-- SQLite.
-- @tparam table q
-- @treturn function
function Groups:counts(q)
  local following <const> = self:each(("SELECT key, any(pid), checkpoint_id, frames,"
    .. " sum(ifNull(count, 1)) FROM record_%s%s AND frames != 0 AND isNotNull(goroutine_id)"
    .. " GROUP BY key, checkpoint_id, frames"):format(q.kind, where_records(q)))
  return function()
    local row <const> = following()
    if row == nil then return nil end
    return some(row[1]) or row[2], row[3], row[4], integer(row[5])
  end
end

--- A stack of `Groups:counts`.
-- @tparam string hash
-- @treturn table `frames`, `hash`
function Groups:stack(hash)
  return { frames = load_stacks(self, { hash })[hash] or {},
    hash = ("%016x"):format(tsv.signed(hash)) }
end

--- Groups the records that a query names; see the store in SQLite.
-- @tparam table q
-- @tparam string by name of a field, or "stack"
-- @treturn function
function Groups:tally(q, by)
  local list, hashes = {}, {}
  for row in self:each(("SELECT %s FROM record_%s%s GROUP BY k, t"):format(tally_columns(q, by),
    q.kind, where_records(q))) do
    list[#list + 1] = row
    if by == "stack" and row[1] ~= "0" then hashes[#hashes + 1] = row[1] end
  end
  local stacks <const> = load_stacks(self, hashes)
  local i = 0
  return function()
    i = i + 1
    local row <const> = list[i]
    if row == nil then return nil end
    local count <const> = integer(row[4])
    local with_value <const> = integer(row[6])
    local group <const> = { key = row[1] or "", sample_type = some(row[2]), unit = some(row[3]),
      records = count, value = with_value > 0 and integer(row[5]) or nil,
      count = with_value < count and integer(row[7]) or nil, longest_wait = integer(row[8]),
      first = integer(row[9]), last = integer(row[10]) }
    if by == "stack" then
      local is_stack <const> = row[1] ~= "0"
      group.key = is_stack and ("%016x"):format(tsv.signed(row[1])) or ""
      group.frames = is_stack and stacks[row[1]] or nil
    end
    return group
  end
end

--- Gives a class of stores these methods.
-- @tparam table class
function groups.add_to(class)
  for name, method in pairs(Groups) do class[name] = method end
end

return groups
