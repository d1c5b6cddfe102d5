--- The kind `goprof`: pprof profiles of Go processes, one record for each sample
-- type and stack; the profile itself is kept as it came.
-- @module sonde.capture.kinds.goprof
local files <const> = require "sonde.base.files"

local goprof = { name = "goprof", summary = "pprof profiles of Go processes",
  formats = { "pprof", "jsonl", "folded", "html" } }

--- Where a profile is read from.
goprof.SOURCES = { "pprof", "gops", "file" }

--- What can be read.
goprof.PROFILES = { "cpu", "heap", "allocs", "mutex", "block", "goroutine" }

local SECOND <const> = 1000000000

-- A gops agent knows these, and no others.
local OF_GOPS <const> = { cpu = "pprof-cpu", heap = "pprof-heap" }

-- Seconds of a CPU profile: over pprof when nothing is said, and those of an agent.
local DEFAULT_SECONDS <const>, SECONDS_OF_GOPS <const> = 10, 30

-- As much as is taken of a server.
local MOST_FILE <const> = 256 << 20

--- What a checkpoint takes.
goprof.params = {
  { name = "source", type = "string", choices = goprof.SOURCES,
    help = "where from: pprof, gops or file; the first that answers otherwise" },
  { name = "profile", type = "string", many = true, choices = goprof.PROFILES,
    default = { "heap" }, help = "which: cpu heap allocs mutex block goroutine" },
  { name = "seconds", type = "integer", min = 1, max = 3600,
    help = "how long a CPU profile over pprof takes (10)" },
  { name = "path", type = "path", help = "the file, of the source file" },
}

--- What the declaration cannot say.
-- @tparam table params
-- @treturn ?string what is wrong
function goprof.check(params)
  local source <const> = params.source
  if source == "file" and params.path == nil then return "the source file needs a path" end
  if params.path and source ~= "file" then return "a path goes with the source file only" end
  if params.seconds and source ~= nil and source ~= "pprof" then
    return source == "gops" and "a gops agent takes a CPU profile of 30 s: seconds cannot be given"
      or "seconds go with a CPU profile over pprof"
  end
  for _, name in ipairs(params.profile) do
    if params.seconds and name ~= "cpu" then
      return ("seconds go with the profile cpu, not with %s"):format(name)
    end
    if source == "gops" and OF_GOPS[name] == nil then
      return ("a gops agent has no profile '%s': cpu and heap only"):format(name)
    end
  end
  if source == "file" and #params.profile > 1 then return "a file holds one profile" end
end

--- The time that the work takes by itself, beyond what answers take.
-- @tparam table params
-- @treturn integer nanoseconds
function goprof.takes(params)
  if params.source == "file" then return 0 end
  for _, name in ipairs(params.profile) do
    -- Who names no source may get an agent's profile.
    if name == "cpu" then
      return SECOND * (params.seconds or params.source == "pprof" and DEFAULT_SECONDS
        or SECONDS_OF_GOPS)
    end
  end
  return 0
end

--- Has it something of a process?
-- @tparam table process `runtime`
-- @treturn boolean
function goprof.offers(process)
  return process.runtime == "go"
end

local Read <const> = {}

function Read.file(_, _, _, params)
  local bytes <const>, message <const>, code <const> = files.read(params.path, MOST_FILE)
  if bytes == "" then return nil, params.path .. ": the file is empty", "truncated" end
  return bytes, message, code
end

function Read.pprof(context, address, name, params)
  local pprof <const> = require "sonde.golang.pprof"
  if name ~= "cpu" then return pprof.fetch(address, name, nil, { timeout = context.left() }) end
  local seconds <const> = params.seconds or DEFAULT_SECONDS
  return pprof.fetch(address, "profile", "seconds=" .. seconds, { timeout = context.left() })
end

function Read.gops(context, address, name)
  return require("sonde.golang.gops").ask(address, OF_GOPS[name], { timeout = context.left() })
end

-- The source that a checkpoint names, or the first that answers.
local function find_source(context, process, params, name)
  if params.source == "file" then return "file" end
  local reasons = {}
  for _, source in ipairs { "pprof", "gops" } do
    local fits <const> = params.source == source
      or params.source == nil and (source == "pprof" or OF_GOPS[name])
    if fits then
      local address, why = context.address(source, process.pid)
      if address then return source, address end
      reasons[#reasons + 1] = ("%s: %s"):format(source, why or "it has no address")
    end
  end
  return nil, table.concat(reasons, "; ")
end

local function part_of(process, source, name, fields)
  fields.kind, fields.key, fields.pid = "goprof", process.key, process.pid
  fields.fields = { source = source or "pprof", profile = name }
  return fields
end

local function take_one(context, process, params, name)
  local source <const>, address <const> = find_source(context, process, params, name)
  if source == nil then return part_of(process, params.source, name, { error = address }) end
  local bytes <const>, message <const> = Read[source](context, address, name, params)
  if bytes == nil then return part_of(process, source, name, { error = message }) end
  local profile <const>, why <const> = require("sonde.c.core").pprof_decode(bytes)
  if profile == nil then return part_of(process, source, name, { error = why }) end
  return part_of(process, source, name, { profile = profile, error = message,
    payload = { format = "pprof", bytes = bytes } })
end

--- Takes the profiles of a process.
-- @tparam table context
-- @tparam table process `key pid`
-- @tparam table params
-- @treturn {table,...} parts
function goprof.take(context, process, params)
  local parts = {}
  for i, name in ipairs(params.profile) do
    parts[i] = take_one(context, process, params, name)
  end
  return parts
end

return goprof
