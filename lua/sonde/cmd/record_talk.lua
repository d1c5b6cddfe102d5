--- What `sonde record` says: what it records and which option changes that,
-- how it goes, why it stopped, what the result is worth.
-- @module sonde.cmd.record_talk
local providers <const> = require "sonde.dotnet.providers"
local units <const> = require "sonde.base.units"

local talk = {}

local REASONS <const> = {
  duration = "the time is over (--duration)", size = "the size is reached (--max-size)",
  ended = "the process ended",
  cost = "it costs the process too much (--max-cost)", event = "the event came (--until)",
}

local function subject(recording)
  local target <const> = recording.target
  return ("%s (%s)"):format(target.pid or "?", target.name)
end

--- Before anything comes.
-- @tparam Recording recording
-- @tparam table want `names providers`
-- @tparam table args
-- @tparam table env
function talk.start(recording, want, args, env)
  local specs = {}
  for i, provider in ipairs(want.providers) do specs[i] = providers.format(provider) end
  env:say(("recording process %s: %s (--profile, --provider)"):format(subject(recording),
    #want.names > 0 and table.concat(want.names, "+") or table.concat(specs, " ")))
  for _, lost in ipairs(recording.session.lost) do env:say("without " .. lost) end
  local limits = {}
  if args.duration then limits[1] = "for " .. units.duration(args.duration) end
  if args["until"] or args.until_lua then limits[#limits + 1] = "until the event comes" end
  limits[#limits + 1] = (args.program or args.listen) and "until it ends" or "until Ctrl-C"
  if recording.max_size then
    limits[#limits + 1] = ("or %s (--max-size)"):format(units.bytes(recording.max_size))
  end
  env:say(table.concat(limits, ", "))
end

--- The status line.
-- @tparam Recording recording
-- @treturn string
function talk.status(recording)
  local counts <const> = recording.session:counts()
  local phase = ("%.1fs"):format(counts.elapsed_ns / 1e9)
  if recording.stopping_since then phase = "ending, methods are described, " .. phase end
  local holds = ""
  if recording.tape then holds = require("sonde.cmd.record_tape").status(recording) end
  return ("%s  %s  %s events  %s samples  %s lost%s"):format(phase, units.bytes(counts.bytes),
    units.count(counts.events), units.count(counts.samples), units.count(counts.lost), holds)
end

--- What it cost the process.
-- @tparam Recording recording
-- @tparam table args
-- @tparam table env
function talk.cost(recording, args, env)
  if recording.cost_share == nil then return end
  local more = ""
  if (recording.rundown_ns or 0) > 0 then
    more = (", and %s to describe its methods"):format(units.duration(recording.rundown_ns))
  end
  env:say(("cost the process %.1f%% of a processor (%s) for sampling and sending%s"):format(
    recording.cost_share * 100, units.duration(recording.cost_ns), more))
  if recording.cost_at_stop then
    env:say(("the last seconds cost %.1f%%, and %g%% were allowed"):format(
      recording.cost_at_stop * 100, args.max_cost), "sonde record --profile gc")
  end
end

--- Why it stopped and what was written.
-- @tparam Recording recording
-- @tparam string reason
-- @tparam table args
-- @tparam table env
function talk.stopped(recording, reason, args, env)
  local counts <const> = recording.session:counts()
  env:say(("stopped after %s: %s"):format(units.duration(counts.elapsed_ns),
    REASONS[reason] or reason))
  talk.cost(recording, args, env)
  if not recording.raw or recording.tape then return end
  env:say(("wrote %s (%s, %s events, %s samples)"):format(args.output,
    units.bytes(counts.written), units.count(counts.events), units.count(counts.samples)),
    "sonde " .. args.output)
end

-- Providers that somebody named and of which nothing came. Those of profiles may well
-- have nothing to say.
local function silent_providers(trace, want)
  local seen = {}
  for _, type in ipairs(trace:types()) do
    if type.count > 0 then seen[type.provider] = true end
  end
  local silent = {}
  for _, provider in ipairs(want.asked) do
    if not seen[provider.name] then silent[#silent + 1] = provider.name end
  end
  return silent
end

--- What is wrong with the result.
-- @tparam Session session
-- @tparam Trace trace
-- @tparam table want
-- @tparam table env
function talk.health(session, trace, want, env)
  local counts <const> = session:counts()
  if counts.lost > 0 then
    env:say(("%s of %s events were lost: the buffer was too small, or the output too slow"):format(
      units.count(counts.lost), units.count(counts.events + counts.lost)), "--buffer 1GiB")
  end
  if want.rundown and counts.rundown ~= "complete" then
    env:say(("the description of methods is %s: stacks may be without names"):format(
      counts.rundown == "none" and "missing" or "not complete"))
  end
  for _, name in ipairs(silent_providers(trace, want)) do
    env:say(("nothing came from %s: its name, its keywords and level, or the process does not"
      .. " use it"):format(name))
  end
end

return talk
