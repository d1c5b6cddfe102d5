--- How things went from checkpoint to checkpoint: a function's share, the number of
-- goroutines at a place, the difference of two. Methods of every store, by
-- `sonde.capture.answers`.
-- @module sonde.capture.over_time
local asking <const> = require "sonde.capture.asking"
local pattern <const> = require "sonde.base.pattern"

local over_time = {}

-- What each checkpoint of a query holds of something: `of` gives the amount that a
-- stack counts, or nil.
local function series(self, q, opts, of)
  local points = {}
  for _, row in ipairs(self:checkpoints(q)) do
    local wanted <const> = asking.copy(opts)
    wanted.checkpoint, wanted.kind = row.checkpoint_id, q.kind
    local point <const> = { checkpoint_id = row.checkpoint_id, taken_at = row.taken_at,
      reason = row.reason }
    local done, message, code, hint = of(wanted, point)
    if done == nil then return nil, message, code, hint end
    points[#points + 1] = point
  end
  return points
end

--- How much of each checkpoint a function has.
-- @tparam Store self
-- @tparam table opts as for `profile`; `func` is a pattern for the function
-- @treturn ?{table,...} points by time: `checkpoint_id taken_at reason flat cum total unit`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function over_time.trend(self, opts)
  local matches <const> = pattern.matcher(opts.func, "--func")
  local wanted <const> = asking.copy(opts)
  wanted.func, wanted.view = nil, nil
  local q, message, code, hint = asking.asked(self, wanted)
  if q == nil then return nil, message, code, hint end
  local view <const> = opts.view
  return series(self, q, wanted, function(of, point)
    of.view = view
    local made, why, reason, help = self:profile(of)
    if made == nil and reason ~= "no_samples" then return nil, why, reason, help end
    point.flat, point.cum, point.total, point.unit = 0, 0, 0, ""
    if made == nil then return true end
    local number = made:info().default_type
    point.unit = made:types()[number].unit
    if view and made:types()[number].type ~= view then
      for i, type in ipairs(made:types()) do
        if type.type == view then number, point.unit = i, type.unit end
      end
    end
    point.total = made:total(number)
    local known, names = {}, made:frames().name
    for stack, values in made:samples() do
      local found, leaf = false, false
      for i, frame in ipairs(stack) do
        local name <const> = names[frame]
        if known[name] == nil then known[name] = matches(name) end
        found, leaf = found or known[name], leaf or i == 1 and known[name]
      end
      if found then point.cum = point.cum + values[number] end
      if leaf then point.flat = point.flat + values[number] end
    end
    return true
  end)
end

-- Stacks of at least so many goroutines, and growth of at least so much, are
-- pointed out.
local LEAST_GROWTH <const> = 5

-- Does a list of numbers never fall, and grow in most steps?
local function grows(counts)
  local up = 0
  for i = 2, #counts do
    if counts[i] < counts[i - 1] then return false end
    if counts[i] > counts[i - 1] then up = up + 1 end
  end
  return #counts >= 3 and up * 2 >= #counts - 1 and counts[#counts] - counts[1] >= LEAST_GROWTH
end

--- Goroutines that grow from checkpoint to checkpoint: of one process and stack,
-- never fewer, in at least three checkpoints.
-- @tparam Store self
-- @tparam ?table opts as for `records`
-- @treturn ?{table,...} findings, the largest growth first: `key pid stack_hash frames
--   counts from to grown message`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function over_time.growth(self, opts)
  local wanted <const> = asking.copy(opts)
  wanted.kind = "stacks"
  local q, message, code, hint = self:query(wanted)
  if q == nil then return nil, message, code, hint end
  local checkpoints, found, list = {}, {}, {}
  for part in self:parts(q) do
    local key <const> = part.key or tostring(part.pid)
    local own = checkpoints[key] or { n = 0 }
    checkpoints[key] = own
    if not part.error and own[part.checkpoint_id] == nil then
      own.n = own.n + 1
      own[part.checkpoint_id] = own.n
    end
  end
  for record in self:rows(q) do
    local key <const> = record.key or tostring(record.pid)
    local at <const> = checkpoints[key] and checkpoints[key][record.checkpoint_id]
    if at and record.stack_hash and record.goroutine_id ~= nil then
      local id <const> = key .. "\0" .. record.stack_hash
      local row = found[id]
      if row == nil then
        row = { key = key, pid = record.pid, stack_hash = record.stack_hash,
          frames = record.frames, counts = {} }
        for i = 1, checkpoints[key].n do row.counts[i] = 0 end
        found[id], list[#list + 1] = row, row
      end
      row.counts[at] = row.counts[at] + (record.count or 1)
    end
  end
  local growing = {}
  for _, row in ipairs(list) do
    if grows(row.counts) then
      row.from, row.to = row.counts[1], row.counts[#row.counts]
      row.grown = row.to - row.from
      row.message = ("process %s: goroutines at %s grow from %d to %d over %d checkpoints"):format(
        row.key, row.frames[1] and row.frames[1].func or "?", row.from, row.to, #row.counts)
      growing[#growing + 1] = row
    end
  end
  table.sort(growing, function(a, b)
    if a.grown ~= b.grown then return a.grown > b.grown end
    return a.stack_hash .. a.key < b.stack_hash .. b.key
  end)
  return growing
end

--- What changed between two checkpoints.
-- @tparam Store self
-- @tparam string before id of a checkpoint, or "first"
-- @tparam string after id of a checkpoint, or "last"
-- @tparam ?table opts as for `profile`
-- @treturn ?Diff
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function over_time.diff(self, before, after, opts)
  local sides = {}
  for i, id in ipairs { before, after } do
    local wanted <const> = asking.copy(opts)
    wanted.checkpoint = id
    local side, message, code, hint = self:profile(wanted)
    if side == nil and code == "no_samples" then
      message = ("%s (checkpoint '%s')"):format(message, id)
    end
    if side == nil then return nil, message, code, hint end
    sides[i] = side
  end
  return require("sonde").diff(sides[1], sides[2])
end

return over_time
