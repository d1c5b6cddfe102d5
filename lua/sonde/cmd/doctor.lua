--- `sonde doctor [PID]`: what is missing, and what helps.
-- @module sonde.cmd.doctor
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local text <const> = require "sonde.base.text"

local ORDER <const> = { "schema", "about", "name", "status", "detail", "fix" }

-- A process that offers no socket still can be looked at, so it need not be a
-- target.
local function pid_of(what)
  if what == nil then return nil end
  local pid <const> = math.tointeger(tonumber(what))
  if pid then return pid end
  local target, message, code, hint = require("sonde.targets").open(what)
  if target == nil then
    errors.raise { message = message, code = code, hint = hint, status = errors.exit.target }
  end
  return target.pid
end

local function write(rows, env)
  local widest = 0
  for _, row in ipairs(rows) do widest = math.max(widest, text.length(row.name)) end
  for _, row in ipairs(rows) do
    local blank <const> = (" "):rep(widest - text.length(row.name))
    env.out:write(("%-4s  %s%s  %s\n"):format(row.status, row.name, blank,
      text.printable(row.detail)))
    if row.fix then
      env.out:write(("      %s  fix: %s\n"):format((" "):rep(widest), text.printable(row.fix)))
    end
  end
end

return common.verb {
  name = "doctor",
  summary = "what sonde needs here, or of a process: OK, WARN or FAIL, with the fix",
  arguments = { { name = "target", optional = true, help = "a process: its number or its name" } },
  options = { common.json },
  examples = { "sonde doctor", "sonde doctor 4242", "sonde doctor Api --json" },
  run = function(args, env)
    local doctor <const> = require "sonde.doctor"
    local rows <const> = doctor.check(pid_of(args.target))
    if args.json then
      for i, row in ipairs(rows) do
        row.schema = i == 1 and 1 or nil
        env.out:write(json.encode(row, ORDER), "\n")
      end
    else
      write(rows, env)
    end
    return doctor.worst(rows) == "FAIL" and errors.exit.empty or errors.exit.done
  end,
}
