--- Where a report writes: collects pieces and hands them on in large strings,
-- remembers the first failure. A report never holds its whole output.
-- @module sonde.report.sink
local sink = {}

local Sink <const> = {}
Sink.__index = Sink

-- Pieces that are joined for one write. Reports put lines, so these are some
-- 100 kB; a text that is long already is handed on as it is.
local BATCH <const> = 1024
local LONG <const> = 1 << 14

--- Begins to write.
-- @param out anything with `out:write(string)`, which may return nil and a
--   message as a file does
-- @treturn table with `put`, `finish`
function sink.new(out)
  return setmetatable({ out = out, n = 0 }, Sink)
end

local function hand_on(self, text)
  if self.failure or text == "" then return end
  local done, message = self.out:write(text)
  if not done and message then self.failure = message end
end

local function flush(self)
  local n <const> = self.n
  self.n = 0
  if n > 0 then hand_on(self, table.concat(self, "", 1, n)) end
end

--- Adds text.
-- @tparam string text
function Sink:put(text)
  if #text >= LONG then
    flush(self)
    return hand_on(self, text)
  end
  local n <const> = self.n + 1
  self[n], self.n = text, n
  if n >= BATCH then flush(self) end
end

--- Adds formatted text.
-- @tparam string format as of string.format
-- @param ... its values
function Sink:putf(format, ...)
  self:put(format:format(...))
end

--- Adds lines.
-- @tparam {string,...} lines without line ends
function Sink:lines(lines)
  for _, line in ipairs(lines) do self:put(line .. "\n") end
end

--- Hands on what is left.
-- @treturn ?boolean true, or nil when any write failed
-- @treturn ?string the system's words
-- @treturn ?string code `truncated`
function Sink:finish()
  flush(self)
  if self.failure then
    return nil, "cannot write the output: " .. self.failure, "truncated"
  end
  return true
end

--- Something to write into whose text can be had as one string.
-- @treturn table with `write` and `text`
function sink.collector()
  local pieces = {}
  return {
    write = function(self, ...)
      for i = 1, select("#", ...) do pieces[#pieces + 1] = (select(i, ...)) end
      return self
    end,
    text = function() return table.concat(pieces) end,
  }
end

--- Iterates over the rows of a listing, for `--json`: the first has the schema.
-- @tparam {table,...} list
-- @treturn function
function sink.rows(list)
  if list[1] then list[1].schema = 1 end
  local i = 0
  return function()
    i = i + 1
    return list[i]
  end
end

return sink
