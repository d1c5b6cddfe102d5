--- Is a function the user's own, or does it belong to a framework, a runtime or
-- the system? Judged by its module where that decides, by its name otherwise.
-- @module sonde.base.framework
local framework = {}

-- Names of .NET's own namespaces, and of what the runtime makes by itself.
local NAMESPACES <const> = {
  System = true, Microsoft = true, Interop = true, Internal = true, Windows = true,
  MS = true, dynamicClass = true,
}

local MANAGED_MODULES <const> = {
  mscorlib = true, netstandard = true, WindowsBase = true, PresentationCore = true,
  PresentationFramework = true,
}

-- Native modules of runtimes and systems: the names in them are no secret.
local NATIVE_MODULES <const> = {
  "^libcoreclr", "^libclr", "^libhostfxr", "^libhostpolicy", "^libSystem%.", "^libmscor",
  "^coreclr", "^clrjit", "^clrgc", "^ntdll", "^kernel32", "^kernelbase", "^ucrtbase",
  "^vcruntime", "^ld%-", "^ld%.so", "^lib[cm]%.so", "^lib[cm]%-%d", "^lib[cm]%.musl",
  "^libpthread", "^libdl[.%-]", "^librt[.%-]", "^libgcc_s", "^libstdc%+%+", "^libc%+%+",
  "^libz%.so", "^libssl%.so", "^libcrypto%.so", "^libicu", "^vmlinux", "^%[kernel",
  "^%[vdso%]", "^%[vsyscall%]", "^linux%-vdso",
}

-- The first parts of the import paths of Go's standard library.
local GO_PACKAGES <const> = {}
for name in ([[archive bufio bytes cmp compress container context crypto database debug embed
  encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime
  net os path plugin reflect regexp runtime slices sort strconv strings structs sync
  syscall testing text time type unicode unique unsafe vendor weak]]):gmatch("%S+") do
  GO_PACKAGES[name] = true
end

--- The last part of a path, whatever its separators are.
-- @tparam string path
-- @treturn string
function framework.base_name(path)
  return path:match("[^/\\]*$")
end

--- Is a module part of a framework, a runtime or the system?
-- @tparam string module path or name of a file; "" when it is not known
-- @treturn ?boolean nil when it does not decide
function framework.is_module(module)
  if module == "" then return nil end
  local base <const> = framework.base_name(module)
  local managed <const> = base:match("^(.*)%.[dD][lL][lL]$") or base:match("^(.*)%.[eE][xX][eE]$")
  if managed then
    local name <const> = managed:gsub("%.ni$", "")
    local first <const> = name:match("^[^.]+")
    if first == "System" or first == "Microsoft" or MANAGED_MODULES[name] then return true end
  end
  for _, pattern in ipairs(NATIVE_MODULES) do
    if base:find(pattern) then return true end
  end
  -- A managed module has its own code only; a Go program has all of it.
  if managed then return false end
end

-- The package of a Go function, "net/http" of "net/http.(*conn).serve"; nil
-- when the name has another form.
local function go_package(name)
  local path, rest = name:match("^([%w_./%%-]*/)([^/]+)$")
  path, rest = path or "", rest or name
  local last, behind = rest:match("^([%l%d_%-]+)%.(.+)$")
  if last == nil or not behind:find("^[%w_(%[]") then return nil end
  return path .. last
end

--- Is a name one of Go's standard library?
-- @tparam string name such as "net/http.(*conn).serve"
-- @treturn boolean
function framework.is_go(name)
  local package <const> = go_package(name)
  return package ~= nil and GO_PACKAGES[package:match("^[^/]+")] == true
end

--- Is a name one of a framework's? Names of what no symbol covers are neither.
-- @tparam string name of a function or a type
-- @treturn boolean
function framework.is_name(name)
  name = name:gsub("^[^!%s(<]+!", "")
  local first <const> = name:match("^([%a_][%w_]*)[.+:]")
  if first and NAMESPACES[first] then return true end
  if name:find("^std::") or name:find("^__") or name:find("^operator ") then return true end
  return framework.is_go(name)
end

--- Is a function part of a framework, a runtime or the system?
-- @tparam string name
-- @tparam ?string module
-- @treturn boolean
function framework.is_function(name, module)
  local known <const> = framework.is_module(module or "")
  if known ~= nil then return known end
  return framework.is_name(name)
end

return framework
