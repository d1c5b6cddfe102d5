--- SIGQUIT as a transport: a Go process prints all its goroutines on it, and ends.
-- It is used by name only, with consent. The text is read where the process's
-- standard error goes: a file, or what the caller says.
-- @module sonde.capture.transports.sigquit
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"

local sigquit = {}

local MS <const> = 1000000
local SIGQUIT <const> = 3
local MOST <const> = 64 << 20

-- The file that a process's standard error is.
local function file_of(pid)
  local path <const>, message <const> = uv.fs_readlink(("/proc/%d/fd/2"):format(pid))
  if path == nil then return nil, message end
  local stat <const> = uv.fs_stat(path)
  if stat == nil or stat.type ~= "file" then
    return nil, ("its standard error is no file (%s): say where its text can be read"):format(path)
  end
  return path
end

local function read_from(path, offset)
  local file <const>, message <const> = io.open(path, "rb")
  if file == nil then return nil, message end
  file:seek("set", offset)
  local text <const> = file:read(MOST)
  file:close()
  return text or ""
end

local function wait_for_end(pid, start_time, deadline)
  while loop.now() < deadline do
    local stat <const> = proc.stat(pid)
    if stat == nil or stat.state == "Z" or stat.start_time ~= start_time then return true end
    if not loop.sleep(20 * MS) then return false end
  end
  return false
end

--- The transport.
-- @tparam ?table opts `output(pid)` gives the path of the file that holds what the
--   process writes to its standard error
-- @treturn table
function sigquit.new(opts)
  local output <const> = opts and opts.output or file_of
  local self <const> = { name = "sigquit", destructive = true }

  function self.available(pid)
    local stat, message, code = proc.stat(pid)
    if stat == nil then return nil, message, code end
    if require("sonde.golang.buildinfo").of_pid(pid) == nil then
      return nil, ("process %d is no Go program: it would only end"):format(pid), "unavailable"
    end
    local path, why = output(pid)
    if path == nil then return nil, why, "unavailable" end
    return true
  end

  function self.dump(pid, deadline)
    local stat, message, code = proc.stat(pid)
    if stat == nil then return nil, message, code end
    local path, why = output(pid)
    if path == nil then return nil, why, "unavailable" end
    local before <const> = uv.fs_stat(path)
    local sent, words = uv.kill(pid, SIGQUIT)
    if not sent then return nil, words, "permission" end
    if not wait_for_end(pid, stat.start_time, deadline) then
      return nil, ("process %d did not end on SIGQUIT"):format(pid), "timeout"
    end
    local text, reason = read_from(path, before and before.size or 0)
    if text == nil then return nil, reason, "not_found" end
    return { transport = "sigquit", format = "go", text = text, collected_at = os.time() }
  end

  return self
end

return sigquit
