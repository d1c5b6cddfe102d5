--- A .NET process that can be looked into while it runs.
--
--    local target = assert(sonde.target(4242))
--    print(target:info().version)
--
-- A target is a pid and a start time: when the pid is used again by another
-- process, every call says so instead of reaching the wrong one.
-- @module sonde.dotnet.target
local endpoint <const> = require "sonde.dotnet.endpoint"
local ipc <const> = require "sonde.dotnet.ipc"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local proc <const> = require "sonde.process.proc"

local target = {}

local Target <const> = {}
Target.__index = Target
Target.__name = "sonde.target"

--- Options of calls that ask a runtime something.
target.request_options = {
  { name = "timeout", type = "duration", default = ipc.TIMEOUT, default_text = "10s",
    help = "how long the runtime may take to answer" },
}

local function new(fields)
  return setmetatable(fields, Target)
end

--- The target for a process.
-- @tparam integer pid
-- @treturn ?Target
-- @treturn ?string message
-- @treturn ?string code `not_found`, `no_endpoint` (may be retried) or
--   `permission`
-- @treturn ?string hint
function target.of_pid(pid)
  local stat, message, code = proc.stat(pid)
  if stat == nil then return nil, message, code, "sonde ps" end
  local found, search = endpoint.find(stat)
  if found == nil then return nil, endpoint.explain(search) end
  return new { pid = pid, start_time = stat.start_time, name = stat.name, endpoint = found }
end

--- The target behind a socket, for containers whose processes cannot be seen
-- from here.
-- @tparam string path
-- @treturn ?Target its `pid` is nil when that is in no name space of ours
-- @treturn ?string message
-- @treturn ?string code
function target.of_socket(path)
  local found <const> = { path = path }
  local connection, message, code = ipc.connect(found, loop.after(ipc.TIMEOUT))
  if connection == nil then return nil, message, code end
  -- Who listens is all that this connection is for, and it ends at once.
  local pid <const> = connection.socket:peer()
  connection:close()
  local stat <const> = pid and pid > 0 and proc.stat(pid) or nil
  if stat then found.pid, found.start_time = pid, stat.start_time end
  return new { pid = found.pid, start_time = found.start_time, name = stat and stat.name or path,
    endpoint = found }
end

--- The target of an endpoint that was found already.
-- @tparam table found of `endpoint.find`
-- @tparam string name
-- @treturn Target
function target.of_endpoint(found, name)
  return new { pid = found.pid, start_time = found.start_time, name = name, endpoint = found }
end

function Target:__tostring()
  return ("target: %s (%s)"):format(self.pid and "process " .. self.pid or self.endpoint.path,
    self.name)
end

--- Is it still the same process?
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code `not_found`
function Target:check()
  if self.pid == nil then return true end
  local stat <const> = proc.stat(self.pid)
  if stat == nil or stat.state == "Z" then
    return nil, ("process %d (%s) has ended"):format(self.pid, self.name), "not_found"
  end
  if stat.start_time == self.start_time then return true end
  return nil, ("process %d (%s) has ended, and its number is another process's now (%s)"):format(
    self.pid, self.name, stat.name), "not_found"
end

--- Makes one request of the diagnostics protocol.
-- @tparam string command
-- @tparam ?table fields
-- @tparam ?integer deadline
-- @treturn ?table the answer
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult when the code is `runtime_error`
function Target:request(command, fields, deadline)
  local same, message, code = self:check()
  if not same then return nil, message, code end
  return ipc.request(self.endpoint, command, fields, deadline)
end

local function deadline_of(opts, where)
  return loop.after(options.check(target.request_options, opts, where).timeout)
end

--- Who the runtime says it is. Asked once; the answer is kept.
-- @tparam ?table opts `timeout`
-- @treturn ?table `pid` (in its own name space) `cookie command_line system
--   architecture entry_assembly version rid`, as far as the runtime tells
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Target:info(opts)
  local deadline <const> = deadline_of(opts, "target:info")
  if self.known then return self.known end
  local same, message, code = self:check()
  if not same then return nil, message, code end
  local info, why, reason, hint = ipc.info(self.endpoint, deadline)
  if info == nil then return nil, why, reason, hint end
  if info.version == nil and self.pid then
    info.version = require("sonde.dotnet.version").of_pid(self.pid)
  end
  self.known = info
  return info
end

--- The environment as the runtime has it now.
-- @tparam ?table opts `timeout`
-- @treturn ?{[string]=string,...}
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult
function Target:environment(opts)
  local answer, message, code, hint, hresult = self:request("ProcessEnvironment", nil,
    deadline_of(opts, "target:environment"))
  if answer == nil then return nil, message, code, hint, hresult end
  local environment = {}
  for _, variable in ipairs(answer.environment) do
    local name, value = variable:match("^([^=]+)=(.*)$")
    if name then environment[name] = value end
  end
  return environment
end

--- Lets a runtime go on that waits at its start. Without effect on others,
-- and on those that wait for another port than their default socket.
-- @tparam ?table opts `timeout`
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult
function Target:resume(opts)
  local answer, message, code, hint, hresult = self:request("ResumeRuntime", nil,
    deadline_of(opts, "target:resume"))
  if answer == nil then return nil, message, code, hint, hresult end
  return true
end

--- Starts a session: the runtime tells what happens in it until
-- `Session:stop`.
-- @tparam ?table opts `providers buffer_mb rundown max_bytes output on_bytes
--   timeout` and more; see `sonde.dotnet.session`
-- @treturn ?Session
-- @treturn ?string message
-- @treturn ?string code `no_endpoint` (may be retried), `runtime_error`, …
-- @treturn ?string hint
-- @treturn ?integer hresult when the code is `runtime_error`
function Target:trace(opts)
  return require("sonde.dotnet.session").start(self, opts)
end

--- Takes a dump: what each thread is doing now.
-- @tparam ?table opts `timeout`
-- @treturn ?Dump see `sonde.dotnet.dump`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult when the code is `runtime_error`
function Target:dump(opts)
  return require("sonde.dotnet.dump").take(self, opts)
end

--- Listens to the counters of the process.
-- @tparam ?table opts see `sonde.dotnet.counters`
-- @treturn ?Counters
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult when the code is `runtime_error`
function Target:counters(opts)
  return require("sonde.dotnet.counters").start(self, opts)
end

--- Begins to write a core dump.
-- @tparam ?table opts `output type force timeout`; see `sonde.dotnet.coredump`
-- @treturn ?Core wait for it: `core:wait(deadline)`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Target:core(opts)
  return require("sonde.dotnet.coredump").start(self, opts)
end

--- Has the runtime write down where the code of each method is, for `perf` and
-- other profilers of native code, or ends that (.NET 8).
-- @tparam string what `perfmap` (a text in /tmp/perf-PID.map), `jitdump` (code
--   too, in /tmp/jit-PID.dump), `all`, or `off`
-- @tparam ?table opts `timeout`
-- @treturn ?{string,...} the files, as they are seen from here
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult
function Target:perfmap(what, opts)
  return require("sonde.dotnet.perfmap").set(self, what, deadline_of(opts, "target:perfmap"))
end

--- Looks at what the process does, one interval after the other.
-- @tparam ?table opts `view interval`; see `sonde.dotnet.live`
-- @treturn ?Live
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
-- @treturn ?integer hresult when the code is `runtime_error`
function Target:live(opts)
  return require("sonde.dotnet.live").start(self, opts)
end

return target
