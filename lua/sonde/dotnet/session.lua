--- A session: a runtime sends what happens in it, until it is stopped.
--
--    local session = assert(target:trace{ output = "api.nettrace" })
--    …
--    assert(session:stop{ timeout = "30s" })
--
-- The stream is copied, counted and decoded by a task while the loop runs. A
-- session is always stopped, because a runtime has few of them and keeps one
-- whose client went away; and it is drained until the runtime ends it, because
-- nobody else gets an answer from a runtime that waits for its reader.
-- @module sonde.dotnet.session
local copy <const> = require "sonde.dotnet.copy"
local core <const> = require "sonde.c.core"
local dotnet <const> = require "sonde.dotnet"
local ipc <const> = require "sonde.dotnet.ipc"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local plan <const> = require "sonde.dotnet.plan"
local sink <const> = require "sonde.dotnet.sink"

local session = {}

local SECOND <const> = 1000000000

-- The stop's own limit, however little its callers want to wait.
local STOP_LIMIT <const> = 600 * SECOND

-- What a task that was told to end needs for that at most.
local UNWIND <const> = 2 * SECOND

--- Options of `Target:trace`.
session.options = {
  { name = "providers", type = "table",
    help = "list of providers: tables `name keywords level arguments only ids`, or text" },
  { name = "buffer_mb", type = "integer", min = 0, max = 1 << 20,
    default = dotnet.DEFAULT_BUFFER_MB,
    help = "the runtime's buffer for this session, in MB; 0 is the default" },
  { name = "rundown", type = "boolean", default = true,
    help = "have the runtime describe its methods when the session stops" },
  { name = "rundown_keyword", type = "integer",
    help = "what that describes, as a keyword of the rundown provider (.NET 9)" },
  { name = "stackwalk", type = "boolean", default = true,
    help = "stacks with the events (.NET 9)" },
  { name = "block", type = "boolean",
    help = "let the program wait when the buffer is full, instead of losing events (.NET 11)" },
  { name = "max_bytes", type = "size", min = 0, default = dotnet.DEFAULT_MAX_STREAM_BYTES,
    default_text = "1GiB", help = "largest stream that is taken; 0 is the default" },
  { name = "decode", type = "boolean", default = true,
    help = "decode the stream while it arrives" },
  { name = "groups", type = "table", help = "kinds of events that decoding keeps" },
  { name = "on_event", type = "function",
    help = "called with each event soon after it came, in order of time, for the `want`ed ones" },
  { name = "want", type = "function",
    help = "called with provider, name and number of each type of event: is it for on_event?" },
  { name = "timeline", type = "boolean", help = "keep the order of samples when decoding" },
  { name = "names", type = "table",
    help = "what names stacks without a rundown, of `sonde.dotnet.names`: for decoding" },
  { name = "memory", type = "size", min = 1 << 20, default = 2 << 30, default_text = "2GiB",
    help = "most memory that decoding may use" },
  { name = "cpu_time", type = "boolean",
    help = "read the clocks of the threads meanwhile, into the same stream" },
  { name = "timeout", type = "duration", default = ipc.TIMEOUT, default_text = "10s",
    help = "how long the runtime may take to start the session" },
}

--- Options of `Session:stop`.
session.stop_options = {
  { name = "timeout", type = "duration", default = 30 * SECOND, default_text = "30s",
    help = "how long the runtime may take to end the stream" },
}

local Session <const> = {}
Session.__index = Session
Session.__name = "sonde.session"

-- All sessions that are open, for `session.close_all`.
local open <const> = setmetatable({}, { __mode = "k" })

local function start_message(target, message, code, hint, hresult)
  return nil, ("cannot record %s: %s"):format(target.pid and "process " .. target.pid
    or target.endpoint.path, message), code, hint, hresult
end

-- One try to start: connection and answer, or the failure's values.
local function try(target, attempt, deadline)
  local bytes, wrong, kind = core.ipc_request(attempt.command, attempt.fields)
  if bytes == nil then return nil, wrong, kind end
  local connection, message, code = ipc.connect(target.endpoint, deadline)
  if connection == nil then return nil, message, code end
  local _ <close> = setmetatable({}, { __close = function()
    if connection then connection:close() end
  end })
  local sent, why, reason, hint = connection:send(bytes, deadline)
  if not sent then return nil, why, reason, hint end
  local answer, rest
  answer, rest, code, hint = connection:reply(attempt.command, deadline)
  if answer == nil then return nil, rest, code, hint end
  if not answer.ok then return ipc.refused(target.endpoint, attempt.command, answer) end
  local kept <const> = connection
  connection = nil
  return { connection = kept, id = answer.session, first = rest }
