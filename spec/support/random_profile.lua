--- Random profiles, written by a small encoder of their own, so that neither
-- the reader nor the writer under test is needed to make them.
local random_profile = {}

local function varint(value)
  local bytes = {}
  repeat
    local low <const> = value & 0x7f
    value = value >> 7
    bytes[#bytes + 1] = string.char(value ~= 0 and low | 0x80 or low)
  until value == 0
  return table.concat(bytes)
end

local function number(field, value)
  return value == 0 and "" or varint(field << 3) .. varint(value)
end

local function bytes(field, body)
  return varint(field << 3 | 2) .. varint(#body) .. body
end

-- A source of numbers that is the same on every machine.
local function source(seed)
  local state = seed
  return function(n)
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n
  end
end

local NAMES <const> = {
  "main", "main.run", "a/b.work", "a/b.(*T).loop", "ns::Klass::step", "runtime.mallocgc",
  "(anonymous namespace)::f", "operator()(int)", "std::sort<int>", "pkg.F[...]", "",
  "java.util.Map.get", "example.com/x/v2/y.Do", "read", "write", "poll",
}
local FILES <const> = { "/src/a.go", "/src/b/../c.go", "", "/src/./d.c" }
local UNITS <const> = { "nanoseconds", "bytes", "count", "milliseconds", "widgets" }

local Maker <const> = {}
Maker.__index = Maker

function Maker:string(text)
  if self.index[text] == nil then
    self.strings[#self.strings + 1] = text
    self.index[text] = #self.strings - 1
  end
  return self.index[text]
end

function Maker:chance(percent) return self.next(100) < percent end

function Maker:functions(n)
  for id = 1, n do
    local name <const> = NAMES[self.next(#NAMES) + 1] .. (self:chance(50) and id % 5 or "")
    self:put(5, number(1, id) .. number(2, self:string(name)) .. number(3, self:string(name))
      .. number(4, self:string(FILES[self.next(#FILES) + 1]))
      .. number(5, self:chance(50) and self.next(90) or 0))
  end
end

function Maker:locations(n, n_functions, n_mappings)
  for id = 1, n do
    local lines = {}
    for _ = 1, self:chance(10) and 0 or self:chance(30) and 1 + self.next(3) or 1 do
      lines[#lines + 1] = bytes(4, number(1, 1 + self.next(n_functions))
        .. number(2, self.next(60)))
    end
    self:put(4, number(1, id) .. number(2, n_mappings > 0 and 1 + self.next(n_mappings) or 0)
      .. number(3, self:chance(95) and 0x1000 + self.next(3000) or 0) .. table.concat(lines))
  end
end

function Maker:label(key, text, value, unit)
  return bytes(3, number(1, self:string(key)) .. number(2, text and self:string(text) or 0)
    .. number(3, value or 0) .. number(4, unit and self:string(unit) or 0))
end

function Maker:labels()
  local list = {}
  if self:chance(40) then list[1] = self:label("route", "/r" .. self.next(6)) end
  if self:chance(20) then list[#list + 1] = self:label("user", "u" .. self.next(3)) end
  if self:chance(40) then
    local unit <const> = self.with_units and "bytes" or nil
    list[#list + 1] = self:label("bytes", nil, 1 << self.next(22), unit)
  end
  if self:chance(15) then list[#list + 1] = self:label("request", nil, 1 + self.next(5000)) end
  return table.concat(list)
end

function Maker:value()
  local value <const> = (1 + self.next(1000)) * 10 ^ self.next(self.spread) // 1 | 0
  if self.negative and self:chance(30) then return -value end
  return self:chance(4) and 0 or value
end

function Maker:samples(n, n_locations)
  for _ = 1, n do
    local stack = {}
    for i = 1, self:chance(self.bare) and 0 or 1 + self.next(10) do
      stack[i] = varint(1 + self.next(self:chance(60) and n_locations // 4 + 1 or n_locations))
    end
    local first <const> = self.negative and self:value() or 1 + self.next(9)
    self:put(2, bytes(1, table.concat(stack))
      .. bytes(2, varint(first) .. varint(self:value())) .. self:labels())
  end
end

function Maker:put(field, body)
  self.parts[#self.parts + 1] = bytes(field, body)
end

--- The bytes of a profile. Equal seeds give equal bytes.
function random_profile.bytes(seed)
  local self <const> = setmetatable({ strings = { "" }, index = { [""] = 0 }, parts = {},
    next = source(seed) }, Maker)
  for _ = 1, 5 do self.next(2) end
  self.negative, self.with_units, self.spread = self:chance(25), self:chance(50), 1 + self.next(7)
  self.bare = self:chance(50) and 4 or 0
  local unit <const> = UNITS[self.next(#UNITS) + 1]
  self:put(1, number(1, self:string "events") .. number(2, self:string "count"))
  self:put(1, number(1, self:string "value") .. number(2, self:string(unit)))
  local n_mappings <const> = self.next(3)
  local n_functions <const>, n_locations <const> = 3 + self.next(25), 5 + self.next(60)
  self:samples(5 + self.next(60), n_locations)
  for id = 1, n_mappings do
    self:put(3, number(1, id) .. number(2, 0x1000 * id) .. number(3, 0x1000 * id + 0x800)
      .. number(5, self:string("/bin/prog" .. id)) .. number(7, 1))
  end
  self:locations(n_locations, n_functions, n_mappings)
  self:functions(n_functions)
  self.parts[#self.parts + 1] = number(9, 1700000000000000000)
  self.parts[#self.parts + 1] = number(10, self:chance(50) and 5170000000 or 0)
  self:put(11, number(1, self:string "events") .. number(2, self:string "count"))
  self.parts[#self.parts + 1] = number(12, 1)
  for _, text in ipairs(self.strings) do self:put(6, text) end
  return table.concat(self.parts)
end

return random_profile
