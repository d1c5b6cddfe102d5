--- A NetTrace trace: what happened in a .NET process, or on a whole machine.
--
--    local trace = assert(sonde.open("api.nettrace"))
--    print(trace:profile{ view = "alloc" }:top{ n = 10 })
--    for sample in assert(trace:samples()) do … end
--
-- A trace is read once, when it is opened, into rows whose number does not
-- grow with the file. What needs more than that (another range of time, the
-- order of samples, maps to IL) reads its file again; standard input cannot be
-- read again, so there it has to be asked for when opening.
-- @module sonde.dotnet.trace
local core <const> = require "sonde.c.core"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"
local questions <const> = require "sonde.dotnet.questions"
local threads <const> = require "sonde.dotnet.threads"
local views <const> = require "sonde.dotnet.views"

local trace = {}

local Trace <const> = {}
Trace.__index = Trace
Trace.__name = "sonde.Trace"

--- Options of `Trace:profile`.
trace.profile_options = {
  { name = "view", type = "string", help = "what is measured; wall or cpu otherwise" },
  { name = "names", type = "string", choices = { "pretty", "full", "raw" }, default = "pretty",
    help = "how methods are named" },
  { name = "labels", type = "boolean", default = true,
    help = "keep thread, process, type and generation of each sample" },
  { name = "thread", type = "pattern", many = true,
    help = "only threads with this id, or whose name matches" },
  { name = "process", type = "pattern", help = "only the process with this id or name" },
  { name = "from", type = "duration", help = "leave out what was before this time" },
  { name = "to", type = "duration", help = "leave out what was after this time" },
}

--- Options of `Trace:timeline`.
trace.timeline_options = {
  { name = "names", type = "string", choices = { "pretty", "full", "raw" }, default = "pretty",
    help = "how methods are named" },
  { name = "runs", type = "boolean",
    help = "what a thread does on one stack without a break may be one sample" },
}

local function read_all(userdata, source, progress)
  local taken = 0
  while true do
    local n, message, code = userdata:pump(source.input)
    if n == nil then return message, code end
    if n == 0 then return nil end
    taken = taken + n
    if progress then progress(taken, source.size) end
  end
end

-- What could not be read, in words; nil when all is well.
local function shortcoming(userdata)
  local counts <const> = userdata:counts()
  if counts.truncated then
    return ("file ends early at byte %d; %d events read"):format(counts.bytes, counts.events),
      "truncated"
  end
  if counts.errors > 0 then
    for _, problem in ipairs(userdata:problems()) do
      if problem.severity == "error" then
        local more <const> = counts.errors > 1 and (" (and %d more)"):format(counts.errors - 1)
        return ("damaged at byte %d: %s%s"):format(problem.offset, problem.text, more or ""),
          "malformed"
      end
    end
  end
  if not counts.has_data_block then
    return "no events: the stream has no event, metadata or stack block", "no_events"
  end
end

local FATAL <const> = { not_nettrace = true, unsupported_version = true }

-- What failed in getting at the bytes: a disk, or what they are packed in.
local function input_failure(source, userdata)
  local ahead, message, code = source.input:peek(1)
  if ahead ~= nil then return nil end
  return ("%s; %d events read"):format(message, userdata:counts().events), code
end

