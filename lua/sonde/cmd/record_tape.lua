--- Segments and rings of `sonde record`. What is written when, and what is
-- said of it.
-- @module sonde.cmd.record_tape
local errors <const> = require "sonde.base.errors"
local loop <const> = require "sonde.base.loop"
local units <const> = require "sonde.base.units"

local tape = {}

local SECOND <const> = 1000000000
local SIGUSR1 <const> = 10
local FOREVER <const> = 10 * 365 * 24 * 3600 * SECOND

-- A snapshot does not wait longer for the names of methods.
local NAMES_TIMEOUT <const> = 10 * SECOND

-- What names and events of the ring may take.
local MEMORY <const> = 1 << 30

--- Ends the verb when the options do not go together.
-- @tparam table args
function tape.check(args)
  if args.keep and not args.rotate then errors.usage("--keep goes with --rotate") end
  if not args.rotate and not args.ring then return end
  local which <const> = args.rotate and "--rotate" or "--ring"
  if args.rotate and args.ring then errors.usage("--rotate and --ring: one of them") end
  if args.format then errors.usage(which .. " writes traces only: no --format with it") end
  if args.output and not args.listen and not args.output:find("%.nettrace$") then
    errors.usage(which .. " writes traces: -o NAME.nettrace")
  end
end

--- The output that the options ask for.
-- @tparam table args
-- @treturn ?Output of `sonde.dotnet.tape`; nil for a plain file
function tape.output(args)
  local outputs <const> = require "sonde.dotnet.tape"
  if args.rotate then
    return outputs.segments { path = args.output, size = args.rotate, keep = args.keep,
      limit = MEMORY }
  end
  if args.ring then return outputs.ring { span = args.ring, limit = MEMORY } end
end

--- What the status line says more.
-- @tparam Recording recording
-- @treturn string
function tape.status(recording)
  local output <const> = recording.tape
  if not output.is_ring then return ("  %d segments"):format(output.number) end
  return ("  %s kept"):format(units.bytes(output:info().held))
end

local function save(recording, path, env)
  local saved, message, code = recording.tape:save(path)
  if saved == nil then
    env:warn("not written: " .. message, code)
    return
  end
  env:say(("wrote %s (%s, %s events)"):format(path, units.bytes(saved.bytes),
    units.count(saved.events)), "sonde " .. path)
end

-- Writes what a ring holds while it goes on.
local function snapshot(recording, env)
  if recording.session == nil or recording.saving then return end
  recording.saving = true
  recording.snapshots = (recording.snapshots or 0) + 1
  local path <const> = ("%s.%04d.nettrace"):format(recording.output:gsub("%.nettrace$", ""),
    recording.snapshots)
  local done, message = recording.tape:refresh_names(NAMES_TIMEOUT)
  if not done then env:say("the names of methods are those from before: " .. message) end
  recording.show(nil)
  save(recording, path, env)
  recording.saving = false
end

-- A line at the terminal asks for the same.
local function heed_key(recording, env)
  local uv <const> = require "sonde.base.uv"
  return loop.task(function()
    local watch <close> = loop.watch(0)
    while watch:wait("r", loop.after(FOREVER)) do
      local line <const> = uv.fs_read(0, 256, -1)
      if line == nil or line == "" then return end
      snapshot(recording, env)
    end
  end)
end

--- Heeds what asks for a ring to be written.
-- @tparam Recording recording
-- @tparam table env
-- @tparam boolean own_input standard input is ours, and not a program's
-- @treturn function ends it
function tape.heed(recording, env, own_input)
  if recording.tape == nil or not recording.tape.is_ring then return function() end end
  local release <const> = loop.on_signals({ SIGUSR1 }, function()
    recording.snapshot_task = loop.task(snapshot, recording, env)
  end)
  local key
  if own_input and require("sonde.base.term").is_terminal(0) then key = heed_key(recording, env) end
  return function()
    release()
    if key then key:cancel() end
  end
end

--- Writes what is left and says what it all came to.
-- @tparam Recording recording
-- @tparam table args
-- @tparam table env
function tape.finish(recording, args, env)
  local output <const>, cost <const> = recording.tape, recording.tape.names_cost
  if output.is_ring then
    save(recording, args.output, env)
  else
    env:say(("wrote %s, %d of them kept: %s"):format(units.several(output.number, "segment"),
      #output.segments,
      table.concat({ output.segments[1], #output.segments > 1 and output.segments[#output.segments]
        or nil }, " … ")), output.segments[1] and "sonde " .. output.segments[#output.segments])
  end
  if cost.n == 0 then return end
  env:say(("names were taken %s meanwhile: %s, %s"):format(units.several(cost.n, "time"),
    units.duration(cost.ns), units.bytes(cost.bytes)))
end

return tape
