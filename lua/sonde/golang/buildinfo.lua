--- What a Go program says of itself: the version of Go and the modules it was
-- built from. The linker leaves both in the ELF file, also in stripped ones.
-- @module sonde.golang.buildinfo
local buildinfo <const> = {}

local MAGIC <const> = "\xff Go buildinf:"
local HEADER <const> = 32

-- Bounds of what is believed: headers of a file, its texts.
local MOST_HEADERS <const> = 4096
local LARGEST_TABLE <const> = 1 << 20
local LARGEST_TEXT <const> = 1 << 20

-- Without names of sections the linker's mark is near the start of the first
-- writable segment, at a multiple of 16.
local SEARCHED <const> = 64 << 10

-- Of either width: offsets and formats of the fields that we read, and sizes.
local WIDTHS <const> = {
  [1] = { head = "I4I4I4", head_at = 25, counts = 43, header = 52, segment = "I4I4I4I4I4I4I4",
    segment_size = 32, section = "I4I4I4I4I4I4", section_size = 40, pointer = "I4" },
  [2] = { head = "i8i8i8", head_at = 25, counts = 55, header = 64, segment = "I4I4i8i8i8i8i8",
    segment_size = 56, section = "I4I4i8i8i8i8", section_size = 64, pointer = "i8" },
}

local function at(file, offset, size)
  if offset < 0 or size < 0 or file:seek("set", offset) == nil then return nil end
  local bytes <const> = size == 0 and "" or file:read(size)
  return bytes and #bytes == size and bytes or nil
end

-- What the header says: width, byte order, where its tables are.
local function read_header(file)
  local head <const> = at(file, 0, 52)
  if head == nil or head:sub(1, 4) ~= "\127ELF" then return nil end
  local width <const> = WIDTHS[head:byte(5)]
  local order <const> = head:byte(6) == 2 and ">" or "<"
  if width == nil then return nil end
  local whole <const> = at(file, 0, width.header)
  if whole == nil then return nil end
  local elf <const> = { file = file, width = width, order = order }
  local _
  _, elf.segments, elf.sections = (order .. width.head):unpack(whole, width.head_at)
  elf.segment_size, elf.n_segments, elf.section_size, elf.n_sections, elf.names =
    (order .. "I2I2I2I2I2"):unpack(whole, width.counts)
  return elf
end

local function table_of(elf, offset, count, size, least)
  if count > MOST_HEADERS or size < least or count * size > LARGEST_TABLE then return nil end
  return at(elf.file, offset, count * size)
end

-- Loadable segments: where their bytes are in the file, and in memory.
local function segments_of(elf)
  local width <const> = elf.width
  local bytes <const> = table_of(elf, elf.segments, elf.n_segments, elf.segment_size,
    width.segment_size)
  local list = {}
  for i = 0, bytes and elf.n_segments - 1 or -1 do
    local place <const> = i * elf.segment_size + 1
    local kind, flags, offset, address, size, _
    if width.pointer == "i8" then
      kind, flags, offset, address, _, size = (elf.order .. width.segment):unpack(bytes, place)
    else
      kind, offset, address, _, size, _, flags = (elf.order .. width.segment):unpack(bytes, place)
    end
    if kind == 1 then
      list[#list + 1] = { offset = offset, address = address, size = size,
        writable = flags & 2 ~= 0 }
    end
  end
  return list
end

-- Where the section of build information is; nil when no section has that name.
local function section_of(elf)
  local width <const> = elf.width
  local bytes <const> = table_of(elf, elf.sections, elf.n_sections, elf.section_size,
    width.section_size)
  if bytes == nil or elf.names >= elf.n_sections then return nil end
  local function section(i)
    local name, _, _, _, offset, size =
      (elf.order .. width.section):unpack(bytes, i * elf.section_size + 1)
    return name, offset, size
  end
  local _, names_at, names_size = section(elf.names)
  if names_size < 0 or names_size > LARGEST_TABLE then return nil end
  local names <const> = at(elf.file, names_at, names_size)
  local wanted <const> = names and names:find("\0.go.buildinfo\0", 1, true)
  for i = 0, wanted and elf.n_sections - 1 or -1 do
    local name, offset = section(i)
    if name == wanted then return offset end
  end
end

