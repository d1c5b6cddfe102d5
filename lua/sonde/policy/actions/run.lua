--- `{ run = { "gzip", "%{trace.path}" } }`: runs a program.
-- @module sonde.policy.actions.run
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"
local words <const> = require "sonde.policy.words"

local run = {}

local SECOND <const> = 1000000000
local SIGTERM <const>, SIGKILL <const> = 15, 9

-- What is kept of what it prints.
local MOST_OUTPUT <const> = 64 << 10

-- Between asking it to end and ending it.
local GRACE <const> = 2 * SECOND

--- Fields.
run.fields = {
  { name = "command", type = "string", many = true, required = true,
    help = "program and arguments, a list: no shell reads it" },
  { name = "timeout", type = "duration", default = 60 * SECOND, min = 1, help = "how long" },
  { name = "ignore_status", type = "boolean", help = "any exit status is good" },
}

--- Says what it does.
-- @tparam table spec
-- @treturn string
function run.explain(spec)
  return ("run '%s' for at most %s"):format(table.concat(spec.command, " "),
    words.duration(spec.timeout))
end

--- What it costs.
-- @tparam table spec
-- @treturn table `duration_ns`
function run.cost(spec)
  return { duration_ns = spec.timeout }
end

local function keep(output, data)
  if output.size >= MOST_OUTPUT then return end
  output[#output + 1] = data:sub(1, MOST_OUTPUT - output.size)
  output.size = output.size + #data
end

-- One of its two outputs; an event of its end.
local function listen(pipe, output)
  local closed <const> = loop.event()
  pipe:read_start(loop.guard(function(message, data)
    if data then keep(output, data) end
    if data == nil or message then closed:set() end
  end))
  return closed
end

-- Starts it; an event of its status, and of its outputs' ends.
local function start(command, output)
  local ended <const> = loop.event()
  local pipes <const> = { uv.new_pipe(false), uv.new_pipe(false) }
  local handle, pid = uv.spawn(command[1], {
    args = table.move(command, 2, #command, 1, {}), stdio = { nil, pipes[1], pipes[2] },
    detached = true,
  }, loop.guard(function(code, signal) ended:set(signal ~= 0 and 128 + signal or code) end))
  if handle == nil then
    for _, pipe in ipairs(pipes) do loop.close(pipe) end
    return nil, tostring(pid)
  end
  return { handle = handle, pid = pid, pipes = pipes, ended = ended,
    closed = { listen(pipes[1], output), listen(pipes[2], output) } }
end

-- Ends it and whatever it started: it leads a group of its own.
local function stop(child)
  uv.kill(-child.pid, SIGTERM)
  if not child.ended:wait(loop.after(GRACE)) then
    uv.kill(-child.pid, SIGKILL)
    child.ended:wait(loop.after(GRACE))
  end
end

local function outcome(spec, status, output)
  local result <const> = { status = status, output = table.concat(output) }
  if status == 0 or spec.ignore_status then return result end
  local last <const> = result.output:match "([^\n]+)\n*$"
  return nil, ("%s ended with status %d%s"):format(spec.command[1], status,
    last and ": " .. last or ""), "unavailable"
end

--- Does it.
-- @tparam table spec
-- @treturn ?table `status output`
-- @treturn ?string message
-- @treturn ?string code
function run.run(spec)
  local output <const> = { size = 0 }
  local child <const>, message <const> = start(spec.command, output)
  if child == nil then
    return nil, ("cannot run %s: %s"):format(spec.command[1], message), "not_found"
  end
  local done <const>, status <const> = child.ended:wait(loop.after(spec.timeout))
  if not done then stop(child) end
  -- Somebody it started may hold its output open: that is not waited for.
  local late <const> = loop.after(GRACE // 20)
  for i, pipe in ipairs(child.pipes) do
    child.closed[i]:wait(late)
    loop.close(pipe)
  end
  loop.close(child.handle)
  if not done then
    return nil, ("%s did not end within %s"):format(spec.command[1],
      words.duration(spec.timeout)), "timeout"
  end
  return outcome(spec, status, output)
end

return run
