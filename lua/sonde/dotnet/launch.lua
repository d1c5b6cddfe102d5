--- Starts a program so that its runtime waits for us at its first instruction.
-- @module sonde.dotnet.launch
local loop <const> = require "sonde.base.loop"
local port <const> = require "sonde.dotnet.port"
local proc <const> = require "sonde.process.proc"
local target <const> = require "sonde.dotnet.target"
local uv <const> = require "sonde.base.uv"

local launch = {}

local Launch <const> = {}
Launch.__index = Launch
Launch.__close = function(self) self:close() end

--- The target that a runtime at a port is.
-- @tparam table runtime of `sonde.dotnet.port`
-- @treturn Target
function launch.target_of(runtime)
  local pid <const> = runtime.endpoint.pid
  local stat <const> = pid and proc.stat(pid)
  return target.of_endpoint({ pid = pid, start_time = stat and stat.start_time,
    path = runtime.endpoint.path, reverse = runtime }, stat and stat.name or "process")
end

-- Is it the one that is meant? The program itself; behind a wrapper, the first
-- that comes; with a name, the first that is called so.
local function is_wanted(self, candidate)
  if self.chosen:is_set() then return false end
  if self.assembly == nil then
    return candidate.pid == self.pid or candidate.pid == nil
      or proc.descends(candidate.pid, self.pid)
  end
  local info <const> = candidate:info()
  return info ~= nil and info.entry_assembly == self.assembly
end

-- Those that are not meant inherited the variable and would wait for ever.
local function arrived(self, runtime)
  local candidate <const> = launch.target_of(runtime)
  if is_wanted(self, candidate) and self.chosen:set(candidate) then return end
  candidate:resume()
  self.others = self.others + 1
end

local function environment_of(value)
  local list = {}
  for name, its in pairs(uv.os_environ()) do
    if name ~= port.VARIABLE then list[#list + 1] = name .. "=" .. its end
  end
  list[#list + 1] = port.VARIABLE .. "=" .. value
  return list
end

local function spawn(self, words)
  local handle, pid, name = uv.spawn(words[1], {
    args = table.move(words, 2, #words, 1, {}), stdio = { 0, 1, 2 },
    env = environment_of(self.port:value()),
  }, loop.guard(function(code, signal)
    self.exit:set(signal ~= 0 and 128 + signal or code)
  end))
  if handle == nil then
    return nil, ("cannot run %s: %s"):format(words[1], (pid:gsub("^%u+: ", ""))),
      name == "EACCES" and "permission" or name == "ENOENT" and "not_found" or "unavailable"
  end
  self.handle, self.pid = handle, pid
  return true
end

--- Starts a program, with our standard streams as its own.
-- @tparam {string,...} words program and arguments
-- @tparam ?table opts `assembly`: the entry assembly to look for among all that
--   the program starts
-- @treturn ?Launch to be closed; `pid`
-- @treturn ?string message
-- @treturn ?string code
function launch.start(words, opts)
  local self <const> = setmetatable({ chosen = loop.event(), exit = loop.event(), others = 0,
    assembly = opts and opts.assembly }, Launch)
  local message, code, started
  self.port, message, code = port.open(function(runtime) arrived(self, runtime) end)
  if self.port == nil then return nil, message, code end
  started, message, code = spawn(self, words)
  if started then return self end
  self.port:close()
  return nil, message, code
end

--- Waits for the runtime that is meant, or for the program's end.
-- @tparam integer deadline
-- @treturn ?Target suspended: to be resumed
-- @treturn ?string message
-- @treturn ?string code `timeout`; `no_endpoint` when the program ended before
function Launch:target(deadline)
  local either <const> = loop.event()
  local function tell(event)
    return loop.task(function()
      event:wait(deadline)
      either:set()
    end)
  end
  local waiters <const> = { tell(self.chosen), tell(self.exit) }
  local done, message, code = either:wait(deadline)
  for _, task in ipairs(waiters) do task:cancel() end
  if self.chosen:is_set() then return select(2, self.chosen:wait(0)) end
  if not done then return nil, message, code end
  if self.exit:is_set() then
    return nil, ("it ended with status %d before any .NET runtime had started"):format(
      select(2, self.exit:wait(0))), "no_endpoint"
  end
  return nil, "no .NET runtime has started in it", "timeout"
end

--- Sends the program a signal.
-- @tparam integer number
function Launch:signal(number)
  if not self.exit:is_set() then uv.kill(self.pid, number) end
end

--- Waits until the program has ended.
-- @tparam integer deadline
-- @treturn ?integer status; 128 and the number of the signal that ended it
-- @treturn ?string message
-- @treturn ?string code
function Launch:wait(deadline)
  local done, status, code = self.exit:wait(deadline)
  if done then return status end
  return nil, status, code
end

--- Leaves the program to itself; nothing of the port stays.
function Launch:close()
  self.port:close()
  if self.handle then loop.close(self.handle) end
  self.handle = nil
end

return launch
