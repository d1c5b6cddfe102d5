--- Which command starts a session: the oldest that can say what is wanted,
-- and what to fall back on when the runtime does not know it.
-- @module sonde.dotnet.plan
local version <const> = require "sonde.dotnet.version"

local plan = {}

--- The runtime's answer to a command that it does not know.
plan.UNKNOWN_COMMAND = 0x80131385

-- What a rundown describes unless a keyword says otherwise: the runtime's own
-- default.
local RUNDOWN <const> = 0x80020139

-- The commands, newest first: since when, and what is lost by taking the next
-- one instead. `needs` says whether this one is wanted at all.
local STEPS <const> = {
  { command = "CollectTracing6", since = "11.0",
    needs = function(opts) return opts.block end,
    lost = "waiting when the buffer is full (needs .NET 11): events may be lost" },
  { command = "CollectTracing5", since = "10.0",
    needs = function(_, list)
      for _, provider in ipairs(list) do
        if provider.ids or provider.only then return true end
      end
    end,
    lost = "choosing events by their number (needs .NET 10): all of these providers come" },
  { command = "CollectTracing4", since = "9.0",
    needs = function(opts) return opts.rundown_keyword ~= nil end,
    lost = "choosing what the rundown describes (needs .NET 9): it describes everything" },
  { command = "CollectTracing3", since = "9.0",
    needs = function(opts) return not opts.stackwalk end,
    lost = "leaving out stacks (needs .NET 9)" },
  { command = "CollectTracing2", since = "3.0", needs = function() return true end,
    lost = "leaving out the rundown (needs .NET Core 3.1)" },
  { command = "CollectTracing", since = "3.0", needs = function() return true end },
}

local FIELDS <const> = {
  CollectTracing = { "buffer_mb" },
  CollectTracing2 = { "buffer_mb", "rundown" },
  CollectTracing3 = { "buffer_mb", "rundown", "stackwalk" },
  CollectTracing4 = { "buffer_mb", "rundown_keyword", "stackwalk" },
  CollectTracing5 = { "buffer_mb", "rundown_keyword", "stackwalk" },
  CollectTracing6 = { "buffer_mb", "rundown_keyword", "stackwalk", "buffer_mode" },
}

local function keyword_of(opts)
  if not opts.rundown then return 0 end
  return opts.rundown_keyword or RUNDOWN
end

local function fields_of(command, opts, list)
  local all <const> = {
    buffer_mb = opts.buffer_mb, rundown = opts.rundown, stackwalk = opts.stackwalk,
    rundown_keyword = keyword_of(opts), buffer_mode = opts.block and 1 or 0,
  }
  local fields = { providers = list }
  for _, name in ipairs(FIELDS[command]) do fields[name] = all[name] end
  return fields
end

-- What taking this step loses of what is wanted.
local function losses(from, to, opts, list)
  local lost = {}
  for i = from, to - 1 do
    local step <const> = STEPS[i]
    local wanted = step.needs(opts, list)
    if step.command == "CollectTracing2" then wanted = not opts.rundown end
    if wanted then lost[#lost + 1] = step.lost end
  end
  return lost
end

local function first_needed(opts, list)
  for i, step in ipairs(STEPS) do
    if step.needs(opts, list) then return i end
  end
end

--- The commands to try, best first.
-- @tparam Target target asked for its version when that matters
-- @tparam table opts of a session, checked
-- @tparam {table,...} list complete providers
-- @tparam integer deadline
-- @treturn ?{table,...} each `command fields lost` (list of texts)
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function plan.make(target, opts, list, deadline)
  local first <const> = first_needed(opts, list)
  local known
  if STEPS[first].command ~= "CollectTracing2" then
    local loop <const> = require "sonde.base.loop"
    local info, message, code, hint = target:info {
      timeout = math.max(0, deadline - loop.now()) }
    if info == nil then return nil, message, code, hint end
    known = info.version
  end
  local steps = {}
  for i = first, #STEPS do
    local step <const> = STEPS[i]
    if known == nil or version.at_least(known, step.since) then
      steps[#steps + 1] = { command = step.command, fields = fields_of(step.command, opts, list),
        lost = losses(first, i, opts, list) }
    end
  end
  return steps
end

return plan
