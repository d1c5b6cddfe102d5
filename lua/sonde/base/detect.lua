--- What kind of data begins with these bytes. Content decides; a name only
-- helps to say what an unknown file is. Kinds of files that people take for
-- traces are known by name, so that the message can say what to do instead.
-- @module sonde.base.detect
local detect = {}

--- Number of bytes that `detect.kind` likes to see.
detect.HEAD = 16384

local FAST_SERIALIZATION <const> = "!FastSerialization.1"

-- Kinds that are no input of sonde: what they are, and a command or a word
-- that helps. `%s` stands for the file.
local OTHERS <const> = {
  empty = { "the file is empty", "record again: the writer ended before its first byte" },
  beginning = { "the first bytes of a NetTrace stream and nothing behind them",
    "record again: the writer ended too early" },
  gzip = { "packed once more, by gzip" }, xz = { "packed once more, by xz" },
  zip = { "packed once more, as a zip" },
  gcdump = { "a heap snapshot of dotnet-gcdump, not a trace", "dotnet-gcdump report %s" },
  etlx = { "an .etlx file, PerfView's index of a trace", "open the .nettrace it was made of" },
  etl = { "a Windows event log (.etl)", "record with dotnet-trace, which writes .nettrace" },
  chromium = { "a Chromium trace; sonde writes them and does not read them",
    "open the trace or profile it was made of" },
  json = { "JSON, not a trace", nil },
  html = { "an HTML page, not a trace: was an error page saved in its place?",
    "download it again; head %s shows the page" },
  http = { "an HTTP answer with its headers", "save the body alone: curl -o FILE URL" },
  perf = { "a recording of Linux perf", "perf script -i %s" },
  core = { "a core dump", "dotnet-dump analyze %s" },
  elf = { "a program or library (ELF)", nil },
  minidump = { "a minidump", "dotnet-dump analyze %s" },
  go_trace = { "an execution trace of Go", "go tool trace %s" },
  jfr = { "a recording of Java Flight Recorder", "jfr summary %s" },
  java = { "a dump of Java's threads, which sonde does not read", nil },
  lldb = { "stacks as lldb prints them", "gdb -batch -ex 'thread apply all bt' -p PID" },
  mangled = { "packed by gzip and then changed: on its way it was taken for text",
    "fetch it again without a shell between: curl -o FILE URL" },
  goroutines = { "a goroutine dump", "sonde dump %s" },
  native = { "stacks of a native process", "sonde dump %s" },
  zstd = { "compressed by zstd", "zstd -dc %s | sonde top -" },
  bzip2 = { "compressed by bzip2", "bzip2 -dc %s | sonde top -" },
  lz4 = { "compressed by lz4", "lz4 -dc %s | sonde top -" },
  ["7z"] = { "a 7z archive", "7z x -so %s | sonde top -" },
  tar = { "a tar archive", "tar -xOf %s | sonde top -" },
  headless = { "a NetTrace stream whose first bytes are missing",
    "copy it again from where it was recorded" },
  text = { "text, but not folded stacks (frame;frame;frame count)", nil },
  unknown = { "not a trace or profile that sonde knows", nil },
}

local MAGICS <const> = {
  { "Nettrace", "nettrace" }, { "\x1f\x8b", "gzip" }, { "\xfd7zXZ\0", "xz" },
  { "PK\3\4", "zip" }, { "PERFILE2", "perf" }, { "MDMP", "minidump" },
  { "SQLite format 3\0", "sqlite" }, { "\x28\xb5\x2f\xfd", "zstd" }, { "BZh", "bzip2" },
  { "\x04\x22\x4d\x18", "lz4" }, { "7z\xbc\xaf", "7z" }, { "FLR\0", "jfr" },
}

-- What becomes of the second byte of gzip's mark when the data are taken for text:
-- in Latin 1, in no encoding, in Windows' own, in ASCII.
local MANGLED <const> = { "\xc2\x8b\8", "\xef\xbf\xbd\8", "\xe2\x80\xb9\8", "?\8" }

