--- Tracepoints and perf events by name.
-- @module sonde.probe.places
local files <const> = require "sonde.base.files"
local limits <const> = require "sonde.probe.limits"
local options <const> = require "sonde.base.options"

local places = {}

local HARDWARE <const>, SOFTWARE <const>, RAW <const> = 0, 1, 4

-- By kind and number, as in linux/perf_event.h.
local EVENTS <const> = {
  cycles = { HARDWARE, 0 }, ["cpu-cycles"] = { HARDWARE, 0 }, instructions = { HARDWARE, 1 },
  ["cache-references"] = { HARDWARE, 2 }, ["cache-misses"] = { HARDWARE, 3 },
  branches = { HARDWARE, 4 }, ["branch-instructions"] = { HARDWARE, 4 },
  ["branch-misses"] = { HARDWARE, 5 }, ["bus-cycles"] = { HARDWARE, 6 },
  ["stalled-cycles-frontend"] = { HARDWARE, 7 }, ["stalled-cycles-backend"] = { HARDWARE, 8 },
  ["ref-cycles"] = { HARDWARE, 9 },
  ["cpu-clock"] = { SOFTWARE, 0 }, ["task-clock"] = { SOFTWARE, 1 },
  ["page-faults"] = { SOFTWARE, 2, each = true }, faults = { SOFTWARE, 2, each = true },
  ["context-switches"] = { SOFTWARE, 3, each = true }, cs = { SOFTWARE, 3, each = true },
  ["cpu-migrations"] = { SOFTWARE, 4, each = true }, migrations = { SOFTWARE, 4, each = true },
  ["minor-faults"] = { SOFTWARE, 5, each = true },
  ["major-faults"] = { SOFTWARE, 6, each = true },
  ["alignment-faults"] = { SOFTWARE, 7, each = true },
  ["emulation-faults"] = { SOFTWARE, 8, each = true },
}

-- Samples a second where nothing else is said: not a divisor of timers.
local DEFAULT_RATE <const> = 99

local function names_of_events()
  local names = {}
  for name in pairs(EVENTS) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- "4:0x1c2:99", as utrace takes events.
local function numbered(text)
  local kind, config, rate = text:match("^(%d+):(%w+):(%d+)$")
  if kind == nil or tonumber(config) == nil then return nil end
  return { type = math.tointeger(tonumber(kind)), config = math.tointeger(tonumber(config)),
    rate = math.tointeger(tonumber(rate)), is_rate = true }
end

local function named(name)
  local raw <const> = name:match("^r(%x+)$")
  if raw then return { type = RAW, config = tonumber(raw, 16) } end
  local event <const> = EVENTS[name]
  return event and { type = event[1], config = event[2], each = event.each }
end

--- A perf event by its name.
-- @tparam string text `NAME`, `NAME:FREQUENCY`, `rHEX` (raw), or
--   `TYPE:CONFIG:FREQUENCY` in numbers
-- @treturn ?table `kind name type config rate is_rate`; without a frequency
--   events that are counted one by one are hits one by one, others 99 a second
-- @treturn ?string message
-- @treturn ?string code `not_found`
function places.event(text)
  local event = numbered(text)
  if event == nil then
    local name, rate = text:match("^([^:]+):?(%d*)$")
    event = name and named(name)
    if event == nil then
      local near <const> = options.suggest(name or text, names_of_events())
      return nil, ("no perf event '%s'%s"):format(text, near
        and (" (did you mean '%s'?)"):format(near) or ": cycles, cpu-clock, page-faults, …, or"
        .. " rHEX"), "not_found"
    end
    event.is_rate = rate ~= "" or not event.each
    event.rate = rate ~= "" and math.tointeger(tonumber(rate))
      or event.is_rate and DEFAULT_RATE or 1
  end
  if event.rate == nil or event.rate < 1 then
    return nil, ("the perf event '%s' has an impossible frequency"):format(text), "not_found"
  end
  event.kind, event.name, event.binary = "event", text, "[events]"
  return event
