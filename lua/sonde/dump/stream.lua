--- The goroutines or threads of a text one by one, with all that is told of each.
-- @module sonde.dump.stream
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"
local filter <const> = require "sonde.dump.filter"

local stream = {}

local Stream <const> = {}
Stream.__index = Stream

-- Text between entries that a record carries: its end, for the words closest to
-- a goroutine are those about it.
local MAX_BEFORE <const> = 1 << 16

--- Reads the entries of a text one by one, in the memory of the largest.
-- @tparam table source of `sonde.base.input`; the stream closes it
-- @tparam table opts `format`, `limit`, `names`, `input` (instead of the source's)
-- @treturn ?Stream
-- @treturn ?string message
-- @treturn ?string code
function stream.new(source, opts)
  local reader, message, code = core.dump_reader(opts.input or source.input, {
    format = opts.format, limit = opts.limit, names = opts.names,
  })
  if reader == nil then return nil, message, code end
  return setmetatable({ source = source, reader = reader, format = opts.format,
    least = 0, name = source.name }, Stream)
end

--- Leaves out what does not match.
-- @tparam table wanted see `sonde.dump.filter`
-- @treturn Stream itself
function Stream:where(wanted)
  self.states, self.functions = filter.matcher(wanted.state), filter.matcher(wanted.func)
  self.least = filter.minutes(wanted.wait)
  return self
end

--- Goes to the next piece.
-- @treturn ?string "entry" or "text" (lines between entries); nil at the end
-- @treturn ?string message when reading failed
-- @treturn ?string code
function Stream:next()
  local reader <const> = self.reader
  local kind, message, code
  repeat
    kind, message, code = reader:next()
  until kind ~= "entry" or reader:matches(self.functions, self.states, self.least)
  return kind, message, code
end

--- The record of the entry.
-- @treturn table
function Stream:record()
  local record <const> = self.reader:entry()
  record.transport = "file"
  return record
end

--- The record of the entry as JSON.
-- @tparam string head members that come first, each with a comma behind it
-- @tparam string before text between this entry and the last
-- @treturn string
function Stream:json(head, before)
  return self.reader:json(head .. '"transport":"file",', before)
end

--- The lines of the entry, or of none.
-- @treturn string
function Stream:text()
  return self.reader:text()
end

--- What was counted so far.
-- @treturn table
function Stream:counts()
  local counts <const> = self.reader:counts()
  counts.format = self.format
  counts.goroutines = self.seen or math.maxinteger
  return counts
end

--- Iterates over the records. Lines between entries are in the field `before`
-- of the next one. An error of reading raises.
-- @treturn function
function Stream:records()
  local before
  return function()
    while true do
      local kind, message, code = self:next()
      if kind == nil then
        self:close()
        if message then errors.raise { message = self.name .. ": " .. message, code = code } end
        return nil
      end
      if kind == "entry" then
        local record <const> = self:record()
        record.before, before = before, nil
        return record
      end
      before = ((before or "") .. self:text()):sub(-MAX_BEFORE)
    end
  end
end

--- Closes what it reads from.
-- @treturn boolean true when all was well
-- @treturn ?string message
-- @treturn ?string code
function Stream:close()
  self.reader:close()
  return self.source:close()
end

return stream
