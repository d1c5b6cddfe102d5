--- Versions of the runtime: compared, and found out for those that do not
-- tell.
-- @module sonde.dotnet.version
local core <const> = require "sonde.c.core"
local proc <const> = require "sonde.process.proc"
local uv <const> = require "sonde.base.uv"

local version = {}

--- Is a version at least another?
-- @tparam ?string have "10.0.9", also "10.0.0-rc.1"; nil counts as very old
-- @tparam string want "8.0"
-- @treturn boolean
function version.at_least(have, want)
  if have == nil then return false end
  local numbers <const> = have:gmatch("%d+")
  for number in want:gmatch("%d+") do
    local its <const> = tonumber(numbers() or "0")
    if its ~= tonumber(number) then return its > tonumber(number) end
  end
  return true
end

-- A program that carries its runtime names it in a file beside itself.
local function of_directory(directory)
  local request <const> = uv.fs_scandir(directory)
  while request do
    local name <const> = uv.fs_scandir_next(request)
    if name == nil then return nil end
    local text <const> = name:find("%.runtimeconfig%.json$")
      and core.read_file(directory .. "/" .. name)
    local found <const> = text
      and text:match('"Microsoft%.NETCore%.App"%s*,%s*"version"%s*:%s*"([^"]+)"')
    if found then return found end
  end
end

--- The version of the runtime in a process, by the files it has mapped: for
-- runtimes before .NET 6, which do not tell.
-- @tparam integer pid
-- @treturn ?string
function version.of_pid(pid)
  local path <const> = proc.mapped(pid, "/libcoreclr.so")
  if path == nil then return nil end
  local shared <const> = path:match("/Microsoft%.NETCore%.App/([^/]+)/libcoreclr%.so$")
  return shared or of_directory(proc.root(pid) .. path:match("^(.*)/"))
end

return version
