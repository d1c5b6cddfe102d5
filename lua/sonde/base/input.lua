--- Where data comes from: a path, standard input, a handle, a descriptor or a
-- string, and what it is packed in (gzip, zip, xz).
-- @module sonde.base.input
local core <const> = require "sonde.c.core"
local detect <const> = require "sonde.base.detect"
local errors <const> = require "sonde.base.errors"
local url <const> = require "sonde.base.url"
local utf16 <const> = require "sonde.base.utf16"

local input = {}

local Source <const> = {}
Source.__index = Source

local function open_path(path)
  local file, message, number = io.open(path, "rb")
  if file == nil then
    local words <const> = errors.system_words(message, path)
    return nil, ("%s: %s"):format(path, words), errors.system_code(number)
  end
  local kind, _, size = core.path_info(path)
  if kind == "directory" then
    file:close()
    return nil, path .. ": is a directory", "unavailable"
  end
  return setmetatable({
    name = path, path = kind == "file" and path or nil, size = kind == "file" and size or nil,
    closes = { file }, input = core.input(file, path),
  }, Source)
end

local function wrap(bytes_from, name)
  return setmetatable({ name = name, closes = {}, input = core.input(bytes_from, name) }, Source)
end

-- What an address gives is kept as bytes, so that it can be read again.
local function open_url(address)
  local http <const> = require "sonde.base.http"
  local answer, message, code = http.request { url = address }
  if answer == nil or message then return nil, message, code end
  local refused, reason = http.refusal(answer)
  if refused then return nil, refused, reason end
  return input.open { bytes = answer.body, name = url.shown(address) }
end

--- Opens a source without looking into it.
-- @param from a path, a URL, "-" for standard input, a file handle, a descriptor's
--   number, or `{ bytes = string, name = string }`
-- @treturn ?table the source: `input` to read from, `name`, `size` when known
-- @treturn ?string message
-- @treturn ?string code
function input.open(from)
  if from == "-" then return wrap(io.stdin, "standard input") end
  if type(from) == "string" and url.is(from) then return open_url(from) end
  if type(from) == "string" then return open_path(from) end
  if type(from) == "table" and type(from.bytes) == "string" then
    local source <const> = wrap(from.bytes, from.name or "bytes")
    source.bytes = from.bytes
    return source
  end
  if math.type(from) == "integer" then return wrap(from, "descriptor " .. from) end
  if io.type(from) == "file" then return wrap(from, "file") end
  error(("bad argument to 'open' (path, file, descriptor or { bytes = } expected, got %s)")
    :format(io.type(from) or type(from)), 3)
end

--- The results of a call that failed, with the source's name in front.
-- @tparam string what
-- @tparam string code
-- @tparam ?string hint
-- @return nil, message, code, hint
function Source:fail(what, code, hint)
  return nil, ("%s: %s"):format(self.name, what), code, hint
end

-- Names the kind of what is inside, or nil when it could not be read.
local function look(source)
  local head, message, code = source.input:peek(detect.HEAD)
  if head == nil then return nil, message, code end
  return detect.kind(head)
end

-- How much of packed data is looked at: `peek` of an input gives no more.
local PACKED_HEAD <const> = 1 << 16

-- No more than this is gzip of nothing.
local EMPTY_GZIP <const> = 30

