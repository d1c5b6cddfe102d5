--- Profiles in pprof's text formats of old, which gperftools writes and Go
-- servers answer with for ?debug=1: heap, growth, contention, threads. Values
-- are scaled as pprof scales them. Unlike there, the lines in which Go names
-- the addresses are read too.
-- @module sonde.reader.legacy
local memory_map <const> = require "sonde.reader.memory_map"
local stacks <const> = require "sonde.reader.stacks"
local text <const> = require "sonde.base.text"

local legacy = {}

-- Frames of the allocator and of the lock that pprof calls uninteresting.
local ALLOCATOR <const> = "((tc_|__libc_|malloc_zone_)?(m|c|re|v|pv)alloc|(tc_|malloc_zone_)?c?free"
  .. "|(tc_|do_|__posix_|posix_|malloc_zone_)?(posix_)?memalign|tcmalloc::.*"
  .. "|tc_(new|delete)(array)?(_nothrow)?|operator new(\\[\\])?|(::)?do_malloc(_no_errno|_pages)?"
  .. "|DoSampledAllocation|BaseArena::.*|__builtin_(vec_)?(new|delete)|(cpp_|simple_)?alloc(ate)?"
  .. "|_M_allocate|__gnu_cxx::new_allocator::allocate|runtime\\..*)"
local ALLOCATOR_KEPT <const> = "runtime\\.(panic|reflectcall|call[0-9]*)"
local LOCK <const> = "((base::)?(RecordLock|SubmitMutex|SubmitSpinLock)ProfileData.*"
  .. "|((base::)?Mutex::)?(AwaitCommon|(Reader)?Unlock(Slow)?).*"
  .. "|(SpinLock::)?(Slow)?Unlock.*|((base::)?MutexLock|SpinLockHolder)(::)?~.*)"

local function fail(...)
  error({ message = (...):format(select(2, ...)) }, 0)
end

local Reader <const> = {}
Reader.__index = Reader

-- The next line without blanks around it; nil at the end.
function Reader:next()
  local from, to, line = self.bytes:find("^([^\n]*)\n?", self.at)
  if from == nil or to < from then return nil end
  self.at, self.number = to + 1, self.number + 1
  return (line:gsub("^%s+", ""):gsub("%s+$", ""))
end

local function integer(word, line)
  return math.tointeger(tonumber(word))
    or fail("number %s in '%s' does not fit", word, text.cut(text.printable(line), 80))
end

