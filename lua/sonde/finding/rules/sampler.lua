--- Nothing sampled the threads, so the trace cannot say where time went.
-- @module sonde.finding.rules.sampler
local rule = {}

rule.name = "sampler"
rule.summary = "a trace without samples, which cannot say where time went"

local SAMPLERS <const> = {
  ["Microsoft-DotNETCore-SampleProfiler"] = true, ["Universal.Events"] = true,
}

--- Looks for it.
-- @tparam Evidence ev
-- @treturn ?table
function rule.look(ev)
  local counts <const> = ev.counts
  if counts == nil or counts.events == 0 then return nil end
  for _, type in ipairs(ev.trace:types()) do
    if SAMPLERS[type.provider] and type.count > 0 then return nil end
  end
  local views <const> = ev.trace:views()
  local instead = "It has no other view either: sonde events shows what it has."
  if #views > 0 then instead = "It can answer for: " .. table.concat(views, ", ") .. "." end
  return {
    title = "No samples, so this trace cannot say where time went",
    severity = "low", certainty = "certain",
    figure = { value = 0, unit = "count", text = "0 samples" },
    detail = instead .. " Record with the sample profiler (sonde record -p NAME).",
    command = #views > 0 and ev:command("top", "--view " .. views[1])
      or ev:command("report providers"),
    view = views[1],
  }
end

return rule
