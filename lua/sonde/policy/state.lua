--- What a watch remembers over a restart, and what others may see of it: a file
-- in the folder of its artifacts.
-- @module sonde.policy.state
local core <const> = require "sonde.c.core"
local files <const> = require "sonde.base.files"
local json <const> = require "sonde.base.json"
local uv <const> = require "sonde.base.uv"

local state = {}

local NAME <const> = "watch.json"

-- Process ids and start times mean something within one boot only.
local function boot_id()
  return (core.read_file "/proc/sys/kernel/random/boot_id" or ""):match "%S*"
end

local function path_of(directory)
  return directory .. "/" .. NAME
end

--- Reads it.
-- @tparam string directory
-- @treturn ?table `pid saved_at status firings boot`
-- @treturn ?string message
function state.read(directory)
  local text <const>, message <const> = files.read(path_of(directory))
  if text == nil then return nil, message end
  local data <const>, _, why <const> = require("dkjson").decode(text)
  if type(data) ~= "table" then
    return nil, ("%s: is damaged: %s"):format(path_of(directory), why or "no object")
  end
  return data
end

--- What an engine is to begin with.
-- @tparam string directory
-- @treturn table
function state.load(directory)
  local data <const> = state.read(directory)
  if data == nil or data.boot ~= boot_id() or type(data.firings) ~= "table" then return {} end
  return data.firings
end

local function plain(saved)
  local copy = {}
  for policy, by_key in pairs(saved) do
    local keys = {}
    for key, times in pairs(by_key) do keys[key] = json.array(times) end
    copy[policy] = json.object(keys)
  end
  return json.object(copy)
end

--- Writes it.
-- @tparam string directory
-- @tparam Watch watch
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function state.save(directory, watch)
  if not uv.fs_stat(directory) then uv.fs_mkdir(directory, 448) end   -- rwx------
  local status <const> = watch:status()
  status.policies = json.array(status.policies)
  return files.write(path_of(directory), function(out)
    out:write(json.encode { schema = 1, pid = uv.os_getpid(), saved_at = os.time(),
      boot = boot_id(), status = status, firings = plain(watch:save()) }, "\n")
    return true
  end)
end

return state
