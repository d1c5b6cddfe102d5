--- Where the bytes of a session go: a file, a handle or descriptor, a function,
-- or nowhere.
-- @module sonde.dotnet.sink
local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local sink = {}

local MODE <const> = tonumber("644", 8)

-- A pipe that nobody reads holds a session up; it is looked at this often
-- whether somebody wants the session to end.
local STALL <const> = 60 * 1000000000

local Descriptor <const> = {}
Descriptor.__index = Descriptor

-- libuv's codes for what went wrong, as ours.
local CODES <const> = { ENOENT = "not_found", ENOTDIR = "not_found", EACCES = "permission",
  EPERM = "permission", EROFS = "permission" }

local function words(message)
  return (message:gsub("^%u+: ", ""):gsub(": /.*$", ""))
end

--- Writes what a stream holds.
-- @param stream of `core.stream`
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Descriptor:write(stream)
  while true do
    local done, message, code = stream:write(self.fd)
    if done then return true end
    if done == nil then return nil, ("%s: %s"):format(self.name, message), code end
    self.watch = self.watch or loop.watch(self.fd)
    local free, why, reason = self.watch:wait("w", loop.after(STALL))
    if not free and reason ~= "timeout" then
      return nil, ("%s: %s"):format(self.name, why), reason
    end
  end
end

--- Writes a string to a file.
-- @tparam string bytes
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Descriptor:put(bytes)
  while bytes ~= "" do
    local n, message, name = uv.fs_write(self.fd, bytes, -1)
    if n == nil then
      return nil, ("%s: %s"):format(self.name, words(message)), CODES[name] or "unavailable"
    end
    bytes = bytes:sub(n + 1)
  end
  return true
end

--- Ends the output. A file gets its name now.
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function Descriptor:close()
  if self.watch then self.watch:close() end
  self.watch = nil
  if not self.owned then return true end
  self.owned = false
  local closed, message = uv.fs_close(self.fd)
  if not closed then return nil, ("%s: %s"):format(self.name, words(message)), "unavailable" end
  if self.partial == nil then return true end
  local renamed, why, name = uv.fs_rename(self.partial, self.target)
  if renamed then return true end
  return nil, ("%s: %s"):format(self.name, words(why)), CODES[name] or "unavailable"
end

--- Gives up before anything was written: no file is left.
function Descriptor:discard()
  if not self.owned then return end
  self.owned = false
  uv.fs_close(self.fd)
  if self.partial then uv.fs_unlink(self.partial) end
end

local Function <const> = {}
Function.__index = Function

function Function:write(stream)
  local done, what = errors.pcall(self.call, stream:bytes())
  if done then return true end
  return nil, "on_bytes: " .. tostring(what), errors.is_failure(what) and what.code or "unavailable"
end

function Function.close() return true end
function Function.discard() end

local Handle <const> = {}
Handle.__index = Handle

function Handle:write(stream)
  local done, message, number = self.file:write(stream:bytes())
  if done then return true end
  return nil, message, errors.system_code(number)
end

function Handle:close()
  local done, message, number = self.file:flush()
  if done then return true end
  return nil, message, errors.system_code(number)
end

function Handle.discard() end

local Nowhere <const> = { write = function() return true end, close = function() return true end,
  discard = function() end }

-- A file is written beside its name. A device or a pipe is what it is.
local function open_path(path)
  local core <const> = require "sonde.c.core"
  local kind, target = core.path_info(path)
  if kind == "directory" then return nil, path .. ": is a directory", "unavailable" end
  local own <const> = { name = path, owned = true }
  if kind ~= "device" then
    own.target = kind and target or path
    own.partial = files.partial_name(own.target)
  end
  local fd, message, name = uv.fs_open(own.partial or path, own.partial and "wx" or "w", MODE)
  if fd == nil then
    return nil, ("%s: %s"):format(path, words(message)), CODES[name] or "unavailable"
  end
  own.fd = fd
  return setmetatable(own, Descriptor)
end

--- Opens an output.
-- @param output a path, a descriptor's number, a file handle, a function that
--   gets strings of bytes, such a table (which is returned), or nil
-- @return ?table with `write(stream)`, `close()`, `discard()`
-- @treturn ?string message
-- @treturn ?string code
function sink.open(output)
  if output == nil then return Nowhere end
  if type(output) == "string" then return open_path(output) end
  if type(output) == "table" then return output end
  if type(output) == "function" then return setmetatable({ call = output }, Function) end
  if math.type(output) == "integer" then
    return setmetatable({ fd = output, name = "descriptor " .. output }, Descriptor)
  end
  if io.type(output) == "file" then return setmetatable({ file = output }, Handle) end
  error(("bad output (path, descriptor, open file or function expected, got %s)"):format(
    io.type(output) or type(output)), 3)
end

return sink
