--- `sonde captures [STORE]`: the captures in a store.
-- @module sonde.cmd.captures
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local query <const> = require "sonde.capture.query"
local stores <const> = require "sonde.cmd.stores"
local table_of <const> = require "sonde.base.table"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local ORDER <const> = { "schema", "id", "root_pid", "root_key", "host", "service", "started_at",
  "ended_at", "kinds", "params", "checkpoints", "records", "first", "last" }

local COLUMNS <const> = {
  { title = "CAPTURE" }, { title = "ROOT", right = true }, { title = "HOST" },
  { title = "BEGAN" }, { title = "LASTED", right = true },
  { title = "CHECKPOINTS", right = true }, { title = "RECORDS", right = true },
  { title = "KINDS" },
}

local function row_of(capture)
  local last <const> = capture.ended_at or capture.last
  local lasted <const> = capture.started_at and last and last - capture.started_at
  local root = capture.root_pid and tostring(capture.root_pid) or ""
  if capture.service then root = root .. " " .. capture.service end
  return {
    text.printable(capture.id), text.printable(root), text.printable(capture.host or ""),
    capture.started_at and query.time(capture.started_at) or "",
    lasted and (units.duration(lasted) .. (capture.ended_at and "" or " …")) or "",
    units.count(capture.checkpoints), units.count(capture.records),
    text.printable(table.concat(capture.kinds or {}, " ")),
  }
end

-- The table; a method of the verb, for the summary of a store.
local function write_table(list, out)
  local rows = {}
  for i, capture in ipairs(list) do rows[i] = row_of(capture) end
  out:write(table.concat(table_of.lines(COLUMNS, rows), "\n"), "\n")
end

local captures <const> = common.verb {
  name = "captures",
  summary = "the captures in a store",
  arguments = { stores.argument },
  options = { common.json, common.output },
  examples = { "sonde captures", "sonde captures captures.db --json" },
  run = function(args, env)
    local store <close> = stores.open(args.store, env, "read")
    args.input = { store.name }
    local list <const> = store:captures()
    if #list == 0 then
      env:say(store.name .. ": no captures yet", "sonde capture --help")
      return errors.exit.empty
    end
    common.write_to(args, "captures", env, function(out)
      if args.json then
        list[1].schema = 1
        for _, capture in ipairs(list) do out:write(json.encode(capture, ORDER), "\n") end
        return true
      end
      write_table(list, out)
      return true
    end)
  end,
}

captures.write_table = write_table

return captures
