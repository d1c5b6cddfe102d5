--- Attaching the probes of a run: of several ways the first that the kernel
-- allows, and what could not be attached, with the reason.
-- @module sonde.probe.attach
local places <const> = require "sonde.probe.places"
local user <const> = require "sonde.probe.user"

local attach = {}

--- The ways, the best first: one link for all functions (Linux 6.6 for users',
-- 5.18 for the kernel's), a link for each (5.15), a program for each.
attach.RUNGS = { "many", "link", "program" }

local ENOENT <const>, SOFTWARE <const> = 2, 1

local Attacher <const> = {}
Attacher.__index = Attacher

local function fail(self, func, role, message, number)
  self.failed[#self.failed + 1] = {
    func = func, role = role, message = message, errno = number,
  }
end

-- What is asked of one place, for the kernel.
local function point_of(place)
  local func <const> = place.func
  if func.kind == "user" then
    return { kind = "user", name = func.attach_path, offset = place.offset, role = place.role }
  elseif func.kind == "kernel" then
    return { kind = "kernel", name = func.name, role = place.role }
  elseif func.kind == "tracepoint" then
    return { kind = "tracepoint", config = func.config }
  end
  return { kind = "event", type = func.type, config = func.config, rate = func.rate,
    is_rate = func.is_rate }
end

-- The verifier's last words; they are long, and the reason comes last.
local function verdict(run)
  local log <const> = run:log()
  return log ~= "" and ("; the kernel's verifier says:\n" .. log:sub(-2000)) or ""
end

-- Tries one place by a rung and those below it.
function Attacher:one(place, rung)
  local point <const> = point_of(place)
  local done, message, _, number = self.run:attach_one(rung, point, place.func.id)
  if done then return true end
  if rung == "link" then
    local lower <const> = self:one(place, "program")
    if lower then
      self.rung[place.func.kind] = "program"
      return true
    end
  end
  return nil, message .. verdict(self.run), number
end

-- Attaches places one by one.
function Attacher:each(list)
  for _, place in ipairs(list) do
    local rung <const> = self.rung[place.func.kind] == "program" and "program" or "link"
    local done, message, number = self:one(place, rung)
    if done then
      self.attached = self.attached + 1
    else
      fail(self, place.func, place.role, message, number)
    end
  end
end

local function columns(list, kind)
  local where, ids = {}, {}
  for i, place in ipairs(list) do
    where[i] = kind == "user" and place.offset or place.func.address
    ids[i] = place.func.id
  end
  return where, ids
end

-- Attaches many places at once. The kernel takes all or none: then each half
-- is tried, down to the places that it does not want.
function Attacher:many(list, kind, path)
  local where, ids = columns(list, kind)
  local done, message, _, number = self.run:attach_many(kind, list[1].role, path, where, ids)
  if done then
    self.attached = self.attached + #list
    return true
  end
  if #list == 1 or not self.many_works[kind] then return nil, message, number end
  local middle <const> = #list // 2
  for _, half in ipairs { table.move(list, 1, middle, 1, {}),
    table.move(list, middle + 1, #list, 1, {}) } do
    local half_done, why, what = self:many(half, kind, path)
    if not half_done and #half == 1 then
      fail(self, half[1].func, half[1].role, why, what)
    end
  end
  return true
end

-- Does the kernel know links to many places? One place that surely is good
-- would not help to tell: so places are tried, a few of them.
function Attacher:try_many(list, kind, path)
  if self.rung[kind] ~= "many" then return false end
  if self.many_works[kind] == nil then
    for i = 1, math.min(#list, 8) do
      local where, ids = columns({ list[i] }, kind)
      if self.run:attach_many(kind, list[i].role, path, where, ids) then
        self.many_works[kind] = true
        self.attached = self.attached + 1
        table.remove(list, i)
        break
      end
    end
    if not self.many_works[kind] then
      self.rung[kind] = "link"
      return false
    end
  end
  if #list == 0 then return true end
  local done, message, number = self:many(list, kind, path)
  if not done then fail(self, list[1].func, list[1].role, message, number) end
  return true
end

-- Places of one kind, file and direction.
function Attacher:group(list)
  if not self:try_many(list, list.kind, list.path) then self:each(list) end
end

-- The places where calls of a function end, or nil and why none is probed.
local function returns_of(func)
  if func.kind == "kernel" then return { { func = func, role = "return" } } end
  if func.file.has_unwinding then
    local offsets, why = user.ends(func)
    if offsets == nil then return nil, why end
    local list = {}
    for i, offset in ipairs(offsets) do
      list[i] = { func = func, role = "end", offset = offset }
    end
    return list
  end
  if not user.may_probe_return(func) then
    return nil, "it is not called as other functions are: a return probe would break it"
  end
  return { { func = func, role = "return", offset = func.offset } }
end

local function entry_of(func)
  return { func = func, role = "entry", offset = func.offset }
end

-- Places by kind, file and direction, in the order of functions.
local function groups_of(functions, make)
  local groups, by_key = {}, {}
  for _, func in ipairs(functions) do
    for _, place in ipairs(make(func) or {}) do
      local key <const> = ("%s %s %s"):format(func.kind, func.attach_path or "",
        place.role)
      local group = by_key[key]
      if group == nil then
        group = { kind = func.kind, path = func.attach_path }
        by_key[key], groups[#groups + 1] = group, group
      end
      group[#group + 1] = place
    end
  end
  return groups
end

local function is_function(func)
  return func.kind == "user" or func.kind == "kernel"
end

-- Return probes, before entries, so that every entry finds its return.
function Attacher:returns(functions)
  local function make(func)
    if not is_function(func) then return nil end
    local list, why = returns_of(func)
    if list == nil then
      func.no_latency = why
      fail(self, func, "return", why)
    end
    return list
  end
  for _, group in ipairs(groups_of(functions, make)) do self:group(group) end
end

function Attacher:entries(functions)
  local function make(func)
    return is_function(func) and { entry_of(func) } or nil
  end
  for _, group in ipairs(groups_of(functions, make)) do self:group(group) end
end

-- An event is on each processor; a hit on any is one of the same event.
function Attacher:event(func)
  local done, message, number
  for _, cpu in ipairs(places.processors()) do
    local point <const> = point_of { func = func }
    point.cpu = cpu
    for _, rung in ipairs { "link", "program" } do
      local _
      done, message, _, number = self.run:attach_one(rung, point, func.id)
      if done then break end
    end
    if not done then break end
  end
  if done then
    self.attached = self.attached + 1
  elseif number == ENOENT and func.type ~= SOFTWARE then
    fail(self, func, "entry", "this machine has no such counter (virtual machines often have none);"
      .. " cpu-clock needs none", number)
  else
    fail(self, func, "entry", message .. verdict(self.run), number)
  end
end

function Attacher:others(functions)
  for _, func in ipairs(functions) do
    if func.kind == "event" then
      self:event(func)
    elseif func.kind == "tracepoint" then
      self:each { { func = func, role = "entry" } }
    end
  end
end

--- Attaches probes for functions.
-- @param run `sonde.c.native`'s
-- @tparam {table,...} functions each with `id kind` and what that kind needs
-- @tparam table opts `latency`, `attach` (the first rung to try)
-- @treturn table `attached` (number of places), `failed` (list of `func
--   role message errno`), `rung` (by kind)
function attach.all(run, functions, opts)
  local first <const> = opts.attach or "many"
  local self <const> = setmetatable({
    run = run, attached = 0, failed = {}, many_works = {},
    rung = { user = first, kernel = first, tracepoint = first == "program" and first or "link" },
  }, Attacher)
  if opts.latency then self:returns(functions) end
  self:entries(functions)
  self:others(functions)
  return self
end

return attach
