--- Files: written beside their name and renamed when complete.
-- @module sonde.base.files
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"
local unique <const> = require "sonde.base.unique"

local files = {}

local BUFFER <const> = 1 << 16

-- What a writer of a report sees: `out:write(...)`, which raises at the first
-- failure, so that no report has to look.
local Output <const> = {}
Output.__index = Output

function Output:write(...)
  local done, message, number = self.file:write(...)
  if not done then self:fail(message, number) end
  return self
end

function Output:flush()
  local done, message, number = self.file:flush()
  if not done then self:fail(message, number) end
end

-- EPIPE is 32 everywhere that sonde runs: whoever read our output has gone,
-- which is nobody's mistake.
local EPIPE <const> = 32

function Output:fail(message, number)
  local told <const> = ("%s: %s"):format(self.name, errors.system_words(message, self.name))
  errors.raise {
    message = "cannot write: " .. told, told = told,
    code = errors.system_code(number), quiet = number == EPIPE, broken_pipe = number == EPIPE,
  }
end

--- Wraps a file handle for reports.
-- @tparam file file
-- @tparam string name for messages
-- @treturn table with `write` and `flush`, which raise a failure
function files.output(file, name)
  return setmetatable({ file = file, name = name }, Output)
end

local function fail(path, message, number)
  local words <const> = errors.system_words(message, path)
  return nil, ("%s: %s"):format(path, words), errors.system_code(number)
end

--- A name beside a path that nobody else uses at the same time, for what becomes that
-- file when it is complete.
-- @tparam string path
-- @treturn string
function files.partial_name(path)
  return ("%s.%s.part"):format(path, unique.hex(4))
end

-- Writes through `fill` and closes; true, or nil and a failure's values.
local function write_all(file, path, fill)
  file:setvbuf("full", BUFFER)
  local out <const> = files.output(file, path)
  local ok, done, message, code = pcall(fill, out)
  if not ok then
    file:close()
    -- The library returns what the world can cause; only a reader that has
    -- gone still ends what is being done.
    if not errors.is_failure(done) or done.broken_pipe then error(done, 0) end
    return nil, done.told or done.message, done.code
  end
  if done == nil then
    file:close()
    return nil, message, code
  end
  local closed, words, number = file:close()
  if not closed then return fail(path, words, number) end
  return true
end

local function write_in_place(path, fill)
  local file, message, number = io.open(path, "wb")
  if file == nil then return fail(path, message, number) end
  return write_all(file, path, fill)
end

-- The partial file beside a path, open, and the path without links; false for a
-- device; nil, nil, message, code.
local function open_beside(path)
  local kind, target = core.path_info(path)
  if kind == "directory" then return nil, nil, path .. ": is a directory", "unavailable" end
  if kind == "device" then return false end
  target = kind and target or path
  local partial <const> = files.partial_name(target)
  local file, message, number = io.open(partial, "wb")
  if file then return partial, file, target end
  return nil, fail(path, errors.system_words(message, partial), number)
end

--- Writes a file: into a partial file beside it, renamed when complete.
-- When anything fails, an older file of that name stays as it was. A path
-- that is a device or a pipe is written to as it is.
-- @tparam string path
-- @tparam function fill is called with an output (see `files.output`); may
--   return nil, message, code to give up
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function files.write(path, fill)
  local partial, file, target, code = open_beside(path)
  if partial == nil then return nil, target, code end
  if partial == false then return write_in_place(path, fill) end
  local complete = false
  local _ <close> = setmetatable({}, { __close = function()
    if not complete then os.remove(partial) end
  end })
  local done, why, reason = write_all(file, path, fill)
  if not done then return nil, why, reason end
  local renamed, words, rename_number = os.rename(partial, target)
  if not renamed then return fail(path, errors.system_words(words, partial), rename_number) end
  complete = true
  return true
end

--- Whether `files.write` could write a file: what takes time asks before it begins.
-- @tparam string path
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function files.writable(path)
  local partial, file, message, code = open_beside(path)
  if partial == nil then return nil, message, code end
  if partial then
    file:close()
    os.remove(partial)
  end
  return true
end

--- Reads what is left of an input into one string.
-- @param input a `sonde.input`
-- @tparam integer limit largest size in bytes
-- @treturn ?string what there was; partial when a message follows
-- @treturn ?string message
-- @treturn ?string code
function files.read_all(input, limit)
  local pieces, size = {}, 0
  while true do
    local piece, message, code = input:read(BUFFER)
    if piece == nil then return table.concat(pieces), message, code end
    size = size + #piece
    if size > limit then
      return nil, ("more than %d bytes of input (see limit)"):format(limit), "limit"
    end
    pieces[#pieces + 1] = piece
  end
end

--- Reads a whole file.
-- @tparam string path
-- @tparam ?integer most bytes; one that is larger is not read. For files whose
--   size is not ours.
-- @treturn ?string
-- @treturn ?string message
-- @treturn ?string code `not_found permission unavailable`, or `limit`
function files.read(path, most)
  local file <const>, message <const>, number <const> = io.open(path, "rb")
  if file == nil then return fail(path, message, number) end
  local text <const>, words <const>, code <const> = file:read(most and most + 1 or "a")
  file:close()
  if text == nil and words then return fail(path, words, code) end
  if text and most and #text > most then
    return nil, ("%s: is larger than %s"):format(path, require("sonde.base.units").bytes(most)),
      "limit"
  end
  return text or ""
end

return files
