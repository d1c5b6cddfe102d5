--- The folder of a user's own files: policies, recordings, rules, kinds, and the
-- shell's. `$XDG_CONFIG_HOME/sonde`, or `~/.config/sonde`.
-- @module sonde.base.settings
local core <const> = require "sonde.c.core"

local settings = {}

--- The path of something in the folder, whether it is there or not.
-- @tparam string name
-- @tparam ?function getenv for specs; `os.getenv` otherwise
-- @treturn ?string nil when there is neither a folder for settings nor a home
function settings.path(name, getenv)
  getenv = getenv or os.getenv
  -- The XDG rules: a path that is not absolute does not count.
  local config, home = getenv "XDG_CONFIG_HOME", getenv "HOME"
  if config == nil or config:sub(1, 1) ~= "/" then
    if home == nil or home == "" then return nil end
    config = home .. "/.config"
  end
  return ("%s/sonde/%s"):format(config, name)
end

--- The path of a Lua file in one of its folders, when it is there.
-- @tparam string folder
-- @tparam string name without `.lua`
-- @tparam ?function getenv
-- @treturn ?string
function settings.lua_file(folder, name, getenv)
  if name:find("/", 1, true) then return nil end
  local path <const> = settings.path(("%s/%s.lua"):format(folder, name), getenv)
  return path and core.path_info(path) and path or nil
end

--- The names of the Lua files in a directory, sorted.
-- @tparam ?string directory
-- @treturn {string,...} without `.lua`; none when there is no such directory
function settings.lua_names(directory)
  local names = {}
  if directory == nil or core.path_info(directory) ~= "directory" then return names end
  -- Loaded only when there is something to list.
  local uv <const> = require "sonde.base.uv"
  local scan <const> = uv.fs_scandir(directory)
  while scan do
    local file <const> = uv.fs_scandir_next(scan)
    if file == nil then break end
    names[#names + 1] = file:match "^([^.].*)%.lua$"
  end
  table.sort(names)
  return names
end

return settings
