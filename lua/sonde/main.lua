#!/usr/bin/env lua5.4
-- The command. It finds its modules beside itself, so that it runs from any
-- directory: in a build tree as build/sonde, installed as bin/sonde, or
-- through links to either. Elsewhere (luarocks) the paths are set already.

local function exists(path)
  local file <const> = io.open(path, "rb")
  return file ~= nil and file:close()
end

-- Where the modules lie relative to the directory of the command: a file that
-- proves it, Lua modules, C modules.
local PLACES <const> = {
  { "/../lua/sonde/init.lua", "/../lua/", "/lua/" },
  { "/../../lua/sonde/init.lua", "/../../lua/", "/lua/" },
  { "/../share/lua/5.4/sonde/init.lua", "/../share/lua/5.4/", "/../lib/lua/5.4/" },
}

local function use_place_near(directory)
  for _, place in ipairs(PLACES) do
    if exists(directory .. place[1]) then
      local lua <const> = directory .. place[2]
      package.path = ("%s?.lua;%s?/init.lua;%s"):format(lua, lua, package.path)
      package.cpath = ("%s%s?.so;%s"):format(directory, place[3], package.cpath)
      return true
    end
  end
end

local function directory_of(path)
  return path:match("^(.*)/[^/]*$") or "."
end

-- A link is followed only when nothing lies beside it: that takes a process.
local function resolved(path)
  local pipe <const> = io.popen("readlink -f '" .. path:gsub("'", "'\\''") .. "'", "r")
  local target <const> = pipe:read("l")
  pipe:close()
  return target or path
end

if not use_place_near(directory_of(arg[0])) then
  use_place_near(directory_of(resolved(arg[0])))
end

require("sonde.cli").run(arg)
