--- `sonde counters PID`: what a process counts about itself.
-- @module sonde.cmd.counters
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"

local MS <const>, SECOND <const> = 1000000, 1000000000
local FOREVER <const> = 10 * 365 * 24 * 3600 * SECOND

local SIGNALS <const> = { 2, 15, 1 }

-- After the first value of an interval the others come at once.
local SETTLE <const> = 300 * MS

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

local BARS <const> = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

local function sparkline(history)
  local low, high = math.huge, -math.huge
  for _, value in ipairs(history) do low, high = math.min(low, value), math.max(high, value) end
  local marks = {}
  for i, value in ipairs(history) do
    local share <const> = high > low and (value - low) / (high - low) or 0
    marks[i] = BARS[1 + math.floor(share * (#BARS - 1) + 0.5)]
  end
  return table.concat(marks)
end

local function number(value)
  if value == nil then return "" end
  if value == math.floor(value) and math.abs(value) < 1e15 then
    return require("sonde.base.units").count(math.tointeger(value))
  end
  return ("%.3f"):format(value)
end

local Table <const> = {}

local function cells_of(row)
  local name = row.name
  if row.tag_text then name = ("%s{%s}"):format(name, row.tag_text) end
  local shown = number(row.value)
  if row.rate and row.kind ~= "counter" then shown = number(row.rate) end
  if row.quantiles and next(row.quantiles) then
    shown = ("%s / %s / %s"):format(number(row.quantiles["0.5"]), number(row.quantiles["0.95"]),
      number(row.quantiles["0.99"]))
  end
  return { text.printable(row.provider), text.printable(name), shown,
    row.kind == "counter" and number(row.rate) or "", text.printable(row.unit or ""),
    row.stale and "stale" or sparkline(row.history) }
end

function Table.show(counters, env)
  local lines = {}
  for i, row in ipairs(counters:rows()) do lines[i] = cells_of(row) end
  local columns <const> = { { title = "SOURCE" }, { title = "COUNTER" },
    { title = "VALUE", right = true }, { title = "RATE", right = true }, { title = "UNIT" },
    { title = "" } }
  if env.terminal.out then
    env.out:write("\27[H\27[J")
  elseif Table.begun then
    env.out:write("\n")
  end
  Table.begun = true
  for _, line in ipairs(require("sonde.base.table").lines(columns, lines)) do
    env.out:write(line, "\n")
  end
end

local function tell_troubles(counters, env, told)
  for i = told + 1, #counters.troubles do env:say(counters.troubles[i]) end
  return #counters.troubles
end

local function names_of(asked)
  local list <const> = table.move(asked.providers, 1, #asked.providers, 1, {})
  return table.concat(table.move(asked.meters, 1, #asked.meters, #list + 1, list), ", ")
end

local function show(format, counters, args, env)
  local redactor <const> = common.redactor(args)
  if redactor then counters = require("sonde.redact.counters").wrap(redactor, counters) end
  common.checked(args, env, function(inner) format.show(counters, inner) end)
end

-- Shows what has come at each interval, until there is a reason to end.
local function watch(counters, format, args, env, is_over)
  local loop <const> = require "sonde.base.loop"
  local deadline <const> = loop.after(args.duration or FOREVER)
  local shown, told, began = 0, 0, loop.now()
  local warned, first = false, nil
  while not is_over() and loop.now() < deadline do
    local ended <const> = counters:wait { timeout = math.max(0, math.min(100 * MS,
      deadline - loop.now())) }
    told = tell_troubles(counters, env, told)
    if counters.updates > 0 then first = first or loop.now() end
    -- Rates need two intervals, and some values come an interval late.
    local complete <const> = not args.once
      or first and loop.now() - first > counters.interval + 2 * SETTLE
    if complete and counters.updates > shown and loop.now() - counters.newest > SETTLE then
      show(format, counters, args, env)
      env.out:flush()
      shown = counters.updates
      if args.once then return true end
    end
    if shown == 0 and not warned and loop.now() - began > PATIENCE * counters.interval then
      env:say(("nothing has come from %s: a name that this process does not have?"):format(
        names_of(counters.asked)))
      warned = true
    end
    if ended then return shown > 0 end
  end
  return shown > 0
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
    local format <const> = args.json and Json or args.csv and Csv or Table
    format.begun = false
    local opts = {}
    for _, option in ipairs(require("sonde.dotnet.counters").options) do
      opts[option.name] = args[option.name]
    end
    local counters <const> = live.check(target:counters(opts))
    local over = false
    local release <const> = require("sonde.base.loop").on_signals(SIGNALS,
      function() over = true end)
    local came <const> = watch(counters, format, args, env, function() return over end)
    local done, message, code = counters:stop { timeout = "10s" }
    release()
    if not done then env:warn(message, code) end
    return came and errors.exit.done or errors.exit.empty
  end,
}
