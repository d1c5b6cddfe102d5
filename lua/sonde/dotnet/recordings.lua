--- What `record` records, by name. A recording is a Lua file that returns data:
--
--    return {
--      summary = "one line of help",
--      providers = { "NAME:KEYWORDS:LEVEL:ARGUMENTS", … },
--      rundown = false,     -- when no stacks have to be named
--      view = "alloc",      -- what its reports show
--    }
--
-- Those of users are `recordings/NAME.lua` in sonde's directory of settings.
-- @module sonde.dotnet.recordings
local options <const> = require "sonde.base.options"
local providers <const> = require "sonde.dotnet.providers"
local uv <const> = require "sonde.base.uv"

local recordings = {}

--- The names of those that come with sonde.
recordings.NAMES = {
  "cpu", "alloc", "gc", "exceptions", "contention", "jit", "http", "db", "threadpool", "startup",
  "full",
}

-- Names of dotnet-trace, which scripts use.
local ALIASES <const> = {
  ["cpu-sampling"] = "cpu", ["dotnet-sampled-thread-time"] = "cpu", ["gc-collect"] = "gc",
  ["gc-verbose"] = "alloc", database = "db",
}

local function settings_directory(getenv)
  local base <const> = getenv "XDG_CONFIG_HOME"
  if base and base ~= "" then return base .. "/sonde/recordings" end
  return (getenv "HOME" or "") .. "/.config/sonde/recordings"
end

local function names_in(directory)
  local names = {}
  local request <const> = uv.fs_scandir(directory)
  while request do
    local file <const> = uv.fs_scandir_next(request)
    if file == nil then break end
    names[#names + 1] = file:match("^(.+)%.lua$")
  end
  table.sort(names)
  return names
end

-- A file of data: it sees no functions at all.
local function load_file(path)
  local chunk, message = loadfile(path, "t", {})
  if chunk == nil then return nil, message end
  local done, data = pcall(chunk)
  if not done then return nil, data end
  if type(data) ~= "table" or type(data.providers) ~= "table" then
    return nil, path .. ": does not return a table with a list of providers"
  end
  return data
end

local function complete(name, data, path)
  local list, why = providers.complete(data.providers)
  if list == nil then return nil, ("%s: %s"):format(path, why), "malformed" end
  return { name = name, summary = data.summary or "", providers = list,
    rundown = data.rundown ~= false, view = data.view }
end

--- A recording by name.
-- @tparam string name
-- @tparam ?function getenv for specs; os.getenv otherwise
-- @treturn ?table `name summary providers rundown view`
-- @treturn ?string message
-- @treturn ?string code
function recordings.get(name, getenv)
  name = ALIASES[name] or name
  local directory <const> = settings_directory(getenv or os.getenv)
  local own <const> = ("%s/%s.lua"):format(directory, name)
  if not name:find("/") and uv.fs_stat(own) then
    local data, message = load_file(own)
    if data == nil then return nil, message, "malformed" end
    return complete(name, data, own)
  end
  for _, known in ipairs(recordings.NAMES) do
    if known == name then return complete(name, require("sonde.recordings." .. name), name) end
  end
  local near <const> = options.suggest(name, recordings.NAMES)
  return nil, ("no recording is called '%s'%s"):format(name,
    near and (" (did you mean '%s'?)"):format(near) or ""), "not_found"
end

--- All recordings, the users' own last.
-- @tparam ?function getenv
-- @treturn {table,...} each as `get` gives it
function recordings.list(getenv)
  local list, seen = {}, {}
  local own <const> = names_in(settings_directory(getenv or os.getenv))
  for _, names in ipairs { recordings.NAMES, own } do
    for _, name in ipairs(names) do
      if not seen[name] then list[#list + 1] = recordings.get(name, getenv) end
      seen[name] = true
    end
  end
  return list
end

return recordings