end

-- Starts by the best command that the runtime knows.
local function start(target, opts, list, deadline)
  local steps, message, code, hint = plan.make(target, opts, list, deadline)
  if steps == nil then return nil, message, code, hint end
  local hresult
  for i, attempt in ipairs(steps) do
    local started
    started, message, code, hint, hresult = try(target, attempt, deadline)
    if started then
      started.command, started.lost = attempt.command, attempt.lost
      return started
    end
    if hresult ~= plan.UNKNOWN_COMMAND or i == #steps then break end
  end
  return nil, message, code, hint, hresult
end

-- In order of time: the stream has the events of one thread after those of another,
-- and what begins on one thread may end on the other.
local function new_events(opts)
  if opts.on_event == nil then return nil end
  return core.events { want = opts.want, limit = opts.memory }
end

-- Events of the threads' clocks. They begin before the session does.
local function start_clock(target)
  local extra <const> = require "sonde.dotnet.extra"
  local writer <const> = extra.new {
    { id = 1, name = "ThreadCpu",
      fields = { { "Time", "u64" }, { "RunNs", "u64" }, { "ReadyNs", "u64" } } },
    { id = 2, name = "ThreadName", fields = { { "Name", "string" } }, lasting = true },
  }
  local clock <const> = require("sonde.process.cputime").start(target.pid,
    function(thread, time, run, ready)
      writer:add(1, thread, ("<i8i8i8"):pack(time, run, ready))
    end,
    function(thread, name) writer:add(2, thread, extra.text(name)) end)
  return clock, writer
end

local function new_decoder(opts)
  if not opts.decode then return nil end
  local decoder <const> = core.trace { groups = opts.groups, timeline = opts.timeline,
    limit = opts.memory }
  if opts.names then decoder:learn(opts.names.trace) end
  return decoder
end

-- `output` and `on_bytes` may be of many types; the others are declared.
local function split_options(given)
  if given ~= nil and type(given) ~= "table" then
    error(("bad options to 'target:trace' (table expected, got %s)"):format(type(given)), 4)
  end
  local declared = {}
  for name, value in pairs(given or {}) do declared[name] = value end
  local output, on_bytes = declared.output, declared.on_bytes
  declared.output, declared.on_bytes = nil, nil
  if output ~= nil and on_bytes ~= nil then
    error("bad options to 'target:trace': output and on_bytes: one of them", 4)
  end
  if on_bytes ~= nil and type(on_bytes) ~= "function" then
    error("bad option 'on_bytes' to 'target:trace': must be a function", 4)
  end
  return declared, output or on_bytes
end

--- Starts a session: `Target:trace`.
-- @tparam Target target
-- @tparam ?table given `providers` (the sampler and what names its stacks when
--   there are none), `buffer_mb`, `rundown`, `max_bytes`, `output` (path,
--   descriptor or open file) or `on_bytes` (function), `timeout` and more; see
--   `session.options`
-- @treturn ?Session
-- @treturn ?string message
-- @treturn ?string code `no_endpoint` (may be retried), `runtime_error`,
--   `timeout`, `canceled`, `permission`, …
-- @treturn ?string hint
-- @treturn ?integer hresult when the code is `runtime_error`
function session.start(target, given)
  local declared, output = split_options(given)
  local opts <const> = options.check(session.options, declared, "target:trace")
  if opts.buffer_mb == 0 then opts.buffer_mb = dotnet.DEFAULT_BUFFER_MB end
  if opts.max_bytes == 0 then opts.max_bytes = dotnet.DEFAULT_MAX_STREAM_BYTES end
  local list, wrong = require("sonde.dotnet.providers").complete(opts.providers)
  if list == nil then error("bad option 'providers' to 'target:trace': " .. wrong, 3) end
  local same, why, reason = target:check()
  if not same then return nil, why, reason end
  local decoder <const> = new_decoder(opts)
  local to, message, code = sink.open(output)
  if to == nil then return nil, message, code end
  local clock, extra
  if opts.cpu_time and target.pid then clock, extra = start_clock(target) end
  local started, words, kind, hint, hresult = start(target, opts, list, loop.after(opts.timeout))
  if started == nil then
    to:discard()
    if clock then clock:finish() end
    return start_message(target, words, kind, hint, hresult)
  end
  local self <const> = setmetatable({
    target = target, pid = target.pid, id = started.id, command = started.command,
    lost = started.lost, providers = list, rundown = opts.rundown,
    connection = started.connection,
    sink = to, decoder = decoder, events = new_events(opts), on_event = opts.on_event,
    max_bytes = opts.max_bytes, timeline = opts.timeline, groups = opts.groups,
    clock = clock, extra = extra, bytes = 0, written = 0, fresh = 0, failures = {},
    started_at = loop.now(), ended = loop.event(), stopped = loop.event(),
  }, Session)
  open[self] = true
  if to.attach then to:attach(self) end
  self.task = loop.task(copy.run, self, started.first)
  return self
