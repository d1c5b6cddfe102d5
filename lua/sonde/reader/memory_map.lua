--- The memory map in profiles in old text formats: ranges of addresses and the files
-- in them, arranged by pprof's rules.
-- @module sonde.reader.memory_map
local memory_map = {}

local Map <const> = {}
Map.__index = Map

-- As of /proc/PID/maps, and as older programs write it.
local LINE <const> = "^(%x+)-(%x+)%s+([-rwxps]+)%s+(%x+)%s+%x+:%x+%s+%d+%s*(.*)$"
local BRIEF <const> = "^0x(%x+)-0x(%x+)%s+(%S+)"

-- Where the system loads programs that choose no address of their own.
local USUAL_START <const> = 0x400000

local function hex(word)
  return math.tointeger(tonumber("0x" .. word))
end

--- Begins.
-- @treturn Map
function memory_map.new()
  return setmetatable({ rows = {} }, Map)
end

--- Reads a line. What is not executable is no place of code.
-- @tparam string line
function Map:add(line)
  local from, to, permissions, offset, file = line:match(LINE)
  if from == nil then
    from, to, file = line:match(BRIEF)
    offset = "0"
  end
  if from == nil or permissions and not permissions:find("x", 1, true) then return end
  self.rows[#self.rows + 1] = { start = hex(from), limit = hex(to), offset = hex(offset),
    file = file }
end

-- Is the second the continuation of the first?
local function adjoins(a, b)
  if a.file ~= "" and b.file ~= "" and a.file ~= b.file then return false end
  if a.limit ~= b.start then return false end
  return a.offset == 0 or b.offset == 0 or a.offset + (a.limit - a.start) == b.offset
end

local function joined(rows)
  local list = {}
  for _, row in ipairs(rows) do
    local last <const> = list[#list]
    if last and adjoins(last, row) then
      last.limit = row.limit
      if row.file ~= "" then last.file = row.file end
    else
      list[#list + 1] = row
    end
  end
  return list
end

-- The program, which is expected to come first: the first file that is no library.
local function put_program_first(rows)
  for i, row in ipairs(rows) do
    local file <const> = row.file:gsub("%(deleted%)", ""):gsub("^%s+", ""):gsub("%s+$", "")
    if file ~= "" and file:sub(1, 1) ~= "[" and not file:find "%.so$"
      and not file:find "%.so[._]%d+" then
      rows[1], rows[i] = row, rows[1]
      return
    end
  end
end

--- Arranges what was read, before addresses are looked up.
function Map:arrange()
  self.rows = joined(self.rows)
  put_program_first(self.rows)
  local first <const>, second <const> = self.rows[1], self.rows[2]
  if second and first.file:find "^/anon_hugepage" and first.limit == second.start then
    table.remove(self.rows, 1)
  end
  local program <const> = self.rows[1]
  if program and program.start - program.offset == USUAL_START then
    program.start, program.offset = USUAL_START, 0
  end
end

local function is_in(address, from, to)
  return not math.ult(address, from) and math.ult(address, to)
end

-- The number of the mapping of an address. A first part that is missing is made up
-- for, and what is nowhere is in one that covers all.
local function find(self, address)
  if address == 0 then return nil end
  for i, row in ipairs(self.rows) do
    if row ~= self.rest and is_in(address, row.start, row.limit) then return i end
  end
  for i, row in ipairs(self.rows) do
    if row.offset ~= 0 and is_in(address, row.start - row.offset, row.start) then
      row.start, row.offset = row.start - row.offset, 0
      return i
    end
  end
  if self.rest == nil then
    self.rest = { start = 0, limit = -1, offset = 0, file = "" }
    self.rows[#self.rows + 1] = self.rest
    self.rest_at = #self.rows
  end
  return self.rest_at
end

--- The mapping of an address.
-- @tparam integer address
-- @treturn ?integer its number in `rows`; nil for the address 0
function Map:find(address)
  self.known = self.known or {}
  local known = self.known[address]
  if known == nil then
    known = find(self, address)
    self.known[address] = known
  end
  return known
end

return memory_map
