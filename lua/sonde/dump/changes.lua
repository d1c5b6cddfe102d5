--- What became of each goroutine between two dumps of one process. Goroutines are
-- told apart by their ids, which a process never uses twice.
-- @module sonde.dump.changes
local changes = {}

-- What tells whether two stacks are the same, also of two dumps.
local function keys_of(dump)
  local known = {}
  return function(stack)
    local key = known[stack]
    if key == nil then
      local lines = {}
      for i, frame in ipairs(dump:stack(stack)) do
        lines[i] = ("%s\0%s\0%d"):format(frame.func, frame.file or "", frame.line or 0)
      end
      key = table.concat(lines, "\n")
      known[stack] = key
    end
    return key
  end
end

-- Every goroutine by its id: what its row says of it.
local function by_id(dump)
  local rows, list = {}, {}
  for i, row in dump:rows() do rows[i] = row end
  for _, id, group, creator in dump.core:rows() do
    local row <const> = rows[group]
    if row then list[id] = { row = row, creator = creator } end
  end
  return list
end

local function creator_of(dump, one)
  return one.row.created_by and dump:place(one.row.created_by).func
end

local function change_of(id, change, dump, one)
  local row <const> = one.row
  return {
    goroutine_id = id, change = change, state = row.state, wait_minutes = row.wait,
    frames = dump:stack(row.stack), creator_id = one.creator,
    created_by = row.created_by and dump:place(row.created_by) or nil,
  }
end

-- The change of a goroutine that is in both.
local function compared(id, before, old, after, new, is_same)
  local change = change_of(id, is_same and "stuck" or "moved", after, new)
  if not is_same then
    change.before = { state = old.row.state, wait_minutes = old.row.wait,
      frames = before:stack(old.row.stack) }
  end
  return change
end

--- Compares two dumps.
-- @tparam Dump before
-- @tparam Dump after
-- @treturn ?{table,...} `goroutine_id change state wait_minutes frames created_by
--   creator_id`, and of a moved one `before` (`state wait_minutes frames`). The
--   change is "new", "gone", "stuck" (same stack and state) or "moved"
-- @treturn table|string `new gone stuck moved` (how many) and `strangers`: ids
--   that are in both and were created by different functions, which no process
--   does; or a message
-- @treturn ?string code
function changes.between(before, after)
  local old <const>, now <const> = by_id(before), by_id(after)
  if next(old) == nil or next(now) == nil then
    return nil, "there are no goroutine ids to compare by: a dump of debug=1 has none",
      "unavailable"
  end
  local list, counts = {}, { new = 0, gone = 0, stuck = 0, moved = 0, strangers = 0 }
  local key_before <const>, key_after <const> = keys_of(before), keys_of(after)
  local function add(change)
    counts[change.change] = counts[change.change] + 1
    list[#list + 1] = change
  end
  for id, new in pairs(now) do
    local was <const> = old[id]
    if was == nil then
      add(change_of(id, "new", after, new))
    else
      if creator_of(after, new) ~= creator_of(before, was) then
        counts.strangers = counts.strangers + 1
      end
      local is_same <const> = new.row.state == was.row.state
        and key_after(new.row.stack) == key_before(was.row.stack)
      add(compared(id, before, was, after, new, is_same))
    end
  end
  for id, was in pairs(old) do
    if now[id] == nil then add(change_of(id, "gone", before, was)) end
  end
  table.sort(list, function(a, b) return math.ult(a.goroutine_id, b.goroutine_id) end)
  return list, counts
end

return changes
