--- A Go process that can be looked into while it runs.
--
--    local target = assert(sonde.target(4242))
--    print(target:profile{ view = "heap" }:top())
--    print(target:dump())
--
-- A target is a pid and a start time: when the pid is used again by another
-- process, every call says so instead of reaching the wrong one.
-- @module sonde.golang.target
local buildinfo <const> = require "sonde.golang.buildinfo"
local live <const> = require "sonde.golang.live"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local proc <const> = require "sonde.process.proc"
local sources <const> = require "sonde.golang.sources"

local target = {}

local SECOND <const> = 1000000000

local Target <const> = {}
Target.__index = Target
Target.__name = "sonde.target"

--- Options of `Target:dump`.
target.dump_options = {
  { name = "transport", type = "string", choices = { "pprof", "gops" },
    help = "how the goroutines are asked for (default: the first that answers)" },
  { name = "timeout", type = "duration", default = 30 * SECOND, default_text = "30s",
    help = "how long it may take" },
}

--- The target for a process.
-- @tparam integer pid
-- @treturn ?Target `pid start_time name runtime` ("go") `version path module`
-- @treturn ?string message
-- @treturn ?string code `not_found`, `permission`, or `unavailable` for no Go program
function target.of_pid(pid)
  local stat, message, code = proc.stat(pid)
  if stat == nil then return nil, message, code, "sonde ps" end
  local info
  info, message, code = buildinfo.of_pid(pid)
  if info == nil then return nil, message, code end
  return setmetatable({ pid = pid, start_time = stat.start_time, name = stat.name,
    runtime = "go", version = info.version, path = info.path, module = info.module }, Target)
end

-- Is the process still the same?
local function same(self)
  local stat <const> = proc.stat(self.pid)
  if stat and stat.start_time == self.start_time then return true end
  return nil, ("process %d (%s) has ended"):format(self.pid, self.name), "not_found"
end

--- Which sources of the process answer.
-- @treturn table `pprof` and `gops`: addresses; `reasons`: by the same names, why not
function Target:sources()
  return sources.of(self.pid)
end

--- Takes a profile as it comes.
-- @tparam ?table given see `sonde.golang.live`
-- @treturn ?table `bytes name source`
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Target:read(given)
  local well, message, code = same(self)
  if not well then return nil, message, code end
  return live.of_pid(self.pid, given)
end

--- Takes a profile.
-- @tparam ?table given `view` (see `sonde.golang.views`), `duration delta gc source`
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Target:profile(given)
  local taken, message, code, hint = self:read(given)
  if taken == nil then return nil, message, code, hint end
  return require("sonde.open").open(taken)
end

-- What a goroutine is labelled with, debug=2 does not say in most versions.
local function add_labels(dump, pid, timeout)
  local taken <const> = live.of_pid(pid, { dump = true, debug = 1, source = "pprof",
    timeout = timeout })
  if taken == nil then return end
  local labelled <const> = require("sonde.open").dump(taken)
  if labelled then dump:set_labels(require("sonde.golang.dump").labels_of(labelled)) end
end

--- Takes a dump of all goroutines. It stops the process while it writes them: some
-- milliseconds for a thousand.
-- @tparam ?table given see `target.dump_options`
-- @treturn ?Dump
-- @treturn ?string message
-- @treturn ?string code
-- @treturn ?string hint
function Target:dump(given)
  local opts <const> = options.check(target.dump_options, given, "target:dump")
  local deadline <const> = loop.after(opts.timeout)
  local taken, message, code, hint = self:read { dump = true, source = opts.transport,
    timeout = opts.timeout }
  if taken == nil then return nil, message, code, hint end
  local dump, why, reason = require("sonde.open").dump(taken, { rows = true })
  if dump == nil then return nil, why, reason end
  dump.transport = taken.source
  if taken.source == "pprof" and loop.now() < deadline then
    add_labels(dump, self.pid, deadline - loop.now())
  end
  return dump, message or why, code or reason
end

function Target:__tostring()
  return ("process %d (%s), %s"):format(self.pid, self.name, self.version:gsub("^go", "Go "))
end

return target