end

function Session:__tostring()
  return ("session of process %s: %d bytes, %s"):format(self.pid or "?", self.bytes,
    self.ended:is_set() and "ended" or "open")
end

-- Is the stream whole, as far as we can know?
local function is_complete(self)
  if self.decoder == nil then return self.last_byte == copy.END_TAG end
  return self.decoder:counts().ended
end

-- Asks the runtime to stop, unless it has ended the stream already.
local function request_stop(self)
  if self.ended_by_runtime then return end
  local answer, message, code, hint = ipc.request(self.target.endpoint, "StopTracing",
    { session = self.id }, loop.after(STOP_LIMIT))
  if answer then return end
  -- A process that ends stops its sessions by itself: its whole stream makes
  -- up for the answer.
  self.ended:wait(loop.after(UNWIND))
  if code == "no_endpoint" and is_complete(self) then return end
  copy.fail(self, "stop", "stopping failed: " .. message, code, hint)
end

-- Runs once, in a task of its own, whoever asks and however long they wait.
local function stop(self)
  request_stop(self)
  self.ended:wait(loop.after(STOP_LIMIT))
  self.stopped:set()
end

--- Begins to stop, without waiting: `wait_stopped` or `stop` do that.
function Session:begin_stop()
  self.stop_task = self.stop_task or loop.task(stop, self)
end

--- Ends the copy now and keeps what there is. The runtime notices when it
-- next writes.
-- @tparam string message why
-- @tparam ?string code `canceled` when not given
function Session:abandon(message, code)
  if self.ended:is_set() or self.abandoned then return end
  copy.fail(self, "copy", message, code or "canceled")
  self.abandoned = true
  self:begin_stop()
  -- The task waits for something, and finds all of this done when it wakes.
  self.task:cancel(message)
  copy.finish(self)
end

-- The failures of stop and copy as one; a stream without its end is one too.
local function joined(self)
  if #self.failures == 0 then
    if not is_complete(self) then
      return nil, ("process %s ended while it was recorded, and its trace has no end"):format(
        self.pid or "?"), "truncated"
    end
    return true
  end
  local messages, first = {}, self.failures[1]
  for i, failure in ipairs(self.failures) do
    messages[i] = failure.message
    if failure.what == "copy" and first.what ~= "copy" then first = failure end
  end
  return nil, table.concat(messages, "; "), first.code, first.hint
end

--- Stops the session and waits for its stream to end. It may be called again,
-- and by several tasks: the session is stopped once, and each waits to its own
-- deadline. When one passes, the connection is closed, which ends the wait of
-- all. Nothing is written to the output after this has returned.
-- @tparam ?table opts `timeout`
-- @treturn ?boolean true
-- @treturn ?string message of all that failed in stopping and in copying
-- @treturn ?string code of the first that failed in copying, else in stopping
-- @treturn ?string hint
function Session:stop(opts)
  local timeout <const> = options.check(session.stop_options, opts, "session:stop").timeout
  self:begin_stop()
  local done, message, code = self.stopped:wait(loop.after(timeout))
  if done then return joined(self) end
  self:abandon(code == "timeout" and ("the stream did not end within %s; it was cut"):format(
    require("sonde.base.units").duration(timeout)) or message, code)
  return joined(self)
