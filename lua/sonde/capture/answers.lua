--- What a store can be asked beyond its rows, for every store alike: profiles of a
-- window, groups, how a function or the number of goroutines went from checkpoint
-- to checkpoint.
-- A store brings `kinds fields query rows parts payload sums counts stack tally captures`.
-- @module sonde.capture.answers
local asking <const> = require "sonde.capture.asking"
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"
local fields <const> = require "sonde.capture.fields"
local over_time <const> = require "sonde.capture.over_time"
local rows_of <const> = require("sonde.base.rows").of

local answers = {}

-- Iterators one behind the other.
local function chained(list)
  local i, current = 0, nil
  return function()
    while true do
      local record = current and current()
      if record then return record end
      i = i + 1
      if list[i] == nil then return nil end
      current = list[i]()
    end
  end
end

--- Iterates over records, by time, without loading all.
-- @function Store:records
-- @tparam ?table opts `kind` (all when nil), `capture checkpoint last since until func
--   sort limit`, and filters by field: a value, a list of values, `{ min =, max = }`
-- @treturn ?function iterator of records; a failure while reading raises
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
local function records(self, opts)
  opts = opts or {}
  if opts.kind then
    local q, message, code, hint = self:query(opts)
    if q == nil then return nil, message, code, hint end
    return self:rows(q)
  end
  local list = {}
  for i, kind in ipairs(self:kinds()) do
    local wanted <const> = asking.copy(opts)
    wanted.kind = kind
    local q, message, code, hint = self:query(wanted)
    if q == nil then return nil, message, code, hint end
    list[i] = function() return self:rows(q) end
  end
  return chained(list)
end

