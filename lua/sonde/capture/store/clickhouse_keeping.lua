--- Looking after the store in ClickHouse: retention by partition and kind.
-- @module sonde.capture.store.clickhouse_keeping
local errors <const> = require "sonde.base.errors"
local loop <const> = require "sonde.base.loop"
local tsv <const> = require "sonde.capture.store.tsv"

local keeping = {}

local Keeping <const> = {}

local SECOND <const> = 1000000000

-- How long the server may take to rewrite what a deletion leaves.
local PATIENCE <const> = 120 * SECOND

local COMMITTED <const> = "attempt IN (SELECT min(attempt) FROM batches GROUP BY id)"

local function number(self, sql)
  local row <const> = self:each(sql)()
  return row and row[1] and math.tointeger(tonumber(row[1])) or 0
end

local function tables(self)
  local names = {}
  for row in self:each("SELECT name FROM system.tables WHERE database = "
    .. tsv.quote(self.database)) do
    names[#names + 1] = row[1]
  end
  return names
end

--- Compares the tables.
-- @treturn ?table `problems` and facts, as of the store in SQLite
-- @treturn ?string message
-- @treturn ?string code
function Keeping:check()
  return errors.returned(function()
    local problems = {}
    for _, kind in ipairs(self:kinds()) do
      local told <const> = number(self, ("SELECT sum(records) FROM parts WHERE kind = %s AND %s")
        :format(tsv.quote(kind), COMMITTED))
      local there <const> = number(self, ("SELECT count() FROM record_%s WHERE n > 0 AND %s")
        :format(kind, COMMITTED))
      if told ~= there then
        problems[#problems + 1] = ("%s: %d records, and the parts say %d"):format(kind, there, told)
      end
    end
    return {
      problems = problems, captures = #self:captures(),
      checkpoints = number(self, "SELECT uniqExact(checkpoint_id) FROM parts WHERE " .. COMMITTED),
      batches = number(self, "SELECT uniqExact(id) FROM batches"),
      records = number(self, "SELECT sum(records) FROM parts WHERE " .. COMMITTED),
      stacks = number(self, "SELECT uniqExact(hash) FROM stacks"), strings = 0,
      payloads = number(self, "SELECT count() FROM payloads WHERE " .. COMMITTED),
      payload_bytes = number(self, "SELECT sum(length(bytes)) FROM payloads"),
      size = number(self, "SELECT sum(bytes) FROM system.parts WHERE active AND database = "
        .. tsv.quote(self.database)), free = 0, version = 1,
    }
  end)
end

-- Deletes rows, and waits until the server has.
local function delete(self, name, where)
  if number(self, ("SELECT count() FROM %s WHERE %s"):format(name, where)) == 0 then return end
  self:ask(("ALTER TABLE %s DELETE WHERE %s"):format(name, where))
  local deadline <const> = loop.after(PATIENCE)
  while number(self, ("SELECT count() FROM system.mutations WHERE database = %s AND table = %s"
    .. " AND is_done = 0"):format(tsv.quote(self.database), tsv.quote(name))) > 0 do
    if loop.now() > deadline then
      errors.raise { code = "timeout",
        message = ("%s: %s is still being rewritten"):format(self.name, name) }
    end
    loop.event():wait(loop.after(SECOND // 20))
  end
end

-- Days of which nothing is younger go as partitions, which costs nothing.
local function drop_days(self, name, where)
  for row in self:each(("SELECT DISTINCT day FROM %s WHERE %s"):format(name, where)) do
    self:ask(("ALTER TABLE %s DROP PARTITION %s"):format(name, tsv.quote(row[1])))
  end
end

local OF_DAYS <const> = { "batches", "payloads", "parts", "captures" }

local function drop_before(self, cutoff, kind)
  local day <const> = ("day < toDate(%s)"):format(tsv.quote(os.date("!%Y-%m-%d",
    cutoff // SECOND)))
  local old <const> = ("taken_at < %d"):format(cutoff)
  for _, name in ipairs(tables(self)) do
    local own <const> = name:match("^record_(.*)$")
    if own and (kind == nil or kind == own) then
      drop_days(self, name, day)
      delete(self, name, old)
    end
  end
  if kind then
    delete(self, "parts", old .. " AND kind = " .. tsv.quote(kind))
    return
  end
  for _, name in ipairs(OF_DAYS) do
    if name ~= "captures" then drop_days(self, name, day) end
  end
  delete(self, "parts", old)
end

--- Takes old checkpoints away; see the store in SQLite. By size, whole days go.
-- @tparam table opts `keep max_size kind now`
-- @treturn ?table `checkpoints segments size`
-- @treturn ?string message
-- @treturn ?string code
function Keeping:prune(opts)
  return errors.returned(function()
    local now <const> = opts.now or os.time() * SECOND
    local had <const> = self:check().checkpoints
    if opts.keep then drop_before(self, now - opts.keep, opts.kind) end
    local found = self:check()
    while opts.max_size and found.size > opts.max_size and found.records > 0 do
      local first <const> = number(self, "SELECT min(taken_at) FROM parts WHERE " .. COMMITTED)
      drop_before(self, (first // (86400 * SECOND) + 1) * 86400 * SECOND, opts.kind)
      local after <const> = self:check()
      if after.records == found.records then break end
      found = after
    end
    self.cache = {}
    return { checkpoints = had - found.checkpoints, segments = 0, size = found.size }
  end)
end

--- Merges what lies in pieces.
-- @treturn ?table `before after` (bytes)
-- @treturn ?string message
-- @treturn ?string code
function Keeping:compact()
  return errors.returned(function()
    local before <const> = self:check().size
    for _, name in ipairs(tables(self)) do self:ask(("OPTIMIZE TABLE %s FINAL"):format(name)) end
    return { before = before, after = self:check().size }
  end)
end

--- Gives a class of stores these methods.
-- @tparam table class
function keeping.add_to(class)
  for name, method in pairs(Keeping) do class[name] = method end
end

return keeping