-- The addresses of a stack as calls: an address is where a call returns to.
-- The innermost one of a sampled program counter is not.
local function addresses(words, exact_first)
  local list = {}
  for word in words:gmatch("0x(%x+)") do
    local address = math.tointeger(tonumber("0x" .. word))
    if #list > 0 or not exact_first then address = address - 1 end
    list[#list + 1] = address
  end
  return list
end

-- "# 0x67aac4 main.main+0x964  /tmp/main.go:79": who is at an address.
-- Several lines of one address are calls that were inlined, innermost first.
function Reader:name_line(line)
  local address, name, rest = line:match("^#%s+0x(%x+)%s+(%S.-)%+0x%x+%s+(%S.*)$")
  if address == nil then return end
  address = math.tointeger(tonumber("0x" .. address))
  local file, number = rest:match("^(.*):(%d+)$")
  local group <const> = self.named[address] or { owner = self.sample }
  -- Later samples tell the same of an address again.
  if group.owner ~= self.sample then return end
  self.named[address] = group
  group[#group + 1] = { name = name, file = file, line = math.tointeger(tonumber(number)) }
end

function Reader:put(list, values, labels)
  self.sample = self.sample + 1
  self.samples[self.sample] = { list, values, labels }
end

local MAP_HEADS <const> = { ["--- Memory map: ---"] = true, ["MAPPED_LIBRARIES:"] = true }

function Reader:read_map()
  for line in function() return self:next() end do self.map:add(line) end
end

-- Calls `use(line)` for the lines of samples, up to the memory map.
function Reader:each_sample(line, use)
  while line do
    if MAP_HEADS[line] then return self:read_map() end
    if line:sub(1, 1) == "#" then
      self:name_line(line)
    elseif line:sub(1, 3) == "---" then
      self.section = true
    elseif line ~= "" and not self.section then
      use(line)
    end
    line = self:next()
  end
end

function Reader:frames(list)
  local stack = {}
  for i, address in ipairs(list) do
    local frame = self.known[address]
    if frame == nil then
      frame = { address = address, mapping = self.map:find(address), lines = self.named[address] }
      self.known[address] = frame
    end
    stack[i] = frame
  end
  return stack
end

function Reader:profile(types, info)
  local sums <const> = stacks.new()
  self.map:arrange()
  for i, sample in ipairs(self.samples) do
    sums:add(self:frames(sample[1]), tostring(i), sample[2], sample[3])
  end
  local profile, message, code = sums:profile(types, nil, self.map.rows)
  if profile == nil then return nil, message, code end
  -- Go tells no names of the outermost frames of the runtime, without which
  -- all that they call would seem uninteresting.
  if next(self.named) then info.drop_frames, info.keep_frames = nil, nil end
  profile:set_info(info)
  return profile
end

-- Sampled sizes to real ones: an object of this size was sampled with this
-- probability.
local function unsampled(count, size, rate)
  if count == 0 or size == 0 then return 0, 0 end
  if rate <= 1 then return count, size end
  local scale <const> = 1 / (1 - math.exp(-((size + 0.0) / count) / rate))
  return math.tointeger(count * scale // 1) or count, math.tointeger(size * scale // 1) or size
end

local HEAP <const> = "^heap profile: *(%d+): *(%d+) *%[ *(%d+): *(%d+) *%] @ *(%a+[%w_]*)/?(%d*)"
local SAMPLE <const> = "^(-?%d+): *(-?%d+) *%[ *(-?%d+): *(-?%d+) *%] @(.*)$"

-- By the word behind the @: is the sampling to be undone, and at which rate.
local function heap_rate(word, rate)
  if word == "heap" then return true, rate // 2 end
  if word == "heap_v2" or word == "heapz_v2" then return true, rate end
  if word == "heapprofile" or word:find("^growth") or word:find("^fragmentation") then
    return false, 1
  end
  fail("heap profile of an unknown kind: %s", word)
end

local function heap_pair(self, count, size, line)
  count, size = integer(count, line), integer(size, line)
  if count == 0 and size ~= 0 then fail("0 objects of %d bytes: %s", size, line) end
  local each <const> = count ~= 0 and size // count or nil
  if self.is_sampled then count, size = unsampled(count, size, self.rate) end
  return count, size, each
end

local function heap_sample(self, line)
  local count, size, all_count, all_size, words = line:match(SAMPLE)
  if count == nil then
    fail("line %d is no sample of a heap: %s", self.number, text.cut(text.printable(line), 80))
  end
  local values, block = {}, 0
  if self.has_all then
    local n, bytes, each = heap_pair(self, all_count, all_size, line)
    values, block = { n, bytes }, each or block
  end
  local n, bytes, each = heap_pair(self, count, size, line)
  values[#values + 1], values[#values + 2] = n, bytes
  self:put(addresses(words), values, { bytes = each or block })
end

local OBJECTS <const> = { { "objects", "count" }, { "space", "bytes" } }
local ALLOCATED <const> = {
  { "alloc_objects", "count" }, { "alloc_space", "bytes" }, { "inuse_objects", "count" },
  { "inuse_space", "bytes" },
}

local function read_heap(self, line)
  local count, size, all_count, all_size, word, rate = line:match(HEAP)
  if count == nil then fail("not the head of a heap profile: %s", text.printable(line)) end
  self.is_sampled, self.rate = heap_rate(word, integer(rate ~= "" and rate or "0", line))
  local function differ(all, now) return all ~= now and all ~= "0" end
  self.has_all = self.is_sampled and (differ(all_count, count) or differ(all_size, size))
    or word == "heapprofile" and (differ(all_count, count) or differ(all_size, size))
  self:each_sample(self:next(), function(sample) heap_sample(self, sample) end)
  return self:profile(self.has_all and ALLOCATED or OBJECTS, {
    period = self.rate, period_type = { "space", "bytes" },
    drop_frames = ALLOCATOR, keep_frames = ALLOCATOR_KEPT,
  })
end

local CONTENTION_TYPES <const> = { { "contentions", "count" }, { "delay", "nanoseconds" } }

-- "key = value" lines up to the first that is none; that line is returned.
local function read_settings(self)
  local settings = {}
  for line in function() return self:next() end do
    local key, value = line:match("^([^=@]-)%s*=%s*(%d+)$")
    if key then
      settings[key] = integer(value, line)
    elseif line ~= "" and line:sub(1, 1) ~= "#" then
      return settings, line
    end
  end
  return settings
end

local function contention_sample(self, line, period, hertz)
  local cycles, count, words = line:match("^(%d+)%s+(%d+)%s*@(.*)$")
  if cycles == nil then
    fail("line %d is no sample of contention: %s", self.number, text.cut(text.printable(line), 80))
  end
  local delay = integer(cycles, line)
  if period > 0 and hertz > 0 then
    delay = math.tointeger((delay + 0.0) * period / (hertz / 1e9) // 1) or delay
  end
  self:put(addresses(words), { integer(count, line) * math.max(period, 1), delay })
end

local function read_contention(self)
  local settings, line = read_settings(self)
  local period <const>, hertz <const> = settings["sampling period"] or 1,
    settings["cycles/second"] or 0
  self:each_sample(line, function(sample) contention_sample(self, sample, period, hertz) end)
  return self:profile(CONTENTION_TYPES, {
    period = period, period_type = { "contentions", "count" },
    duration_ns = (settings["ms since reset"] or 0) * 1000000, drop_frames = LOCK,
  })
end

-- Blocks "--- Thread 7f… (name: main/1234) stack: ---" with addresses.
local function read_threads(self, line)
  local current, labels, same
  local function finish()
    if same and self.samples[self.sample] then
      local values <const> = self.samples[self.sample][2]
      values[1] = values[1] + 1
    elseif current and #current > 0 then
      self:put(addresses(table.concat(current, " "), true), { 1 }, labels)
    end
    current, same = nil, false
  end
  while line and not MAP_HEADS[line] do
    local _, name = line:match("^%-%-%- Thread (%x+) %(name: (.*)/%d+%) stack: %-%-%-$")
    if name then
      finish()
      current, labels = {}, { thread = name }
    elseif line:find("^%-%-%-%- no stack trace for") then
      break
    elseif line:find("same as previous thread", 1, true) then
      same = true
    elseif current and line:find("^0x") then
      current[#current + 1] = line
    end
    line = self:next()
  end
  finish()
  if line and MAP_HEADS[line] then self:read_map() end
  return self:profile({ { "thread", "count" } },
    { period = 1, period_type = { "thread", "count" } })
end

local function reader_for(line)
  if line:find("^heap profile:") then return read_heap end
  if line:find("^%-%-%- contention") or line:find("^%-%-%- mutex:") then return read_contention end
  if line:find("^%-%-%- threadz %d+ %-%-%-") or line:find("^%-%-%- Thread %x+ ") then
    return read_threads
  end
end

local function new(bytes)
  return setmetatable({
    bytes = bytes, at = 1, number = 0, samples = {}, sample = 0, named = {}, known = {},
    map = memory_map.new(),
  }, Reader)
end

--- A profile of samples that are lists of addresses, and of a memory map.
-- @tparam {table,...} samples each `{ addresses, values }`
-- @tparam string map as of /proc/PID/maps
-- @tparam {table,...} types sample types
-- @tparam table info as of `profile:set_info`
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
function legacy.build(samples, map, types, info)
  local self <const> = new(map)
  self:read_map()
  self.samples = samples
  return self:profile(types, info)
end

--- Reads the text.
-- @tparam string bytes
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code `malformed`
function legacy.read(bytes)
  local self <const> = new(bytes)
  local ok, profile, message, code = pcall(function()
    local line = self:next()
    while line == "" do line = self:next() end
    local read <const> = reader_for(line or "")
      or fail("not a profile in a text format that is known: %s", text.printable(line or ""))
    return read(self, line)
  end)
  if ok then return profile, message, code end
  if type(profile) ~= "table" then error(profile, 0) end
  local binary <const> = bytes:find("\x1f\x8b", 1, true)
  return nil, profile.message .. (binary and ("; gzip data follow at byte %d"):format(binary - 1)
    or ""), "malformed"
end

return legacy
