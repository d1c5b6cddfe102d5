--- Methods in which threads spend most of the time that they do not wait.
-- @module sonde.finding.rules.hot
local evidence <const> = require "sonde.finding.evidence"
local framework <const> = require "sonde.base.framework"
local units <const> = require "sonde.base.units"

local rule = {}

rule.name = "hot"
rule.summary = "methods that take most of the running time"

-- A method is hot when it takes this share of what runs, and of one
-- processor over the recording; the second is of grave ones.
local SHARE <const>, OF_TIME <const> = 0.1, 0.1
local GRAVE_SHARE <const>, GRAVE_TIME <const> = 0.4, 0.5
local SAMPLES <const>, MOST <const> = 50, 3

-- What looks busy to the sampler and may as well wait: calls into the system,
-- locks, and the runtime's own stops. Frames without a name say nothing.
local NOT_HOT <const> = {
  "^Interop%.Sys%.", "^Interop%.Kernel32%.", "^Interop%.Winsock%.", "^Interop%.NtDll%.",
  "^Interop%.mincore%.", "^Interop%.User32%.", "^Interop%.Advapi32%.",
  "ReadFileNative", "WriteFileNative", "^System%.IO%.RandomAccess%.", "^System%.IO%.StdInReader",
  "^System%.ConsolePal", "^System%.Net%.Sockets%.", "^Microsoft%.Win32%.SafeHandles%.",
  "^System%.Threading%.", "^System%.Diagnostics%.Process%.WaitFor",
  "^System%.Runtime%.InteropServices%.PosixSignalRegistration", "^dynamicClass%.IL_STUB_PInvoke",
  "^%[", "^<unknown>$", "^%?!0x",
}
-- The same for stacks of which nothing else is known.
local WAITS <const> = {
  "futex", "epoll", "^poll$", "^__poll$", "^select$", "nanosleep", "cond_.*wait", "^wait4$",
  "^accept", "^recv", "^read$", "^__read$", "gopark", "selectgo", "semacquire", "^Sleep$",
  "WaitFor", "%.park", "%.wait$", "sigwait",
}

local function is_one_of(name, patterns)
  for _, pattern in ipairs(patterns) do
    if name:find(pattern) then return true end
  end
  return false
end

-- The time in methods that may have run.
local function maybe_running(ev, running)
  local sum = 0
  for _, node in ipairs(ev:nodes(running, "running")) do
    if not is_one_of(node.name, NOT_HOT) then sum = sum + node.flat end
  end
  return sum
end

-- What is measured: a profile, its types, how sure it is, and the words.
local function of_trace(ev)
  local cpu <const> = ev:view "cpu"
  if cpu then
    local type <const> = cpu:types()[cpu:info().default_type].type
    return { profile = cpu, type = type, view = "cpu", certainty = "certain",
      words = "of the processor time" }
  end
  local running <const> = ev:has_names() and ev:view "running"
  if not running then return nil end
  local scene = { profile = running, type = "running", view = "running", certainty = "likely",
    words = "of the running time",
    note = "Samples of threads that do not stand in a known wait: an estimate, no measured CPU"
      .. " time, and the method next to the busy one may be meant." }
  -- More time than the processors had cannot all have been spent running.
  local processors <const> = ev.trace:info().processors
  if processors > 0 and maybe_running(ev, running) > processors * ev.duration_ns then
    scene.certainty = "hint"
    scene.note = ("It sums up to more than %d processors can do, so part of it is waiting that"
      .. " no rule knows."):format(processors)
  end
  return scene
end

local function of_profile(ev)
  local profile <const> = ev.profile
  local info <const> = profile:info()
  for i, entry in ipairs(profile:types()) do
    -- A difference has no hot functions, only some that grew.
    if profile:total(i) ~= profile:total(i, true) then return nil end
    if entry.type == "cpu" and entry.unit == "nanoseconds" then
      return { profile = profile, type = i, certainty = "certain",
        words = "of the processor time" }
    end
  end
  local entry <const> = profile:types()[1]
  local plain <const> = entry and #profile:types() == 1 and entry.type == "samples"
    and (info.period_type == nil or info.period_type.type == "")
  if not plain then return nil end
  return { profile = profile, type = 1, certainty = "hint", words = "of the samples",
    waits = true, note = "What was sampled is not known." }
