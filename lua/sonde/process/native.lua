--- Stacks of native processes as eu-stack and gdb write them.
-- @module sonde.process.native
local core <const> = require "sonde.c.core"
local dump <const> = require "sonde.dump"
local files <const> = require "sonde.base.files"
local stream <const> = require "sonde.dump.stream"

local native = {}

-- Mangled names: of C++ and old Rust (_Z…), of Rust (_R…).
local MANGLED <const> = "%f[%w_](_[ZR][%w_.$]+)"

local function mangled_names(text)
  local names, seen = {}, {}
  for name in text:gmatch(MANGLED) do
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  return names
end

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- The names as the program c++filt reads them; nil without it.
local function filtered(names)
  local path <const> = os.tmpname()
  local file <const> = io.open(path, "wb")
  if file == nil then return nil end
  file:write(table.concat(names, "\n"), "\n")
  file:close()
  local pipe <const> = io.popen(("c++filt <%s 2>/dev/null"):format(quote(path)), "r")
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  os.remove(path)
  return #lines == #names and lines or nil
end

-- Old Rust names end in a hash that says nothing to people.
local function plain(name)
  return (name:gsub("::h" .. ("%x"):rep(16) .. "$", ""))
end

--- Names that people know instead of mangled ones, as far as a program for it
-- is installed.
-- @tparam string text that holds names
-- @treturn ?table from mangled to plain name; nil when there is nothing to do
function native.demangled(text)
  local names <const> = mangled_names(text)
  if #names == 0 or not os.execute("command -v c++filt >/dev/null 2>&1") then return nil end
  local lines <const> = filtered(names)
  if lines == nil then return nil end
  local known = {}
  for i, name in ipairs(names) do
    if lines[i] ~= name then known[name] = plain(lines[i]) end
  end
  return known
end

-- Names are looked up together, before the text is parsed: it is small.
local DEFAULT_LIMIT <const> = 1 << 30

--- Makes a dump of a text.
-- @tparam table source of `sonde.base.input`
-- @tparam table opts of `sonde.open`
-- @treturn ?Dump
-- @treturn ?string message
-- @treturn ?string code
function native.read(source, opts)
  local text, message, code = files.read_all(source.input, opts.limit or DEFAULT_LIMIT)
  if text == nil then return source:fail(message, code) end
  local input <close> = core.input(text, source.name)
  return dump.read({ input = input, name = source.name, fail = source.fail }, {
    format = "native", limit = opts.limit, rows = opts.rows ~= false, reopen = opts.reopen,
    names = native.demangled(text),
  })
end

--- Reads the threads of a text one by one.
-- @tparam table source of `sonde.base.input`
-- @tparam table opts `limit`
-- @treturn ?Stream see `sonde.dump.stream`
-- @treturn ?string message
-- @treturn ?string code
function native.stream(source, opts)
  local text, message, code = files.read_all(source.input, opts.limit or DEFAULT_LIMIT)
  if text == nil then return source:fail(message, code) end
  return stream.new(source, {
    format = "native", limit = opts.limit, names = native.demangled(text),
    input = core.input(text, source.name),
  })
end

return native
