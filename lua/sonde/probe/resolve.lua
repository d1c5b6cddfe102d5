--- Addresses of a run's stacks to functions. What a process had mapped is
-- looked at while it lives; names come from the files, whenever asked for.
-- @module sonde.probe.resolve
local jit <const> = require "sonde.probe.jit"
local kernel <const> = require "sonde.probe.kernel"
local processes <const> = require "sonde.probe.processes"
local symbols <const> = require "sonde.symbols"
local uv <const> = require "sonde.base.uv"

local resolve = {}

--- What an address that nothing covers is called, as utrace does.
resolve.NOT_FOUND = "[symbol_not_found]"

local Resolver <const> = {}
Resolver.__index = Resolver

-- Is a file the one that was mapped? Where a file system numbers files otherwise for
-- us it is, if it was there before the process or we were.
local function is_mapped(self, seen, mapping, path)
  local stat <const> = uv.fs_stat(path)
  if stat == nil then return false end
  return mapping.inode == nil or stat.ino == mapping.inode
    or stat.ctime.sec < (seen.started_at or self.began)
end

-- Where the file of a mapping may be; by its process also when it was deleted.
local function places_of(seen, mapping, path)
  local list <const> = { mapping.open or seen.root .. path }
  if mapping.path == seen.program then list[#list + 1] = ("/proc/%d/exe"):format(seen.pid) end
  list[#list + 1] = ("/proc/%d/map_files/%x-%x"):format(seen.pid, mapping.from, mapping.to)
  if seen.root ~= "" then list[#list + 1] = path end
  return list
end

-- A mapping's file as an image of symbols; false when it cannot be one.
function Resolver:image(seen, mapping)
  local key <const> = mapping.file .. " " .. mapping.path
  local image = self.images[key]
  if image ~= nil then return image end
  local native <const> = symbols.native()
  local path <const> = mapping.path:gsub(" %(deleted%)$", "")
  local is_file <const> = mapping.open or path:sub(1, 1) == "/" and not path:find "^/memfd:"
    and not path:find "^/dev/" and not path:find "^/SYSV" and path:sub(1, 6) ~= "//anon"
  image = false
  local is_gone = is_file
  for _, place in ipairs(is_file and places_of(seen, mapping, path) or {}) do
    if is_mapped(self, seen, mapping, place) then
      is_gone, image = false, native and native.image(place) or false
      break
    end
  end
  if is_gone then self.gone[#self.gone + 1] = jit.GONE:format(path) end
  self.images[key] = image
  return image
end

local function frame(kind, name, address, offset, file)
  return { type = kind, name = name, function_id = -1, address = address, offset = offset or 0,
    file = file or "" }
end

local function shown(raw)
  local native <const> = symbols.native()
  return native and native.demangle(raw) or raw
end

--- The function of a mapped program or library that an address is in. It stays what it
-- is, so that this can be asked while the process runs.
-- @tparam table seen of `sonde.probe.processes.look`
-- @tparam integer address
-- @treturn ?table as of `Resolver:user`
function Resolver:in_file(seen, address)
  local mapping <const> = processes.mapping_of(seen, address)
  return mapping and self:in_mapping(seen, mapping, address)
end

function Resolver:in_mapping(seen, mapping, address)
  local image <const> = self:image(seen, mapping)
  local within <const> = image and image:address_of(address - mapping.from + mapping.offset)
  if not within then return nil end
  local name, start = image:find(within)
  if start == nil then return nil end
  local file <const> = mapping.path:gsub(" %(deleted%)$", "")
  local found <const> = frame("user", name and shown(name)
    or ("%s+0x%x"):format(file:match("[^/]*$"), start), address, within - start, file)
  found.start, found.raw = start, name
  return found
end

-- Code of no program or library: a compiler's, or a stub of precompiled code.
function Resolver:in_code(seen, mapping, address)
  seen.compiled = seen.compiled or jit.of(seen)
  local path <const> = mapping and mapping.path:gsub(" %(deleted%)$", "") or ""
  local code <const> = seen.compiled:find(address)
  self.asked[seen.compiled] = true
  if code then
    local found <const> = frame("user", code.name, address, code.start and address - code.start,
      code.module or path)
    found.start, found.source, found.line = code.start, code.file, code.line
    return found
  end
  if path:find "%.dll$" then
    return frame("user", path:match "[^/]*$" .. " [stub]", address, 0, path)
  end
end

--- The function of a process that an address is in.
-- @tparam table seen of `sonde.probe.processes.look`; may be nil
-- @tparam integer address
-- @treturn table `type name function_id offset address file`, of compiled code also
--   `source line` when known; the name is `[symbol_not_found]` when nothing is known
function Resolver:user(seen, address)
  if seen == nil then return frame("user", resolve.NOT_FOUND, address) end
  local mapping <const> = processes.mapping_of(seen, address)
  -- What frame pointers of code without them lead to is often no code at all.
  if mapping == nil and seen.is_told then return frame("user", resolve.NOT_FOUND, address) end
  local found <const> = mapping and self:in_mapping(seen, mapping, address)
    or self:in_code(seen, mapping, address)
  if found then return found end
  if mapping == nil then return frame("user", resolve.NOT_FOUND, address) end
  if mapping.path:find("^%[") then return frame("user", mapping.path, address, 0) end
  return frame("user", resolve.NOT_FOUND, address, 0, mapping.path)
end

--- What names of compiled code are missing, and why.
-- @treturn {string,...}
function Resolver:problems()
  local list = {}
  for names in pairs(self.asked) do
    table.move(names.problems, 1, #names.problems, #list + 1, list)
  end
  table.move(self.gone, 1, #self.gone, #list + 1, list)
  if self.kernel_nameless then list[#list + 1] = kernel.why_nameless() end
  table.sort(list)
  return list
end

--- The function of the kernel that an address is in.
-- @tparam integer address
-- @treturn table as of `user`
function Resolver:kernel(address)
  local name, start, module = kernel.resolve(address)
  self.kernel_nameless = self.kernel_nameless or name == nil
  local found <const> = frame("kernel", name or resolve.NOT_FOUND, address,
    start and address - start, module or "")
  found.start = start
  return found
end

--- Makes a resolver, which keeps the files that it has read.
-- @treturn Resolver
function resolve.new()
  return setmetatable({ images = {}, asked = {}, gone = {}, began = os.time() }, Resolver)
end

return resolve
