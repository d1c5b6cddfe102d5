--- Copies a session's stream: to its sink, to decoders, to whoever listens.
-- @module sonde.dotnet.copy
local errors <const> = require "sonde.base.errors"
local core <const> = require "sonde.c.core"
local loop <const> = require "sonde.base.loop"

local copy = {}

local SECOND <const> = 1000000000

-- A stream may be silent for ever: it is waited for in turns of this length.
local TURN <const> = 60 * SECOND

-- After so long without a byte the runtime has written all that it had: it
-- looks for new events ten times a second.
local SILENCE <const> = SECOND // 4

--- What a stream ends with.
copy.END_TAG = 1

-- Bytes of our own are written in pieces of this size.
local PIECE <const> = 1 << 16

--- Notes what failed in stopping or copying.
-- @tparam Session self
-- @tparam string what "stop" or "copy"
-- @tparam string message
-- @tparam ?string code
-- @tparam ?string hint
function copy.fail(self, what, message, code, hint)
  self.failures[#self.failures + 1] = { what = what, message = message, code = code, hint = hint }
end

-- Gives what has arrived to the sink. A sink that fails gets nothing more and
-- ends the session, but the stream is drained on.
local function write(self, stream)
  if self.sink_failed then return end
  local done, message, code = self.sink:write(stream)
  if done then
    self.written = self.written + self.fresh
    return
  end
  self.sink_failed = true
  if self.abandoned then return end
  copy.fail(self, "copy", message, code)
  self:begin_stop()
end

local function decode(self, stream)
  if self.decoder == nil or self.decoder_failed or self.abandoned then return end
  local input <const> = stream:loan()
  while true do
    local n, message, code = self.decoder:pump(input)
    if n == 0 then return end
    if n == nil then
      self.decoder_failed, self.decoder_code = message, code
      return
    end
  end
end

-- Hands events to a function as they come. One that fails gets no more.
local function hand_on(self, n, message, code)
  while n do
    local event <const> = self.events:next()
    if event == nil then break end
    local done, what = errors.pcall(self.on_event, event)
    if not done then n, message, code = nil, "on_event: " .. tostring(what), "unavailable" end
  end
  if n then return end
  self.events = nil
  copy.fail(self, "copy", message, code)
end

local function pump_events(self, stream)
  if self.events == nil or self.abandoned then return end
  self.is_flushed = false
  hand_on(self, self.events:pump(stream:loan()))
end

-- Events of other threads may be older, so each waits until the next ones come.
-- The runtime writes all it has at a time, so after a silence nothing older can
-- come.
local function flush_events(self)
  if self.events == nil or self.abandoned or self.is_flushed then return end
  self.is_flushed = true
  hand_on(self, self.events:flush())
end

-- Takes what a fill brought; false when that was too much.
local function take(self, stream, n)
  local room <const> = self.max_bytes - self.bytes
  self.fresh = math.min(n, room)
  stream:keep(self.fresh)
  self.last_byte = stream:last() or self.last_byte
  self.bytes = self.bytes + self.fresh
  write(self, stream)
  decode(self, stream)
  pump_events(self, stream)
  if n <= room then return true end
  copy.fail(self, "copy", ("the stream of process %s is larger than %d bytes; it was cut there")
    :format(
    self.pid or "?", self.max_bytes), "stream_too_large")
  return false
end

-- Copies until the stream ends. What ends it too early is a failure.
local function copy_all(self, stream)
  local socket <const>, watch <const> = self.connection.socket, self.connection.watch
  while true do
    local n, message, code, name = stream:fill(socket)
    if n == 0 or name == "ECONNRESET" then
      self.ended_by_runtime = true
      return
    end
    if n == nil then return copy.fail(self, "copy", "the stream failed: " .. message, code) end
    if n and not take(self, stream, n) then return end
    -- Always through the loop, so that sessions take turns.
    local there, why, reason = watch:wait("r", loop.after(SILENCE))
    if self.abandoned then return end
    if not there and reason == "timeout" then
      flush_events(self)
      there, why, reason = watch:wait("r", loop.after(TURN))
      if self.abandoned then return end
    end
    if not there and reason ~= "timeout" then return copy.fail(self, "copy", why, reason) end
  end
end

local function finish_decoder(self)
  if self.decoder == nil then return end
  local done, message, code = self.decoder:finish()
  if not done and not self.decoder_failed then
    self.decoder_failed, self.decoder_code = message, code
  end
end

--- The copy is over: nothing is written after this.
-- @tparam Session self
function copy.finish(self)
  if self.ended:is_set() then return end
  self.connection:close()
  if self.clock then self.clock:finish() end
  self.ended_at = loop.now()
  local closed, message, code = self.sink:close()
  if not closed and not self.sink_failed then copy.fail(self, "copy", message, code) end
  finish_decoder(self)
  self.ended:set()
  if not self.ended_by_runtime then self:begin_stop() end
end

-- What we have read of the threads' clocks goes in front of the end of the
-- stream. A stream that has no end gets no more.
local function add_extra(self, stream)
  local byte <const> = stream:held()
  if byte == nil or self.abandoned then return end
  stream:hold(false)
  self.clock:finish()
  local rest = string.char(byte)
  if byte == copy.END_TAG then rest = self.extra:objects(self.bytes, loop.now()) .. rest end
  while rest ~= "" and not self.abandoned do
    stream:put(rest:sub(1, PIECE))
    self.fresh = math.min(#rest, PIECE)
    self.bytes = self.bytes + self.fresh
    self.last_byte = stream:last()
    write(self, stream)
    decode(self, stream)
    pump_events(self, stream)
    rest = rest:sub(PIECE + 1)
  end
end

--- Copies a session's stream to its end: the body of its task.
-- @tparam Session self
-- @tparam string first what came behind the reply
function copy.run(self, first)
  local stream <close> = core.stream()
  -- An output of several traces puts these where they belong by itself.
  local at_the_end <const> = self.extra ~= nil and self.sink.keeps_time == nil
  stream:hold(at_the_end)
  local _ <close> = setmetatable({}, { __close = function() copy.finish(self) end })
  if first ~= "" then
    if not take(self, stream, stream:put(first)) then return end
  end
  copy_all(self, stream)
  if at_the_end then add_extra(self, stream) end
  flush_events(self)
end

return copy