end

-- The number of samples behind a row, for the noise; nil when unknown.
local function samples_of(ev, scene)
  for i, entry in ipairs(scene.profile:types()) do
    if entry.unit == "count" and (entry.type == "samples" or i == 1) then
      local n = {}
      for _, node in ipairs(ev:nodes(scene.profile, i)) do n[node.name] = node.flat end
      return n, scene.profile:total(i, true)
    end
  end
end

local function caller_of(ev, profile, type, name)
  local at = ev.asked.hot_edges
  if at == nil then
    at = profile:graph { type = type, edges = true }
    ev.asked.hot_edges = at
  end
  local best
  for _, edge in ipairs(at.edges) do
    local from <const>, to <const> = at.nodes[edge.from], at.nodes[edge.to]
    if to.name == name and from.name ~= name and (best == nil or edge.value > best.value) then
      best = { name = from.name, value = edge.value, cum = to.cum }
    end
  end
  return best
end

-- A framework's method says little; who calls it does.
local function caller_text(ev, scene, node)
  if not framework.is_name(node.name) then return "" end
  local best <const> = caller_of(ev, scene.profile, scene.type, node.name)
  if best == nil then return "" end
  return (" Called mostly by %s (%s)."):format(evidence.short(best.name),
    evidence.percent(best.value, best.cum))
end

-- Twice the standard error of a share of n samples, in percent.
local function noise(share, n)
  return 196 * math.sqrt(share * (1 - share) / n)
end

local function made(ev, scene, node, total, all_samples)
  local share <const> = node.flat / total
  local of_time <const> = ev.duration_ns > 0 and node.flat / ev.duration_ns or nil
  local grave <const> = share >= GRAVE_SHARE and (of_time == nil or of_time >= GRAVE_TIME)
  local short <const> = evidence.short(node.name)
  return {
    title = ("%s takes %s %s"):format(short, share > 0.5 and "most" or "much", scene.words),
    severity = grave and "medium" or "low", certainty = scene.certainty,
    figure = { value = node.flat, unit = scene.unit, share = share,
      text = ("%s ± %.1f"):format(evidence.percent(node.flat, total), noise(share, all_samples)) },
    detail = ("%s of %s.%s%s"):format(units.value(node.flat, scene.unit),
      units.value(total, scene.unit), caller_text(ev, scene, node),
      scene.note and " " .. scene.note or ""),
    command = ev:command("report peek", ("--pattern %s%s"):format(evidence.pattern(node.name),
      scene.view and " --view " .. scene.view or "")),
    view = scene.view, focus = short,
  }
end

local function is_hot(ev, scene, node, total)
  if node.flat < SHARE * total or is_one_of(node.name, NOT_HOT) then return false end
  if scene.waits and is_one_of(node.name, WAITS) then return false end
  local timed <const> = ev.duration_ns > 0 and scene.unit == "nanoseconds"
  return not timed or node.flat >= OF_TIME * ev.duration_ns
end

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?{table,...}
function rule.look(ev)
  local scene <const> = ev.trace and of_trace(ev) or ev.profile and of_profile(ev)
  if not scene then return nil end
  for i, entry in ipairs(scene.profile:types()) do
    if entry.type == scene.type or i == scene.type then scene.unit = entry.unit end
  end
  local total <const> = scene.profile:total(scene.type, true)
  local samples <const>, all <const> = samples_of(ev, scene)
  local list = {}
  for _, node in ipairs(ev:nodes(scene.profile, scene.type)) do
    local enough <const> = samples and (samples[node.name] or 0) >= SAMPLES
    if enough and is_hot(ev, scene, node, total) then list[#list + 1] = node end
  end
  table.sort(list, function(a, b)
    if a.flat ~= b.flat then return a.flat > b.flat end
    return a.name < b.name
  end)
  local found = {}
  for i = 1, math.min(#list, MOST) do found[i] = made(ev, scene, list[i], total, all) end
  return found
end

return rule
