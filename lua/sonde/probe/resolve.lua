--- Addresses of a run's stacks to functions. What a process had mapped is
-- looked at while it lives; names come from the files, whenever asked for.
-- @module sonde.probe.resolve
local core <const> = require "sonde.c.core"
local jit <const> = require "sonde.probe.jit"
local kernel <const> = require "sonde.probe.kernel"
local processes <const> = require "sonde.probe.processes"
local symbols <const> = require "sonde.symbols"

local resolve = {}

--- What an address that nothing covers is called, as utrace does.
resolve.NOT_FOUND = "[symbol_not_found]"

local Resolver <const> = {}
Resolver.__index = Resolver

-- A mapping's file as an image of symbols; false when it cannot be one.
function Resolver:image(seen, mapping)
  local key <const> = mapping.file .. " " .. mapping.path
  local image = self.images[key]
  if image ~= nil then return image end
  local native <const> = symbols.native()
  local path <const> = mapping.path:gsub(" %(deleted%)$", "")
  local candidates <const> = { mapping.open or seen.root .. path, path,
    mapping.path == seen.program and ("/proc/%d/exe"):format(seen.pid) or nil }
  image = false
  if path:sub(1, 1) == "/" or mapping.open then
    for _, candidate in ipairs(candidates) do
      if native and core.path_info(candidate) == "file" then
        image = native.image(candidate) or false
        if image then break end
      end
    end
  end
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
  table.sort(list)
  return list
end

--- The function of the kernel that an address is in.
-- @tparam integer address
-- @treturn table as of `user`
function Resolver.kernel(address)
  local name, start, module = kernel.resolve(address)
  local found <const> = frame("kernel", name or resolve.NOT_FOUND, address,
    start and address - start, module or "")
  found.start = start
  return found
end

--- Makes a resolver, which keeps the files that it has read.
-- @treturn Resolver
function resolve.new()
  return setmetatable({ images = {}, asked = {} }, Resolver)
end

return resolve
