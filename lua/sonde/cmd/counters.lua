--- `sonde counters PID`: what a process counts about itself.
-- @module sonde.cmd.counters
local common <const> = require "sonde.cmd.common"
local counters_table <const> = require "sonde.cmd.counters_table"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local live <const> = require "sonde.cmd.live"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"

local MS <const>, SECOND <const> = 1000000, 1000000000
local FOREVER <const> = 10 * 365 * 24 * 3600 * SECOND

local SIGNALS <const> = { 2, 15, 1 }

-- A meter or provider that has nothing by then is told of.
local PATIENCE <const> = 3

local ORDER <const> = {
  "schema", "time", "pid", "provider", "name", "tags", "kind", "value", "rate", "unit", "count",
  "min", "max", "deviation", "sum", "quantiles", "interval_s", "display_name", "stale",
}

local function fields_of(row, pid)
  local fields = { time = os.date("!%Y-%m-%dT%H:%M:%SZ"), pid = pid,
    stale = row.stale or nil }
  for _, name in ipairs(ORDER) do
    if fields[name] == nil then fields[name] = row[name] end
  end
  fields.tags = row.tags and next(row.tags) and json.object(row.tags) or nil
  return fields
end

local Json <const> = {}

function Json.show(counters, env)
  for _, row in ipairs(counters:rows()) do
    local fields <const> = fields_of(row, counters.target.pid)
    fields.schema = not Json.begun and 1 or nil
    Json.begun = true
    env.out:write(json.encode(fields, ORDER), "\n")
  end
end

local function quoted(value)
  local cell <const> = tostring(value)
  return cell:find('[",\n]') and '"' .. cell:gsub('"', '""') .. '"' or cell
end

local Csv <const> = {}

-- The columns of dotnet-counters.
function Csv.show(counters, env)
  if not Csv.begun then
    env.out:write("Timestamp,Provider,Counter Name,Counter Type,Mean/Increment\n")
    Csv.begun = true
  end
  for _, row in ipairs(counters:rows()) do
    local name = row.name
    if row.unit then name = ("%s (%s)"):format(name, row.unit) end
    if row.tag_text then name = ("%s[%s]"):format(name, row.tag_text) end
    env.out:write(table.concat({ os.date("!%m/%d/%Y %H:%M:%S"), quoted(row.provider), quoted(name),
      row.rate and "Rate" or "Metric", tostring(row.rate or row.value) }, ","), "\n")
  end
end

local Blocks <const> = {}

-- One table below the other.
function Blocks.show(counters, env)
  if Blocks.begun then env.out:write("\n") end
  Blocks.begun = true
  for _, line in ipairs(counters_table.lines(counters:rows())) do env.out:write(line, "\n") end
end

local function say(format, env, message)
  if format.note then format:note(message) else env:say(message) end
end

local function tell_troubles(counters, format, env, told)
  for i = told + 1, #counters.troubles do say(format, env, counters.troubles[i]) end
  return #counters.troubles
end

local function names_of(asked)
  local list <const> = table.move(asked.providers, 1, #asked.providers, 1, {})
  return table.concat(table.move(asked.meters, 1, #asked.meters, #list + 1, list), ", ")
end

local function show(format, counters, args, env)
  local redactor <const> = common.redactor(args)
  if redactor then counters = require("sonde.redact.counters").wrap(redactor, counters) end
  common.checked(args, env, function(inner) format.show(counters, inner, format) end)
end

-- Is there something to show? A screen is drawn also when nothing comes: values
-- become stale.
local function is_due(counters, format, shown)
  if counters.updates > shown then return counters:is_settled() end
  return format.drawn_at ~= nil and loop.now() - format.drawn_at > counters.interval
end

-- Shows what has come at each interval, until there is a reason to end.
local function watch(counters, format, args, env, is_over)
  local deadline <const> = loop.after(args.duration or FOREVER)
  local shown, told, began = 0, 0, loop.now()
  local warned = false
  while not is_over() and loop.now() < deadline do
    local ended <const> = counters:wait { timeout = math.max(0, math.min(100 * MS,
      deadline - loop.now())) }
    told = tell_troubles(counters, format, env, told)
    local complete <const> = not args.once or counters:is_complete()
    if complete and is_due(counters, format, shown) then
      show(format, counters, args, env)
      env.out:flush()
      shown = counters.updates
      if args.once then return true end
    end
    local waited <const> = loop.now() - began
    if counters.updates == 0 and not warned and waited > PATIENCE * counters.interval then
      say(format, env, ("nothing has come from %s: a name that this process does not have?")
        :format(names_of(counters.asked)))
      warned = true
    end
    if ended then return shown > 0 end
  end
  return shown > 0
end

-- On a terminal values are shown on the screen, unless they are shown once.
local function is_screen(args, env)
  return env.terminal.out and not (args.json or args.csv or args.once)
end

local function open_screen(counters, args, env, quit)
  local name <const> = not common.redactor(args) and counters.target.name or "process"
  local screen
  screen = require("sonde.cmd.counters_screen").open(counters, env, {
    title = ("%s (%s)"):format(name, counters.target.pid or "?"), quit = quit,
    redraw = function() show(screen, counters, args, env) end,
  })
  return screen
end

-- Watches until there is a reason to end; whatever that is, the terminal is given
-- back.
local function watch_all(counters, args, env)
  local over = false
  local function quit() over = true end
  local format = args.json and Json or args.csv and Csv or Blocks
  format.begun = false
  local release <const> = loop.on_signals(SIGNALS, quit)
  if is_screen(args, env) then format = open_screen(counters, args, env, quit) end
  local _ <close> = setmetatable({}, { __close = function()
    release()
    if format.close then format:close() end
  end })
  return watch(counters, format, args, env, function() return over end)
end

return common.verb {
  name = "counters",
  summary = "what a running process counts about itself, as it changes",
  arguments = { live.target_argument },
  options = function()
    return options.join(live.target_options, require("sonde.dotnet.counters").options, {
      { name = "duration", type = "duration", min = 1, help = "end after this time" },
      { name = "once", type = "boolean", help = "show the first values and end" },
      { name = "csv", type = "boolean", help = "write comma-separated values" },
      common.json,
    }, common.redact_options())
  end,
  examples = {
    "sonde counters Api",
    "sonde counters 4242 --provider 'Microsoft.AspNetCore.Hosting[current-requests]'",
    "sonde counters 4242 --meter MyCompany.Orders --once --json",
  },
  run = function(args, env)
    if args.csv and args.json then errors.usage("--csv and --json: one of them") end
    local target <const> = live.target(args)
    local opts = {}
    for _, option in ipairs(require("sonde.dotnet.counters").options) do
      opts[option.name] = args[option.name]
    end
    local counters <const> = common.check(target:counters(opts))
    local came <const> = watch_all(counters, args, env)
    local done, message, code = counters:stop { timeout = "10s" }
    if not done then env:warn(message, code) end
    return came and errors.exit.done or errors.exit.empty
  end,
}
