--- The views of a trace: which events each needs, and what is to be said with
-- it.
-- @module sonde.dotnet.views
local advice <const> = require "sonde.dotnet.advice"
local options <const> = require "sonde.base.options"
local units <const> = require "sonde.base.units"

local views = {}

local RUNTIME <const> = "Microsoft-Windows-DotNETRuntime"
local SAMPLER <const> = "Microsoft-DotNETCore-SampleProfiler"
local UNIVERSAL <const> = "Universal.Events"

-- `needs`: provider, event ids, and their name for messages; `record`: the
-- providers to record with. A view of Universal.Events needs its own name.
local SAMPLES <const> = { SAMPLER, { [0] = true }, "ThreadSample" }

local VIEWS <const> = {
  wall = { needs = SAMPLES, record = SAMPLER, title = "time of all threads, waiting included" },
  samples = { needs = SAMPLES, record = SAMPLER, title = "number of thread samples" },
  running = { needs = SAMPLES, record = SAMPLER,
    title = "time of threads that do not stand in a known wait" },
  managed = { needs = SAMPLES, record = SAMPLER, title = "time of threads in managed code" },
  oncpu = { needs = { "Sonde", { [1] = true }, "ThreadCpu" }, record = SAMPLER,
    title = "time on a processor, by each thread's own clock" },
  alloc = {
    needs = { RUNTIME, { [10] = true, [20] = true, [32] = true, [303] = true },
      "AllocationTick, AllocationSampled, SampledObjectAllocation" },
    record = RUNTIME .. ":0x1:5", title = "bytes allocated" },
  exception = { needs = { RUNTIME, { [80] = true }, "Exception" },
    record = RUNTIME .. ":0x8000:2", title = "exceptions thrown" },
  contention = { needs = { RUNTIME, { [91] = true }, "ContentionStop" },
    record = RUNTIME .. ":0x4000:4", title = "waits for contended locks" },
  gc = { needs = { RUNTIME, { [1] = true }, "GCStart" },
    record = RUNTIME .. ":0x1:4", title = "pauses of the garbage collector" },
  jit = { needs = { RUNTIME, { [145] = true }, "MethodJittingStarted" },
    record = RUNTIME .. ":0x10:5", title = "time compiling methods" },
  cpu = { needs = { UNIVERSAL, nil, "cpu" }, title = "time on a processor" },
  cswitch = { needs = { UNIVERSAL, nil, "cswitch" }, title = "time off the processor" },
}

local ORDER <const> = {
  "wall", "cpu", "samples", "running", "managed", "oncpu", "alloc", "exception", "contention", "gc",
  "jit", "cswitch",
}

--- The views, and what each measures.
-- @treturn {table,...} `name title`
function views.list()
  local list = {}
  for i, name in ipairs(ORDER) do list[i] = { name = name, title = VIEWS[name].title } end
  return list
end

-- How many events the trace has of those that a view needs.
local function events_for(userdata, name)
  local view <const> = VIEWS[name]
  local provider <const> = view and view.needs[1] or UNIVERSAL
  local ids <const> = view and view.needs[2]
  local n = name == "gc" and userdata:counts().pauses or 0
  for _, type in ipairs(userdata:types()) do
    local fits <const> = ids == nil and type.name == name or ids ~= nil and ids[type.id]
    if type.provider == provider and fits then n = n + type.count end
  end
  return n
end

--- The groups of events that a view is made of.
-- @tparam string view
-- @treturn {string,...} for `core.trace`
function views.groups(view)
  local own <const> = VIEWS[view]
  if own == nil or own.needs[1] == UNIVERSAL then return { "universal" } end
  if own.needs[1] == SAMPLER or view == "oncpu" then return { "samples", "universal" } end
  return { view }
end