-- A message with the source's name in front, which some have already.
local function named(source, message)
  if message == nil or message:sub(1, #source.name + 1) == source.name .. ":" then
    return message
  end
  return ("%s: %s"):format(source.name, message)
end

-- Reads a source into a new userdata. Without one nothing could be read. The
-- last value is true when it was not the stream that failed.
local function decode(source, opts)
  local userdata, refused, refusal = core.trace {
    groups = opts.groups or nil, timeline = opts.timeline and opts.runs and "runs"
      or opts.timeline, from_ns = opts.from, to_ns = opts.to,
    limit = opts.limit,
  }
  if userdata == nil then return nil, refused, refusal end
  local message, code = read_all(userdata, source, opts.progress)
  if FATAL[code] then return nil, message, code end
  local finished, why, reason = userdata:finish()
  if not finished then
    if FATAL[reason] then return nil, why, reason end
    if code == nil or reason == "limit" then message, code = why, reason end
  end
  if message and code ~= "limit" then
    local broken, cause <const> = input_failure(source, userdata)
    if broken then return userdata, broken, cause, true end
  end
  local said, kind <const> = shortcoming(userdata)
  if code == nil or code == "truncated" or code == "malformed" then
    message, code = said or message, kind or code
  end
  return userdata, message, code, code == "limit"
end

local HINTS <const> = {
  truncated = "sonde inspect %s", malformed = "sonde inspect %s",
}

local function hint_for(code, path)
  if code == "limit" then return "--limit 4GiB" end
  return path and HINTS[code] and HINTS[code]:format(path)
end

-- The object of a userdata that has been read to its end.
local function wrap(userdata, source, opts, message, code)
  -- Something may stand between the object and the file, for redaction.
  if opts.through then userdata = opts.through(userdata) end
  local info <const> = userdata:info()
  return setmetatable({
    core = userdata, name = source.name, path = source.path, opts = opts,
    bytes = source.bytes, profiles = {}, lists = {}, message = message, code = code,
    version = info.version, clock_frequency = info.clock_frequency,
    pointer_size = info.pointer_size, process_id = info.process_id,
  }, Trace)
end

--- Makes a trace of a stream that was decoded while it arrived.
-- @param userdata of `core.trace`, finished
-- @tparam table source `name`; `path` when it has a file; `opts` of the userdata
-- @return as `trace.read`
function trace.adopt(userdata, source)
  local message, code = shortcoming(userdata)
  if message == nil then message, code = source.message, source.code end
  if message then message = ("%s: %s"):format(source.name, message) end
  return wrap(userdata, source, source.opts or {}, message, code), message, code,
    hint_for(code, source.path)
end

--- Reads a trace.
-- @tparam table source of `sonde.base.input`: `input` to pump, `name`, `path`
--   when it can be opened again, `size`, `progress`
-- @tparam table opts `limit from to timeline view progress`, checked by the
--   caller
-- @treturn ?Trace a partial one when the trace is damaged or cut
-- @treturn ?string message that says what is missing
-- @treturn ?string code
-- @treturn ?string hint
function trace.read(source, opts)
  if opts.view and opts.groups == nil then
    local more <const> = { groups = views.groups(opts.view) }
    for name, value in pairs(opts) do more[name] = value end
    if opts.view == "oncpu" then more.timeline = true end
    opts = more
  end
  local userdata, message, code, outside = decode(source, opts)
  message = named(source, message)
  local hint <const> = hint_for(code, source.path)
  if userdata == nil then return nil, message, code, hint end
  local self <const> = wrap(userdata, source, opts, message, code)
  if outside then self.outside = message end
  return self, message, code, hint
end

-- Reads the same input once more, with other options.
local function read_again(self, more, what)
  local from <const> = self.path or self.bytes and { bytes = self.bytes, name = self.name }
  if from == nil then
    return nil, ("%s: %s needs to read the input a second time, which a stream cannot:"
      .. " save it to a file first"):format(self.name, what), "unavailable"
  end
  local source, message, code = require("sonde.base.input").open(from)
  if source == nil then return nil, message, code end
  local kind, why, reason = source:kind()
  local opts = {}
  for name, value in pairs(self.opts) do opts[name] = value end
  for name, value in pairs(more) do opts[name] = value end
  opts.progress = nil
  local fresh
  if kind == "nettrace" then fresh, why, reason = trace.read(source, opts) end
  source:close()
  if fresh == nil then return nil, why or self.name .. ": has changed", reason or "malformed" end
  return fresh
end

-- The same trace, cut by time or with what was not kept at first. One such
-- trace is kept, since questions of one kind come in a row.
local function variant(self, key, more, what)
  if self.variant_key == key then return self.variant end
  local fresh, message, code = read_again(self, more, what)
  if fresh == nil then return nil, message, code end
  self.variant_key, self.variant = key, fresh
  return fresh
end

-- Is each sample there, in order?
local function has_order(self)
  return self.opts.timeline and not self.opts.runs
end

local function with_timeline(self)
  if has_order(self) then return self end
  return variant(self, "timeline", { timeline = true, runs = false }, "the order of samples")
end

local function cut(self, from, to)
  if from == nil and to == nil then return self end
  from = math.max(from or math.mininteger, self.opts.from or math.mininteger)
  to = math.min(to or math.maxinteger, self.opts.to or math.maxinteger)
  return variant(self, ("%d-%d"):format(from, to), { from = from, to = to }, "a range of time")
end

-- Events that were passed over because another view was asked for first.
local function with_view(self, view)
  if view == "oncpu" and not has_order(self) then   -- shared out in order of time
    return variant(self, "oncpu", { groups = false, timeline = true, runs = false },
      "the view oncpu")
  end
  local kept <const> = self.opts.groups
  if not kept then return self end
  local has = {}
  for _, group in ipairs(kept) do has[group] = true end
  for _, group in ipairs(views.groups(view)) do
    if not has[group] then
      return variant(self, "all groups", { groups = false }, "the view " .. view)
    end
  end
  return self
end

for name, method in pairs(questions) do Trace[name] = method end

--- From native offsets to IL offsets, for each compiled method: `method_id
-- rejit il native`. Reads the trace again.
-- @treturn ?{table,...}
-- @treturn ?string message
-- @treturn ?string code
function Trace:il_maps()
  local other, message, code = variant(self, "il_maps", { groups = { "il_maps" } }, "il_maps")
  if other == nil then return nil, message, code end
  return other.core:il_maps()
end

--- The views that this trace can give, the default one first.
-- @treturn {string,...}
function Trace:views()
  return views.available(self.core)
end

-- Of a view that was asked for as "samples" the numbers are what counts.
local function describe(self, profile, view, asked, facts)
  profile:set_info {
    comments = views.comments(self, view, facts),
    default_type = asked == "samples" and 1 or nil,
  }
  if profile.set_view then profile:set_view(view) end
end

local function make_profile(self, view, opts)
  local mask, message, code, hint = threads.mask(self, opts)
  if message then return nil, message, code, hint end
  local profile, facts, why = self.core:profile {
    view = view, names = opts.names, labels = opts.labels, threads = mask,
  }
  if profile == nil then return nil, ("%s: %s"):format(self.name, facts), why end
  describe(self, profile, view, opts.view, facts)
  return profile, facts
end

-- Profiles are values, so the same question may get the same object.
local function cached_profile(self, view, opts)
  if opts.process or opts.thread and #opts.thread > 0 then
    return make_profile(self, view, opts)
  end
  local key <const> = ("%s %s %s %s"):format(view, opts.view == "samples", opts.names,
    opts.labels)
  local known <const> = self.profiles[key]
  if known then return known.profile, known.facts end
  local profile, facts, code = make_profile(self, view, opts)
  if profile == nil then return nil, facts, code end
  self.profiles = { [key] = { profile = profile, facts = facts } }
  return profile, facts
end

-- Ids may be given as numbers.
local function id_text(id)
  return math.type(id) == "integer" and text.unsigned(id) or tostring(id)
end

--- A profile of the trace.
-- @tparam ?table opts `view` (`wall samples running managed alloc exception
--   contention gc jit`; of machine-wide traces `cpu cswitch` and other kinds),
--   `names`, `labels`, `thread` (id or pattern, or a list), `process`, `from`,
--   `to`
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code `no_samples` when the trace has no events for the view,
--   the thread or process; `unknown_name` for an unknown view
-- @treturn ?string hint
function Trace:profile(opts)
  opts = opts or {}
  if type(opts.thread) ~= "table" and opts.thread ~= nil then
    local given <const> = opts
    opts = {}
    for name, value in pairs(given) do opts[name] = value end
    opts.thread = { id_text(given.thread) }
  end
  opts.process = opts.process and id_text(opts.process)
  opts = options.check(trace.profile_options, opts, "trace:profile")
  local self_cut, message, code = cut(self, opts.from, opts.to)
  if self_cut == nil then return nil, message, code end
  local view, why, reason, hint = views.choose(self_cut, opts.view)
  if view == nil then return nil, why, reason, hint end
  self_cut, message, code = with_view(self_cut, view)
  if self_cut == nil then return nil, message, code end
  local profile, facts, failure, what_helps = cached_profile(self_cut, view, opts)
  if profile == nil then return nil, facts, failure, what_helps end
  return profile
end

local NO_FRAMES <const> = { frames = 0, unresolved = 0, guessed = 0, cut_samples = 0 }

--- How many frames of all samples have a name.
-- @treturn table `frames`, `unresolved` (no method body or symbol covers them),
--   `guessed` (of those, how many an entry point near by gives a name),
--   `cut_samples` (samples whose stack the runtime cut at 100 frames)
function Trace:frames()
  local view <const> = views.of_samples(self.core)
  if view == nil then return NO_FRAMES end
  self.frame_facts = self.frame_facts or self.core:frames { view = view } or NO_FRAMES
  return self.frame_facts
end

--- The samples in order of time, over one profile of stacks.
-- @tparam ?table opts `names`; `runs` takes what a trace has that was opened with it
-- @treturn ?Timeline `threads`, `profile`, `each`
-- @treturn ?string message
-- @treturn ?string code
function Trace:timeline(opts)
  opts = options.check(trace.timeline_options, opts, "trace:timeline")
  local other, message, code = self, nil, nil
  if not (opts.runs and self.opts.timeline) then other, message, code = with_timeline(self) end
  if other == nil then return nil, message, code end
  return other.core:timeline { names = opts.names }
end

--- Iterates over the thread samples in order of time: `timestamp` (nanoseconds
-- on the trace's clock), `time_ns` (from the session's start), `weight_ns`,
-- `thread_id`, `managed`, `frames` (innermost first: `ip method type assembly`;
-- the last three are empty where no method is known). Samples on one stack
-- share their list of frames: it is read-only.
-- @treturn ?function
-- @treturn ?string message
-- @treturn ?string code
function Trace:samples()
  local other, message, code = with_timeline(self)
  if other == nil then return nil, message, code end
  return other.core:samples()
end

--- The events, one by one, each with its decoded payload. Reads the trace
-- again.
-- @tparam ?table opts as for `sonde.events`
-- @treturn ?Events
-- @treturn ?string message
-- @treturn ?string code
function Trace:events(opts)
  local from <const> = self.path or self.bytes and { bytes = self.bytes, name = self.name }
  if from == nil then
    return nil, ("%s: events need to read the input a second time, which a stream cannot:"
      .. " save it to a file first"):format(self.name), "unavailable"
  end
  return require("sonde.dotnet.events").open(from, opts)
end

--- Frees the memory now instead of when it is collected.
function Trace:close()
  self.core:close()
  if self.variant then self.variant:close() end
end

Trace.__close = Trace.close

function Trace:__tostring()
  local counts <const> = self.core:counts()
  return ("trace %s (NetTrace %s, %d events, %d samples, %d methods, %d lost)"):format(
    self.name, self.version or "?", counts.events,
    counts.samples_external + counts.samples_managed + counts.samples_error,
    counts.methods, counts.lost)
end

--- What an HTML page shows of the trace; see `sonde.report.html`.
-- @tparam ?table opts `names`
-- @treturn table
function Trace:page(opts)
  return require("sonde.dotnet.page").of(self, opts)
end

return trace
