--- What a policy may know of a process.
-- @module sonde.policy.facts
local endpoint <const> = require "sonde.dotnet.endpoint"
local proc <const> = require "sonde.process.proc"

local facts = {}

local function base_of(path)
  return path and path:match "([^/]+)/?$"
end

-- Of `dotnet Api.dll` it is the assembly that people mean.
local function name_of(words, runtime, stat)
  for _, word in ipairs(runtime == "dotnet" and words or {}) do
    local assembly <const> = base_of(word):match "^(.*)%.dll$"
    if assembly then return assembly end
  end
  local first <const> = #words == 1 and words[1]:match "^%S+" or words[1]
  return base_of(first ~= "" and first) or stat.name
end

local function runtime_of(stat)
  local found, search = endpoint.find(stat)
  if found ~= nil or endpoint.is_dotnet(search) then
    return "dotnet", require("sonde.dotnet.version").of_pid(stat.pid)
  end
  local build <const> = require("sonde.golang.buildinfo").of_pid(stat.pid)
  if build then return "go", (build.version:gsub("^go", "")) end
  return "native"
end

--- The facts of a process.
-- @tparam table stat of `proc.stat`
-- @treturn ?table `pid start name command_line user container arch version
--   runtime process_name parent`, and `environment`, a function; nil when it has
--   gone
function facts.of(stat)
  local status <const> = proc.status(stat.pid)
  if status == nil then return nil end
  local words <const> = proc.command_line(stat.pid) or {}
  local runtime, version = runtime_of(stat)
  return {
    pid = stat.pid, start = stat.start_time, name = name_of(words, runtime, stat),
    process_name = stat.name, command_line = table.concat(words, " "), parent = stat.parent,
    user = proc.user(status.uid), container = proc.container(stat.pid),
    arch = proc.architecture(stat.pid), version = version, runtime = runtime,
    environment = function() return proc.environment(stat.pid) end,
  }
end

return facts
