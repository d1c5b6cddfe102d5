--- A query as SQL of the store in SQLite.
-- A record is a row of three tables: its checkpoint, its part, and its own. Names
-- come from declarations that were checked, values are always bound.
-- @module sonde.capture.store.select
local select = {}

-- Fields that the table of all parts holds, whatever their kind declares.
local OF_PART <const> = { key = true, pid = true, error = true, truncated = true }

local OF_CHECKPOINT <const> = { checkpoint_id = "c.id", taken_at = "c.taken_at",
  reason = "c.reason" }

--- The column of a field.
-- @tparam table field
-- @treturn string SQL
function select.column(field)
  if field.at == "checkpoint" then return OF_CHECKPOINT[field.name] end
  if field.at == "part" then
    return (OF_PART[field.name] and "p.%q" or "x.%q"):format(field.name)
  end
  return ("r.%q"):format(field.name)
end

local function add(sql, text, ...)
  sql.where[#sql.where + 1] = text
  for _, value in ipairs { ... } do sql.values[#sql.values + 1] = value end
end

local function marks(n)
  return ("?, "):rep(n - 1) .. "?"
end

--- The column that holds the stack of a kind's records.
-- @tparam table q
-- @treturn string SQL
function select.stack(q)
  for _, field in ipairs(q.fields) do
    if field.type == "frames" then return select.column(field) end
  end
  return "NULL"
end

local function add_terms(sql, q, condition)
  local field <const>, values <const> = condition.field, condition.values
  if #values == 0 then return add(sql, "0") end
  local list <const> = "(" .. marks(#values) .. ")"
  if field.type == "hash" then
    return add(sql, ("%s IN (SELECT id FROM stack WHERE hash IN %s)"):format(select.stack(q),
      list), table.unpack(values))
  end
  if field.type == "boolean" then
    return add(sql, ("coalesce(%s, 0) = ?"):format(select.column(field)), values[1])
  end
  if field.at == "record" and field.type == "string" then
    local own <const> = ("%s IN (SELECT id FROM string WHERE text IN %s)"):format(
      select.column(field), list)
    if field.name ~= "error" then return add(sql, own, table.unpack(values)) end
    local twice <const> = table.move(values, 1, #values, #values + 1,
      table.move(values, 1, #values, 1, {}))
    return add(sql, ("(%s OR p.error IN %s)"):format(own, list), table.unpack(twice))
  end
  add(sql, ("%s IN %s"):format(select.column(field), list), table.unpack(values))
end

local function add_range(sql, condition)
  local column <const> = select.column(condition.field)
  if condition.min then add(sql, column .. " >= ?", condition.min) end
  if condition.max then add(sql, column .. " <= ?", condition.max) end
end

-- Conditions that need no record: those of checkpoints and parts.
local function add_window(sql, q)
  add(sql, "c.taken_at >= ?", q.since or math.mininteger)
  if q.before then add(sql, "c.taken_at < ?", q.before) end
  if q.captures then
    add(sql, ("c.capture IN (%s)"):format(marks(#q.captures)), table.unpack(q.captures))
  end
  if q.checkpoints then
    add(sql, ("c.id IN (%s)"):format(marks(#q.checkpoints)), table.unpack(q.checkpoints))
  end
  add(sql, "p.kind = ?", q.kind)
end

local function add_conditions(sql, q, at_record)
  for _, condition in ipairs(q.conditions) do
    if at_record or condition.field.at ~= "record" then
      if condition.values then add_terms(sql, q, condition) else add_range(sql, condition) end
    end
  end
end

--- Whether a query asks about single records, and not of parts alone.
-- @tparam table q
-- @treturn boolean
function select.is_of_records(q)
  if q.mask then return true end
  for _, condition in ipairs(q.conditions) do
    if condition.field.at == "record" then return true end
  end
  return false
end

-- Walked in this order by these indexes, rows come by time without being sorted.
local PARTS <const> = "FROM checkpoint c INDEXED BY checkpoint_time"
  .. " CROSS JOIN part p INDEXED BY part_checkpoint ON p.checkpoint = c.n"
  .. " CROSS JOIN part_%s x ON x.part = p.id"

--- The FROM and WHERE of a query over parts.
-- @tparam table q
-- @treturn string SQL
-- @treturn {…} values to bind
function select.parts(q)
  local sql <const> = { where = {}, values = {} }
  add_window(sql, q)
  add_conditions(sql, q, false)
  return PARTS:format(q.kind) .. " WHERE " .. table.concat(sql.where, " AND "), sql.values
end

--- The FROM and WHERE of a query over records.
-- @tparam table q `mask`, when there is one, has a bit for each frame that matches
-- @tparam ?boolean only_rows leave out parts that have an error instead of records
-- @treturn string SQL
-- @treturn {…} values to bind
function select.records(q, only_rows)
  local sql <const> = { where = {}, values = {} }
  add_window(sql, q)
  add_conditions(sql, q, true)
  if q.mask then
    add(sql, select.stack(q) .. " IN (SELECT id FROM stack WHERE any_frame(frames, ?))",
      { blob = q.mask })
  end
  local join = (" CROSS JOIN record_%s r ON r.part = p.id"):format(q.kind)
  if not only_rows and not select.is_of_records(q) then
    join = (" LEFT JOIN record_%s r ON r.part = p.id"):format(q.kind)
    add(sql, "(r.part IS NOT NULL OR p.error IS NOT NULL)")
  elseif not only_rows then
    join = (" LEFT JOIN record_%s r ON r.part = p.id"):format(q.kind)
  end
  return PARTS:format(q.kind) .. join .. " WHERE " .. table.concat(sql.where, " AND "), sql.values
end

--- The ORDER BY and LIMIT of a query over records. Without a sort there is no
-- ORDER BY: rows come by time, part and place as they are walked.
-- @tparam table q
-- @treturn string SQL
function select.order(q)
  local order = ""
  if q.sort then
    order = (" ORDER BY %s %s"):format(select.column(q.sort.field),
      q.sort.descending and "DESC" or "ASC")
  end
  return order .. (q.limit and (" LIMIT %d"):format(q.limit) or "")
end

return select