local function by_mangled(head)
  if head:sub(1, 1) ~= "\x1f" then return nil end
  for _, rest in ipairs(MANGLED) do
    if head:sub(2, 1 + #rest) == rest then return "mangled" end
  end
end

-- What begins with words that only it has.
local function by_words_of_others(head)
  if head:find("^go 1%.%d+ trace%z") then return "go_trace" end
  if head:find("\n%s+java%.lang%.Thread%.State: ") then return "java" end
  if head:find("\n%s+%*? ?frame #0: 0x") and head:find("thread #%d") then return "lldb" end
end

-- How streams of .NET begin, the older way without a name.
local BEGINNINGS <const> = { "Nettrace", "\20\0\0\0" .. FAST_SERIALIZATION }

local function is_beginning(head)
  for _, whole in ipairs(BEGINNINGS) do
    if #head < #whole and whole:sub(1, #head) == head then return true end
  end
  return false
end

local function by_magic(head)
  for _, row in ipairs(MAGICS) do
    if head:sub(1, #row[1]) == row[1] then return row[2] end
  end
end

-- Containers of the same library: an EventPipe stream of .NET Core 2, a heap
-- snapshot, PerfView's index. The name of the first object tells.
local function by_serialization(head)
  local at <const> = head:find(FAST_SERIALIZATION, 1, true)
  if at == nil or at > 64 then return nil end
  local rest <const> = head:sub(at + #FAST_SERIALIZATION, at + 400)
  if rest:find("GCHeapDump", 1, true) or rest:find("MemoryGraph", 1, true) then return "gcdump" end
  if rest:find("TraceLog", 1, true) or rest:find("Etlx", 1, true) then return "etlx" end
  return at == 5 and "nettrace" or "headless"
end

local function by_elf(head)
  if head:sub(1, 4) ~= "\127ELF" then return nil end
  return #head >= 18 and ("<I2"):unpack(head, 17) == 4 and "core" or "elf"
end

-- The size of its buffers stands in the header of an .etl's first buffer and
-- again in the first event.
local function by_etl(head)
  if #head < 0x6c then return nil end
  local size <const> = ("<I4"):unpack(head, 1)
  if size >= 1024 and size % 1024 == 0 and ("<I4"):unpack(head, 0x69) == size then return "etl" end
end

-- Fields of profile.proto by wire type: 2 has a length, 0 is a varint.
local FIELDS <const> = {
  [2] = { true, true, true, true, true, true, [11] = true, [13] = true },
  [0] = { [7] = true, [8] = true, [9] = true, [10] = true, [12] = true, [13] = true,
    [14] = true, [15] = true },
}

local function varint(head, at)
  local value, shift = 0, 0
  while shift < 63 do
    local byte = head:byte(at)
    if byte == nil then return nil end
    value = value | (byte & 0x7f) << shift
    at = at + 1
    if byte < 0x80 then return value, at end
    shift = shift + 7
  end
end

local function is_value_type(body)
  local at = 1
  while at <= #body do
    local tag, after = varint(body, at)
    if tag ~= 0x08 and tag ~= 0x10 then return false end
    local _, next_at = varint(body, after)
    if next_at == nil then return false end
    at = next_at
  end
  return true
end

-- The field that begins at a byte: its number, wire type, where its content
-- begins and where it ends; nil when the head is too short for that.
local function field_at(head, at)
  local tag, after = varint(head, at)
  if tag == nil then return nil end
  local value, body = varint(head, after)
  if value == nil then return nil end
  local wire <const> = tag & 7
  return tag >> 3, wire, body, wire == 2 and body + value or body
end

-- A protobuf of pprof: fields have the numbers and wire types of
-- profile.proto. A sample type, which nearly always comes first, settles it;
-- without one every field in sight must fit. No profile begins with text.
local function by_protobuf(head)
  if not head:sub(1, 64):find("[\0-\8\14-\31]") and head:byte() ~= 10 then return nil end
  local at, fields = 1, 0
  while at <= #head do
    local field, wire, body, after = field_at(head, at)
    if field == nil then break end
    if FIELDS[wire] == nil or not FIELDS[wire][field] then return nil end
    if field == 1 then
      return is_value_type(head:sub(body, after - 1)) and "pprof" or nil
    end
    fields = fields + 1
    at = after
  end
  return fields > 0 and "pprof" or nil
end

local function is_folded_line(line)
  return line:find("^.*[^%s][ \t]+[+-]?%d[%d.eE+-]*%s*$") ~= nil
end

-- One line that goes on behind the head, of frames: deep stacks and long names.
local function is_long_stack(head)
  return #head >= detect.HEAD and not head:find("[\n\0-\8\14-\31]")
end

-- Folded text may begin with remarks or a bad line or two.
local function by_folded(head)
  if is_long_stack(head) then return "folded" end
  local seen, good = 0, 0
  for line in head:gmatch("[^\n]+") do
    if not line:find("^%s*#") and line:find("%S") then
      seen = seen + 1
      if is_folded_line(line) then good = good + 1 end
    end
    if seen == 20 then break end
  end
  return good > 0 and good * 2 >= seen and "folded" or nil
end

-- What a Go program prints of its goroutines, also inside a log; profiles of
-- goroutines as text; reports of the race detector.
local function by_goroutines(head)
  if head:find("^[%w_./-]+ profile: total %d") or head:find("\ngoroutine profile: total %d")
    or head:find("WARNING: DATA RACE", 1, true) then
    return "goroutines"
  end
  return head:find("goroutine %d+ [^\n]*%[[^\n]*%][^\n]*:[%s\\]") and "goroutines"
end

-- What eu-stack and gdb print.
local function by_stacks(head)
  local lines <const> = "\n" .. head
  return (lines:find("\nTID %d+:%s*\n") or lines:find("\nThread [%d.]+ %([^\n]*%):%s*\n#0 ")
    or lines:find("\n#0  0x%x+ in [^\n]+ %(")) and "native"
end

-- The text of `perf script`: a head with a time and an event, then frames.
local function by_perf(head)
  for line in head:gmatch("[^\n]+") do
    if not line:find("^%s*#") then
      return line:find("^%S.-%s%d+/?%d*%s+%[?%d*%]?%s*[%d.]+:%s*%d*%s*[^%s]+:")
        and head:find("\n%s+%x+%s+[^\n]-%s+%([^\n]*%)%s*\n")
    end
  end
end

-- Words of four or eight bytes: 0, 3, 0, the period, 0.
local function by_words(head)
  for _, word in ipairs { "<I4", ">I4", "<i8", ">i8" } do
    if #head >= word:packsize() * 5 then
      local zero, three, java, period, padding = word:rep(5, " "):unpack(head)
      if zero == 0 and three == 3 and java == 0 and period > 0 and padding == 0 then
        return "cpu_words"
      end
    end
  end
end

local function by_json(head)
  if not head:find("^%s*[{%[]") then return nil end
  if head:find('"callFrame"', 1, true) and head:find('"nodes"', 1, true) then
    return "cpuprofile"
  end
  if head:find("speedscope", 1, true) then return "speedscope" end
  if head:find('"traceEvents"', 1, true) or head:find('"ph"%s*:') then return "chromium" end
  return head:find('^%s*[{%[]%s*[%]}"{%[%d]') and "json" or nil
end

local function by_text(head)
  local lower <const> = head:sub(1, 512):lower()
  if lower:find("^%s*<!doctype html") or lower:find("^%s*<html") then return "html" end
  local dump <const> = by_goroutines(head) or by_stacks(head)
  if dump then return dump end
  if head:find("^heap profile: ") or head:find("^%-%-%- contention") or head:find("^%-%-%- mutex:")
    or head:find("^%-%-%- threadz %d") or head:find("^%-%-%- Thread %x+ %(name: ") then
    return "legacy"
  end
  if by_perf(head) then return "perf_script" end
  return by_json(head) or by_folded(head)
end

local function by_remains(head)
  if head:sub(258, 262) == "ustar" then return "tar" end
  if head:find("\5\5\1", 1, true) and head:find("[TEMS]%l+Block") then return "headless" end
  return head:find("[\0-\8\14-\31]") and "unknown" or "text"
end

local PACKED <const> = { gzip = true, xz = true, zip = true }

--- Is it a kind that has to be unpacked to see what it is?
-- @tparam string kind
-- @treturn boolean
function detect.is_packed(kind)
  return PACKED[kind] or false
end

--- The kind of data.
-- @tparam string head its first bytes, `detect.HEAD` of them when there are
-- @treturn string `nettrace gzip xz zip pprof folded goroutines native legacy
--   perf_script cpu_words speedscope cpuprofile`, or one that `detect.describe`
--   explains
function detect.kind(head)
  if head == "" then return "empty" end
  if is_beginning(head) then return "beginning" end
  -- Many a dump was saved with the headers of the answer that held it.
  if head:find("^HTTP/1%.") then return by_goroutines(head) or "http" end
  return by_magic(head) or by_mangled(head) or by_words_of_others(head)
    or by_serialization(head) or by_elf(head) or by_words(head)
    or by_protobuf(head)
    or by_text(head) or by_etl(head) or by_remains(head)
end

--- Says what a kind that sonde does not read is.
-- @tparam string kind
-- @tparam string name of the file
-- @treturn string what it is
-- @treturn ?string what helps
function detect.describe(kind, name)
  if kind == "unknown" and name:lower():find("%.etl$") then kind = "etl" end
  local row <const> = OTHERS[kind] or OTHERS.unknown
  return row[1], row[2] and row[2]:format(name)
end

return detect
