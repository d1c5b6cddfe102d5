--- Writes a profile of many samples, to measure with.
--
--    lua5.4 bench/make_profile.lua OUT.pb.gz SAMPLES [SEED]
--
-- 3,000 functions, 20,000 locations, stacks of 30 frames that share their
-- outer frames as stacks of real programs do; Go's own shape: sample types
-- samples and cpu, the string table last.
local path <const> = assert(arg[1], "usage: bench/make_profile.lua OUT.pb.gz SAMPLES [SEED]")
local n_samples <const> = math.tointeger(tonumber(arg[2]))
local FUNCTIONS <const>, LOCATIONS <const>, DEPTH <const> = 3000, 20000, 30
math.randomseed(math.tointeger(tonumber(arg[3] or "1")))
local random <const> = math.random

local function varint(value)
  local bytes = {}
  repeat
    local low <const> = value & 0x7f
    value = value >> 7
    bytes[#bytes + 1] = string.char(value ~= 0 and low | 0x80 or low)
  until value == 0
  return table.concat(bytes)
end

local function number(field, value) return varint(field << 3) .. varint(value) end
local function bytes(field, body) return varint(field << 3 | 2) .. varint(#body) .. body end

local out <const> = assert(io.popen("gzip -6 >'" .. path:gsub("'", "'\\''") .. "'", "w"))
local strings, index = {}, {}
local function string_id(text)
  if index[text] == nil then
    strings[#strings + 1] = text
    index[text] = #strings - 1
  end
  return index[text]
end
string_id ""

local function value_type(field, kind, unit)
  return bytes(field, number(1, string_id(kind)) .. number(2, string_id(unit)))
end

local ids <const> = {}
for id = 1, LOCATIONS do ids[id] = varint(id) end

-- A new stack keeps a random part of the one before, from the root on.
local function write_samples()
  local stack = {}
  for i = 1, DEPTH do stack[i] = ids[random(LOCATIONS)] end
  local buffer, n = {}, 0
  for _ = 1, n_samples do
    for i = 1, random(DEPTH) do stack[i] = ids[random(LOCATIONS)] end
    local value <const> = random(5)
    n = n + 1
    buffer[n] = bytes(2, bytes(1, table.concat(stack))
      .. number(2, value) .. number(2, value * 10000000))
    if n == 4096 then
      out:write(table.concat(buffer, "", 1, n))
      n = 0
    end
  end
  out:write(table.concat(buffer, "", 1, n))
end

local function write_tables()
  out:write(bytes(3, number(1, 1) .. number(2, 0x400000) .. number(3, 0x4000000)
    .. number(5, string_id "/srv/app/bin/server") .. number(7, 1)))
  for id = 1, LOCATIONS do
    out:write(bytes(4, number(1, id) .. number(2, 1) .. number(3, 0x400000 + id * 37)
      .. bytes(4, number(1, 1 + id % FUNCTIONS) .. number(2, 1 + id % 400))))
  end
  for id = 1, FUNCTIONS do
    local name <const> = string_id(("example.com/server/package%d.(*Type%d).Method%d"):format(
      id % 40, id % 300, id))
    out:write(bytes(5, number(1, id) .. number(2, name) .. number(3, name)
      .. number(4, string_id(("/srv/app/src/package%d/file%d.go"):format(id % 40, id % 300)))))
  end
  for _, text in ipairs(strings) do out:write(bytes(6, text)) end
end

out:write(value_type(1, "samples", "count"), value_type(1, "cpu", "nanoseconds"))
write_samples()
out:write(number(9, 1700000000000000000), number(10, 30000000000),
  value_type(11, "cpu", "nanoseconds"), number(12, 10000000))
write_tables()
assert(out:close())
