--- The standard error of a program that we start, which comes to us: it is passed
-- on as it comes, and kept for who follows it.
--
--    local stream = standard_error.open(function(text) io.stderr:write(text) end)
--    -- give `stream.write_fd` to the program, then
--    stream:begin()
--    local text_since = stream:follow()
--
-- @module sonde.process.standard_error
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local standard_error = {}

local PIECE <const> = 1 << 16

local Stream <const> = {}
Stream.__index = Stream
Stream.__name = "sonde.standard_error"

-- What is open, by the name that the system gives the pipe.
local opened <const> = {}

local function name_of(pid, fd)
  return (uv.fs_readlink(("/proc/%s/fd/%d"):format(pid, fd)))
end

--- A pipe. It is one, and no socket, so that a program may open /dev/stderr.
-- @tparam function pass gets what was written, as it comes
-- @treturn ?Stream to be closed; `write_fd` is for the program
-- @treturn ?string message
-- @treturn ?string code
function standard_error.open(pass)
  local fds <const>, message <const> = uv.pipe({ nonblock = true }, {})
  if fds == nil then return nil, message, "unavailable" end
  local self <const> = setmetatable({ pass = pass, followers = {}, read_fd = fds.read,
    write_fd = fds.write, pipe = uv.new_pipe(false), key = name_of("self", fds.read) }, Stream)
  self.pipe:open(fds.read)
  opened[self.key or self] = self
  return self
end

--- The stream that is a process's standard error, if it is one of ours.
-- @tparam integer pid
-- @treturn ?Stream
function standard_error.of(pid)
  return opened[name_of(pid, 2) or ""]
end

local function take(self, data)
  for follower in pairs(self.followers) do
    if follower.size < follower.most then
      follower[#follower + 1] = data:sub(1, follower.most - follower.size)
      follower.size = follower.size + #data
    end
  end
  self.pass(data)
end

local function end_of_writing(self)
  if self.write_fd then uv.fs_close(self.write_fd) end
  self.write_fd = nil
end

--- Begins to read, once the program has its end of the pipe.
function Stream:begin()
  end_of_writing(self)
  self.pipe:read_start(loop.guard(function(_, data)
    if data then take(self, data) end
  end))
end

--- Reads what is in the pipe now: all that a process which has ended has written.
function Stream:drain()
  while self.pipe do
    local data <const> = uv.fs_read(self.read_fd, PIECE, -1)
    if data == nil or data == "" then return end
    take(self, data)
  end
end

--- Keeps what is written from now on.
-- @tparam integer most bytes
-- @treturn function gives the text until then, and ends it
function Stream:follow(most)
  self:drain()
  local follower <const> = { size = 0, most = most }
  self.followers[follower] = true
  return function()
    self:drain()
    self.followers[follower] = nil
    return table.concat(follower)
  end
end

--- Passes on what is left, and closes the pipe.
function Stream:close()
  if self.pipe == nil then return end
  end_of_writing(self)
  self:drain()
  opened[self.key or self] = nil
  loop.close(self.pipe)
  self.pipe = nil
end

return standard_error
