--- A sampler of the system as a transport: eu-stack or gdb on Linux, sample on
-- macOS. It works on every process that may be traced, and stops it for the
-- time that it takes.
-- @module sonde.capture.transports.native
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local native = {}

local SECOND <const> = 1000000000
local SIGKILL <const> = 9

-- Most of a text that is kept.
local MOST <const> = 64 << 20

-- The samplers, the one that is preferred first.
local SAMPLERS <const> = {
  { file = "eu-stack", arguments = function(pid) return { "-p", tostring(pid) } end },
  { file = "gdb", arguments = function(pid)
    return { "-batch", "-nx", "-p", tostring(pid), "-ex", "thread apply all bt" }
  end },
  { file = "sample", arguments = function(pid) return { tostring(pid), "1" } end },
}

local function look_path(file)
  for directory in (os.getenv "PATH" or ""):gmatch "[^:]+" do
    local path <const> = directory .. "/" .. file
    if uv.fs_access(path, "X") then return path end
  end
  return nil, file .. " is not installed"
end

local function read_into(pipe, pieces)
  local closed <const> = loop.event()
  pipe:read_start(loop.guard(function(message, data)
    if data and pieces.size < MOST then
      pieces[#pieces + 1] = data
      pieces.size = pieces.size + #data
    end
    if data == nil or message then closed:set() end
  end))
  return closed
end

local function outcome(path, status, output, complaints)
  local text <const> = table.concat(output)
  if text:find "%S" then return text end
  local words <const> = table.concat(complaints):match "%S[^\n]*"
  return nil, ("%s ended with status %d%s"):format(path, status, words and ": " .. words or ""),
    "permission"
end

-- Runs the sampler as a child and waits for it.
local function run(path, arguments, deadline)
  local out <const>, err <const> = uv.new_pipe(false), uv.new_pipe(false)
  local output <const>, complaints <const> = { size = 0 }, { size = 0 }
  local ended <const> = loop.event()
  local handle, pid = uv.spawn(path, { args = arguments, stdio = { nil, out, err } },
    loop.guard(function(status) ended:set(status) end))
  local _ <close> = setmetatable({}, { __close = function()
    loop.close(out)
    loop.close(err)
    if handle then loop.close(handle) end
  end })
  if handle == nil then return nil, ("cannot run %s: %s"):format(path, pid), "unavailable" end
  local closed <const> = { read_into(out, output), read_into(err, complaints) }
  local done <const>, status <const>, code <const> = ended:wait(deadline)
  if not done then
    uv.kill(pid, SIGKILL)
    ended:wait(loop.after(SECOND))
    if code == "canceled" then return nil, status, code end
    return nil, path .. " did not end in time", "timeout"
  end
  for _, event in ipairs(closed) do event:wait(loop.after(SECOND)) end
  return outcome(path, status, output, complaints)
end

local function find_sampler(look)
  for _, sampler in ipairs(SAMPLERS) do
    local path <const> = look(sampler.file)
    if path then return path, sampler end
  end
end

--- The transport. The sampler is looked up once, here.
-- @tparam ?table opts `look_path(file)` finds the sampler; `run(path, arguments,
--   deadline)` runs it and gives its output, or nil, message, code
-- @treturn table
function native.new(opts)
  opts = opts or {}
  local path <const>, sampler <const> = find_sampler(opts.look_path or look_path)
  local self <const> = { name = "native", destructive = false, path = path }

  function self.available(pid)
    if path == nil then
      return nil, "neither eu-stack nor gdb is installed", "unavailable",
        "apt-get install elfutils"
    end
    if pid == uv.os_getpid() then
      return nil, "a process cannot be traced by its own child while it waits for it",
        "unavailable"
    end
    local stat, message, code = require("sonde.process.proc").stat(pid)
    if stat == nil then return nil, message, code end
    return true
  end

  function self.dump(pid, deadline)
    local text, message, code = (opts.run or run)(path, sampler.arguments(pid), deadline)
    if text == nil then return nil, message, code end
    return { transport = "native", format = "native", text = text, collected_at = os.time() }
  end

  return self
end

return native
