--- `sonde ps`: the processes that can be looked into.
-- @module sonde.cmd.ps
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local secrets <const> = require "sonde.base.secrets"
local text <const> = require "sonde.base.text"

local ORDER <const> = {
  "schema", "pid", "start_time", "started", "user", "runtime", "version", "name", "module",
  "architecture",
  "container", "suspended", "can", "sources", "reasons", "command_line",
}

local RUNTIMES <const> = { dotnet = ".NET", go = "Go" }

local function write_json(rows, args, env)
  for i, row in ipairs(rows) do
    env.out:write(json.encode({
      schema = i == 1 and 1 or nil, pid = row.pid, start_time = row.start_time,
      started = os.date("!%Y-%m-%dT%H:%M:%SZ", row.started_at), user = row.user,
      runtime = row.runtime, version = row.version, name = row.name, module = row.module,
      architecture = row.architecture, container = row.container, suspended = row.suspended,
      can = json.array(row.can), sources = row.sources and json.object(row.sources),
      reasons = json.object(row.reasons),
      command_line = json.array(args.show_secrets and row.command_line
        or secrets.words(row.command_line)),
    }, ORDER), "\n")
  end
end

local function one_reason(row)
  local reason = row.reasons.record or row.reasons.dump or ""
  -- The line begins with the process; its message need not say it again.
  local subject <const> = ("process %d (%s) "):format(row.pid, row.process_name)
  if reason:sub(1, #subject) == subject then reason = reason:sub(#subject + 1) end
  return reason
end

local LONGEST_NAME <const> = 40

local function cells_of(row, wide)
  local runtime = row.runtime and RUNTIMES[row.runtime] or "-"
  if row.version then runtime = runtime .. " " .. row.version:gsub("^go", "") end
  local can = #row.can > 0 and table.concat(row.can, " ") or "no: " .. one_reason(row)
  for _, name in ipairs { "pprof", "gops" } do
    local address <const> = row.sources and row.sources[name]
    if address then can = can .. (" %s=%s"):format(name, address:gsub("^http://", "")) end
  end
  local cells = { tostring(row.pid), row.user, runtime, row.architecture or "-",
    text.cut_middle(text.utf8(row.name), LONGEST_NAME) }
  if wide then cells[#cells + 1] = row.container and row.container:sub(1, 12) or "-" end
  cells[#cells + 1] = can
  for i, cell in ipairs(cells) do cells[i] = text.printable(cell) end
  return cells
end

-- The lines of the table; a method of the verb, for the shell.
local function table_lines(rows)
  local wide, lines = false, {}
  for _, row in ipairs(rows) do wide = wide or row.container ~= nil end
  for i, row in ipairs(rows) do lines[i] = cells_of(row, wide) end
  local columns = { { title = "PID", right = true }, { title = "USER" }, { title = "RUNTIME" },
    { title = "ARCH" }, { title = "NAME" } }
  if wide then columns[#columns + 1] = { title = "CONTAINER" } end
  columns[#columns + 1] = { title = "CAN" }
  return require("sonde.base.table").lines(columns, lines)
end

local ps <const> = common.verb {
  name = "ps",
  summary = "the processes that can be looked into, and why others cannot",
  arguments = {},
  options = {
    { name = "all", type = "boolean", help = "every process, also those without a known runtime" },
    common.json,
    { name = "show_secrets", type = "boolean",
      help = "show what looks like a password in command lines" },
  },
  examples = { "sonde ps", "sonde ps --all", "sonde ps --json | head -n 1" },
  run = function(args, env)
    local rows <const> = require("sonde.targets").list { all = args.all }
    if args.json then
      write_json(rows, args, env)
    elseif #rows > 0 then
      env.out:write(table.concat(table_lines(rows), "\n"), "\n")
    end
    if #rows > 0 then return errors.exit.done end
    if not args.json then env:say("no .NET or Go process is running here", "sonde ps --all") end
    return errors.exit.empty
  end,
}

ps.table_lines = table_lines

return ps
