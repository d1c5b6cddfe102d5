--- Outputs of a session that are several traces, each of which opens on its
-- own: segments, one after the other, or the last stretch of time as often as
-- somebody asks for it.
--
--    local ring = tape.ring{ span = 60 * 10^9 }
--    local session = target:trace{ output = ring }
--    …
--    assert(ring:save "last-minute.nettrace")
--
-- Methods that were compiled before the session, and precompiled ones, are
-- named by sessions that have nothing but a rundown: one at the beginning, one
-- at the end of each segment or before a ring is saved. `names_cost` says what
-- they took.
-- @module sonde.dotnet.tape
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"
local sink <const> = require "sonde.dotnet.sink"
local uv <const> = require "sonde.base.uv"

local tape = {}

local SECOND <const> = 1000000000

-- How often a ring forgets what it knows of threads' clocks.
local FORGET_EVERY <const> = SECOND

-- Of a segment, at least this part is events and not what it begins with.
local LEAST_PART <const> = 4

-- Names that do not come by then are done without.
local LONGEST_NAMES <const> = 30 * SECOND

local Output <const> = {}
Output.__index = Output

local function new(fields, opts)
  fields.core = core.tape(opts)
  fields.names_cost = { n = 0, ns = 0, bytes = 0 }
  fields.keeps_time = true
  fields.forgot_at = loop.now()
  return setmetatable(fields, Output)
end

--- An output of segments.
-- @tparam table opts `path` (NAME.nettrace: segments are NAME.0001.nettrace
--   and so on), `size` (bytes of each, about), `keep` (the last so many; all
--   when nil), `limit` (bytes of memory)
-- @treturn Output for `Target:trace`; `segments` (paths, the oldest first)
function tape.segments(opts)
  return new({ path = opts.path, size = opts.size, keep = opts.keep, segments = {}, number = 0 },
    { limit = opts.limit })
end

--- An output that keeps the last stretch of time in memory.
-- @tparam table opts `span` (ns), `limit` (bytes of memory)
-- @treturn Output for `Target:trace`, with `save`
function tape.ring(opts)
  return new({ is_ring = true, span = opts.span }, { span_ns = opts.span, limit = opts.limit })
end

local function path_of(self)
  return ("%s.%04d.nettrace"):format(self.path:gsub("%.nettrace$", ""), self.number)
end

local function begin_segment(self)
  self.number = self.number + 1
  local path <const> = path_of(self)
  local file, message, code = sink.open(path)
  if file == nil then return nil, message, code end
  self.file, self.file_path = file, path
  return true
end

local function end_segment(self)
  local file <const> = self.file
  self.file = nil
  local done, message, code = file:close()
  if not done then return nil, message, code end
  table.insert(self.segments, self.file_path)
  while self.keep and #self.segments > self.keep do
    uv.fs_unlink(table.remove(self.segments, 1))
  end
  return true
end

local function put(self, bytes)
  if bytes == "" then return true end
  if self.file == nil then
    local begun, message, code = begin_segment(self)
    if not begun then return nil, message, code end
  end
  return self.file:put(bytes)
end

-- The threads' clocks, which readers want behind the events.
local function put_clocks(self)
  local info <const> = self.core:info()
  if self.session == nil or self.session.extra == nil or info.newest == nil then return true end
  local objects <const> = self.session.extra:take(info.newest)
  if objects == "" then return true end
  local bytes, message, code = self.core:insert(objects)
  if bytes == nil then return nil, message, code end
  return put(self, bytes)
end

-- A rundown of its own, put into the stream when it has come.
local function take_names(self, timeout)
  local known, message, code = require("sonde.dotnet.names").of(self.session.target,
    { fresh = true, timeout = timeout })
  if known == nil then
    self.names_failed = message
    return nil, message, code
  end
  local cost <const> = self.names_cost
  cost.n, cost.ns, cost.bytes = cost.n + 1, cost.ns + known.cost_ns, cost.bytes + #known.bytes
  if self.closed then return true end
  local bytes, why, reason = self.core:learn(known.bytes)
  if bytes == nil then return nil, why, reason end
  return put(self, bytes)