end

local function no_tracefs(name, message, code, hint)
  return nil, ("tracepoint %s: %s"):format(name, message), code, hint
end

--- A tracepoint by its name.
-- @tparam string name `CATEGORY:NAME`
-- @treturn ?table `kind name config`
-- @treturn ?string message
-- @treturn ?string code `not_found permission unavailable`
-- @treturn ?string hint
function places.tracepoint(name)
  local category, event = name:match("^([%w_-]+)[:/]([%w_-]+)$")
  if category == nil then
    return nil, ("tracepoint '%s': give it as CATEGORY:NAME, as in sched:sched_switch"):
      format(name), "not_found"
  end
  local folder <const>, message, code, hint = limits.tracing()
  if folder == nil then return no_tracefs(name, message, code, hint) end
  local id <const> = files.read(("%s/events/%s/%s/id"):format(folder, category, event))
  if id == nil then
    return nil, ("no tracepoint %s"):format(name), "not_found", ("ls %s/events"):format(folder)
  end
  return { kind = "tracepoint", name = category .. ":" .. event,
    config = math.tointeger(tonumber(id)), binary = "[tracepoints]" }
end

-- A tracepoint's number, and where its record has a field.
local function field_of(event, field)
  local folder <const> = limits.tracing()
  local id <const> = folder and files.read(("%s/events/%s/id"):format(folder, event))
  local format <const> = id and files.read(("%s/events/%s/format"):format(folder, event))
  local at <const> = format and format:match("[%s]" .. field .. ";%s+offset:(%d+);")
  if at then return math.tointeger(tonumber(id)), math.tointeger(tonumber(at)) end
end

--- The tracepoint of forks.
-- @treturn ?integer its number; nil without tracefs
-- @treturn ?integer where its record has the child's number
function places.forks()
  return field_of("sched/sched_process_fork", "child_pid")
end

--- The tracepoint of threads that wake another.
-- @treturn ?integer its number; nil without tracefs
-- @treturn integer|string where its record has the other's number; else a message
-- @treturn ?string code `permission unavailable`
-- @treturn ?string hint
function places.wakings()
  local id <const>, at = field_of("sched/sched_waking", "pid")
  if id then return id, at end
  local folder <const>, message, code, hint = limits.tracing()
  if folder then return nil, "this kernel has no tracepoint sched:sched_waking", "unavailable" end
  return no_tracefs("sched:sched_waking", message, code, hint)
end

--- The tracepoints of requests to block devices.
-- @treturn ?table their numbers `made issue complete`, and where they have what:
--   `device sector`, `made_operation operation`, `done_device done_sector`; nil when there are none
-- @treturn ?string message
-- @treturn ?string code `unavailable`
-- @treturn ?string hint
function places.block_requests()
  local form <const> = {}
  form.made, form.device = field_of("block/block_getrq", "dev")
  form.issue, form.sector = field_of("block/block_rq_issue", "sector")
  form.complete, form.done_device = field_of("block/block_rq_complete", "dev")
  local _
  _, form.made_operation = field_of("block/block_getrq", "rwbs%[%d+%]")
  _, form.operation = field_of("block/block_rq_issue", "rwbs%[%d+%]")
  _, form.done_sector = field_of("block/block_rq_complete", "sector")
  if form.made and form.issue and form.complete and form.operation then return form end
  local folder <const>, message, code, hint = limits.tracing()
  if folder == nil then return no_tracefs("block:block_rq_issue", message, code, hint) end
  return nil, "this kernel has no tracepoints of block devices", "unavailable"
end

--- The processors that are there.
-- @treturn {integer,...}
function places.processors()
  local list = {}
  for part in (files.read "/sys/devices/system/cpu/online" or "0"):gmatch("[^,\n]+") do
    local first, last = part:match("^(%d+)-?(%d*)$")
    for cpu = tonumber(first), tonumber(last ~= "" and last or first) do list[#list + 1] = cpu end
  end
  return list
end

return places
