--- The text that `perf script` writes: a head for each event, then its stack,
-- innermost frame first.
-- @module sonde.reader.perf_script
local stacks <const> = require "sonde.reader.stacks"
local text <const> = require "sonde.base.text"

local perf_script = {}

-- Events whose period is nanoseconds.
local CLOCKS <const> = { ["cpu-clock"] = true, ["task-clock"] = true }

-- "comm 1234/1235 [000] 12.345678:  250000 cpu-clock:u: ", of which the thread,
-- the processor and the period may be missing.
local HEAD <const> = "^(%S.-)%s+(%-?%d+)(/?%-?%d*)%s+%[?%d*%]?%s*([%d.]+):%s*(%d*)%s*([^%s]+):"
local FRAME <const> = "^%s+(%x+)%s+(.-)%s+%(([^()]*[^%s])%)%s*$"
-- A module's path may have blanks, and " (deleted)" behind it.
local FRAME_OF_PATH <const> = "^%s+(%x+)%s+(.-)%s+(%b())%s*$"
local MAX_NAME <const> = 4096

local function event_name(word)
  return (word:gsub(":[ukhIGHpPSDWb]+$", ""))
end

-- What is told at the head of an event.
local function head_of(line)
  local comm, pid, tid, _, period, event = line:match(HEAD)
  if comm == nil then return nil end
  return {
    comm = comm, pid = math.tointeger(tonumber(pid)), event = event_name(event),
    tid = math.tointeger(tonumber(tid:match("%-?%d+") or pid)), period = tonumber(period) or 1,
  }
end

-- A frame: `name+0x12`, `name (inlined)`, or an address without a name.
local function frame_of(line)
  local address, name, module = line:match(FRAME_OF_PATH)
  if address then
    module = module:sub(2, -2)
  else
    address, name, module = line:match(FRAME)
  end
  if address == nil then return nil end
  if module == "inlined" then module = nil end
  name = name:gsub("%+0x%x+$", "")
  if name == "[unknown]" or name == "" then name = nil end
  return {
    name = name and name:sub(1, MAX_NAME), address = tonumber("0x" .. address),
    module = module and module ~= "[unknown]" and (module:gsub(" %(deleted%)$", "")) or nil,
  }
end

local Reader <const> = {}
Reader.__index = Reader

-- The sample type of an event; the first one counts samples.
function Reader:column(event)
  local column = self.columns[event]
  if column == nil then
    self.types[#self.types + 1] = { event, CLOCKS[event] and "nanoseconds" or "count" }
    column = #self.types
    self.columns[event] = column
  end
  return column
end

function Reader:finish_event()
  local head <const> = self.head
  if head == nil then return end
  self.head = nil
  local column <const> = self:column(head.event)
  self.sums:add(self.stack, table.concat(self.keys, "\n"),
    { 1, [column] = head.period }, {
      process = ("%s (%d)"):format(head.comm, head.pid),
      thread = ("%s (%d)"):format(head.comm, head.tid),
    })
end

function Reader:line(line)
  if line:find("^%s*#") then return end
  if not line:find("%S") then return self:finish_event() end
  local frame <const> = line:find("^%s") and self.head and frame_of(line)
  if frame then
    self.stack[#self.stack + 1], self.keys[#self.keys + 1] = frame, line
    return
  end
  local head <const> = head_of(line)
  if head == nil then
    self.odd = self.odd + 1
    self.first_odd = self.first_odd or line
    return
  end
  self:finish_event()
  self.head, self.stack, self.keys = head, {}, {}
end

--- Reads the text.
-- @tparam string bytes
-- @treturn ?Profile sample types `samples` and one for each kind of event
-- @treturn ?string message; beside a profile about lines that were not understood
-- @treturn ?string code `malformed`
function perf_script.read(bytes)
  local self <const> = setmetatable({
    sums = stacks.new(), types = { { "samples", "count" } }, columns = {}, odd = 0,
  }, Reader)
  for line in bytes:gmatch("([^\n]*)\n?") do self:line((line:gsub("\r$", ""))) end
  self:finish_event()
  if #self.sums.order == 0 then
    return nil, "no event of perf script in it", "malformed"
  end
  local profile, message, code = self.sums:profile(self.types, self.types[2][1])
  if profile == nil then return nil, message, code end
  if self.odd > 0 then
    return profile, ("%d lines are not perf script's; the first: %s"):format(self.odd,
      text.cut(text.printable(self.first_odd), 120)), "malformed"
  end
  return profile
end

return perf_script