-- Sample types of the parts, in the order in which they come; of one profile.
local function types_of(self, q)
  local by_profile, order = {}, {}
  for part in self:parts(q) do
    if part.sample_type then
      local name <const> = part.profile or ""
      local types = by_profile[name]
      if types == nil then
        types = { n = 0, parts = 0 }
        by_profile[name], order[#order + 1] = types, name
      end
      types.parts = types.parts + 1
      if types[part.sample_type] == nil then
        types.n = types.n + 1
        types[part.sample_type] = part.unit or ""
        types[types.n] = { part.sample_type, part.unit or "" }
      end
    end
  end
  return by_profile, order
end

-- Of several profiles in a window: the one that has the view, else the first that
-- people ask for.
local PROFILES <const> = { "cpu", "heap", "goroutine", "allocs", "mutex", "block" }

local function choose_profile(by_profile, order, view)
  local rank = {}
  for i, name in ipairs(PROFILES) do rank[name] = i end
  table.sort(order, function(a, b)
    local x <const>, y <const> = rank[a] or 100, rank[b] or 100
    if x ~= y then return x < y end
    return a < b
  end)
  for _, name in ipairs(order) do
    if view == nil or by_profile[name][view] then return name end
  end
end

-- A profile of frames and sums.
local function build(types, following)
  require "sonde.profile"
  local profile <const> = core.profile_new { types = types }
  local known = {}   -- stores share the frames of stacks
  for frames, sums in following do
    local stack = {}
    for i, frame in ipairs(frames) do
      local own = known[frame]
      if own == nil then
        own = { name = frame.func, file = frame.file, line = frame.line }
        known[frame] = own
      end
      stack[i] = own
    end
    profile:add(stack, sums)
  end
  return profile
end

-- What a profile shows, in words.
local function filters_of(opts, more)
  local words = {}
  for name, value in pairs(opts) do
    if name ~= "kind" and name ~= "view" and name ~= "now" and name ~= "limit"
      and name ~= "sort" then
      if type(value) == "table" then value = table.concat(value, ",") end
      if name == "last" and math.type(value) == "integer" then
        value = require("sonde.base.units").duration(value)
      end
      words[#words + 1] = ("%s=%s"):format(name, tostring(value))
    end
  end
  table.sort(words)
  table.insert(words, 1, more)
  return words
end

-- What a kind has of a window: `types`, and an iterator `sums` of frames and the sums
-- of each type.
local function of_goprof(self, q, opts)
  local by_profile <const>, order <const> = types_of(self, q)
  local chosen <const> = choose_profile(by_profile, order, opts.view)
  if chosen == nil then
    local names = {}
    for _, name in ipairs(order) do
      for _, type in ipairs(by_profile[name]) do names[#names + 1] = type[1] end
    end
    return nil, opts.view and #names > 0
      and ("%s: no sample type '%s' (there are %s)"):format(self.name, opts.view,
        table.concat(names, ", ")) or self.name .. ": no profile in this window", "no_samples"
  end
  local types <const> = by_profile[chosen]
  local slots, pairs_of = {}, {}
  for _, type in ipairs(types) do
    -- Parts of other sample types need not be read when one is asked for.
    if opts.view == nil or type[1] == opts.view then
      slots[#slots + 1], pairs_of[#pairs_of + 1] = type[1], { type[1], type[2] }
    end
  end
  if opts.view then
    q.conditions[#q.conditions + 1] = { field = fields.find(q.fields, "sample_type"),
      values = slots }
  end
  if #order > 1 then
    q.conditions[#q.conditions + 1] = { field = fields.find(q.fields, "profile"),
      values = { chosen } }
  end
  local more = #order > 1 and (", profile=%s of %s"):format(chosen, table.concat(order, " ")) or ""
  if types.parts > types.n then
    more = ("%s, the sum of %d profiles"):format(more, types.parts // types.n)
  end
  return { types = pairs_of, sums = self:sums(q, "value", slots, "sample_type"), more = more }
end

-- Dumps: how many goroutines or threads, and how long they have waited.
local function of_stacks(self, q, opts)
  local view <const> = opts.view or "goroutine"
  if view == "wait" then
    return { types = { { "wait", "minutes" } }, view = view,
      sums = self:sums(q, "wait_minutes", { "wait" }) }
  end
  if view ~= "goroutine" and view ~= "thread" and view ~= "count" then
    return nil, ("%s: stacks have no view '%s' (goroutine, wait)"):format(self.name, view),
      "no_samples"
  end
  return { types = { { view, "count" } }, view = view, sums = self:sums(q, "count", { view }) }
end

-- The segments' own profiles, added up.
local function sum_of_traces(self, q, opts)
  local list = {}
  for record in self:rows(q) do
    if record.path then
      local path <const> = record.path:sub(1, 1) == "/" and record.path
        or self:directory() .. "/" .. record.path
      local trace, message, code, hint = require("sonde").open(path)
      if trace == nil then return nil, message, code, hint end
      local profile
      profile, message, code = trace:profile { view = opts.view }
      if profile == nil then return nil, message, code end
      list[#list + 1] = profile
    end
  end
  if #list == 0 then return nil, self.name .. ": no segment in this window", "no_samples" end
  if #list == 1 then return list[1] end
  return require("sonde").merge(list)
end

local function has_frames(q)
  for _, field in ipairs(q.fields) do
    if field.type == "frames" then return true end
  end
  return false
end

--- What there is of a window of records, by stack.
-- @function Store:stack_sums
-- @tparam ?table opts as for `profile`
-- @treturn ?table `types` (each a list of name and unit) and `sums`, an iterator of
--   frames and the list of their sums; of traces a `profile` instead; and the query `q`
-- @treturn ?string message
-- @treturn ?string code `no_samples` when nothing is there
-- @treturn ?string hint
local function stack_sums(self, opts)
  opts = asking.copy(opts)
  local view <const> = opts.view
  opts.view = nil
  local q, message, code, hint = asking.asked(self, opts)
  if q == nil then return nil, message, code, hint end
  opts.view = view
  local found
  if q.kind == "goprof" then
    found, message, code, hint = of_goprof(self, q, opts)
  elseif q.kind == "nettrace" then
    local profile, why, reason, help = sum_of_traces(self, q, opts)
    found, message, code, hint = profile and { profile = profile }, why, reason, help
  elseif not has_frames(q) then
    return nil, ("%s: records of the kind '%s' have no stacks"):format(self.name, q.kind),
      "unavailable", ("sonde query %s --kind %s"):format(self.name, q.kind)
  else
    found, message, code, hint = of_stacks(self, q, opts)
  end
  if found then found.q = q end
  return found, message, code, hint
end

--- The records of a window as one profile, for every report.
-- @function Store:profile
-- @tparam ?table opts as for `records`, and `view`: a sample type, of stacks
--   "goroutine" or "wait", of traces their views
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code `no_samples` when nothing is there
-- @treturn ?string hint
local function profile(self, opts)
  local found <const>, message, code, hint = stack_sums(self, opts)
  if found == nil then return nil, message, code, hint end
  local made <const> = found.profile or build(found.types, found.sums)
  if #made == 0 then
    return nil, self.name .. ": no records in this window", "no_samples",
      "sonde captures " .. self.name
  end
  if found.profile then return made, message, code, hint end
  return made:set_notes { view = found.view, name = self.name,
    filters = filters_of(opts or {}, ("kind=%s%s"):format(found.q.kind, found.more or "")) }
end

-- How records are grouped: the field, or what makes a text of a stack.
local BY <const> = {
  stack = true, ["function"] = true, state = "state", reason = "reason", process = "key",
  checkpoint = "checkpoint_id", transport = "transport", profile = "profile", thread =
  "thread_name", capture = "capture_id", error = "error",
}

--- What records can be grouped by.
answers.groupings = { "stack", "function", "state", "reason", "process", "checkpoint",
  "transport", "profile", "thread", "capture", "error" }

-- The names under which a row of a store's `tally` counts.
local function group_keys(row, by)
  if by ~= "function" then return { row.key } end
  local keys, seen = {}, {}
  for _, frame in ipairs(row.frames or {}) do
    if not seen[frame.func] then
      seen[frame.func] = true
      keys[#keys + 1] = frame.func
    end
  end
  return keys
end

local function add_to_group(groups, key, row, by)
  local id <const> = key .. "\0" .. (row.sample_type or "")
  local group = groups[id]
  if group == nil then
    group = { by = by, name = key, records = 0, sample_type = row.sample_type, unit = row.unit,
      frames = by == "stack" and row.frames or nil, first = row.first, last = row.last }
    groups[id] = group
    groups[#groups + 1] = group
  end
  group.records = group.records + row.records
  if row.value then group.value = (group.value or 0) + row.value end
  if row.count then group.count = (group.count or 0) + row.count end
  if row.longest_wait then
    group.longest_wait = math.max(group.longest_wait or 0, row.longest_wait)
  end
  group.first = math.min(group.first, row.first)
  group.last = math.max(group.last, row.last)
end

local function by_size(a, b)
  if a.sample_type ~= b.sample_type then return (a.sample_type or "") < (b.sample_type or "") end
  local x <const>, y <const> = a.value or a.count, b.value or b.count
  if x ~= y then return x > y end
  return a.name < b.name
end

--- Groups records.
-- @function Store:groups
-- @tparam table opts as for `records`; `by` is one of `answers.groupings`
-- @treturn ?{table,...} `name records`, `count` or `value sample_type unit`, `longest_wait`
--   (minutes), `frames` (by stack), `first last` (times); the largest first
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
local function groups(self, opts)
  local by <const> = opts.by
  if BY[by] == nil then
    errors.usage(("--by: '%s' is not known (one of %s)"):format(tostring(by),
      table.concat(answers.groupings, ", ")))
  end
  local wanted <const> = asking.copy(opts)
  wanted.by, wanted.limit = nil, nil
  local q, message, code, hint = asking.asked(self, wanted)
  if q == nil then return nil, message, code, hint end
  local list = {}
  local way <const> = BY[by] == true and "stack" or BY[by]
  for row in self:tally(q, way) do
    for _, key in ipairs(group_keys(row, by)) do add_to_group(list, key, row, by) end
  end
  local rows <const> = table.move(list, 1, #list, 1, {})
  table.sort(rows, by_size)
  for i = #rows, (opts.limit or #rows) + 1, -1 do rows[i] = nil end
  return rows
end

--- The profiles of a window as they came, each once.
-- @function Store:payloads
-- @tparam ?table opts as for `records`
-- @treturn ?function iterator: bytes, the part
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
local function payloads(self, opts)
  local q, message, code, hint = asking.asked(self, opts)
  if q == nil then return nil, message, code, hint end
  local following <const> = self:parts(q)
  local seen = {}
  return function()
    for part in following do
      if part.payload and not seen[part.payload] then
        seen[part.payload] = true
        return self:payload(part.payload), part
      end
    end
  end
end

--- The checkpoints of a window, by time.
-- @function Store:checkpoints
-- @tparam ?table opts as for `records`; without `kind` those of the first that
--   is there. A query that the store has checked will do too.
-- @treturn ?Rows `checkpoint_id capture_id taken_at reason parts records errors`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
local function checkpoints(self, opts)
  local q = opts
  if opts == nil or opts.conditions == nil then
    local message, code, hint
    q, message, code, hint = asking.asked(self, opts)
    if q == nil then return nil, message, code, hint end
  end
  local list, by_id = {}, {}
  for part in self:parts(q) do
    local row = by_id[part.checkpoint_id]
    if row == nil then
      row = { checkpoint_id = part.checkpoint_id, capture_id = part.capture_id,
        taken_at = part.taken_at, reason = part.reason, parts = 0, records = 0, errors = 0 }
      by_id[part.checkpoint_id], list[#list + 1] = row, row
    end
    row.parts, row.records = row.parts + 1, row.records + part.records
    if part.error then row.errors = row.errors + 1 end
  end
  return rows_of(list)
end

local MOST_FOUND <const> = 1000

--- Records of a window as rows.
-- @function Store:find
-- @tparam ?table opts as for `records`; without `limit` the first 1000
-- @treturn ?Rows see `sonde.base.rows`
-- @treturn ?string message; beside rows it says that there are more
-- @treturn ?string code
-- @treturn ?string hint
local function find(self, opts)
  opts = asking.copy(opts)
  local most <const> = opts.limit or MOST_FOUND
  if opts.kind then opts.limit = most + 1 end
  local following, message, code, hint = records(self, opts)
  if following == nil then return nil, message, code, hint end
  local list, more = {}, nil
  for record in following do
    if #list == most then
      more = ("there are more than %d: limit = N shows others"):format(most)
      break
    end
    list[#list + 1] = record
  end
  return rows_of(list), more
end

-- Lists of records as rows; a failure as it is.
local function as_rows(method)
  return function(...)
    local list <const>, message <const>, code <const>, hint <const> = method(...)
    if type(list) ~= "table" then return list, message, code, hint end
    return rows_of(list), message, code, hint
  end
end

-- Methods whose failures of the world are results.
local METHODS <const> = {
  records = records, find = find, profile = profile, stack_sums = stack_sums,
  groups = as_rows(groups), payloads = payloads, trend = as_rows(over_time.trend),
  growth = as_rows(over_time.growth), diff = over_time.diff,
}

--- Gives a class of stores these methods.
-- @tparam table class
function answers.add_to(class)
  for name, method in pairs(METHODS) do
    class[name] = function(...) return errors.returned(method, ...) end
  end
  class.checkpoints = checkpoints
end

return answers
