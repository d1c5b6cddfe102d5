--- `sonde STORE`: which captures a store has, what stands out in them, and where
-- the last one's time or memory went, on one screen.
-- @module sonde.cmd.summary_store
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local captures <const> = require "sonde.cmd.captures"
local findings <const> = require "sonde.report.findings"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local summary = {}

-- Captures that are listed, the last ones.
local LISTED <const> = 5

-- Kinds whose records have stacks, the one that tells most first.
local WITH_STACKS <const> = { "goprof", "stacks" }

--- Is an input a store of captures?
-- @tparam string path
-- @treturn boolean
function summary.is_store(path)
  if path:find("^clickhouse://") then return true end
  local file <close> = io.open(path, "rb")
  local head <const> = file and file:read(72)
  return head ~= nil and head:sub(1, 16) == "SQLite format 3\0" and head:sub(69, 72) == "snde"
end

local function put_captures(store, list, out)
  local checkpoints, records = 0, 0
  for _, row in ipairs(list) do
    checkpoints, records = checkpoints + row.checkpoints, records + row.records
  end
  out:write(("%s: %s, %s, %s of %s\n"):format(text.printable(store.name),
    units.several(#list, "capture"), units.several(checkpoints, "checkpoint"),
    units.several(records, "record"), table.concat(store:kinds(), " ")))
  local last <const> = table.move(list, math.max(1, #list - LISTED + 1), #list, 1, {})
  captures.write_table(last, out)
end

-- The table of functions of a kind's last checkpoint; nothing when it has none.
local function put_top(store, kind, args, out)
  local profile <const> = store:profile { kind = kind, checkpoint = "last" }
  if profile == nil then return end
  out:write(("\n%s, the last checkpoint:\n"):format(kind))
  local top <const> = require "sonde.report.top"
  local opts <const> = common.options_of(top, { n = args.n })
  common.check(top.write(profile, opts, out))
end

local function has(list, wanted)
  for _, one in ipairs(list) do
    if one == wanted then return true end
  end
  return false
end

--- Writes it.
-- @tparam table args of the verb: `input`, `n` (functions that are listed)
-- @tparam table env
-- @treturn ?integer exit status
function summary.run(args, env)
  local store <close> = require("sonde.cmd.stores").open(args.input, env, "read")
  local list <const> = store:captures()
  if #list == 0 then
    env:say(store.name .. ": no captures yet", "sonde capture --help")
    return errors.exit.empty
  end
  put_captures(store, list, env.out)
  env.out:write("\n")
  common.check(findings.write_opening(store, args.input, env.out))
  for _, kind in ipairs(WITH_STACKS) do
    if has(store:kinds(), kind) then put_top(store, kind, args, env.out) end
  end
  if not env.terminal.out then return end
  local name <const> = require("sonde.finding.evidence").quote(args.input)
  env.out:write(("\n   sonde query %s --checkpoints   one by one\n"
    .. "   sonde query %s --diff first last   what changed\n"):format(name, name))
end

return summary
