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

-- A matcher that asks once about each name.
local function remembered(matches)
  local known <const> = {}
  return function(name)
    local answer = known[name]
    if answer == nil then
      answer = matches(name) and true or false
      known[name] = answer
    end
    return answer
  end
end

-- Whether a function that matches is innermost on a stack, and whether it is on it.
local function place_on(frames, matches)
  for i, frame in ipairs(frames) do
    if matches(frame.func) then return i == 1, true end
  end
  return false, false
end

-- Adds what a stack is worth to a point.
local function add_to(point, frames, amount, places, matches)
  local place = places[frames]
  if place == nil then
    place = { place_on(frames, matches) }
    places[frames] = place
  end
  point.total = point.total + amount
  if place[2] then point.cum = point.cum + amount end
  if place[1] then point.flat = point.flat + amount end
end

-- The same of a profile.
local function share_of(profile, view, matches, point)
  local number = profile:info().default_type
  for i, type in ipairs(profile:types()) do
    if type.type == view then number = i end
  end
  local mask <const> = {}
  for i, name in ipairs(profile:frames().name) do mask[i] = matches(name) and "\1" or "\0" end
  for _, node in ipairs(profile:graph({ type = number }).nodes) do
    if mask[node.frame] == "\1" then point.flat = point.flat + node.flat end
  end
  point.cum = profile:filter({ focus = table.concat(mask) }):total(number)
  point.total, point.unit = profile:total(number), profile:types()[number].unit
end

-- Of several types the last is meant, as in a profile, unless a view says which.
local function number_of(types, view)
  for i, type in ipairs(types) do
    if type[1] == view then return i end
  end
  return #types
end

--- How much of each checkpoint a function has.
-- @tparam Store self
-- @tparam table opts as for `profile`; `func` is a pattern for the function
-- @treturn ?{table,...} points by time: `checkpoint_id taken_at reason flat cum total unit`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function over_time.trend(self, opts)
  local matches <const> = remembered(pattern.matcher(opts.func, "--func"))
  local wanted <const> = asking.copy(opts)
  wanted.func, wanted.view = nil, nil
  local q, message, code, hint = asking.asked(self, wanted)
  if q == nil then return nil, message, code, hint end
  local view <const> = opts.view
  local places <const> = setmetatable({}, { __mode = "k" })   -- stores share stacks
  return series(self, q, wanted, function(of, point)
    of.view = view
    local found <const>, why, reason, help = self:stack_sums(of)
    if found == nil and reason ~= "no_samples" then return nil, why, reason, help end
    point.flat, point.cum, point.total, point.unit = 0, 0, 0, ""
    if found == nil then return true end
    if found.profile then
      share_of(found.profile, view, matches, point)
      return true
    end
    local number <const> = number_of(found.types, view)
    for frames, sums in found.sums do
      add_to(point, frames, sums[number], places, matches)
      point.unit = found.types[number][2]
    end
    return true
  end)
end

-- Stacks of at least so many goroutines, and growth of at least so much, are
-- pointed out.
local LEAST_GROWTH <const> = 5

-- Do the numbers of `n` checkpoints, those that are missing being 0, never fall, and
-- grow in most steps?
local function grows(counts, n)
  local first <const>, last <const> = counts[1] or 0, counts[n] or 0
  if n < 3 or last - first < LEAST_GROWTH then return false end
  local up, before = 0, first
  for i = 2, n do
    local count <const> = counts[i] or 0
    if count < before then return false end
    if count > before then up = up + 1 end
    before = count
  end
  return up * 2 >= n - 1
end

-- The checkpoints that a process was looked into at, by time: their places by id, `n`,
-- and its `pid`.
local function checkpoints_of(self, q)
  local checkpoints = {}
  for part in self:parts(q) do
    local key <const> = part.key or tostring(part.pid)
    local own = checkpoints[key] or { n = 0, pid = part.pid, places = {} }
    checkpoints[key] = own
    if not part.error and own.places[part.checkpoint_id] == nil then
      own.n = own.n + 1
      own.places[part.checkpoint_id] = own.n
    end
  end
  return checkpoints
end

-- How many goroutines of each process and stack there were, by checkpoint.
local function counts_of(self, q, checkpoints)
  local by_key = {}
  for key, checkpoint, stack, n in self:counts(q) do
    local own <const> = checkpoints[key]
    local at <const> = own and own.places[checkpoint]
    if at then
      local stacks = by_key[key] or {}
      by_key[key] = stacks
      local counts <const> = stacks[stack] or {}
      stacks[stack] = counts
      counts[at] = (counts[at] or 0) + n
    end
  end
  return by_key
end

local function growing_row(self, key, own, stack, counts)
  local known <const> = self:stack(stack)
  for i = 1, own.n do counts[i] = counts[i] or 0 end
  local row <const> = { key = key, pid = own.pid, stack_hash = known.hash, frames = known.frames,
    counts = counts, from = counts[1], to = counts[own.n], grown = counts[own.n] - counts[1] }
  row.message = ("process %s: goroutines at %s grow from %d to %d over %d checkpoints"):format(
    key, row.frames[1] and row.frames[1].func or "?", row.from, row.to, own.n)
  return row
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
  local checkpoints <const>, growing = checkpoints_of(self, q), {}
  for key, stacks in pairs(counts_of(self, q, checkpoints)) do
    local own <const> = checkpoints[key]
    for stack, counts in pairs(stacks) do
      if grows(counts, own.n) then
        growing[#growing + 1] = growing_row(self, key, own, stack, counts)
      end
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