--- The views that a trace has events for, in the order of preference.
-- @param userdata the trace of `core`
-- @treturn {string,...}
function views.available(userdata)
  local list = {}
  for _, name in ipairs(ORDER) do
    if events_for(userdata, name) > 0 then list[#list + 1] = name end
  end
  for _, type in ipairs(userdata:types()) do
    if type.provider == UNIVERSAL and VIEWS[type.name] == nil and type.count > 0 then
      list[#list + 1] = type.name
    end
  end
  return list
end

--- The view that shows the samples of a trace.
-- @param userdata the trace of `core`
-- @treturn ?string `wall`, `cpu`, or nil when there are no samples
function views.of_samples(userdata)
  if events_for(userdata, "wall") > 0 then return "wall" end
  if events_for(userdata, "cpu") > 0 then return "cpu" end
end

--- The view that says most of a trace: its samples, else what else it has.
-- @param userdata the trace of `core`
-- @treturn ?string nil when there is nothing
function views.best(userdata)
  return views.of_samples(userdata) or views.available(userdata)[1]
end

-- What the trace has instead of what a view needs.
local function instead(trace)
  local available <const> = views.available(trace.core)
  if #available > 0 then return "it has: " .. table.concat(available, ", "), available[1] end
  local names, seen = {}, {}
  for _, type in ipairs(trace:types()) do
    if type.count > 0 and not seen[type.provider] then
      seen[type.provider] = true
      names[#names + 1] = type.provider ~= "" and type.provider or "?"
    end
  end
  if #names == 0 then return "it has no events at all" end
  return "it has only events of " .. table.concat(names, ", ", 1, math.min(#names, 4))
end

local function no_events(trace, name)
  local view <const> = VIEWS[name]
  local what = ("%s: no samples for view %s: the trace has no %s events (%s); "):format(
    trace.name, name, view.needs[3], view.needs[1])
  local has, other = instead(trace)
  local hint
  if other then
    hint = ("sonde top %s --view %s"):format(trace.name, other)
  elseif view.record then
    hint = "sonde record -p NAME --provider " .. view.record
  end
  return nil, what .. has, "no_samples", hint
end

--- The view to show.
-- @param trace Trace
-- @tparam ?string asked nil for the default
-- @treturn ?string a view that the trace has events for
-- @treturn ?string message
-- @treturn ?string code `no_samples`, `unknown_name`, `unavailable`
-- @treturn ?string hint
function views.choose(trace, asked)
  local userdata <const> = trace.core
  if asked == nil then
    local found <const> = views.of_samples(userdata)
    if found then return found end
    return no_events(trace, "wall")
  end
  if VIEWS[asked] == nil and events_for(userdata, asked) == 0 then
    local near <const> = options.suggest(asked, ORDER)
    return nil, ("no view '%s'%s; the views of this trace are %s"):format(asked,
      near and (" (did you mean '%s'?)"):format(near) or "",
      table.concat(views.available(userdata), ", ")), "unknown_name"
  end
  if asked == "samples" and events_for(userdata, asked) == 0
    and events_for(userdata, "cpu") > 0 then
    return "cpu"
  end
  if events_for(userdata, asked) == 0 then return no_events(trace, asked) end
  return asked
end

local percent <const> = units.share

local function comment_unresolved(trace, facts)
  local nameless <const> = facts.unresolved - facts.guessed
  if nameless == 0 then return nil end
  return ("%s of %s frames (%s) have no name%s"):format(units.count(nameless),
    units.count(facts.frames), percent(nameless, facts.frames),
    advice.why_unresolved(trace, facts))
end

local function comment_guessed(facts)
  if facts.guessed == 0 then return nil end
  return ("%s of %s frames (%s) are named by the nearest entry point of precompiled code, which"
    .. " may be a neighbour's"):format(units.count(facts.guessed), units.count(facts.frames),
    percent(facts.guessed, facts.frames))
end

local function comment_waiting(facts)
  return ("%s samples in known waits (%s) are left out; what is left is an estimate, no"
    .. " measured CPU time"):format(units.count(facts.waiting_samples),
    units.duration(facts.waiting_ns))
end

local COMMENTS <const> = {
  wall = function()
    return "wall-clock samples of all threads, waiting or not: this is not CPU time"
  end,
  samples = function()
    return "samples of all threads, waiting or not: this is not CPU time"
  end,
  running = function(_, facts) return comment_waiting(facts) end,
  managed = function()
    return "only samples in managed code; busy code that was stopped at a safepoint is missing"
  end,
  alloc = function(_, facts)
    if facts.sampled_allocations then
      return "estimated from samples: each byte is sampled with probability 1/102400"
    end
    if facts.counted_objects then
      return "counted by type: a sample stands for all objects of its type since the last one"
    end
    return "one sample for about 100 KB that a thread allocates, charged to the type it hit"
  end,
}

-- Holes in the sampling: periods of more than ten times the usual one.
local function comment_gaps(trace)
  local sampling <const> = trace.core:sampling()
  local longest <const> = sampling.gaps[1]
  if longest and longest.period_ns == 0 then
    return "the trace's clock stood still between all samples: each counts as 1ms"
  end
  local n, total = 0, 0
  for _, gap in ipairs(sampling.gaps) do
    if gap.period_ns > 10 * sampling.period_ns then
      n, total = n + 1, total + gap.period_ns
    end
  end
  if n == 0 or total < 100000000 then return nil end
  local times <const> = n == 1 and "once" or ("%s%d times"):format(
    n == #sampling.gaps and "at least " or "", n)
  return ("%s the sampler was late by more than ten periods of %s: %s in all, charged to"
    .. " the samples before"):format(times, units.duration(sampling.period_ns),
    units.duration(total))
end

local function comment_lost(trace)
  local counts <const> = trace.core:counts()
  if counts.lost == 0 then return nil end
  return ("%s events were lost (%s): numbers are too small"):format(units.count(counts.lost),
    percent(counts.lost, counts.lost + counts.events))
end

local OF_SAMPLER <const> = { wall = true, samples = true, running = true, managed = true }

--- What is to be said with a profile of a view.
-- @param trace Trace
-- @tparam string view
-- @tparam table facts what `core` said of the profile
-- @treturn {string,...}
function views.comments(trace, view, facts)
  local list = {}
  local function add(line)
    if line then list[#list + 1] = line end
  end
  add(COMMENTS[view] and COMMENTS[view](trace, facts))
  if OF_SAMPLER[view] then add(comment_gaps(trace)) end
  add(comment_unresolved(trace, facts))
  add(comment_guessed(facts))
  if facts.cut_samples > 0 then
    add(("%s samples have stacks of 100 frames, where the runtime stops: their callers are"
      .. " missing"):format(units.count(facts.cut_samples)))
  end
  add(comment_lost(trace))
  return list
end

return views
