--- Starts a program that waits before its first instruction until it is let go,
-- so that it can be looked at from there on.
-- @module sonde.process.launch
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"
local standard_error <const> = require "sonde.process.standard_error"
local uv <const> = require "sonde.base.uv"

local launch = {}

local MS <const> = 1000000
local SECOND <const> = 1000 * MS

local SIGCONT <const>, SIGKILL <const> = 18, 9

-- The shell stops itself and becomes the program when it goes on.
local HELD <const> = 'kill -STOP $$; exec "$@"'

local Program <const> = {}
Program.__index = Program
Program.__name = "sonde.program"
Program.__close = function(self) self:close() end

local function await_stop(self)
  local deadline <const> = loop.after(10 * SECOND)
  repeat
    local stat <const> = proc.stat(self.pid)
    if stat and stat.state == "T" then return true end
    if stat == nil or self.exit:is_set() then break end
    local slept <const>, message, code = loop.sleep(MS)
    if not slept then
      self:close()
      return nil, message, code
    end
  until loop.now() > deadline
  self:close()
  return nil, "it ended before it began", "unavailable"
end

local function spawn(self, words)
  local handle, pid, name = uv.spawn("/bin/sh", {
    args = { "-c", HELD, "sh", table.unpack(words) },
    stdio = { 0, 1, self.stderr and self.stderr.write_fd or 2 },
  }, loop.guard(function(code, signal)
    self.exit:set(signal ~= 0 and 128 + signal or code)
  end))
  if handle == nil then
    self:close()
    return nil, ("cannot run %s: %s"):format(words[1], (pid:gsub("^%u+: ", ""))),
      name == "EACCES" and "permission" or "unavailable"
  end
  self.handle, self.pid, self.held = handle, pid, true
  if self.stderr then self.stderr:begin() end
  return await_stop(self)
end

--- Starts a program, with our standard streams as its own; it waits for
-- `Program:go`.
-- @tparam {string,...} words program and arguments
-- @tparam ?table opts `stderr`: a function that gets what it writes to its standard
--   error, which then comes to us, so that a dump of SIGQUIT can be read
-- @treturn ?Program to be closed; `pid`
-- @treturn ?string message
-- @treturn ?string code
function launch.start(words, opts)
  local self <const> = setmetatable({ exit = loop.event() }, Program)
  local stopped, message, code
  if opts and opts.stderr then
    self.stderr, message, code = standard_error.open(opts.stderr)
    if self.stderr == nil then return nil, message, code end
  end
  stopped, message, code = spawn(self, words)
  if stopped then return self end
  return nil, message, code
end

--- Lets it begin.
function Program:go()
  self.held = false
  self:signal(SIGCONT)
end

--- Sends it a signal.
-- @tparam integer number
function Program:signal(number)
  if not self.exit:is_set() then uv.kill(self.pid, number) end
end

--- Waits until it has ended.
-- @tparam integer deadline of `loop.now`
-- @treturn ?integer status; 128 and the number of the signal that ended it
-- @treturn ?string message
-- @treturn ?string code
function Program:wait(deadline)
  local done, status, code = self.exit:wait(deadline)
  if done then return status end
  return nil, status, code
end

--- Passes on what it has written to a standard error of ours until now.
function Program:drain()
  if self.stderr then self.stderr:drain() end
end

--- Leaves it to itself, but for what it writes to a standard error of ours; one
-- that never began is ended.
function Program:close()
  if self.held then self:signal(SIGKILL) end
  if self.stderr then self.stderr:close() end
  if self.handle then loop.close(self.handle) end
  self.handle = nil
end

return launch
