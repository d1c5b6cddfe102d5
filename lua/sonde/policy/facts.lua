--- What a policy may know of a process. Most of it is dear, and of most processes
-- nobody asks, so each fact is looked for when it is asked for first.
-- @module sonde.policy.facts
local proc <const> = require "sonde.process.proc"
local targets <const> = require "sonde.targets"

local facts = {}

-- What the facts of a process are made of: its `stat`.
local stat_of <const> = setmetatable({}, { __mode = "k" })

local Makers <const> = {}

function Makers.runtime(its)
  local runtime
  runtime, its.version = targets.runtime_of(stat_of[its])
  return runtime
end

function Makers.version(its)
  return its.runtime and rawget(its, "version")
end

function Makers.command_line(its)
  return table.concat(proc.command_line(its.pid), " ")
end

function Makers.name(its)
  return targets.name_of(proc.command_line(its.pid), its.runtime, its.process_name)
end

function Makers.user(its)
  local status <const> = proc.status(its.pid)
  return status and proc.user(status.uid)
end

function Makers.container(its)
  return proc.container(its.pid)
end

function Makers.arch(its)
  return proc.architecture(its.pid)
end

function Makers.environment(its)
  return function() return proc.environment(its.pid) end
end

local NAMES <const> = { "name", "command_line", "user", "container", "arch", "runtime", "version",
  "environment" }

local Meta <const> = {}

function Meta.__index(its, name)
  local maker <const> = Makers[name]
  local value <const> = maker and maker(its)
  its[name] = value
  return value
end

function Meta.__pairs(its)
  return next, facts.complete(its)
end

--- The facts of a process.
-- @tparam table stat of `proc.stat`
-- @treturn table `pid start name command_line user container arch version
--   runtime process_name parent`, and `environment`, a function
function facts.of(stat)
  local its <const> = setmetatable({ pid = stat.pid, start = stat.start_time,
    process_name = stat.name, parent = stat.parent }, Meta)
  stat_of[its] = stat
  return its
end

--- Looks for all of them now: later the process may be gone.
-- @tparam table its
-- @treturn table the same
function facts.complete(its)
  for _, name in ipairs(NAMES) do
    local _ = its[name]
  end
  return its
end

--- A fact, if somebody has asked for it.
-- @tparam table its
-- @tparam string name
-- @return its value, or nil
function facts.known(its, name)
  return rawget(its, name)
end

return facts