end

-- Starts to take names, unless somebody does already.
local function want_names(self, timeout)
  if self.names_task and not self.names_task.finished then return end
  self.names_task = loop.task(take_names, self, timeout)
end

-- What a ring would not show any more.
local function forget_clocks(self)
  local now <const> = loop.now()
  if self.span == nil or now - self.forgot_at < FORGET_EVERY then return end
  self.forgot_at = now
  if self.session and self.session.extra then self.session.extra:forget(now - self.span) end
end

local function split(self)
  local done, message, code = put_clocks(self)
  if not done then return nil, message, code end
  local tail, head, kind = self.core:split()
  if tail == nil then return nil, head, kind end
  for _, step in ipairs {
    function() return put(self, tail) end,
    function() return end_segment(self) end,
    function() return put(self, head) end,
  } do
    done, message, code = step()
    if not done then return nil, message, code end
  end
  self.least = #head + self.size // LEAST_PART
  return true
end

-- A full segment ends when the names have come for which it was time then.
local function split_in_time(self)
  if self.is_ring or self.core:info().written < math.max(self.size, self.least or 0) then
    return true
  end
  if self.ending == nil then
    self.ending = true
    want_names(self, LONGEST_NAMES)
    return true
  end
  if not self.names_task.finished then return true end
  self.ending = nil
  return split(self)
end

--- Takes what a stream holds: called by the session.
-- @param stream of `core.stream`
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Output:write(stream)
  local input <const> = stream:loan()
  while true do
    local bytes, message, code = self.core:pump(input)
    if message then return nil, message, code end
    if bytes == nil then break end
    local done, why, reason = put(self, bytes)
    if not done then return nil, why, reason end
  end
  if self.names_task == nil and self.core:info().begun then want_names(self, LONGEST_NAMES) end
  forget_clocks(self)
  return split_in_time(self)
end

--- The session that writes to this has begun: called by it.
-- @tparam Session session
function Output:attach(session)
  self.session = session
end

--- Takes the names of methods now: before a ring is saved while its session
-- goes on, whose own rundown comes at its end.
-- @tparam integer timeout ns
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Output:refresh_names(timeout)
  if not self.core:info().begun then return true end
  want_names(self, timeout)
  local done, message, code = self.names_task:join(loop.after(timeout + SECOND))
  if not done then return nil, message, code end
  return true
end

--- Writes what a ring holds now.
-- @tparam string path
-- @treturn ?table `events bytes`
-- @treturn ?string message
-- @treturn ?string code
function Output:save(path)
  local done, message, code = put_clocks(self)
  if not done then return nil, message, code end
  if not self.core:info().begun then
    return nil, path .. ": nothing has come yet", "no_events"
  end
  local size, events = 0, nil
  done, message, code = require("sonde.base.files").write(path, function(out)
    local why, reason
    events, why, reason = self.core:save(function(bytes)
      size = size + #bytes
      out:write(bytes)
    end)
    return events and true, why, reason
  end)
  if not done then return nil, message, code end
  return { events = events, bytes = size }
end

--- How it stands.
-- @treturn table `known held` (bytes)
function Output:info()
  return self.core:info()
end

--- The stream has ended: called by the session.
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Output:close()
  if self.names_task then self.names_task:cancel() end
  local done, message, code = put_clocks(self)
  self.closed = true
  if self.is_ring then return done, message, code end
  local rest, why, reason = self.core:finish()
  if rest and done then done, message, code = put(self, rest) end
  if self.file then
    local ended, words, its = end_segment(self)
    if done and not ended then done, message, code = nil, words, its end
  end
  if rest == nil and done then return nil, why, reason end
  return done, message, code
end

--- No session has begun: called by it.
function Output:discard()
  if self.file then self.file:discard() end
end

return tape
