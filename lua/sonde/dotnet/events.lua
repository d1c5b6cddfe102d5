--- The events of a trace, one by one, each with its decoded payload.
--
--    for event in assert(sonde.events("api.nettrace", { name = "^GC" })) do
--      print(event.time_ns, event.name, event.payload.Reason)
--    end
--
-- @module sonde.dotnet.events
local core <const> = require "sonde.c.core"
local input <const> = require "sonde.base.input"
local options <const> = require "sonde.base.options"

local events = {}

--- Options of `sonde.events`.
events.options = {
  { name = "provider", type = "pattern", help = "only providers whose name matches" },
  { name = "name", type = "pattern", help = "only events whose name matches" },
  { name = "id", type = "integer", min = 0, help = "only events with this number" },
  { name = "thread", type = "id", help = "only events about the thread with this id" },
  { name = "from", type = "duration", help = "leave out what was before this time" },
  { name = "to", type = "duration", help = "leave out what was after this time" },
  { name = "n", type = "integer", short = "n", min = 0, help = "at most so many events" },
  { name = "stacks", type = "boolean", help = "with the addresses of each event's stack" },
  { name = "limit", type = "size", default = 2 << 30, default_text = "2GiB", min = 1 << 20,
    help = "most memory that decoding may use" },
}

local Events <const> = {}
Events.__index = Events
Events.__name = "sonde.events"

-- The function that the reader asks once per type of event.
local function want_of(opts)
  if opts.provider == nil and opts.name == nil and opts.id == nil then return nil end
  local pattern <const> = require "sonde.base.pattern"
  local provider <const> = opts.provider and pattern.matcher(opts.provider, "provider")
  local name <const> = opts.name and pattern.matcher(opts.name, "name")
  return function(its_provider, its_name, its_id)
    return (provider == nil or provider(its_provider))
      and (name == nil or name(its_name))
      and (opts.id == nil or opts.id == its_id)
  end
end

local function core_options(opts, write)
  return {
    want = want_of(opts), json = write ~= nil, write = write, stacks = opts.stacks,
    limit = opts.limit, from_ns = opts.from, to_ns = opts.to, thread = opts.thread,
    most = opts.n,
  }
end

local function start(from, opts, json)
  local source, message, code = input.open(from)
  if source == nil then return nil, message, code end
  local kind, why, reason, hint = source:kind()
  if kind == "nettrace" then
    local self <const> = setmetatable({ source = source, n = opts.n }, Events)
    local write <const> = json and function(lines) self.write(lines) end or nil
    local reader, refused, refusal = core.events(core_options(opts, write))
    if reader == nil then return source:fail(refused, refusal) end
    self.reader = reader
    return self
  end
  source:close()
  if kind == nil then return nil, why, reason, hint end
  return source:fail("a profile has no events: they are in traces", "unavailable",
    "sonde top " .. source.name)
end

--- Opens the events of a trace.
-- @param from as for `sonde.open`
-- @tparam ?table opts `provider name` (patterns), `id thread from to n stacks
--   limit`; see `events.options`
-- @treturn ?Events call it for the next event; made for `for … in`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function events.open(from, opts)
  return start(from, options.check(events.options, opts, "events"), false)
end

--- Opens the events of a trace as lines of JSON.
-- @param from as for `sonde.open`
-- @tparam ?table opts as for `events.open`
-- @treturn ?Events whose `pass` gives the lines
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function events.open_json(from, opts)
  return start(from, options.check(events.options, opts, "events"), true)
end

--- A reader that is fed with the bytes of a stream, and writes lines of JSON:
-- for a stream that is on its way. The lines are in the order of the stream,
-- because more may have to come, much later, before that of time is known.
-- @tparam table opts `provider name id thread n stacks limit`
-- @return userdata of `core.events`: `feed finish take_json text counts`
function events.json_reader(opts)
  opts = options.check(events.options, opts, "events")
  local settings <const> = core_options(opts)
  settings.json, settings.order = true, false
  return core.events(settings)
end

local function keep(self, message, code)
  if message == nil or self.message then return end
  local name <const> = self.source.name
  if message:sub(1, #name + 1) ~= name .. ":" then message = name .. ": " .. message end
  self.message, self.code = message, code
end

-- Feeds one more piece, or what still waited; false when there was nothing
-- left. What went wrong is kept for `problem`: the events before it are good.
local function more(self)
  if self.finished then return false end
  local enough <const> = self.n and self.reader:counts().matched >= self.n
  local taken, message, code, _
  if not enough then taken, message, code = self.reader:pump(self.source.input) end
  if taken and taken > 0 then return true end
  self.finished = true
  if taken == 0 then _, message, code = self.reader:finish() end
  keep(self, message, code)
  local unpacked, why, reason = self.source:close()
  if why and (unpacked or not enough) then keep(self, why, reason) end
  return true
end

--- The next event.
-- @treturn ?table `time_ns wall_time thread process provider id name payload`
--   and more; nil at the end
function Events:__call()
  repeat
    local event <const> = self.reader:next()
    if event then return event end
  until not more(self)
  return self.reader:next()
end

--- The next events.
-- @tparam ?integer n at most so many; 100 when not given
-- @treturn Rows
function Events:rows(n)
  local list = {}
  while #list < (n or 100) do
    local event <const> = self()
    if event == nil then break end
    list[#list + 1] = event
  end
  return require("sonde.base.rows").of(list)
end

--- Passes all lines of JSON on.
-- @tparam function write is called with some whole lines at a time
function Events:pass(write)
  self.write = write
  repeat
    local more_to_come <const> = more(self)
    local lines <const> = self.reader:take_json()
    if lines ~= "" then write(lines) end
  until not more_to_come
end

--- Lines of JSON, as `pass` gives them, as text for people.
-- @tparam string lines
-- @treturn ?string a line for each
-- @treturn ?string message
-- @treturn ?string code
function Events:text(lines)
  return self.reader:text(lines)
end

--- What went wrong in reading, once the end was reached.
-- @treturn ?string message
-- @treturn ?string code
function Events:problem()
  return self.message, self.code
end

--- Counts so far.
-- @treturn table `bytes events matched errors warnings lost truncated ended`
function Events:counts()
  return self.reader:counts()
end

--- Stops reading.
function Events:close()
  self.finished = true
  self.source:close()
end

Events.__close = Events.close

function Events:__tostring()
  return ("events of %s (%d so far)"):format(self.source.name, self.reader:counts().matched)
end

return events
