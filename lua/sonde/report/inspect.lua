--- What a trace is and whether it can be trusted.
-- @module sonde.report.inspect
local json <const> = require "sonde.base.json"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local inspect = {}

inspect.name = "inspect"
inspect.summary = "what a trace is, and whether it can be trusted"
inspect.takes = "trace"
inspect.extensions = {}
inspect.options = {}

local percent <const> = units.share

-- Events of each provider, the largest first.
local function by_provider(trace)
  local counts, list = {}, {}
  for _, type in ipairs(trace:types()) do
    local name <const> = type.provider or ""
    if type.count > 0 then
      if counts[name] == nil then list[#list + 1] = name end
      counts[name] = (counts[name] or 0) + type.count
    end
  end
  table.sort(list, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
  end)
  return list, counts
end

local function samples_of(trace, counts)
  local n = counts.samples_error + counts.samples_external + counts.samples_managed
  for _, kind in ipairs(trace.core:kinds()) do
    if kind.name == "cpu" then n = n + kind.events end
  end
  return n
end

-- ".NET 10.0.9" of "10.0.9.0".
local function runtime_name(runtime)
  if runtime.product == nil then return nil end
  local product <const> = runtime.product:match("^(%d+%.%d+%.%d+)") or runtime.product
  if runtime.sku == 1 then return ".NET Framework " .. product end
  return (tonumber(product:match("^%d+")) >= 5 and ".NET " or ".NET Core ") .. product
end

local function wall_time(ns)
  local seconds <const> = ns // 1000000000
  return os.date("!%Y-%m-%dT%H:%M:%S", seconds)
    .. (".%03dZ"):format(ns // 1000000 % 1000)
end

-- The threads that lost events, the worst first.
local function losers(trace)
  local list = {}
  for _, row in ipairs(trace:threads()) do
    if row.lost > 0 then list[#list + 1] = row end
  end
  table.sort(list, function(a, b)
    if a.lost ~= b.lost then return a.lost > b.lost end
    return math.ult(a.id, b.id)
  end)
  return list
end

local function lost_by_thread(trace)
  local list = {}
  for i, row in ipairs(losers(trace)) do
    list[i] = { thread = json.id(row.id), process = json.id(row.process), name = row.name,
      lost = row.lost }
  end
  return json.array(list)
end

local function problems_of(trace, severity)
  local list = {}
  for _, problem in ipairs(trace:problems()) do
    if problem.severity == severity then
      list[#list + 1] = { offset = problem.offset, text = problem.text }
    end
  end
  return json.array(list)
end

local function or_null(value)
  if value == nil then return json.null end
  return value
end

local function describe_runtime(trace)
  local runtime <const> = trace:runtime()
  runtime.name = runtime_name(runtime)
  return json.object(runtime)
end

local function describe_processes(trace)
  local list = {}
  for i, row in ipairs(trace:processes()) do list[i] = { id = row.id, name = row.name } end
  return json.array(list)
end

-- Times of a damaged trace may lie further apart than an integer holds.
local function length_of(counts)
  if counts.events == 0 then return 0 end
  local length <const> = counts.last_ns - counts.first_ns
  return length >= 0 and length or math.maxinteger
end

local function add_stream(facts, trace, counts)
  local _, providers = by_provider(trace)
  facts.events, facts.events_by_provider = counts.events, json.object(providers)
  facts.bytes, facts.blocks = counts.bytes, json.object(counts.blocks)
  facts.largest_block = counts.largest_block
  facts.stacks, facts.deepest_stack = counts.stacks, counts.deepest_stack
  facts.lost, facts.lost_by_thread = counts.lost, lost_by_thread(trace)
  facts.losses = json.array(trace:losses())
  facts.sequence_points, facts.disordered = counts.sequence_points, counts.disordered
  facts.truncated, facts.ended = counts.truncated, counts.ended
  facts.duration_ns = length_of(counts)
  facts.warnings, facts.errors = problems_of(trace, "warning"), problems_of(trace, "error")
  if trace.outside then table.insert(facts.errors, 1, { text = trace.outside }) end
end

local function add_runtime(facts, trace, counts)
  local names <const> = trace:frames()
  facts.samples = samples_of(trace, counts)
  facts.samples_external, facts.samples_managed = counts.samples_external, counts.samples_managed
  facts.samples_error, facts.samples_cut = counts.samples_error, names.cut_samples
  facts.frames, facts.frames_unresolved = names.frames, names.unresolved
  facts.frames_guessed = names.guessed
  facts.methods, facts.rundown = counts.methods, counts.rundown
  facts.threads = #trace:threads()
  facts.views = json.array(trace:views())
  facts.runtime = describe_runtime(trace)
  facts.processes = describe_processes(trace)
end

--- The facts as one table, for `--json`.
-- @param trace
-- @treturn table
function inspect.facts(trace)
  local info <const>, counts <const> = trace:info(), trace:counts()
  local facts = {
    schema = 1, format = "nettrace", file = trace.name, version = or_null(info.version),
    pointer_size = info.pointer_size, clock_frequency = info.clock_frequency,
    process_id = or_null(json.id(info.process_id)), processors = info.processors,
    start_time = info.wall_ns and wall_time(info.wall_ns) or json.null,
    start_ns = or_null(info.wall_ns),
  }
  add_stream(facts, trace, counts)
  add_runtime(facts, trace, counts)
  facts.advice = json.array(trace:advice())
  return facts
end

--- Iterates over the one object, for `--json`.
-- @param trace
-- @treturn function
function inspect.rows(trace)
  local facts = inspect.facts(trace)
  return function()
    local row <const> = facts
    facts = nil
    return row
  end
end

local function line(to, name, format, ...)
  to:put(("  %-10s %s\n"):format(name, text.printable(format:format(...))))
end

local function put_process(to, trace, info)
  local runtime <const> = trace:runtime()
  local processes <const> = trace:processes()
  if #processes > 0 then
    local names = {}
    for i = 1, math.min(#processes, 4) do
      names[i] = ("%s (%s)"):format(processes[i].name or "?", text.unsigned(processes[i].id))
    end
    line(to, "processes", "%d: %s%s", #processes, table.concat(names, ", "),
      #processes > 4 and ", …" or "")
  elseif info.process_id or runtime.command_line then
    line(to, "process", "%s  %s", info.process_id and text.unsigned(info.process_id) or "?",
      text.cut(runtime.command_line or "", 160))
  end
  local words = {}
  words[#words + 1] = runtime_name(runtime)
  words[#words + 1] = info.pointer_size * 8 .. " bit"
  if info.processors > 0 then
    words[#words + 1] = info.processors .. (info.processors == 1 and " processor" or " processors")
  end
  words[#words + 1] = runtime.os
  words[#words + 1] = runtime.architecture
  line(to, "runtime", "%s", table.concat(words, ", "))
end

local function put_time(to, info, counts)
  local length <const> = length_of(counts)
  local start <const> = info.wall_ns and wall_time(info.wall_ns):gsub("T", " "):gsub("Z", " UTC")
    or "at an unknown time (the header has an impossible one)"
  line(to, "recorded", "%s, for %s", start, units.duration(length))
end

local function put_samples(to, trace, counts)
  local n <const> = samples_of(trace, counts)
  if n == 0 then
    line(to, "samples", "none")
    return
  end
  local threads = 0
  for _, row in ipairs(trace:threads()) do
    if row.samples > 0 then threads = threads + 1 end
  end
  local sampling <const> = trace:sampling()
  local kinds = ""
  if sampling.passes > 0 then
    kinds = (": %s in managed code, %s"):format(percent(counts.samples_managed, n),
      sampling.passes == 1 and "one pass"
        or "a pass every " .. units.duration(sampling.period_ns))
  end
  line(to, "samples", "%s of %s%s", units.count(n), units.several(threads, "thread"), kinds)
end

local function put_names(to, trace, counts)
  local facts <const> = trace:frames()
  if facts.frames > 0 then
    line(to, "names", "%s of %s frames are in known methods; %s methods, rundown %s",
      percent(facts.frames - facts.unresolved, facts.frames), units.count(facts.frames),
      units.count(counts.methods), counts.rundown)
  else
    line(to, "names", "%s methods, rundown %s", units.count(counts.methods), counts.rundown)
  end
end

local function put_lost(to, trace, counts)
  if counts.lost == 0 then
    line(to, "lost", "no events")
    return
  end
  line(to, "lost", "%s events (%s)", units.count(counts.lost),
    percent(counts.lost, counts.lost + counts.events))
  for i, row in ipairs(losers(trace)) do
    if i > 5 then break end
    line(to, "", "%s on thread %s%s", units.count(row.lost), text.unsigned(row.id),
      row.name and " " .. row.name or "")
  end
end

local function put_head(to, trace, info, counts)
  local ending = counts.ended and "complete" or counts.truncated and "cut off"
    or "without an end"
  to:put(("%s: NetTrace version %s, %s, %s\n"):format(text.printable(trace.name),
    info.version or "?", units.bytes(counts.bytes), ending))
end

local function put_advice(to, trace)
  local rows <const> = trace:advice()
  for _, row in ipairs(rows) do
    to:putf("  %s: %s\n", row.severity, text.printable(row.text))
    if row.try then to:putf("     try: %s\n", row.try) end
  end
  return #rows
end

--- Writes a few lines for the top of a screen: facts, no advice, which is for
-- findings to give.
-- @param trace
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function inspect.write_summary(trace, out)
  local info <const>, counts <const> = trace:info(), trace:counts()
  local to <const> = sink.new(out)
  put_head(to, trace, info, counts)
  put_process(to, trace, info)
  put_time(to, info, counts)
  put_samples(to, trace, counts)
  put_names(to, trace, counts)
  put_lost(to, trace, counts)
  return to:finish()
end

local function put_providers(to, trace, counts)
  local providers, by_name = by_provider(trace)
  line(to, "events", "%s", units.count(counts.events))
  for i, name in ipairs(providers) do
    if i > 12 then
      line(to, "", "and %d more providers", #providers - 12)
      break
    end
    line(to, "", "%12s  %s", units.count(by_name[name]), name)
  end
end

local function put_stacks(to, counts)
  line(to, "stacks", "%s, the deepest of %d frames; %s of exactly 100", units.count(counts.stacks),
    counts.deepest_stack, units.count(counts.capped_stacks))
  local names = {}
  for name in pairs(counts.blocks) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = ("%d %s"):format(counts.blocks[name], name) end
  line(to, "blocks", "%s; the largest %s", table.concat(names, ", "),
    units.bytes(counts.largest_block))
end

--- Writes all facts.
-- @param trace
-- @tparam table _ options: none
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function inspect.write(trace, _, out)
  local info <const>, counts <const> = trace:info(), trace:counts()
  local to <const> = sink.new(out)
  put_head(to, trace, info, counts)
  put_process(to, trace, info)
  put_time(to, info, counts)
  line(to, "clock", "%s ticks a second", units.count(info.clock_frequency))
  put_samples(to, trace, counts)
  put_names(to, trace, counts)
  put_lost(to, trace, counts)
  put_providers(to, trace, counts)
  put_stacks(to, counts)
  line(to, "views", "%s", table.concat(trace:views(), " "))
  to:put("\n")
  if put_advice(to, trace) == 0 then to:put("  nothing is wrong with this trace\n") end
  return to:finish()
end

return inspect
