--- `sonde store check|compact|prune [STORE]`: looking after a store.
-- @module sonde.cmd.store
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local query <const> = require "sonde.capture.query"
local stores <const> = require "sonde.cmd.stores"
local units <const> = require "sonde.base.units"

local ACTIONS <const> = {}

local function say_check(found, out)
  out:write(("%s in %s, %s, %s, %s of names and stacks: %s\n"):format(
    units.count(found.records) .. " records", units.count(found.checkpoints) .. " checkpoints",
    units.count(found.captures) .. " captures", units.count(found.payloads) .. " payloads",
    units.count(found.stacks) .. " stacks, " .. units.count(found.strings) .. " texts",
    units.bytes(found.size)))
  if found.first then
    out:write(("from %s to %s\n"):format(query.time(found.first), query.time(found.last)))
  end
  for _, problem in ipairs(found.problems) do out:write("problem: ", problem, "\n") end
  if #found.problems == 0 then out:write("all is well\n") end
end

function ACTIONS.check(store, args, out)
  local found <const> = common.check(store:check())
  if args.json then
    found.schema, found.problems = 1, json.array(found.problems)
    out:write(json.encode(found, { "schema" }), "\n")
  else
    say_check(found, out)
  end
  return #found.problems > 0 and errors.exit.damaged or nil
end

function ACTIONS.compact(store, args, out)
  local found <const> = common.check(store:compact())
  if args.json then
    out:write(json.encode { schema = 1, before = found.before, after = found.after }, "\n")
  else
    out:write(("%s before, %s after\n"):format(units.bytes(found.before),
      units.bytes(found.after)))
  end
end

function ACTIONS.prune(store, args, out)
  if args.keep == nil and args.max_size == nil then
    errors.usage("prune: neither --keep nor --max-size says what may stay",
      "sonde store prune --keep 30d --max-size 10GiB")
  end
  local found <const> = common.check(store:prune { keep = args.keep, max_size = args.max_size,
    kind = args.kind })
  if args.json then
    found.schema = 1
    out:write(json.encode(found, { "schema" }), "\n")
  else
    out:write(("%s checkpoints and %s segments removed; %s left\n"):format(
      units.count(found.checkpoints), units.count(found.segments), units.bytes(found.size)))
  end
end

return common.verb {
  name = "store",
  summary = "check, compact or prune a store of captures",
  arguments = {
    { name = "action", choices = { "check", "compact", "prune" },
      help = "check: is all of it whole? compact: give free space back;"
      .. " prune: take old checkpoints away" },
    stores.argument,
  },
  options = {
    { name = "keep", type = "duration", help = "of prune: what is younger stays, such as 30d" },
    { name = "max_size", type = "size",
      help = "of prune: the oldest checkpoints go until the rest takes no more" },
    { name = "kind", type = "string", argname = "KIND", help = "of prune: only records of it" },
    common.json,
  },
  examples = {
    "sonde store check captures.db",
    "sonde store prune captures.db --keep 30d --max-size 10GiB",
    "sonde store compact captures.db",
  },
  run = function(args, env)
    local action <const> = ACTIONS[args.action]
    if action == nil then
      errors.usage(("'%s' is not known (one of check, compact, prune)"):format(args.action),
        "sonde store check " .. args.action)
    end
    local store <close> = stores.open(args.store, env, "write")
    return action(store, args, env.out)
  end,
}
