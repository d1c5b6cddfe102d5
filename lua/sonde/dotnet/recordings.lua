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
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"
local settings <const> = require "sonde.base.settings"
local providers <const> = require "sonde.dotnet.providers"

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

-- A file of data: it sees no functions at all.
local function load_file(path)
  local chunk, message = loadfile(path, "t", {})
  if chunk == nil then return nil, message end
  local done, data = errors.pcall(chunk)
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
  local own <const> = settings.lua_file("recordings", name, getenv)
  if own then
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
  local own <const> = settings.lua_names(settings.path("recordings", getenv))
  for _, names in ipairs { recordings.NAMES, own } do
    for _, name in ipairs(names) do
      if not seen[name] then list[#list + 1] = recordings.get(name, getenv) end
      seen[name] = true
    end
  end
  return list
end

return recordings
