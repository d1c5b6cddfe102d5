--- What is wrong with a trace, why, and what to do about it.
-- @module sonde.dotnet.advice
local unsigned <const> = require("sonde.base.text").unsigned
local units <const> = require "sonde.base.units"

local advice = {}

local percent <const> = units.share

--- Why frames have no name, as the end of a sentence.
-- @param trace Trace
-- @tparam table facts `frames unresolved`
-- @treturn string begins with ": "
function advice.why_unresolved(trace, facts)
  local counts <const> = trace.core:counts()
  if trace.code == "limit" then return ": reading ended at the limit on memory" end
  if trace.version == 6 and #trace.core:processes() > 0 then
    return ": no symbol was recorded for them"
  end
  if counts.rundown == "none" and counts.method_loads == 0 then
    return ": the trace has no rundown (the recording was killed, or rundown was switched off)"
  end
  if counts.rundown == "partial" then
    return ": the rundown began but did not complete (the recording was cut short)"
  end
  if counts.rundown == "none" then
    return ": the trace has no rundown, so only methods compiled during the recording have one"
  end
  if counts.lost > 0 then return ": events were lost, method loads among them perhaps" end
  if facts.unresolved * 100 > facts.frames and counts.method_loads == 0 then
    return ": native code, or methods that were unloaded before the recording ended"
  end
  return ": native code of the runtime"
end

local function add(list, severity, text, try)
  list[#list + 1] = { severity = severity, text = text, try = try }
end

local function on_damage(list, trace, counts)
  if trace.outside then add(list, "error", trace.outside) end
  if counts.truncated then
    add(list, "error", ("the file ends early at byte %d: its end is missing, what came before"
      .. " is shown"):format(counts.bytes),
      "stop a recording with one Ctrl-C and wait until it has ended")
  end
  local shown = 0
  for _, problem in ipairs(trace:problems()) do
    if problem.severity ~= "note" and shown < 5 and not (counts.truncated
      and problem.offset >= counts.bytes) then
      add(list, problem.severity, ("at byte %d: %s"):format(problem.offset, problem.text))
      shown = shown + 1
    end
  end
  local rest <const> = counts.errors + counts.warnings - shown
  if shown == 5 and rest > 0 then
    add(list, "warning", ("and %s more of these"):format(units.count(rest)))
  end
  if counts.disordered > 0 then
    add(list, "warning", ("%s events came too late to be put in order"):format(
      units.count(counts.disordered)))
  end
end

local function on_names(list, trace, counts)
  local facts <const> = trace:frames()
  local frames, unresolved, cut = facts.frames, facts.unresolved, facts.cut_samples
  if unresolved > 0 and (counts.rundown ~= "complete" or unresolved * 100 > frames) then
    local why <const> = advice.why_unresolved(trace, facts)
    local try = "record until the tool ends by itself, with rundown on"
    if counts.rundown == "complete" then
      try = "record with Microsoft-Windows-DotNETRuntime:0x18:5 to name methods that are unloaded"
    elseif trace.version == 6 then
      try = nil
    end
    local text = ("%s of %s frames (%s) are in no method that the trace tells of%s"):format(
      units.count(unresolved), units.count(frames), percent(unresolved, frames), why)
    if facts.guessed > 0 then
      text = text .. ("; %s of them are named by the nearest entry point"):format(
        percent(facts.guessed, unresolved))
    end
    add(list, "warning", text, try)
  elseif counts.rundown == "partial" and frames == 0 then
    add(list, "warning", "the rundown began but did not complete: names are missing")
  end
  if cut > 0 then
    add(list, "note", ("%s samples have stacks of 100 frames, the most that the runtime keeps:"
      .. " their outermost callers are missing"):format(units.count(cut)))
  end
end

local function longest_loss(trace)
  local longest
  for _, loss in ipairs(trace:losses()) do
    if longest == nil or loss.count > longest.count then longest = loss end
  end
  return longest
end

local function on_losses(list, trace, counts)
  if counts.lost == 0 then return end
  local text = ("%s events were lost (%s of all)"):format(units.count(counts.lost),
    percent(counts.lost, counts.lost + counts.events))
  local loss <const> = longest_loss(trace)
  if loss then
    text = text .. (": most at once %s, on thread %s between %s and %s"):format(
      units.count(loss.count), unsigned(loss.thread), units.duration(loss.from_ns),
      units.duration(loss.to_ns))
  end
  add(list, "warning", text, "record with a larger buffer (sonde record --buffer 1GiB) or"
    .. " fewer providers")
end

local function on_samples(list, trace, counts)
  local samples <const> =
    counts.samples_error + counts.samples_external + counts.samples_managed
  if samples > 0 or #trace.core:kinds() > 0 then return end
  local available <const> = trace:views()
  if #available > 0 then
    add(list, "note", "no samples of threads, so no time by function; the trace has other views",
      ("sonde top %s --view %s"):format(trace.name, available[1]))
  elseif counts.events > 0 then
    add(list, "note", "no samples of threads: the sample profiler was not recorded",
      "sonde record -p NAME")
  end
end

--- What is to be known before the numbers of a trace are believed, worst
-- first.
-- @param trace Trace
-- @treturn {table,...} each `severity` (error, warning, note), `text`, `try`
function advice.list(trace)
  local list = {}
  local counts <const> = trace:counts()
  on_damage(list, trace, counts)
  on_losses(list, trace, counts)
  on_names(list, trace, counts)
  on_samples(list, trace, counts)
  return list
end

return advice
