--- A virtual machine with a kernel of Debian's, for what this kernel lacks: the
-- checks of spec/qemu/guest.lua run in it.
local helper <const> = require "spec.support.helper"
local native <const> = require "spec.support.native"
local probes <const> = require "spec.support.probes"

local guest = {}

-- An archive in the form that the kernel unpacks at boot ("newc").
local Archive <const> = {}
Archive.__index = Archive

local function padded(text)
  return text .. ("\0"):rep(-#text % 4)
end

function Archive:add(name, mode, data)
  self.n = self.n + 1
  local head <const> = ("070701" .. ("%08x"):rep(13)):format(self.n, mode, 0, 0, 1, 0, #data, 0, 0,
    0, 0, #name + 1, 0)
  self.parts[#self.parts + 1] = padded(head .. name .. "\0")
  self.parts[#self.parts + 1] = padded(data)
end

function Archive:folders(path)
  local at = ""
  for part in path:gmatch("([^/]+)/") do
    at = at == "" and part or at .. "/" .. part
    if not self.known[at] then self:add(at, 0x41ed, "") end
    self.known[at] = true
  end
end

function Archive:file(name, from, mode)
  if self.known[name] then return end
  self.known[name] = true
  self:folders(name)
  self:add(name, mode or 0x81a4, assert(helper.read(from), from))
end

-- A program or library with all that it is linked to.
function Archive:linked(name, from)
  self:file(name, from, 0x81ed)
  for path in helper.run(("ldd %s 2>/dev/null"):format(from)):gmatch("(/%S+) %(0x") do
    self:file(path:sub(2), path, 0x81ed)
  end
end

function Archive:tree(folder)
  for _, path in ipairs(helper.lines(native.sh(("find %s -type f"):format(folder)))) do
    self:file("sonde/" .. path, path)
  end
end

-- Where the interpreter finds a module.
local function module_path(name)
  local lua <const> = package.searchpath(name, package.path)
  return lua or assert(package.searchpath(name, package.cpath), name)
end

local function archive(to, directory)
  local self <const> = setmetatable({ parts = {}, known = {}, n = 0 }, Archive)
  local init <const>, build <const> = directory .. "/init", os.getenv "SONDE_BUILD" or "build"
  native.sh(("gcc -O1 -static -o %s spec/qemu/init.c"):format(init))
  self:file("init", init, 0x81ed)
  self:linked("bin/lua5.4", native.sh("readlink -f $(command -v lua5.4)"):match("%S+"))
  self:linked("bin/calls", probes.program "calls.c")
  self:tree "lua"
  for _, path in ipairs { "spec/qemu/guest.lua", "spec/support/dotnet.lua",
    "spec/support/helper.lua" } do
    self:file("sonde/" .. path, path)
  end
  for _, name in ipairs { "core", "native" } do
    self:linked(("sonde/c/sonde/c/%s.so"):format(name),
      ("%s/lua/sonde/c/%s.so"):format(build, name))
  end
  for _, name in ipairs { "luv", "rex_pcre2" } do
    self:linked(("share/%s.so"):format(name), module_path(name))
  end
  self:add("TRAILER!!!", 0, "")
  helper.write(to, table.concat(self.parts))
end

--- The kernel to run; skips the spec when none is there.
function guest.kernel()
  local folder <const> = (os.getenv "SONDE_BUILD" or "build") .. "/qemu"
  local obstacle <const> = helper.read(folder .. "/obstacle")
  if obstacle then helper.skip((obstacle:gsub("%s+$", ""))) end
  local given <const> = os.getenv "SONDE_QEMU_KERNEL" or folder .. "/vmlinuz"
  if helper.read(given) == nil then
    helper.skip("no kernel for a virtual machine: make test-qemu gets one")
  end
  helper.needs "qemu-system-x86_64"
  return given
end

--- Runs the guest's checks.
-- @treturn {[string]=string,...} "PASS" or "FAIL: why" by check; and all it said
function guest.run(kernel)
  local out
  helper.in_directory(function(directory)
    archive(directory .. "/initrd", directory)
    out = helper.run(("timeout 300 qemu-system-x86_64 -accel tcg,thread=multi -cpu max,-cx16 -smp 2"
      .. " -m 768 -nographic -no-reboot -nodefaults -serial stdio -kernel %s -initrd %s/initrd"
      .. " -append 'console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable' </dev/null"):format(
      kernel, directory))
  end)
  local results = {}
  for verdict, name, why in out:gmatch("(%u+) ([^:\r\n]+)([^\r\n]*)\r?\n") do
    if verdict == "PASS" or verdict == "FAIL" then results[name] = verdict .. why end
  end
  return results, out
end

return guest
