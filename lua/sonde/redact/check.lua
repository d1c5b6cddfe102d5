--- Looks through what was written for words that must not be shown. Redaction
-- replaces them where they come from; this finds what was forgotten.
-- @module sonde.redact.check
local core <const> = require "sonde.c.core"
local words <const> = require "sonde.redact.words"

local check = {}

-- Words of fewer letters are too common to be told from others.
local LEAST <const> = 4

-- Names of people and machines that are everybody's.
local COMMON <const> = {
  root = true, user = true, admin = true, localhost = true, ubuntu = true, debian = true,
  runner = true, vagrant = true, build = true, app = true, host = true, home = true,
}

-- Who runs this command, and where: what is exported may tell it.
local function own_people(getenv)
  local list = {}
  local function add(text)
    if text and #text >= LEAST and not COMMON[text:lower()] then list[text:lower()] = true end
  end
  add(getenv "USER")
  add(getenv "LOGNAME")
  local file <const> = io.open("/proc/sys/kernel/hostname", "rb")
  if file then
    add(file:read("l"))
    file:close()
  end
  return list
end

-- The words of sonde's own modules, and of the page's template: they are in
-- every output, whatever was read, so they cannot be told from a name that is
-- the same.
local function own_words()
  local known = {}
  local function add(file)
    local handle <const> = file and io.open(file, "rb")
    if handle == nil then return end
    for word in handle:read("a"):gmatch(words.PATTERN) do known[word] = true end
    handle:close()
  end
  for name in pairs(package.loaded) do
    local file <const> = tostring(name):find("^sonde") and package.searchpath(name, package.path)
    if file then add(file) end
    if name == "sonde.report.html" then add((file:gsub("%.lua$", "/page.html"))) end
  end
  return known
end

local function inflate(bytes)
  local input <const> = core.input(bytes, "output")
  input:inflate "gzip"
  local pieces = {}
  repeat
    local piece = input:read(1 << 16)
    pieces[#pieces + 1] = piece
  until piece == nil
  return table.concat(pieces)
end

local function each_string(value, visit)
  if type(value) == "string" then
    visit(value)
  elseif type(value) == "table" then
    for key, item in pairs(value) do
      each_string(key, visit)
      each_string(item, visit)
    end
  end
end

-- All texts of a profile, one a line.
local function texts_of_profile(bytes)
  local profile <const> = assert(core.pprof_decode(bytes))
  local lines = {}
  local function visit(text) lines[#lines + 1] = text end
  local frames <const> = profile:frames()
  for _, column in ipairs { "name", "system_name", "file", "module" } do
    each_string(frames[column], visit)
  end
  each_string(profile:mappings(), visit)
  each_string(profile:types(), visit)
  each_string(profile:info(), visit)
  each_string(profile:label_sets(), visit)
  return table.concat(lines, "\n")
end

local BASE64 <const> = {}
for i, character in ipairs { ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  :byte(1, -1) } do
  BASE64[string.char(character)] = i - 1
end

local function base64_decode(text)
  return (text:gsub("[^%w+/]", ""):gsub("..?.?.?", function(group)
    local bits, n = 0, #group
    for i = 1, n do bits = bits << 6 | BASE64[group:sub(i, i)] end
    bits = bits << 6 * (4 - n)
    return (">I3"):pack(bits):sub(1, n - 1)
  end))
end

local function read_varint(bytes, at)
  local value, shift = 0, 0
  while true do
    local byte <const> = bytes:byte(at)
    at = at + 1
    value = value | (byte & 0x7f) << shift
    if byte < 0x80 then return value, at end
    shift = shift + 7
  end
end

-- The texts of a page's data (src/profile/pack.h), which lie there back to
-- back, one a line.
local function texts_of_pack(bytes)
  assert(bytes:sub(1, 8) == "SONDEPG1", "not the data of a page")
  local lines, at = {}, 9
  local n
  n, at = read_varint(bytes, at)
  lines[1], at = bytes:sub(at, at + n - 1), at + n
  for _ = 1, 2 do
    local lengths = {}
    n, at = read_varint(bytes, at)
    for i = 1, n do lengths[i], at = read_varint(bytes, at) end
    for _, length in ipairs(lengths) do
      lines[#lines + 1], at = bytes:sub(at, at + length - 1), at + length
    end
  end
  return table.concat(lines, "\n")
end

-- What a page shows: its data and its text, without scripts and styles, which
-- are the same in every page.
local function texts_of_page(page)
  local data <const> = page:match('<script[^>]-id="data"[^>]*>(.-)</script>')
  local text <const> = page:gsub("<style.-</style>", ""):gsub("<script.-</script>", "")
  if data == nil or data == "" then return text end
  return text .. "\n" .. texts_of_pack(inflate(base64_decode(data)))
end

local function texts_of(bytes, form)
  if form == "pprof" then return texts_of_profile(bytes) end
  if form == "html" then return texts_of_page(bytes) end
  if bytes:sub(1, 2) == "\x1f\x8b" then return inflate(bytes) end
  return bytes
end

local function left(word, why)
  return nil, ("redaction: '%s' (%s) is left in the output, so nothing was written"):format(word,
    why), "unavailable"
end

local function find_forbidden(r, text)
  if #r.rules.forbid == 0 then return nil end
  local lower <const> = text:lower()
  for _, word in ipairs(r.rules.forbid) do
    if lower:find(word, 1, true) then return word end
  end
end

--- Checks an output.
-- @tparam Redactor r
-- @tparam string bytes
-- @tparam ?string form
-- @tparam ?function getenv instead of `os.getenv`
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function check.check(r, bytes, form, getenv)
  local text <const> = texts_of(bytes, form)
  local forbidden <const> = find_forbidden(r, text)
  if forbidden then return left(forbidden, "forbidden") end
  local replaced <const>, kept <const> = r.words.replaced, r.words.kept
  local people <const> = own_people(getenv or os.getenv)
  for person in pairs(r.people) do
    if #person >= LEAST and not COMMON[person] then people[person] = true end
  end
  local own
  for word in text:gmatch(words.PATTERN) do
    if #word >= LEAST and not kept[word] then
      local fresh <const> = replaced[word]
      local is_name <const> = fresh ~= nil and fresh ~= word
      if is_name or people[word:lower()] then
        own = own or own_words()
        if not own[word] then
          return left(word, is_name and "a name" or "of a person or a machine")
        end
      end
    end
  end
  return true
end

return check
