--- What processes had mapped while probes ran. The kernel tells what is mapped,
-- started and ended, so a process that lived for a moment is known too, and of one
-- that became another program both. Where the kernel does not tell, processes are
-- looked at when they are hit, and again at the end.
-- @module sonde.probe.seen
local processes <const> = require "sonde.probe.processes"
local proc <const> = require "sonde.process.proc"
local symbols <const> = require "sonde.symbols"

local seen = {}

local Seen <const> = {}
Seen.__index = Seen

-- What is known of one that nobody had time to look at.
local function facts_of_ended(pid, stage)
  local first <const> = stage.mappings[1]
  return { pid = pid, inner_pid = pid, root = stage.parent > 0 and proc.root(stage.parent) or "",
    program = first and first.path or nil, name = stage.name, has_ended = true }
end

-- Is it still the process that was looked at?
local function is_same(facts)
  local stat <const> = proc.stat(facts.pid)
  return stat ~= nil and stat.start_time == facts.start_time and stat.state ~= "Z"
end

--- Looks at a process while it is there.
-- @tparam integer pid
function Seen:look(pid)
  if self.facts[pid] ~= nil then return end
  self.facts[pid] = processes.look(pid) or false
  if self.tracker then self.tracker:maps(pid) end   -- from now on it is told
end

--- Takes what the kernel has told since the last time: before hits are read, so
-- that all hits of a process which has ended are among them.
function Seen:take()
  self.is_fresh = {}
  if self.tracker == nil then return end
  self.lost = self.tracker:take()
  self.ended = self.tracker:ended()
end

--- Forgets processes that have ended and were not hit.
-- @tparam table is_hit by pid
function Seen:prune(is_hit)
  for _, pid in ipairs(self.tracker and self.ended or {}) do
    if not is_hit[pid] and not self.facts[pid] then self.tracker:drop(pid) end
  end
end

-- The stages of a process as the kernel told them, the first one first. What was
-- made of a stage before stays with it.
local function told(self, pid)
  local list <const> = self.tracker and self.tracker:maps(pid) or {}
  if #list == 0 then return list end
  local known <const> = self.stages[pid] or {}
  local facts = self.facts[pid]
  for i, stage in ipairs(list) do
    local place <const> = #list - i + 1
    facts = facts or facts_of_ended(pid, stage)
    known[place] = known[place] or setmetatable({}, { __index = facts })
    known[place].mappings, known[place].is_told = stage.mappings, self.lost == 0
    if i > 1 then
      known[place].program, known[place].name = (stage.mappings[1] or {}).path, stage.name
    end
  end
  return known
end

-- Without the kernel's word: what was mapped when we looked, and what is now.
local function looked_at(self, pid)
  local facts <const> = self.facts[pid]
  if not facts then return self.stages[pid] or {} end
  local now <const> = is_same(facts) and processes.look(pid)
  if now and #now.mappings > 0 then facts.mappings = now.mappings end
  return { facts }
end

--- What a process was.
-- @tparam integer pid
-- @treturn {table,...} its stages, the first one first, each as of
--   `sonde.probe.processes.look`; empty when nothing is known
function Seen:of(pid)
  if not self.is_fresh[pid] then
    if self.facts[pid] == nil then self:look(pid) end
    local stages <const> = told(self, pid)
    stages.fitting = nil
    self.stages[pid] = #stages > 0 and stages or looked_at(self, pid)
    self.is_fresh[pid] = true
  end
  return self.stages[pid]
end

-- Is the function where its file has it?
local function fits(stage, address, func)
  local mapping <const> = processes.mapping_of(stage, address)
  return mapping ~= nil and address - mapping.from + mapping.offset == func.offset
end

local function covered(stage, addresses)
  local n = 0
  for _, address in ipairs(addresses) do
    if processes.mapping_of(stage, address) then n = n + 1 end
  end
  return n
end

--- The stage of a process in which a stack was taken: of those in which the
-- function is where it was hit, that in which most of the stack is code.
-- @tparam integer pid
-- @tparam {integer,...} addresses of the stack
-- @tparam ?table func the function that was probed, innermost
-- @treturn ?table
function Seen:at(pid, addresses, func)
  local stages <const> = self:of(pid)
  -- As before, of a process that was one program all the time.
  if func and stages.fitting == func and stages.fits_at == addresses[1] then return stages[1] end
  local best, most = nil, -1
  for i = #stages, 1, -1 do
    local stage <const> = stages[i]
    if func == nil or fits(stage, addresses[1], func) then
      local n <const> = #stages > 1 and covered(stage, addresses) or 0
      if n > most then best, most = stage, n end
    end
  end
  if #stages == 1 and best and func then stages.fitting, stages.fits_at = func, addresses[1] end
  return best
end

--- Keeps what must have been so.
-- @tparam integer pid
-- @tparam table stage
function Seen:guess(pid, stage)
  self.n_guessed = self.n_guessed + 1
  self.stages[pid], self.is_fresh[pid] = { stage }, true
  self.facts[pid] = self.facts[pid] or false
end

--- All stages that are known of any process.
-- @treturn function iterator of stages
function Seen:all()
  return coroutine.wrap(function()
    for _, stages in pairs(self.stages) do
      for _, stage in ipairs(stages) do coroutine.yield(stage) end
    end
  end)
end

--- What is not known of processes, and why.
-- @treturn {string,...}
function Seen:problems()
  local list = {}
  if self.n_guessed > 0 then
    list[1] = ("%d processes ended before anybody could look at what they had mapped: of their"
      .. " stacks only the probed program is named%s"):format(self.n_guessed,
      self.why and (" (%s)"):format(self.why) or "")
  end
  if self.lost > 0 then
    list[#list + 1] = ("the kernel told %d changes of mappings that we were too slow to take: some"
      .. " names may be missing"):format(self.lost)
  end
  return list
end

--- Ends it; what is known stays.
function Seen:close()
  if self.tracker then self.tracker:close() end
  self.tracker = nil
end

--- Begins to follow processes.
-- @tparam ?boolean is_told have the kernel tell; else they are only looked at
-- @treturn Seen `why` is set when the kernel does not
function seen.new(is_told)
  local native <const> = symbols.native()
  local tracker, why = nil, nil
  if native and is_told then tracker, why = native.tracker() end
  return setmetatable({ tracker = tracker or nil, why = not tracker and why or nil, facts = {},
    stages = {}, is_fresh = {}, n_guessed = 0, lost = 0 }, Seen)
end

return seen
