--- What an expert would point out in a goroutine dump: goroutines that pile up,
-- that can never go on, or that wait for each other's locks.
-- @module sonde.golang.suspects
local units <const> = require "sonde.base.units"

local several <const> = units.several

local suspects = {}

-- So many of one stack, for so long, are no accident.
local MANY <const> = 10
local LONG <const> = 5
-- Without any wait told (debug=1, fresh processes) only a crowd is told.
local CROWD <const> = 1000

local NEVER <const> = {
  ["chan receive (nil chan)"] = "receives from a nil channel",
  ["chan send (nil chan)"] = "sends to a nil channel",
  ["select (no cases)"] = "selects among no cases",
}

-- States in which a goroutine does not wait for others.
local BUSY <const> = { running = true, runnable = true, syscall = true, idle = true, dead = true }

-- The first words of import paths of the standard library.
local STANDARD <const> = {}
for word in ([[archive bufio bytes cmp compress container context crypto database debug embed
  encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net
  os panic path plugin reflect regexp runtime slices sort strconv strings structs sync syscall
  testing text time unicode unique vendor weak]]):gmatch("%l+") do
  STANDARD[word] = true
end

--- The frame that says most about a stack: the innermost that is not of the
-- standard library.
-- @tparam {table,...} frames
-- @treturn ?table
function suspects.main_frame(frames)
  for _, frame in ipairs(frames) do
    if not frame.elided and not STANDARD[frame.func:match("^[^./(]*")] then return frame end
  end
  return frames[1]
end

local function name_of(frames)
  local frame <const> = suspects.main_frame(frames)
  return frame and frame.func or "an empty stack"
end

