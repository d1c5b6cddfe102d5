--- What an HTML page shows of a trace: its views, the order of its samples,
-- what happened when, and facts. See `sonde.report.html` for the form.
-- @module sonde.dotnet.page
local units <const> = require "sonde.base.units"
local views <const> = require "sonde.dotnet.views"

local page = {}

-- The samples view differs from wall by its default type only, and managed is
-- a part of it that the page can cut out by a label.
local LEFT_OUT <const> = { samples = true, managed = true }

local LABELS <const> = {
  wall = "Wall time", running = "Running (estimate)", alloc = "Allocations",
  exception = "Exceptions", contention = "Lock waits", gc = "GC pauses", jit = "JIT",
  cpu = "CPU", cswitch = "Off CPU",
}

local function profiles_of(trace, names)
  local list = {}
  for _, view in ipairs(trace:views()) do
    local profile = not LEFT_OUT[view] and trace:profile { view = view, names = names }
    if profile and #profile > 0 then
      list[#list + 1] = { name = view, label = LABELS[view] or view, profile = profile }
    end
  end
  return list
end

-- So many pauses are drawn one by one. Of more, those of a piece of time are
-- one mark that is as long as all of them.
local MOST <const> = 5000

local function gc_text(gc)
  return gc and ("generation %d, %s, %s"):format(gc.generation, gc.type, gc.reason) or "pause"
end

local function each_pause(pauses, gcs)
  local rows = {}
  for i, pause in ipairs(pauses) do
    rows[i] = { pause.start_ns, math.max(0, pause.end_ns - pause.start_ns),
      gc_text(gcs[pause.gc]) }
  end
  return rows
end

local function joined_pauses(trace)
  local rows = {}
  for i, mark in ipairs(trace:pause_marks(MOST)) do
    rows[i] = { mark.start_ns, mark.pause_ns,
      mark.n == 1 and "1 pause" or mark.n .. " pauses" }
  end
  return rows
end

local function gc_rows(trace)
  if trace:gc_sums().pauses > MOST then return joined_pauses(trace) end
  return each_pause(trace:pauses(), trace:gcs())
end

local function loss_rows(trace)
  local rows = {}
  for i, loss in ipairs(trace:losses()) do
    rows[i] = { loss.from_ns, math.max(0, loss.to_ns - loss.from_ns),
      ("%s events"):format(units.count(loss.count)) }
  end
  return rows
end

local function tracks_of(trace)
  local tracks = {}
  for _, track in ipairs { { "GC pauses", gc_rows }, { "Lost events", loss_rows } } do
    local rows <const> = track[2](trace)
    if #rows > 0 then tracks[#tracks + 1] = { name = track[1], rows = rows } end
  end
  return tracks
end

-- ".NET 10.0.9" of "10.0.9.0".
local function runtime_name(runtime)
  if runtime.product == nil then return nil end
  return ".NET " .. (runtime.product:match("^%d+%.%d+%.%d+") or runtime.product)
end

local function facts_of(trace)
  local runtime <const>, info <const>, counts <const> = trace:runtime(), trace:info(),
    trace:counts()
  local facts = {}
  local function add(label, value)
    if value ~= nil and value ~= "" then facts[#facts + 1] = { label, value } end
  end
  add("File", trace.name)
  add("Runtime", runtime_name(runtime))
  add("System", runtime.os and ("%s %s"):format(runtime.os, runtime.architecture or ""))
  add("Command", runtime.command_line)
  add("Process", info.process_id)
  add("Processors", info.processors)
  if info.wall_ns then
    add("Recorded", os.date("!%Y-%m-%d %H:%M:%S UTC", info.wall_ns // 1000000000))
  end
  if counts.events > 0 then add("Duration", units.duration(counts.last_ns - counts.first_ns)) end
  add("Events", units.count(counts.events))
  add("Lost events", units.count(counts.lost))
  add("Rundown", counts.rundown)
  add("Damage", trace.message)
  return facts
end

local ON_THE_LINE <const> = { Runtime = true, System = true, Recorded = true, Duration = true }

-- The facts that stand under the title.
local function summary_of(facts)
  local words = {}
  for _, fact in ipairs(facts) do
    if ON_THE_LINE[fact[1]] then words[#words + 1] = fact[2] end
  end
  return table.concat(words, " · ")
end

--- The page of a trace.
-- @param trace Trace, best opened with `timeline` and `runs`
-- @tparam ?table opts `names` (form of method names)
-- @treturn table for `sonde.report.html`; without profiles when the trace has
--   no samples of any view
function page.of(trace, opts)
  local names <const> = opts and opts.names
  local facts <const> = facts_of(trace)
  local of_samples <const> = views.of_samples(trace.core)
  local timeline = of_samples and trace:timeline { names = names, runs = true }
  return {
    title = trace.name:match("[^/]*$"), summary = summary_of(facts), facts = facts,
    profiles = profiles_of(trace, names), tracks = tracks_of(trace),
    timeline = timeline and { profile = of_samples, timeline = timeline } or nil,
  }
end

return page
