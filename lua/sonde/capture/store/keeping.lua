--- Looking after the store in SQLite: is it whole, what may go, and the space
-- that it takes.
-- @module sonde.capture.store.keeping
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"

local keeping = {}

local Keeping <const> = {}

local function must(value, message, code)
  if value == nil then errors.raise { message = message, code = code } end
  return value
end

local function values(self, sql, ...)
  local statement <close> = must(self.db:prepare(sql))
  statement:start(...)
  local list = {}
  while must(statement:step()) do list[#list + 1] = (statement:get()) end
  return list
end

local function count(self, sql, ...)
  return values(self, sql, ...)[1]
end

-- What must be true of the tables; each gives the number of rows that break it.
local CHECKS <const> = {
  { "parts of no checkpoint",
    "SELECT count(*) FROM part WHERE checkpoint NOT IN (SELECT n FROM checkpoint)" },
  { "parts whose payload is missing", "SELECT count(*) FROM part WHERE payload IS NOT NULL"
    .. " AND payload NOT IN (SELECT id FROM payload)" },
  { "checkpoints of no batch",
    "SELECT count(*) FROM checkpoint WHERE n NOT IN (SELECT checkpoint FROM batch)" },
  { "frames whose function or file is missing", "SELECT count(*) FROM frame WHERE func NOT IN"
    .. " (SELECT id FROM string) OR file NOT IN (SELECT id FROM string)" },
}

-- Of each kind: rows without a part, parts that lack rows, unknown stacks.
local function check_kind(self, kind, problems)
  local list <const> = must(self:fields(kind))
  local name = kind
  local checks = {
    { "records of no part", "SELECT count(*) FROM record_%s WHERE part NOT IN"
      .. " (SELECT id FROM part)" },
    { "parts with another number of records than they say", "SELECT count(*) FROM part p WHERE"
      .. " p.kind = '%s' AND p.records <> (SELECT count(*) FROM record_%s r WHERE r.part = p.id)" },
  }
  for _, field in ipairs(list) do
    if field.type == "frames" then
      checks[#checks + 1] = { "records whose stack is missing",
        "SELECT count(*) FROM record_%s" .. (" WHERE %q IS NOT NULL AND %q"):format(field.name,
          field.name) .. " NOT IN (SELECT id FROM stack)" }
    end
  end
  for _, row in ipairs(checks) do
    local bad <const> = count(self, (row[2]:gsub("%%s", name)))
    if bad > 0 then problems[#problems + 1] = ("%s: %d %s"):format(kind, bad, row[1]) end
  end
end

-- What the file holds, in numbers.
local function facts(self)
  local found <const> = {
    captures = count(self, "SELECT count(*) FROM capture"),
    checkpoints = count(self, "SELECT count(*) FROM checkpoint"),
    batches = count(self, "SELECT count(*) FROM batch"),
    records = math.tointeger(count(self, "SELECT total(records) FROM part")),
    stacks = count(self, "SELECT count(*) FROM stack"),
    strings = count(self, "SELECT count(*) FROM string"),
    payloads = count(self, "SELECT count(*) FROM payload"),
    payload_bytes = math.tointeger(count(self, "SELECT total(length(bytes)) FROM payload")),
    first = count(self, "SELECT min(taken_at) FROM checkpoint"),
    last = count(self, "SELECT max(taken_at) FROM checkpoint"),
    version = count(self, "PRAGMA user_version"),
  }
  local pages <const> = count(self, "PRAGMA page_count")
  local free <const>, size <const> = count(self, "PRAGMA freelist_count"),
    count(self, "PRAGMA page_size")
  found.size, found.free = pages * size, free * size
  return found
end

-- Runs what may fail, and gives its results as the library does.
local function guarded(self, work)
  local ok, result = pcall(work)
  if ok then return result end
  if not errors.is_failure(result) then error(result, 0) end
  local message <const> = result.message
  return nil, message:find(self.path, 1, true) and message or self.path .. ": " .. message,
    result.code, result.hint
end

--- Checks the file and what it says of itself.
-- @treturn ?table `problems` (list of texts; empty when all is well) and facts:
--   `captures checkpoints batches records stacks strings payloads payload_bytes first
--   last version size free` (bytes)
-- @treturn ?string message
-- @treturn ?string code
function Keeping:check()
  return guarded(self, function()
    local problems = {}
    for _, line in ipairs(values(self, "PRAGMA integrity_check(20)")) do
      if line ~= "ok" then problems[#problems + 1] = line end
    end
    for _, row in ipairs(CHECKS) do
      local bad <const> = count(self, row[2])
      if bad > 0 then problems[#problems + 1] = ("%d %s"):format(bad, row[1]) end
    end
    for _, kind in ipairs(self:kinds()) do check_kind(self, kind, problems) end
    local found <const> = facts(self)
    found.problems = problems
    return found
  end)
end

-- Takes the parts of checkpoints away, of one kind or of all.
local function drop(self, kinds, where, ...)
  for _, kind in ipairs(kinds) do
    local parts <const> = ("(SELECT id FROM part WHERE kind = '%s' AND checkpoint IN"
      .. " (SELECT n FROM checkpoint WHERE %s))"):format(kind, where)
    must(self:statement(("DELETE FROM record_%s WHERE part IN %s"):format(kind, parts)):run(...))
    must(self:statement(("DELETE FROM part_%s WHERE part IN %s"):format(kind, parts)):run(...))
    must(self:statement("DELETE FROM text WHERE part IN " .. parts):run(...))
    must(self:statement(("DELETE FROM part WHERE kind = '%s' AND checkpoint IN"
      .. " (SELECT n FROM checkpoint WHERE %s)"):format(kind, where)):run(...))
  end
end

-- Files of segments that no record names any longer.
local function segment_paths(self)
  local paths = {}
  for _, kind in ipairs(self:kinds()) do
    for _, field in ipairs(must(self:fields(kind))) do
      if kind == "nettrace" and field.name == "path" then
        for _, path in ipairs(values(self, "SELECT DISTINCT s.text FROM record_nettrace r"
          .. " JOIN string s ON s.id = r.path")) do
          paths[path] = true
        end
      end
    end
  end
  return paths
end

local FOLLOWING <const> = [[
  DELETE FROM payload WHERE id NOT IN (SELECT payload FROM part WHERE payload IS NOT NULL);
  DELETE FROM batch WHERE checkpoint NOT IN (SELECT checkpoint FROM part)
    AND checkpoint NOT IN (SELECT n FROM checkpoint);
]]

-- The checkpoints that have nothing left, unless they were empty from the start.
local function drop_checkpoints(self, where, ...)
  must(self:statement("DELETE FROM batch WHERE checkpoint IN (SELECT n FROM checkpoint WHERE "
    .. where .. ") AND checkpoint NOT IN (SELECT checkpoint FROM part)"):run(...))
  must(self:statement("DELETE FROM checkpoint WHERE " .. where
    .. " AND n NOT IN (SELECT checkpoint FROM part)"):run(...))
  must(self.db:exec(FOLLOWING))
  must(self.db:exec "DELETE FROM capture WHERE id NOT IN (SELECT capture FROM checkpoint)")
end

-- Only files of the store's own directory are its to remove.
local function remove_segments(self, before, after)
  local removed = 0
  for path in pairs(before) do
    if not after[path] and path:sub(1, 1) ~= "/" and not path:find("..", 1, true)
      and os.remove(self:directory() .. "/" .. path) then
      removed = removed + 1
    end
  end
  return removed
end

local function prune_where(self, kinds, where, ...)
  local before <const> = segment_paths(self)
  local arguments <const> = table.pack(...)
  must(self:transaction(function()
    drop(self, kinds, where, table.unpack(arguments, 1, arguments.n))
    drop_checkpoints(self, where, table.unpack(arguments, 1, arguments.n))
  end))
  return remove_segments(self, before, segment_paths(self))
end

-- The size that the file has without what is free in it.
local function used(self)
  return (count(self, "PRAGMA page_count") - count(self, "PRAGMA freelist_count"))
    * count(self, "PRAGMA page_size")
end

-- Strings and stacks that no record uses. Who writes at the same time sees by
-- the generation that numbers are gone.
local function drop_unused(self)
  local stacks, frames, strings = {}, {}, {}
  for _, kind in ipairs(values(self, "SELECT name FROM kind")) do
    for _, field in ipairs(must(self:fields(kind))) do
      local column <const> = ("SELECT %q FROM record_%s WHERE %q IS NOT NULL"):format(field.name,
        kind, field.name)
      if field.at == "record" and field.type == "frames" then stacks[#stacks + 1] = column end
      if field.at == "record" and field.type == "frame" then frames[#frames + 1] = column end
      if field.at == "record" and (field.type == "string" or field.type == "json") then
        strings[#strings + 1] = column
      end
    end
  end
  must(self:transaction(function()
    if #stacks > 0 then
      must(self.db:exec("DELETE FROM stack WHERE id NOT IN (" .. table.concat(stacks, " UNION ")
        .. ")"))
    end
    must(self.db:exec "UPDATE store SET value = value + 1 WHERE name = 'generation'")
    self:drop_frames(frames)
    strings[#strings + 1] = "SELECT func FROM frame UNION SELECT file FROM frame"
    must(self.db:exec("DELETE FROM string WHERE id NOT IN (" .. table.concat(strings, " UNION ")
      .. ")"))
  end))
end

--- Takes the frames away that neither a stack nor one of the columns names.
-- @tparam {string,...} columns SELECTs of numbers of frames
function Keeping:drop_frames(columns)
  must(self.db:exec "CREATE TEMP TABLE IF NOT EXISTS used_frame(id INTEGER PRIMARY KEY)")
  must(self.db:exec "DELETE FROM used_frame")
  for _, column in ipairs(columns) do
    must(self.db:exec("INSERT OR IGNORE INTO used_frame " .. column))
  end
  local add <const> = self:statement "INSERT OR IGNORE INTO used_frame VALUES(?)"
  local statement <close> = must(self.db:prepare "SELECT frames FROM stack")
  local seen = {}
  statement:start()
  while must(statement:step()) do
    local packed <const> = statement:get()
    for at = 1, #packed - 3, 4 do
      local id <const> = ("<I4"):unpack(packed, at)
      if not seen[id] then
        seen[id] = true
        must(add:run(id))
      end
    end
  end
  must(self.db:exec "DELETE FROM frame WHERE id NOT IN (SELECT id FROM used_frame)")
end

--- Gives the space of what is gone back to the system, and throws away names and
-- stacks that nothing uses.
-- @treturn ?table `before after` (bytes)
-- @treturn ?string message
-- @treturn ?string code
function Keeping:compact()
  return guarded(self, function()
    local _, _, before = core.path_info(self.path)
    drop_unused(self)
    self.cache = {}
    must(self.db:exec "PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
    local _, _, after = core.path_info(self.path)
    return { before = before, after = after }
  end)
end

--- Takes old checkpoints away.
-- @tparam table opts `keep` (nanoseconds: only what is younger stays), `max_size`
--   (bytes: the oldest go until the rest takes no more), `kind` (only records of
--   this kind), `now`
-- @treturn ?table `checkpoints` (that went), `segments` (files that went), `size`
-- @treturn ?string message
-- @treturn ?string code
function Keeping:prune(opts)
  return guarded(self, function()
    local kinds <const> = opts.kind and { opts.kind } or values(self, "SELECT name FROM kind")
    local now <const> = opts.now or os.time() * 1000000000
    local had <const> = count(self, "SELECT count(*) FROM checkpoint")
    local segments = 0
    if opts.keep then
      segments = prune_where(self, kinds, "taken_at < ?", now - opts.keep)
    end
    while opts.max_size and used(self) > opts.max_size do
      local ages <const> = values(self, "SELECT c.taken_at FROM checkpoint c WHERE c.n IN (SELECT"
        .. " checkpoint FROM part WHERE ? IS NULL OR kind = ?) ORDER BY c.taken_at", opts.kind,
        opts.kind)
      if #ages == 0 then break end
      -- A tenth at a time: how much a checkpoint takes is not known.
      segments = segments + prune_where(self, kinds, "taken_at <= ?",
        ages[math.max(1, #ages // 10)])
    end
    must(self.db:exec "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
    self.cache = {}
    return { checkpoints = had - count(self, "SELECT count(*) FROM checkpoint"),
      segments = segments, size = used(self) }
  end)
end

--- Gives a class of stores these methods.
-- @tparam table class
function keeping.add_to(class)
  for name, method in pairs(Keeping) do class[name] = method end
end

return keeping