local function is_of_runtime(group)
  local outer <const> = group.created_by or group.frames[#group.frames]
  return outer ~= nil and outer.func:find("^runtime%.") ~= nil
    and outer.func ~= "runtime.main" and outer.func ~= "runtime.goexit"
end

local function waits(group)
  local first <const> = group.states[1]
  return first == nil or not BUSY[first.state]
end

local function add(list, kind, group, message)
  list[#list + 1] = {
    kind = kind, message = message, count = group.count, longest = group.longest,
    ids = group.ids, frames = group.frames,
  }
end

local function is_main(group)
  local outer <const> = group.frames[#group.frames]
  local last <const> = outer and outer.func == "runtime.goexit" and group.frames[#group.frames - 1]
    or outer
  return last ~= nil and (last.func == "main.main" or last.func == "runtime.main")
end

local function look_for_ever(list, group)
  for _, state in ipairs(group.states) do
    local why <const> = NEVER[state.state]
    -- A main function that ends in select{} only waits for the process's end.
    if why and not (is_main(group) and state.state == "select (no cases)") then
      add(list, "never", group, ("%s %s in %s and can never go on"):format(
        several(state.count, "goroutine"), why, name_of(group.frames)))
    end
  end
  if group.leaked > 0 then
    add(list, "leaked", group, ("%s marked as leaked by the runtime in %s"):format(
      several(group.leaked, "goroutine"), name_of(group.frames)))
  end
end

local function look_for_leak(list, group, has_waits)
  if not waits(group) or is_of_runtime(group) then return end
  local state <const> = group.states[1] and (" (%s)"):format(group.states[1].state) or ""
  if group.count >= MANY and group.longest >= LONG then
    add(list, "leak", group, ("%s wait in %s%s, the longest for %s: a leak?"):format(
      several(group.count, "goroutine"), name_of(group.frames), state,
      several(group.longest, "minute")))
  elseif group.count >= CROWD and not has_waits then
    add(list, "crowd", group, ("%s are in %s%s"):format(several(group.count, "goroutine"),
      name_of(group.frames), state))
  end
end

local function rows_of(dump)
  local rows = {}
  for i, row in dump.core:groups() do rows[i] = row end
  return rows
end

-- "goroutine 80 (sleep, in main.lockHolder)"
local function describe(dump, rows, task)
  local row <const> = rows[task.group]
  return ("goroutine %d (%s, in %s)"):format(task.id, row.state,
    name_of(dump:stack(row.stack)))
end

-- "read by goroutine 8 in main.bump (main.go:148)"
local function describe_access(access, frames)
  local frame <const> = suspects.main_frame(frames)
  local place = ""
  if frame and frame.file and frame.line then
    place = (" (%s:%d)"):format(frame.file:match("[^/\\]*$"), frame.line)
  end
  return ("%s%s by goroutine %d in %s%s"):format(access.previous and "earlier " or "",
    access.access:lower(), access.goroutine_id, name_of(frames), place)
end

local function look_at_races(list, dump)
  local rows, races = nil, {}
  for _, access in dump.core:races() do
    rows = rows or rows_of(dump)
    local frames <const> = dump:stack(rows[access.group].stack)
    local race = races[access.report]
    if race == nil then
      race = { kind = "race", count = 0, longest = 0, ids = {}, frames = frames, words = {},
        address = access.address }
      races[access.report], list[#list + 1] = race, race
    end
    race.count = race.count + 1
    race.ids[race.count] = access.goroutine_id
    race.words[race.count] = describe_access(access, frames)
    race.message = ("a data race%s: %s"):format(
      race.address ~= 0 and (" at 0x%x"):format(race.address) or "",
      table.concat(race.words, "; "))
  end
end

local function lock_name(lock)
  return ("the %s at 0x%x"):format(lock.kind, lock.address)
end

local function look_at_locks(list, dump, locks, rows)
  for _, lock in ipairs(locks) do
    if lock.waiters >= 2 or lock.longest >= LONG then
      local holder <const> = lock.holding[1]
      list[#list + 1] = {
        kind = "lock", count = lock.waiters, longest = lock.longest, address = lock.address,
        ids = {},
        message = ("%s wait%s for %s%s%s"):format(several(lock.waiters, "goroutine"),
          lock.waiters == 1 and "s" or "", lock_name(lock),
          lock.longest > 0 and ", the longest for " .. several(lock.longest, "minute") or "",
          holder and ("; %s may hold it"):format(describe(dump, rows, holder)) or ""),
      }
      for i, task in ipairs(lock.waiting) do list[#list].ids[i] = task.id end
    end
  end
end

-- Follows who may hold a lock to the lock that he waits for, until a lock comes
-- twice. The path is a list of { lock, task }; each lock is left only once.
local function find_cycle(by_address, lock, path, done)
  if done[lock.address] then return nil end
  for i, step in ipairs(path) do
    if step.lock == lock then return table.move(path, i, #path, 1, {}) end
  end
  for _, task in ipairs(lock.holding) do
    local following <const> = task.waits_for and by_address[task.waits_for]
    if following then
      path[#path + 1] = { lock = lock, task = task }
      local cycle <const> = find_cycle(by_address, following, path, done)
      if cycle then return cycle end
      path[#path] = nil
    end
  end
  done[lock.address] = true
end

-- Goroutines at one place in the code that wait for different locks: each may
-- hold what the other waits for, although their arguments do not show it.
local function look_for_order(list, dump, locks, rows, explained)
  local stacks, order = {}, {}
  for _, lock in ipairs(locks) do
    for _, task in ipairs(lock.waiting) do
      local stack <const> = rows[task.group].stack
      local found = stacks[stack]
      if found == nil then
        found = { locks = {}, ids = {}, seen = {}, stack = stack }
        stacks[stack], order[#order + 1] = found, found
      end
      if not found.seen[lock] and not explained[lock.address] and #lock.holding == 0 then
        found.seen[lock] = true
        found.locks[#found.locks + 1] = ("0x%x"):format(lock.address)
        found.ids[#found.ids + 1] = task.id
      end
    end
  end
  for _, found in ipairs(order) do
    if #found.locks >= 2 then
      local frames <const> = dump:stack(found.stack)
      list[#list + 1] = { kind = "order", count = #found.ids, longest = 0, ids = found.ids,
        frames = frames, message = ("%s wait in %s for different locks (%s): taken in different"
          .. " order?"):format(several(#found.ids, "goroutine"), name_of(frames),
          table.concat(found.locks, ", ")) }
    end
  end
end

local function look_for_cycles(list, dump, locks, rows)
  local by_address, done, explained = {}, {}, {}
  for _, lock in ipairs(locks) do by_address[lock.address] = lock end
  for _, lock in ipairs(locks) do
    local cycle <const> = find_cycle(by_address, lock, {}, done)
    if cycle then
      local words, ids = {}, {}
      for i, step in ipairs(cycle) do
        words[i] = ("%s waits for %s and may hold %s"):format(describe(dump, rows, step.task),
          lock_name(by_address[step.task.waits_for]), lock_name(step.lock))
        ids[i] = step.task.id
        done[step.lock.address] = true
        explained[step.lock.address] = true
      end
      list[#list + 1] = { kind = "deadlock", count = #cycle, longest = 0, ids = ids,
        message = "a dead-lock? " .. table.concat(words, "; ") }
    end
  end
  return explained
end

local ASLEEP <const> = "all goroutines are asleep - deadlock!"

local ORDER <const> = {
  race = 0, deadlock = 1, order = 2, never = 3, leaked = 4, lock = 5, leak = 6, crowd = 7,
}

--- Looks at a dump.
-- @tparam Dump dump
-- @treturn {table,...} `kind` (`race deadlock order never leaked lock leak crowd`), `message`,
--   `count`, `longest` (minutes), `ids` (of some), `frames`; the worst first
function suspects.of(dump)
  local list = {}
  local groups <const> = dump:groups()
  local has_waits = false
  for _, group in ipairs(groups) do has_waits = has_waits or group.longest > 0 end
  if dump:info().notes:find(ASLEEP, 1, true) then
    list[1] = { kind = "deadlock", count = dump:count(), longest = 0, ids = {},
      message = "the runtime found a dead-lock: " .. ASLEEP }
  end
  for _, group in ipairs(groups) do
    look_for_ever(list, group)
    look_for_leak(list, group, has_waits)
  end
  if dump.kept == nil then
    look_at_races(list, dump)
    local locks <const> = dump.core:locks()
    local rows <const> = #locks > 0 and rows_of(dump) or {}
    look_at_locks(list, dump, locks, rows)
    look_for_order(list, dump, locks, rows, look_for_cycles(list, dump, locks, rows))
  end
  for i, suspect in ipairs(list) do suspect.order = i end
  table.sort(list, function(a, b)
    if a.kind ~= b.kind then return ORDER[a.kind] < ORDER[b.kind] end
    if a.count ~= b.count then return a.count > b.count end
    return a.order < b.order
  end)
  for _, suspect in ipairs(list) do suspect.order = nil end
  return list
end

return suspects
