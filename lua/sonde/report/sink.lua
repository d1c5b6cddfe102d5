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
-- @tparam ?integer n at most so many, all for 0
-- @tparam ?function shown makes of each row the one that is given
-- @treturn function
function sink.rows(list, n, shown)
  if n == nil or n == 0 or n > #list then n = #list end
  local i = 0
  return function()
    i = i + 1
    if i > n then return nil end
    local row <const> = shown and shown(list[i]) or list[i]
    if i == 1 then row.schema = 1 end
    return row
  end
end

return sink
