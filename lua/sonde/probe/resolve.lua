--- Addresses of a run's stacks to functions. What a process had mapped is
-- looked at while it lives; names come from the files, whenever asked for.
-- @module sonde.probe.resolve
local core <const> = require "sonde.c.core"
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

-- A perf map: what a runtime with a compiler of its own tells of its code.
-- Lines are in no order, and later ones replace earlier ones.
local function perf_map(seen)
  local list = {}
  local path <const> = ("%s/tmp/perf-%d.map"):format(seen.root, seen.inner_pid)
  local text <const> = core.read_file(path, 16 << 20)
  for from, size, name in (text or ""):gmatch("(%x+) (%x+) ([^\n]+)\n") do
    list[#list + 1] = { from = tonumber(from, 16), size = tonumber(size, 16), name = name,
      order = #list }
  end
  table.sort(list, function(a, b)
    if a.from ~= b.from then return math.ult(a.from, b.from) end
    return a.order < b.order
  end)
  return list
end

local function in_perf_map(seen, address)
  seen.perf_map = seen.perf_map or perf_map(seen)
  local list <const> = seen.perf_map
  local low, high = 1, #list
  while low <= high do
    local middle <const> = (low + high) // 2
    if math.ult(address, list[middle].from) then high = middle - 1 else low = middle + 1 end
  end
  local row <const> = list[high]
  if row and address - row.from < row.size then return row.name, address - row.from end
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

--- The function of a process that an address is in.
-- @tparam table seen of `sonde.probe.processes.look`; may be nil
-- @tparam integer address
-- @treturn table `type name function_id offset address file`; the name is
--   `[symbol_not_found]` when nothing is known
function Resolver:user(seen, address)
  if seen == nil then return frame("user", resolve.NOT_FOUND, address) end
  local name, offset = in_perf_map(seen, address)
  if name then return frame("user", name, address, offset) end
  local mapping <const> = processes.mapping_of(seen, address)
  if mapping == nil then return frame("user", resolve.NOT_FOUND, address) end
  local found <const> = self:in_mapping(seen, mapping, address)
  if found then return found end
  if mapping.path:find("^%[") then return frame("user", mapping.path, address, 0) end
  return frame("user", resolve.NOT_FOUND, address, 0, mapping.path)
end

--- The function of the kernel that an address is in.
-- @tparam integer address
-- @treturn table as of `user`
function Resolver.kernel(address)
  local name, offset, module = kernel.resolve(address)
  return frame("kernel", name or resolve.NOT_FOUND, address, offset, module or "")
end

--- Makes a resolver, which keeps the files that it has read.
-- @treturn Resolver
function resolve.new()
  return setmetatable({ images = {} }, Resolver)
end

return resolve