-- What is in the gzip is seen by inflating its head alone: a profile stays
-- packed, for its decoder tells members that follow each other apart.
local function unpack_gzip(source)
  source.packed = "gzip"
  local packed <const> = source.input:peek(PACKED_HEAD)
  local probe <const> = core.input(packed):inflate("gzip")
  local head, _, code = probe:peek(detect.HEAD)
  probe:close()
  if (head == nil or head == "") and code == "truncated" and #packed > EMPTY_GZIP then
    return source:fail(("the gzip data end too early: of %d bytes nothing can be unpacked")
      :format(#packed), code)
  end
  if (head == nil or head == "") and code ~= "malformed" then
    return source:fail("a gzip header and no data: the program probably ended before its"
      .. " profile was stopped", code or "malformed")
  end
  if head and detect.kind(head) == "pprof" then return "pprof" end
  if not source.input:inflate("gzip") then return source:fail("not enough memory", "limit") end
  return look(source)
end

-- A zip's entries, one behind the other, as its local headers say.
local ZIP_HEADER <const> = 30
local STORED <const>, DEFLATED <const> = 0, 8

-- The packed size of an entry that says in an extra field that it is large.
local function large_size(extra)
  local at = 1
  while at + 4 <= #extra do
    local id, size, body = ("<I2 I2"):unpack(extra, at)
    if id == 1 and size >= 16 and #extra >= body + 15 then
      return (("<i8"):unpack(extra, body + 8))
    end
    at = body + size
  end
end

local function zip_entry(source)
  local header <const> = source.input:read(ZIP_HEADER)
  if header == nil or #header < ZIP_HEADER or header:sub(1, 4) ~= "PK\3\4" then return nil end
  local flags, method, sum, packed_size, name_length, extra_length =
    ("<I2 I2 xxxx I4 I4 xxxx I2 I2"):unpack(header, 7)
  local name <const> = name_length > 0 and source.input:read(name_length) or ""
  local extra <const> = extra_length > 0 and source.input:read(extra_length) or ""
  if packed_size == 0xffffffff then packed_size = math.max(0, large_size(extra) or packed_size) end
  return { name = name, method = method, size = packed_size, sum = sum,
    encrypted = flags & 1 ~= 0, described = flags & 8 ~= 0 }
end

local function begin_entry(source, entry)
  if entry.encrypted then return source:fail("the zip is encrypted", "unavailable") end
  if entry.method == DEFLATED then
    return source.input:inflate("deflate")
  end
  if entry.method == STORED and not entry.described then
    return source.input:only(entry.size)
  end
  return source:fail(("the zip packs '%s' by method %d"):format(entry.name, entry.method),
    "unavailable", ("unzip -p %s | sonde top -"):format(source.name))
end

-- Behind data whose size was not known beforehand stand its sum and sizes,
-- with or without a mark of their own.
local function end_entry(source, entry)
  source.input:skip()
  source.input:plain()
  if not entry.described then return end
  local ahead <const> = source.input:peek(28)
  local at = ahead:find("PK[\1\3]", ahead:sub(1, 4) == "PK\7\8" and 5 or 1)
  if at then source.input:skip(at - 1) end
end

local READABLE <const> = {
  nettrace = true, pprof = true, folded = true, goroutines = true, native = true,
  legacy = true, perf_script = true, cpu_words = true, speedscope = true, cpuprofile = true,
  sqlite = true,
}

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- What unpacks once, for what is packed twice.
local REPACK <const> = {
  gzip = "gzip -dc %s | sonde top -", xz = "xz -dc %s | sonde top -",
  zip = "unzip -p %s | sonde top -",
}

-- The next entry of these kinds, begun. Without one what was seen instead.
local function find_entry(source, kinds)
  local seen
  while true do
    local entry <const> = zip_entry(source)
    if entry == nil then return nil, seen end
    local begun, message, code, hint = begin_entry(source, entry)
    if not begun then return nil, { message, code, hint } end
    entry.kind = look(source)
    if kinds[entry.kind] then return entry end
    if entry.kind ~= "empty" then seen = seen or entry end
    end_entry(source, entry)
  end
end

-- The first entry that is something sonde reads.
local function unpack_zip(source)
  source.packed = "zip"
  local entry, seen = find_entry(source, READABLE)
  if entry then
    source.entry, source.zipped = entry.name, entry
    return entry.kind
  end
  if seen and seen[1] then return nil, table.unpack(seen, 1, 3) end
  local what, hint = "a zip without a trace or profile in it", nil
  if seen then
    what = ("%s: the first entry, '%s', is %s"):format(what, seen.name,
      (detect.describe(seen.kind, "it")))
    hint = detect.is_packed(seen.kind) and REPACK.zip:format(quote(source.name)) or nil
  end
  return source:fail(what, "not_nettrace", hint)
end

-- The sum of an entry that was read to its end, where it stands: before the
-- data or behind it, there perhaps after a mark.
local function sum_of(source, entry)
  if not entry.described then return entry.sum end
  source.input:plain()
  local ahead <const> = source.input:peek(8)
  local at <const> = ahead and ahead:sub(1, 4) == "PK\7\8" and 5 or 1
  return ahead and #ahead >= at + 3 and ("<I4"):unpack(ahead, at) or nil
end

local TRACES <const> = { nettrace = true, pprof = true }

-- What is wrong with a zip's entry that was read, or with those behind it.
local function check_zip(source)
  local entry <const> = source.zipped
  source.zipped = nil
  if entry == nil or source.input:peek(1) ~= "" then return true end
  local sum <const> = source.input:sum()
  local told <const> = sum_of(source, entry)
  if told and told ~= sum then
    return false, ("%s: the zip's entry '%s' is damaged: its checksum is wrong"):format(
      source.name, entry.name), "malformed"
  end
  end_entry(source, entry)
  local other <const> = find_entry(source, TRACES)
  if other == nil then return true end
  return true, ("%s: the zip holds '%s' as well: only '%s' is read"):format(source.name,
    other.name, entry.name)
end

-- A file that is removed when the block ends that holds it.
local Temporary <const> = {
  __close = function(self)
    if self.path then os.remove(self.path) end
  end,
}

-- xz reads a file; what came another way is written to one first. On failure
-- the second value says why.
local function spill(source, temporary)
  local made, path = errors.pcall(os.tmpname)
  if not made then return nil, "no temporary file: " .. path end
  temporary.path = path
  local file <close>, why = io.open(path, "wb")
  if file == nil then return nil, why end
  while true do
    local piece, message, code = source.input:read(1 << 16)
    if code then return nil, message end
    if piece == nil then return file:flush() end
    local written, words = file:write(piece)
    if not written then return nil, ("%s: %s"):format(path, words) end
  end
end

-- Its output begins when xz has opened the file, which may be removed then.
local function unpack_xz(source)
  source.packed = "xz"
  if not os.execute("command -v xz >/dev/null 2>&1") then
    return source:fail("packed by xz, and the program xz is not installed", "unavailable",
      "apt-get install xz-utils")
  end
  local temporary <close> = setmetatable({}, Temporary)
  if source.path == nil then
    local spilled, why = spill(source, temporary)
    if not spilled then return source:fail("cannot unpack xz: " .. why, "unavailable") end
  end
  local path <const> = source.path or temporary.path
  source.xz = assert(io.popen(("xz -dc <%s 2>/dev/null"):format(quote(path)), "r"))
  source.input:close()
  source.input = core.input(source.xz, source.name)
  return look(source)
end

-- Most text in UTF-16 that is read: all of it has to be in memory.
local MOST_UTF16 <const> = 1 << 28

-- Text is read as UTF-8 without a mark. What follows each other in a zip is left as
-- it came: its entry's sum has to be checked.
local function plain_text(source, kind)
  if source.zipped then return kind end
  local head <const> = source.input:peek(detect.HEAD)
  if head == nil then return kind end
  if head:sub(1, 3) == utf16.UTF8_MARK then
    source.input:skip(3)
    return look(source)
  end
  local order <const> = utf16.order(head)
  if order == nil then return kind end
  local files <const> = require "sonde.base.files"
  local bytes <const>, message <const>, code <const> =
    files.read_all(source.input, MOST_UTF16)
  if bytes == nil then return source:fail(message, code) end
  source.input:close()
  source.input = core.input(utf16.decode(bytes, order), source.name)
  return look(source)
end

local UNPACK <const> = { gzip = unpack_gzip, zip = unpack_zip, xz = unpack_xz }

-- Behind the headers of an answer that went well stands what was asked for.
local function behind_headers(source)
  local head <const> = source.input:peek(detect.HEAD)
  local _, last = head:find("\r?\n\r?\n")
  if last == nil or not head:find("^HTTP/%S+ 200") then return "http" end
  source.input:skip(last)
  return look(source)
end

-- What a short text says, which is most often why there is nothing else: a server's
-- answer that was saved.
local function quoted(source, kind)
  if kind ~= "text" and kind ~= "http" then return "" end
  local head <const> = source.input:peek(512)
  if head == nil or #head == 512 then return "" end
  local words = {}
  if kind == "http" then words[1] = head:match("^HTTP/%S+%s+([^\r\n]*)") end
  words[#words + 1] = (kind == "http" and head:match("\r?\n\r?\n(.*)") or head)
    :match("^%s*([^\r\n]+)")
  return #words > 0 and (": it says '%s'"):format(table.concat(words, ": ")) or ""
end

-- What text with a mark, or in UTF-16, is taken for.
local MAYBE_TEXT <const> = {
  text = true, unknown = true, folded = true, goroutines = true, native = true, legacy = true,
  perf_script = true, speedscope = true, cpuprofile = true, json = true, chromium = true,
}

--- Unpacks, and says what the data is.
-- @tparam ?table others kinds that the caller reads beside these: `{ text = true }`
-- @treturn ?string `nettrace`, `pprof`, `folded`, `goroutines` or `native`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint what helps
function Source:kind(others)
  local kind, message, code, hint = look(self)
  if kind == "http" then kind, message, code, hint = behind_headers(self) end
  if UNPACK[kind] then kind, message, code, hint = UNPACK[kind](self) end
  if MAYBE_TEXT[kind] then kind, message, code, hint = plain_text(self, kind) end
  if kind == nil then return nil, message, code, hint end
  if READABLE[kind] or others and others[kind] then return kind end
  local what, advice = detect.describe(kind, self.name)
  -- Commands that read a file do not read an address.
  if url.is(self.name) then
    advice = nil
    if kind == "empty" then what = "the answer is empty" end
  end
  what = what .. quoted(self, kind)
  if self.packed then what = ("inside its %s: %s"):format(self.packed, what) end
  if detect.is_packed(kind) then advice = REPACK[self.packed]:format(quote(self.name)) end
  return self:fail(what, "not_nettrace", advice)
end

--- Closes everything that was opened; says what went wrong in unpacking.
-- @treturn boolean true when all was well
-- @treturn ?string message; beside true it tells what was not looked at
-- @treturn ?string code
function Source:close()
  local well, message, code = check_zip(self)
  local unpacked <const> = self.xz and self.input:position()
  self.input:close()
  for _, file in ipairs(self.closes) do file:close() end
  self.closes = {}
  local _, how, status
  if self.xz then _, how, status = self.xz:close() end
  self.xz = nil
  -- Ended by a signal it was we who stopped reading.
  if how ~= "exit" or status == 0 then return well, message, code end
  return false, ("%s: the xz data is damaged or ends too early, after %d bytes unpacked"):format(
    self.name, unpacked), "truncated"
end

Source.__close = Source.close

return input