local function searched(elf, segments)
  for _, segment in ipairs(segments) do
    if segment.writable then
      local bytes <const> = at(elf.file, segment.offset, math.min(segment.size, SEARCHED))
      local from = 1
      while bytes do
        local found <const> = bytes:find(MAGIC, from, true)
        if found == nil then break end
        if (found - 1) % 16 == 0 then return segment.offset + found - 1 end
        from = found + 1
      end
      return nil
    end
  end
end

-- A text behind its length.
local function inline_text(file, offset)
  local size, shift = 0, 0
  while shift < 35 do
    local byte <const> = at(file, offset, 1)
    if byte == nil then return nil end
    size = size | (byte:byte() & 0x7f) << shift
    offset, shift = offset + 1, shift + 7
    if byte:byte() < 0x80 then break end
  end
  if size > LARGEST_TEXT then return nil end
  return at(file, offset, size), offset + size
end

local function offset_of(segments, address)
  for _, segment in ipairs(segments) do
    if address >= segment.address and address - segment.address < segment.size then
      return segment.offset + address - segment.address
    end
  end
end

-- A text that a Go string in memory points to, as before Go 1.18.
local function pointed_text(elf, segments, address, pointer, order)
  local offset <const> = offset_of(segments, address)
  local size <const> = tonumber(pointer:sub(2))
  local bytes <const> = offset and at(elf.file, offset, 2 * size)
  if bytes == nil then return nil end
  local to, length = (order .. pointer .. pointer):unpack(bytes)
  local from <const> = offset_of(segments, to)
  if from == nil or length < 0 or length > LARGEST_TEXT then return nil end
  return at(elf.file, from, length)
end

local function read_texts(elf, segments, offset)
  local head <const> = at(elf.file, offset, HEADER)
  if head == nil or head:sub(1, #MAGIC) ~= MAGIC then return nil end
  local size <const>, flags <const> = head:byte(15), head:byte(16)
  if flags & 2 ~= 0 then
    local version, behind = inline_text(elf.file, offset + HEADER)
    return version, version and inline_text(elf.file, behind)
  end
  if size ~= 4 and size ~= 8 then return nil end
  local pointer <const>, order <const> = "i" .. size, flags & 1 ~= 0 and ">" or "<"
  local first, second = (order .. pointer .. pointer):unpack(head, 17)
  return pointed_text(elf, segments, first, pointer, order),
    pointed_text(elf, segments, second, pointer, order)
end

-- The list of modules stands between two marks of 16 bytes.
local function parse_modules(text, info)
  if text == nil or #text < 33 or text:sub(-17, -17) ~= "\n" then return info end
  for kind, rest in text:sub(17, -17):gmatch("([^\t\n]+)\t([^\n]*)\n") do
    if kind == "path" then
      info.path = rest
    elseif kind == "mod" then
      info.module, info.module_version = rest:match("^([^\t]*)\t?([^\t]*)")
    elseif kind == "dep" then
      info.dependencies = info.dependencies + 1
    elseif kind == "build" then
      local key <const>, value <const> = rest:match("^([^=]*)=(.*)$")
      if key then info.settings[key] = value end
    end
  end
  return info
end

--- Reads what the linker left in a program.
-- @tparam string path of an ELF file, also `/proc/PID/exe`
-- @treturn ?table `version` ("go1.19.8"); `path` (of the main package), `module`,
--   `module_version` when known; `dependencies` (their number), `settings` (of the
--   build, name to value); nil when it is no Go program
-- @treturn ?string message
-- @treturn ?string code `not_found`, `permission`, or `unavailable` for no Go
function buildinfo.of_file(path)
  local errors <const> = require "sonde.base.errors"
  local file <close>, message <const>, number <const> = io.open(path, "rb")
  if file == nil then
    return nil, ("%s: %s"):format(path, errors.system_words(message, path)),
      errors.system_code(number)
  end
  local elf <const> = read_header(file)
  if elf then
    local segments <const> = segments_of(elf)
    local offset <const> = section_of(elf) or searched(elf, segments)
    local version, modules
    if offset then version, modules = read_texts(elf, segments, offset) end
    if version and version ~= "" then
      return parse_modules(modules, { version = version, dependencies = 0, settings = {} })
    end
  end
  return nil, path .. ": not a Go program", "unavailable"
end

--- The same of a running process.
-- @tparam integer pid
-- @treturn ?table
-- @treturn ?string message
-- @treturn ?string code
function buildinfo.of_pid(pid)
  return buildinfo.of_file(("/proc/%d/exe"):format(pid))
end

return buildinfo
