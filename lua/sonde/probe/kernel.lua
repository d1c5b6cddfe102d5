--- The kernel's functions: which there are, which can be probed, and which one
-- an address is in.
-- @module sonde.probe.kernel
local files <const> = require "sonde.base.files"
local limits <const> = require "sonde.probe.limits"
local pattern <const> = require "sonde.base.pattern"
local symbols <const> = require "sonde.symbols"

local kernel = {}

--- Where the kernel tells of itself.
kernel.paths = {
  symbols = "/proc/kallsyms",
  probes = "/sys/bus/event_source/devices/kprobe/type",
  traceable = {
    "/sys/kernel/tracing/available_filter_functions",
    "/sys/kernel/debug/tracing/available_filter_functions",
  },
}

local found   -- userdata by whose `find` addresses are looked up; false when there is none

local function hidden()
  return nil, ("the kernel hides the addresses of its functions (kernel.kptr_restrict is %s)")
    :format(limits.restricted() or "unknown"), "permission",
    "sudo sysctl kernel.kptr_restrict=0, or run as root"
end

--- All functions of the kernel and its modules, also those of one address.
-- @treturn ?table the lists `names addresses modules` (false: the kernel's own)
-- @treturn ?string message
-- @treturn ?string code `unavailable permission`
-- @treturn ?string hint
function kernel.table()
  local native <const>, why, unavailable, how = symbols.native()
  if native == nil then return nil, why, unavailable, how end
  local read <close> = native.kernel_symbols(kernel.paths.symbols)
  local all <const> = read and read:functions()
  if all and #all.names > 0 then return all end
  if all and all.is_hidden then return hidden() end
  return nil, "the kernel lists no symbols (/proc/kallsyms): built without CONFIG_KALLSYMS, or"
    .. " /proc is not mounted", "unavailable"
end

-- What ftrace can attach to; nil when that cannot be read.
local function traceable()
  for _, path in ipairs(kernel.paths.traceable) do
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
  if files.read(kernel.paths.probes) then return true end
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
  local all, message, code, hint = kernel.table()
  if all == nil then return nil, message, code, hint end
  local matches <const>, can = pattern.matcher(source, "kernel"), traceable()
  local list, at, refused = {}, {}, 0
  for i, name in ipairs(all.names) do
    local address <const> = all.addresses[i]
    if at[address] == nil and matches(name) then
      if can and not can[name] then
        refused = refused + 1
      else
        at[address] = true
        list[#list + 1] = { kind = "kernel", name = name, address = address,
          module = all.modules[i] or nil, binary = "[kernel]" }
      end
    end
  end
  table.sort(list, function(a, b)
    if a.name ~= b.name then return a.name < b.name end
    return math.ult(a.address, b.address)
  end)
  if #list > 0 then return list end
  local why <const> = refused > 0 and ("; %d match and cannot be traced"):format(refused) or ""
  return nil, ("no function of the kernel matches '%s', of %d looked at%s"):format(source,
    #all.names, why), "not_found"
end

--- The function of the kernel that an address is in.
-- @tparam integer address
-- @treturn ?string name; nil when none is known
-- @treturn ?integer where it begins
-- @treturn ?string module
function kernel.resolve(address)
  if found == nil then
    local native <const> = symbols.native()
    found = native and native.kernel_symbols(kernel.paths.symbols) or false
  end
  if found then return found:find(address) end
end

--- Why functions of the kernel have no names, if that is so.
-- @treturn ?string
function kernel.why_nameless()
  local all <const>, message, _, hint = kernel.table()
  if all == nil then return ("the kernel's functions have no names: %s (%s)"):format(message,
    hint or "nothing helps") end
end

return kernel
