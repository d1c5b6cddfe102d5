--- Finds and reads source files by the names that profiles give them, which
-- are often those of another machine.
-- @module sonde.report.sources
local sources = {}

local cache <const> = setmetatable({}, { __mode = "v" })

local function split(list)
  local parts = {}
  for part in (list or ""):gmatch("[^:]+") do parts[#parts + 1] = part end
  return parts
end

-- Where no beginning was named to be taken off, the name of a directory to
-- search may stand in the path: /build/x/project/a.c is a.c in …/project.
local function guessed(path, search)
  for _, directory in ipairs(split(search)) do
    local base <const> = directory:match("([^/]+)/*$")
    local _, stop = path:find("/" .. (base or "") .. "/", 1, true)
    if base and stop then return path:sub(stop + 1) end
  end
end

--- A file's name without the beginning that is not of this machine.
-- @tparam string path
-- @tparam ?string search directories, separated by ":"
-- @tparam ?string trim beginnings, separated by ":"
-- @treturn string
function sources.trimmed(path, search, trim)
  local guess <const> = (trim or "") == "" and guessed(path, search)
  if guess then return guess end
  local beginnings <const> = split(trim)
  table.move({ "/proc/self/cwd/./", "/proc/self/cwd/" }, 1, 2, #beginnings + 1, beginnings)
  for _, beginning in ipairs(beginnings) do
    if beginning:sub(-1) ~= "/" then beginning = beginning .. "/" end
    if path:sub(1, #beginning) == beginning then return path:sub(#beginning + 1) end
  end
  return path
end

local function read(path)
  local file, message = io.open(path, "rb")
  if file == nil then
    local words <const> = message:sub(1, #path + 2) == path .. ": " and message:sub(#path + 3)
      or message
    return nil, ("open %s: %s"):format(path, words:lower())
  end
  local lines = {}
  for line in file:lines() do lines[#lines + 1] = (line:gsub("\r$", "")) end
  file:close()
  return lines
end

local function join(directory, path)
  return directory:gsub("/+$", "") .. "/" .. path
end

-- In each directory and in all above it.
local function search_for(path, search)
  for _, directory in ipairs(split(search)) do
    while true do
      local lines = read(join(directory, path))
      if lines then return lines end
      local parent <const> = directory:match("^(.*)/[^/]+/*$")
      if parent == nil or directory == "/" then break end
      directory = parent == "" and "/" or parent
    end
  end
  return nil, ("could not find file %s on path %s"):format(path, search)
end

--- The lines of a source file.
-- @tparam string path as a profile names it
-- @tparam ?string search directories, separated by ":"; the current one otherwise
-- @tparam ?string trim beginnings to take off, separated by ":"
-- @treturn ?{string,...}
-- @treturn ?string message
function sources.read(path, search, trim)
  local name <const> = sources.trimmed(path, search, trim)
  local key <const> = table.concat({ name, search or "", trim or "" }, "\0")
  if cache[key] then return cache[key] end
  local lines, message
  if name:sub(1, 1) == "/" then
    lines, message = read(name)
  else
    lines, message = search_for(name, search and search ~= "" and search or os.getenv "PWD" or ".")
  end
  cache[key] = lines
  return lines, message
end

return sources
