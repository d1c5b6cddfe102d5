--- Names of functions by address, from the files that were running: what
-- profiles of native programs lack. Needs `sonde.c.native`.
-- @module sonde.symbols
local errors <const> = require "sonde.base.errors"
local core <const> = require "sonde.c.core"

local symbols = {}

--- The declared option that chooses what names addresses.
symbols.option = {
  name = "symbolize", type = "string", choices = { "local", "none" }, default = "local",
  argname = "HOW", help = "what names the addresses of native programs: their files on this"
    .. " machine (local), or nothing (none)",
}

--- The native module.
-- @treturn ?table `sonde.c.native`
-- @treturn ?string message
-- @treturn ?string code `unavailable` when it was not built
-- @treturn ?string hint
function symbols.native()
  local found, module = errors.pcall(require, "sonde.c.native")
  if found then return module end
  return nil, "symbols and samples of native processes need libdw, which was not there when sonde"
    .. " was built", "unavailable", "apt-get install libdw-dev libelf-dev libiberty-dev, then make"
end

-- Files of mappings whose addresses have no names.
local function nameless_files(profile)
  local files = {}
  for _, mapping in ipairs(profile:mappings()) do
    local path <const> = mapping.file
    if not mapping.has_functions and mapping.build_id ~= "" and path:sub(1, 1) == "/" then
      files[#files + 1] = path
    end
  end
  return files
end

local function any_is_here(files)
  if os.getenv "PPROF_BINARY_PATH" and #files > 0 then return true end
  for _, path in ipairs(files) do
    if core.path_info(path) == "file" then return true end
  end
  return false
end

--- Names the addresses of a profile, as pprof does: from the file of each
-- mapping without names, when it has the mapping's build id.
-- @tparam Profile profile
-- @treturn Profile the same one when there was nothing to name
-- @treturn {string,...} files that could not be used, and why
function symbols.annotate(profile)
  if not any_is_here(nameless_files(profile)) then return profile, {} end
  local native <const>, why = symbols.native()
  if native == nil then return profile, { why } end
  local bytes, n, refused = native.annotate(profile:encode { gzip = false })
  if bytes == nil then return profile, { n } end
  if n == 0 then return profile, refused end
  local named, message = core.pprof_decode(bytes, { limit = 0 })
  if named == nil then return profile, { message } end
  return named, refused
end

return symbols
