--- `{ counters = { duration = "30s" } }`: writes down what a target's figures are for
-- some time: counters and meters of .NET, figures of Go's runtime, and of any
-- process those of the system.
-- @module sonde.policy.actions.counters
local files <const> = require "sonde.base.files"
local json <const> = require "sonde.base.json"
local loop <const> = require "sonde.base.loop"
local words <const> = require "sonde.policy.words"

local counters = { short = "duration" }

local SECOND <const> = 1000000000

local ORDER <const> = { "time_s", "provider", "name", "tags", "value", "rate" }

--- The first line of a table of them.
counters.HEADER = table.concat(ORDER, ",")

--- Fields.
counters.fields = {
  { name = "duration", type = "duration", default = 30 * SECOND, min = SECOND // 10,
    max = 3600 * SECOND, help = "how long" },
  { name = "interval", type = "duration", default = SECOND, min = SECOND // 10,
    help = "time between two values" },
  { name = "provider", type = "string", many = true, help = "EventSources (.NET)" },
  { name = "meter", type = "string", many = true, help = "meters (.NET)" },
  { name = "format", type = "string", choices = { "csv", "jsonl" }, default = "csv",
    help = "a table, or an object on each line" },
  { name = "path", type = "path", help = "its name; by default of policy, target and time" },
}

--- Says what it does.
-- @tparam table spec
-- @treturn string
function counters.explain(spec)
  return ("write down its counters for %s, every %s"):format(words.duration(spec.duration),
    words.duration(spec.interval))
end

--- What it costs.
-- @tparam table spec
-- @treturn table `duration_ns`
function counters.cost(spec)
  return { duration_ns = spec.duration }
end

-- .NET publishes them by itself.
local function listen(spec, context, take)
  local target, message, code = context.target()
  if target == nil then return nil, message, code end
  local listening
  listening, message, code = target:counters { provider = spec.provider, meter = spec.meter,
    interval = spec.interval, on_value = function(row)
      take { provider = row.provider, name = row.name, tags = row.tag_text, value = row.value,
        rate = row.rate }
    end }
  if listening == nil then return nil, message, code end
  local ended <const> = listening:wait { timeout = spec.duration }
  if not ended then listening:stop { timeout = 5 * SECOND } end
  return true
end

local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

local function open_sources(facts, take)
  local list = {}
  for _, name in ipairs { "process", "go" } do
    local module <const> = require("sonde.policy.source." .. name)
    local wanted <const> = set_of(module.METRICS)
    if module.offers(wanted, facts) then
      local provider <const> = name == "go" and "Go" or "System"
      list[#list + 1] = module.open(facts, wanted, function(figure, value)
        take { provider = provider, name = figure, value = value }
      end)
    end
  end
  return list
end

-- Others are asked.
local function poll(spec, context, take)
  local list <const> = open_sources(context.facts, take)
  local deadline <const> = loop.after(spec.duration)
  repeat
    for _, source in ipairs(list) do source:poll(loop.now()) end
    local slept, message, code = loop.sleep(math.min(spec.interval,
      math.max(1, deadline - loop.now())))
    if not slept and code == "canceled" then return nil, message, code end
  until loop.now() >= deadline
  return true
end

local function cell(value)
  if value == nil then return "" end
  local text <const> = tostring(value)
  return text:find '[",\r\n]' and '"' .. text:gsub('"', '""') .. '"' or text
end

local function line_of(row, format)
  if format == "jsonl" then return json.encode(row, ORDER) end
  local cells = {}
  for i, name in ipairs(ORDER) do cells[i] = cell(row[name]) end
  return table.concat(cells, ",")
end

local function write(path, lines, format)
  return files.write(path, function(out)
    if format == "csv" then out:write(counters.HEADER, "\n") end
    out:write(table.concat(lines, "\n"), "\n")
    return true
  end)
end

--- Does it.
-- @tparam table spec
-- @tparam table context
-- @treturn ?table `path bytes values`
-- @treturn ?string message
-- @treturn ?string code
function counters.run(spec, context)
  local lines, began = {}, loop.now()
  local function take(row)
    row.time_s = (loop.now() - began) // 1000000 / 1000
    lines[#lines + 1] = line_of(row, spec.format)
  end
  local look <const> = context.facts.runtime == "dotnet" and listen or poll
  local done, message, code = look(spec, context, take)
  if done == nil then return nil, message, code end
  if #lines == 0 then return nil, "no value came in this time", "no_events" end
  local path <const> = context.place(spec.path or context.name(".counters." .. spec.format))
  done, message, code = write(path, lines, spec.format)
  if not done then return nil, message, code end
  return { path = path, bytes = require("sonde.base.uv").fs_stat(path).size, values = #lines }
end

return counters
