--- Serving a port for `sonde record`. Runtimes connect to us, and each is recorded
-- to its own file, from its first instruction when it waits for us.
-- @module sonde.cmd.record_listen
local errors <const> = require "sonde.base.errors"
local launch <const> = require "sonde.dotnet.launch"
local loop <const> = require "sonde.base.loop"
local run <const> = require "sonde.cmd.record_run"
local units <const> = require "sonde.base.units"

local listen = {}

local SIGINT <const>, SIGTERM <const>, SIGHUP <const> = 2, 15, 1

local FOREVER <const> = 10 * 365 * 24 * 3600 * 1000000000

-- One file for each process, however many have the same name and number.
local function output_for(self, target, runtime)
  local info <const> = target:info() or {}
  local name <const> = ("%s_%s_%s"):format(info.entry_assembly or target.name,
    target.pid or runtime.inner_pid, os.date "%Y%m%d_%H%M%S")
  local base <const> = self.directory .. "/" .. name:gsub("[^%w._-]", "_")
  local path, n = base .. ".nettrace", 1
  while self.outputs[path] or require("sonde.c.core").path_info(path) do
    n = n + 1
    path = ("%s_%d.nettrace"):format(base, n)
  end
  self.outputs[path] = true
  return path
end

local function status_line(self)
  local bytes, events, lost, n = 0, 0, 0, 0
  for recording in pairs(self.running) do
    if recording.session then
      local counts <const> = recording.session:counts()
      n, bytes = n + 1, bytes + counts.bytes
      events, lost = events + counts.events, lost + counts.lost
    end
  end
  return ("%d recorded now, %d done  %s  %s events  %s lost"):format(n, self.done,
    units.bytes(bytes), units.count(events), units.count(lost))
end

-- Says how a recording went; what it failed by is for all to see at the end.
local function conclude(self, recording, args, outcome)
  self.show(nil)
  local done, failure = pcall(run.finish, recording, self.want, args, self.env, outcome)
  if done then return end
  if not errors.is_failure(failure) then error(failure, 0) end
  self.env:say(("process %s: %s"):format(recording.target.pid or "?", failure.message),
    failure.hint)
  self.status = math.max(self.status, failure.status)
end

-- Records one process from when it came to its end, or to ours.
local function serve(self, runtime)
  -- What it sent before it ended may be read after that.
  if self.seen[runtime.cookie] then return self.port:forget(runtime) end
  self.seen[runtime.cookie] = true
  local target <const> = launch.target_of(runtime)
  local skipped = self.stopping ~= nil
  if self.args.assembly and not skipped then
    skipped = (target:info() or {}).entry_assembly ~= self.args.assembly
  end
  if skipped then return target:resume() end
  local args <const> = setmetatable({ output = output_for(self, target, runtime) },
    { __index = self.args })
  local recording <const> = run.prepare(target, self.want, args, self.env)
  local tell <const> = recording.hooks.started
  recording.show = self.show
  function recording.hooks.started()
    tell()
    target:resume()
  end
  function recording.hooks.looked() self.show(status_line(self)) end
  self.running[recording] = true
  local outcome <const> = run.to_end(recording)
  self.running[recording] = nil
  if recording.session == nil then target:resume() end
  conclude(self, recording, args, outcome)
  self.done = self.done + 1
  if outcome.reason == "ended" then self.port:forget(runtime) end
end

local function heed_signals(self, over)
  local total = 0
  return loop.on_signals({ SIGINT, SIGTERM, SIGHUP }, function(number)
    total = total + 1
    if total == 1 then
      self.stopping = number == SIGINT and "Ctrl-C" or "a signal asked for it"
      self.env:say "stopping; Ctrl-C again does not wait for the names of methods"
      over:set()
    end
    for recording in pairs(self.running) do
      if total > 1 then recording:give_up() else recording:stop(self.stopping) end
    end
  end)
end

local function open_port(self)
  local port, message, code = require("sonde.dotnet.port").open(function(runtime)
    self.tasks[loop.task(serve, self, runtime)] = true
  end, self.args.listen)
  if port == nil then
    errors.raise { message = ("%s: %s"):format(self.args.listen, message), code = code }
  end
  self.port = port
  self.env:say(("listening on %s for processes with %s=%s in their environment; Ctrl-C ends it")
    :format(port.path, require("sonde.dotnet.port").VARIABLE, port.path))
  return port
end

--- Serves until a signal ends it.
-- @tparam table args
-- @tparam table env
-- @treturn integer exit status: of the recording that went worst
function listen.run(args, env)
  local directory <const> = args.output or "."
  if require("sonde.c.core").path_info(directory) ~= "directory" then
    errors.raise { message = directory .. ": no such folder (with --listen, -o is the folder"
      .. " that gets a file for each process)", code = "not_found" }
  end
  local self <const> = { args = args, env = env, directory = directory,
    want = run.wanted(args), running = {}, outputs = {}, seen = {}, tasks = {},
    done = 0, status = 0,
    show = require("sonde.base.term").status(env.err, env.terminal.err) }
  local _ <close> = open_port(self)
  local over <const> = loop.event()
  local release <const> = heed_signals(self, over)
  over:wait(loop.after(FOREVER))
  for task in pairs(self.tasks) do task:join(loop.after(FOREVER)) end
  release()
  env:say(("%d processes were recorded"):format(self.done))
  return self.status
end

return listen
