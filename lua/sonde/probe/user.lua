--- The functions of programs and libraries that a pattern names, and the
-- places in the file where probes for them go.
-- @module sonde.probe.user
local core <const> = require "sonde.c.core"
local pattern <const> = require "sonde.base.pattern"
local symbols <const> = require "sonde.symbols"

local user = {}

-- Symbols that are no functions although the table says so: parts of one that
-- the compiler moved elsewhere. They are jumped to, not called, and have no
-- return address on top of their stack.
local PARTS <const> = { "%.cold$", "%.cold%.%d+$" }

-- Code that is not called as a function is, or that keeps its own return
-- address: a return probe would change what it finds there.
local NO_RETURN_PROBE <const> = {
  _start = true, setjmp = true, _setjmp = true, __sigsetjmp = true, sigsetjmp = true,
  longjmp = true, _longjmp = true, siglongjmp = true, vfork = true, __vfork = true, clone = true,
  __clone = true, clone3 = true, __clone3 = true, swapcontext = true, getcontext = true,
  setcontext = true, makecontext = true, __restore_rt = true, _dl_runtime_resolve = true,
  __longjmp = true, ____longjmp_chk = true, __longjmp_chk = true, __start_context = true,
  _Unwind_RaiseException = true, _Unwind_Resume = true, _Unwind_ForcedUnwind = true,
  _Unwind_Resume_or_Rethrow = true, _Unwind_Backtrace = true, __libc_start_main = true,
}

local function is_part(name)
  for _, form in ipairs(PARTS) do
    if name:find(form) then return true end
  end
  return false
end

--- May a probe be put on the function's return address?
-- @tparam table func
-- @treturn boolean
function user.may_probe_return(func)
  for _, name in ipairs(func.raw_names) do
    if NO_RETURN_PROBE[name] or name:find("^_dl_runtime_resolve") then return false end
  end
  return true
end

local function pretty(native, name)
  local head <const> = name:sub(1, 2)
  if head == "_Z" or head == "_R" then return native.demangle(name) end
  return name
end

-- What is wrong with a file of which no function can be found by name.
local function no_symbols(path)
  return nil, path .. ": it has no symbols: it was stripped", "unavailable",
    "install its debug symbols, or build it without strip (-s)"
end

-- Several names may stand for one place: they are one function, known by the
-- first of those that match.
local function collect(native, path, file, matches)
  local at, list = {}, {}
  file.parts = {}
  for i, raw in ipairs(file.names) do
    if is_part(raw) then
      file.parts[raw] = { offset = file.offsets[i], address = file.addresses[i],
        size = file.sizes[i] }
    else
      local name <const> = pretty(native, raw)
      local offset <const> = file.offsets[i]
      if at[offset] == nil then at[offset] = { names = {}, raw_names = {} } end
      local place <const> = at[offset]
      place.raw_names[#place.raw_names + 1] = raw
      if matches(name) or name ~= raw and matches(raw) then
        if place.offset == nil then list[#list + 1] = place end
        place.offset, place.address = offset, file.addresses[i]
        place.size = math.max(place.size or 0, file.sizes[i])
        place.names[#place.names + 1] = { name = name, raw = raw }
      end
    end
  end
  for _, place in ipairs(list) do
    table.sort(place.names, function(a, b) return a.name < b.name end)
    place.kind, place.binary = "user", path
    place.name, place.raw = place.names[1].name, place.names[1].raw
  end
  table.sort(list, function(a, b)
    if a.name ~= b.name then return a.name < b.name end
    return a.offset < b.offset
  end)
  return list
end

-- A stripped file: its debug file may be installed, or Go's table be there.
local function add_others(native, path, file)
  local image <const> = native.image(path)
  if not image then return end
  local more <const> = native.image_functions(image)
  if #more.names <= #file.names then return end
  for _, list in ipairs { "names", "offsets", "addresses", "sizes" } do file[list] = more[list] end
  file.is_dynamic_only = false
end

--- Finds functions of a file.
-- @tparam string path of the file, as it can be opened
-- @tparam string source a regular expression for names, as written in the
--   source or as the linker knows them
-- @tparam ?string shown the path to show
-- @treturn ?{table,...} in order of names: `kind name raw raw_names binary offset
--   address size`
-- @return the file: `bits machine entry_offset is_go has_unwinding …`; or message
-- @treturn ?string code `not_found permission malformed unavailable`
-- @treturn ?string hint
function user.find(path, source, shown)
  local native <const>, why, unavailable, how = symbols.native()
  if native == nil then return nil, why, unavailable, how end
  shown = shown or path
  local file, message, code = native.elf_functions(path)
  if file == nil then return nil, (message:gsub("^[^:]*", shown, 1)), code end
  if file.is_dynamic_only or #file.names == 0 then add_others(native, path, file) end
  if #file.names == 0 then return no_symbols(shown) end
  local list <const> = collect(native, shown, file, pattern.matcher(source, "functions"))
  if #list == 0 then
    local few <const> = file.is_dynamic_only
      and "; it was stripped: only the functions it exports have names" or ""
    return nil, ("%s: no function matches '%s', of %d looked at%s"):format(shown, source,
      #file.names, few), "not_found"
  end
  for _, func in ipairs(list) do func.path, func.file = path, file end
  return list, file
end

-- A piece of a file's code.
local function code_of(path, piece)
  local file <const> = io.open(path, "rb")
  if file == nil then return nil end
  file:seek("set", piece.offset)
  local code <const> = file:read(piece.size)
  file:close()
  return code and #code == piece.size and code or nil
end

local X86_64 <const> = 62

local PUSH_FRAME <const>, ENDBR <const> = "\x55", "\xf3\x0f\x1e\xfa"

--- Does the kernel add the caller to a stack that is taken at the function's
-- entry? Since Linux 6.11 it does, of functions that begin in a way it knows.
-- @tparam table func of `user.find`
-- @treturn boolean
function user.is_known_entry(func)
  if func.known_entry == nil then
    local code <const> = code_of(func.path, { offset = func.offset, size = 4 }) or ""
    func.known_entry = code:sub(1, 1) == PUSH_FRAME or code == ENDBR
  end
  return func.known_entry
end

--- Where a function ends: its return instructions, for where a changed return
-- address would do harm.
-- @tparam table func of `user.find`
-- @treturn ?{integer,...} offsets in the file
-- @treturn ?string why they cannot be known
function user.ends(func)
  if func.file.machine ~= X86_64 or func.file.bits ~= 64 then
    return nil, "return instructions are known of x86-64 only"
  end
  if func.size == 0 then return nil, "its symbol does not say how long it is" end
  local pieces = {}
  local function add(piece)
    local code <const> = code_of(func.path, piece)
    if code then table.move({ code, piece.offset }, 1, 2, #pieces + 1, pieces) end
  end
  add(func)
  for _, raw in ipairs(func.raw_names) do
    local part <const> = func.file.parts[raw .. ".cold"]
    if part and part.size > 0 and #pieces == 2 then add(part) end
  end
  if #pieces == 0 then return nil, "its code cannot be read" end
  local native <const> = symbols.native()
  local places, why = native.returns(table.unpack(pieces))
  if places == nil then return nil, why end
  if #places == 0 then return nil, "it never returns" end
  return places
end

--- The path of a file as it can be opened: a name without a directory that is
-- no file here is looked for where programs are.
-- @tparam string name
-- @treturn string
function user.path_of(name)
  if name:find("/", 1, true) or core.path_info(name) == "file" then return name end
  return require("sonde.process.program").find(name) or name
end

return user