end

--- Waits until the stop is over that `begin_stop` began. Unlike `stop`, it
-- leaves the session alone when its deadline passes first.
-- @tparam ?table opts `timeout`
-- @treturn ?boolean true; `stop` then says at once how it went
-- @treturn ?string message
-- @treturn ?string code `timeout` or `canceled`
function Session:wait_stopped(opts)
  local timeout <const> = options.check(session.stop_options, opts, "session:wait_stopped").timeout
  local done, message, code = self.stopped:wait(loop.after(timeout))
  if done then return true end
  return nil, message, code
end

--- Waits until the stream ends by itself, because the process ends or the
-- output fails.
-- @tparam ?table opts `timeout`
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code `timeout` or `canceled`
function Session:wait(opts)
  local timeout <const> = options.check(session.stop_options, opts, "session:wait").timeout
  local done, message, code = self.ended:wait(loop.after(timeout))
  if done then return true end
  return nil, message, code
end

--- Does the stream still come?
-- @treturn boolean
function Session:is_open()
  return not self.ended:is_set()
end

--- What has arrived so far.
-- @treturn table `bytes written elapsed_ns`, and when the stream is decoded
--   `events samples lost methods rundown complete`
function Session:counts()
  local counts = { bytes = self.bytes, written = self.written,
    elapsed_ns = (self.ended_at or loop.now()) - self.started_at }
  if self.decoder == nil then return counts end
  local its <const> = self.decoder:counts()
  counts.events, counts.lost, counts.methods = its.events, its.lost, its.methods
  counts.samples = its.samples_external + its.samples_managed + its.samples_error
  counts.rundown, counts.complete = its.rundown, its.ended
  return counts
end

--- The trace, once the stream has ended: decoded while it arrived.
-- @treturn ?Trace
-- @treturn ?string message; beside a trace it says what is missing in it
-- @treturn ?string code
function Session:trace()
  if not self.ended:is_set() then
    return nil, "the session is not over: stop it first", "unavailable"
  end
  if self.decoder == nil then
    return nil, "the stream was not decoded (decode = false)", "unavailable"
  end
  require "sonde.profile"   -- gives profiles their methods
  return require("sonde.dotnet.trace").adopt(self.decoder, {
    name = self.sink.name or ("process %s"):format(self.pid or "?"),
    opts = { timeline = self.timeline, groups = self.groups },
    path = self.sink.target, message = self.decoder_failed, code = self.decoder_code,
  })
end

-- Asks the runtime to stop without waiting for anything. The whole request
-- goes at once, and nobody is left to read the answer.
local function stop_in_a_hurry(self)
  local endpoint <const> = self.target.endpoint
  local socket = endpoint.reverse and endpoint.reverse.socket
  if not endpoint.reverse then socket = core.unix_connect(endpoint.path) end
  if socket == nil then return end
  socket:send(core.ipc_request("StopTracing", { session = self.id }))
  socket:close()
end

--- Ends the session at once, whatever state it is in, without waiting for the
-- runtime: for when everything is over.
function Session:close()
  if self.ended:is_set() or self.stopped:is_set() then return end
  if self.stop_task == nil then stop_in_a_hurry(self) end
  self.stop_task = self.stop_task or self.task
  self:abandon "the session was closed before its stream had ended"
  self.stopped:set()
end

-- A state that ends takes its open sessions with it. The loop may be gone.
function Session:__gc()
  if not self.ended:is_set() and self.stop_task == nil then stop_in_a_hurry(self) end
end

-- Leaving the block of a session stops it.
function Session:__close()
  local done <const> = pcall(self.stop, self)
  if not done then self:close() end
end

--- The sessions that are open.
-- @treturn table set of them
function session.all()
  local set = {}
  for one in pairs(open) do set[one] = true end
  return set
end

--- Closes all sessions that are open: for a process, or a verb, that ends.
-- @tparam ?table but a set of those that stay
function session.close_all(but)
  for one in pairs(session.all()) do
    if not (but and but[one]) then one:close() end
  end
end

return session
