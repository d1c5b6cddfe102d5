--- Starts a program that waits before its first instruction until it is let go,
-- so that it can be looked at from there on.
-- @module sonde.process.launch
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"
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
    loop.sleep(MS)
  until loop.now() > deadline
  self:close()
  return nil, "it ended before it began", "unavailable"
end

--- Starts a program, with our standard streams as its own; it waits for
-- `Program:go`.
-- @tparam {string,...} words program and arguments
-- @treturn ?Program to be closed; `pid`
-- @treturn ?string message
-- @treturn ?string code
function launch.start(words)
  local self <const> = setmetatable({ exit = loop.event(), held = true }, Program)
  local handle, pid, name = uv.spawn("/bin/sh", {
    args = { "-c", HELD, "sh", table.unpack(words) }, stdio = { 0, 1, 2 },
  }, loop.guard(function(code, signal)
    self.exit:set(signal ~= 0 and 128 + signal or code)
  end))
  if handle == nil then
    return nil, ("cannot run %s: %s"):format(words[1], (pid:gsub("^%u+: ", ""))),
      name == "EACCES" and "permission" or "unavailable"
  end
  self.handle, self.pid = handle, pid
  local stopped, message, code = await_stop(self)
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

--- Leaves it to itself; one that never began is ended.
function Program:close()
  if self.held then self:signal(SIGKILL) end
  if self.handle then loop.close(self.handle) end
  self.handle = nil
end

return launch
