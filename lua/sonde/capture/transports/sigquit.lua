--- SIGQUIT as a transport: a Go process prints all its goroutines on it, and ends.
-- It is used by name only, with consent. The text is read where the process's
-- standard error goes: to us, when we started it, to a file, or to what the caller
-- says.
-- @module sonde.capture.transports.sigquit
local loop <const> = require "sonde.base.loop"
local proc <const> = require "sonde.process.proc"
local standard_error <const> = require "sonde.process.standard_error"
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

-- A place that texts appear in: `follow` begins, and gives a function for the text
-- since then. Two processes with one place are told apart by its `name`.
local function file_place(path)
  return { name = path, follow = function()
    local stat <const> = uv.fs_stat(path)
    local offset <const> = stat and stat.size or 0
    return function() return read_from(path, offset) end
  end }
end

local function place_of(pid, output)
  local stream <const> = output == nil and standard_error.of(pid)
  if stream then
    return { name = stream.key, follow = function() return stream:follow(MOST) end }
  end
  local path <const>, why <const> = (output or file_of)(pid)
  if path == nil then return nil, why end
  return file_place(path)
end

-- One process at a time writes to a place, or their dumps would be mixed.
local taken <const> = {}

local function hold(name, deadline)
  while taken[name] do
    local free <const>, message <const>, code <const> = taken[name]:wait(deadline)
    if not free then return nil, message, code end
  end
  taken[name] = loop.event()
  return setmetatable({}, { __close = function()
    local event <const> = taken[name]
    taken[name] = nil
    event:set()
  end })
end

local function wait_for_end(pid, start_time, deadline)
  while loop.now() < deadline do
    local stat <const> = proc.stat(pid)
    if stat == nil or stat.state == "Z" or stat.start_time ~= start_time then return true end
    if not loop.sleep(20 * MS) then return false end
  end
  return false
end

local function kill_and_read(pid, place, deadline)
  local stat <const>, message, code = proc.stat(pid)
  if stat == nil then return nil, message, code end
  local text_since <const> = place.follow()
  local sent <const>, words <const> = uv.kill(pid, SIGQUIT)
  local ended <const> = sent and wait_for_end(pid, stat.start_time, deadline)
  local text, reason = text_since()
  if not sent then return nil, words, "permission" end
  if not ended then
    return nil, ("process %d did not end on SIGQUIT"):format(pid), "timeout"
  end
  if text == nil then return nil, reason, "not_found" end
  return { transport = "sigquit", format = "go", text = text, collected_at = os.time() }
end

--- The transport.
-- @tparam ?table opts `output(pid)` gives the path of the file that holds what the
--   process writes to its standard error
-- @treturn table
function sigquit.new(opts)
  local output <const> = opts and opts.output
  local self <const> = { name = "sigquit", destructive = true }

  function self.available(pid)
    local stat, message, code = proc.stat(pid)
    if stat == nil then return nil, message, code end
    if require("sonde.golang.buildinfo").of_pid(pid) == nil then
      return nil, ("process %d is no Go program: it would only end"):format(pid), "unavailable"
    end
    local place, why = place_of(pid, output)
    if place == nil then return nil, why, "unavailable" end
    return true
  end

  function self.dump(pid, deadline)
    local place, why = place_of(pid, output)
    if place == nil then return nil, why, "unavailable" end
    local held <close>, message, code = hold(place.name, deadline)
    if held == nil then return nil, message, code end
    return kill_and_read(pid, place, deadline)
  end

  return self
end

return sigquit
