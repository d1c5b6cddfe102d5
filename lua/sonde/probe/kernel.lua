--- The kernel's functions: which there are, which can be probed, and which one
-- an address is in.
-- @module sonde.probe.kernel
local files <const> = require "sonde.base.files"
local pattern <const> = require "sonde.base.pattern"

local kernel = {}

local FILTER_FILES <const> = {
  "/sys/kernel/tracing/available_filter_functions",
  "/sys/kernel/debug/tracing/available_filter_functions",
}

local loaded   -- { names, addresses, modules }, in order of addresses; weak symbols too

local function parse(text)
  local rows = {}
  for address, kind, name, rest in text:gmatch("(%x+) (%a) ([^%s]+)([^\n]*)\n") do
    if kind:find("[TtWw]") then
      rows[#rows + 1] = { address = tonumber(address, 16), name = name,
        module = rest:match("%[([^%]]+)%]") }
    end
  end
  table.sort(rows, function(a, b)
    if a.address ~= b.address then return math.ult(a.address, b.address) end
    return a.name < b.name
  end)
  return rows
end

local NO_ADDRESSES <const> = "the kernel hides its addresses (kptr_restrict)"

--- All functions of the kernel and its modules.
-- @treturn ?{table,...} `address name module`, in order of addresses
-- @treturn ?string message
-- @treturn ?string code `unavailable permission`
-- @treturn ?string hint
function kernel.table()
  if loaded then return loaded end
  local text <const> = files.read "/proc/kallsyms"
  if text == nil or text == "" then
    return nil, "the kernel lists no symbols (/proc/kallsyms): built without CONFIG_KALLSYMS, or"
      .. " /proc is not mounted", "unavailable"
  end
  local rows <const> = parse(text)
  if #rows == 0 or rows[#rows].address == 0 then
    return nil, NO_ADDRESSES, "permission", "sysctl kernel.kptr_restrict=0, or run as root"
  end
  loaded = rows
  return rows
end

-- What ftrace can attach to; nil when that cannot be read.
local function traceable()
  for _, path in ipairs(FILTER_FILES) do
    local text <const> = files.read(path)
    if text and text ~= "" then
      local names = {}
      for name in text:gmatch("([^%s]+)[^\n]*\n") do names[name] = true end
      return names
    end
  end
end

--- Can kernel functions be probed at all?
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function kernel.available()
  if files.read "/sys/bus/event_source/devices/kprobe/type" then return true end
  return nil, "this kernel has no probes of its own functions (built without CONFIG_KPROBES);"
    .. " user functions, tracepoints and events work all the same", "unavailable"
end

--- Finds functions by name.
-- @tparam string source a regular expression
-- @treturn ?{table,...} in order of names: `kind name address module`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function kernel.find(source)
  local possible, reason, unavailable = kernel.available()
  if not possible then return nil, reason, unavailable end
  local rows, message, code, hint = kernel.table()
  if rows == nil then return nil, message, code, hint end
  local matches <const>, can = pattern.matcher(source, "kernel"), traceable()
  local list, at, refused = {}, {}, 0
  for _, row in ipairs(rows) do
    if at[row.address] == nil and matches(row.name) then
      if can and not can[row.name] then
        refused = refused + 1
      else
        at[row.address] = true
        list[#list + 1] = { kind = "kernel", name = row.name, address = row.address,
          module = row.module, binary = "[kernel]" }
      end
    end
  end
  table.sort(list, function(a, b)
    if a.name ~= b.name then return a.name < b.name end
    return math.ult(a.address, b.address)
  end)
  if #list > 0 then return list end
  local why <const> = refused > 0 and ("; %d match and cannot be traced"):format(refused) or ""
  return nil, ("no function of the kernel matches '%s', of %d looked at%s"):format(source, #rows,
    why), "not_found"
end

-- The last row that begins at or before the address.
local function row_of(rows, address)
  local low, high = 1, #rows
  while low <= high do
    local middle <const> = (low + high) // 2
    if math.ult(address, rows[middle].address) then high = middle - 1 else low = middle + 1 end
  end
  return rows[high]
end

--- The function of the kernel that an address is in.
-- @tparam integer address
-- @treturn ?string name; nil when none is known
-- @treturn ?integer offset
-- @treturn ?string module
function kernel.resolve(address)
  local rows <const> = kernel.table()
  local row <const> = rows and row_of(rows, address)
  if row == nil then return nil end
  return row.name, address - row.address, row.module
end

return kernel
