--- The processes of this machine: which can be looked into, how, and what
-- stands in the way of the others.
-- @module sonde.targets
local endpoint <const> = require "sonde.dotnet.endpoint"
local ipc <const> = require "sonde.dotnet.ipc"
local loop <const> = require "sonde.base.loop"
local options <const> = require "sonde.base.options"
local proc <const> = require "sonde.process.proc"
local rows_of <const> = require("sonde.base.rows").of
local target <const> = require "sonde.dotnet.target"

local targets = {}

local MS <const> = 1000000

-- A runtime answers within 6 ms unless something holds it up.
local ANSWER <const> = 1000 * MS

-- Requests that are made at the same time.
local AT_ONCE <const> = 32

--- Options of `sonde.targets`.
targets.options = {
  { name = "all", type = "boolean", help = "also processes without a runtime that is known" },
}

-- What a .NET target lets us do; reasons are by these names.
local DOTNET_VERBS <const> = { "record", "dump" }

local function base_of(path)
  return path and path:match("([^/]+)/?$")
end

--- The name that its user would call a process by.
-- @tparam {string,...} words its command line
-- @tparam ?string runtime
-- @tparam string process_name
-- @treturn string
function targets.name_of(words, runtime, process_name)
  for _, word in ipairs(runtime == "dotnet" and words or {}) do
    local assembly <const> = base_of(word):match("^(.*)%.dll$")
    if assembly then return assembly end
  end
  -- A program that sets its own title leaves one word with blanks.
  local first <const> = #words == 1 and words[1]:match("^%S+") or words[1]
  return base_of(first ~= "" and first) or process_name
end

--- What runs a process, without asking it.
-- @tparam table stat of `proc.stat`
-- @treturn string `dotnet go native`
-- @treturn ?string version of the runtime
function targets.runtime_of(stat)
  local found, search = endpoint.find(stat)
  if found ~= nil or endpoint.is_dotnet(search) then
    return "dotnet", require("sonde.dotnet.version").of_pid(stat.pid)
  end
  local build <const> = require("sonde.golang.buildinfo").of_pid(stat.pid)
  if build then return "go", (build.version:gsub("^go", "")) end
  return "native"
end

local function describe(stat)
  local status <const> = proc.status(stat.pid)
  if status == nil then return nil end
  return {
    pid = stat.pid, start_time = stat.start_time, started_at = proc.started_at(stat.start_time),
    uid = status.uid, user = proc.user(status.uid), process_name = stat.name,
    command_line = proc.command_line(stat.pid), container = proc.container(stat.pid),
    can = {}, reasons = {},
  }
end

local function block(row, message)
  for _, verb in ipairs(DOTNET_VERBS) do row.reasons[verb] = message end
end

-- Asks the runtime behind an endpoint who it is.
local function ask(row, found)
  local stat <const> = proc.stat(row.pid)
  if stat and stat.state:find("[Tt]") then
    row.version = require("sonde.dotnet.version").of_pid(row.pid)
    block(row, "it is stopped (SIGSTOP or a debugger)")
    return
  end
  local info, message = ipc.info(found, loop.after(ANSWER), 2)
  if info == nil then
    block(row, message)
    return
  end
  row.version = info.version or require("sonde.dotnet.version").of_pid(row.pid)
  row.entry_assembly, row.architecture = info.entry_assembly, info.architecture
  if row.suspended then
    block(row, "it is suspended at its start: resume it, or record it from its first moment")
    return
  end
  for i, verb in ipairs(DOTNET_VERBS) do row.can[i] = verb end
end

-- Looks for who answers for a Go program; the sources that do can be recorded from
-- and dumped.
local function ask_go(row, networks)
  local found <const> = require("sonde.golang.sources").of(row.pid, ANSWER, networks)
  row.sources = { pprof = found.pprof, gops = found.gops }
  if next(row.sources) then
    row.can = { "record", "dump" }
  else
    block(row, ("%s; %s"):format(found.reasons.pprof, found.reasons.gops))
  end
end

local function finish(row)
  row.name = row.entry_assembly
    or targets.name_of(row.command_line, row.runtime, row.process_name)
  row.architecture = row.architecture or proc.architecture(row.pid)
  return row
end

-- A runtime that can be asked has three threads at least, and most processes
-- have one: they need no further look.
local FEWEST_THREADS <const> = 2

-- What a program says of itself when it is one of Go; the same for all that run it.
local function go_of(pid, cache)
  local program <const> = proc.program(pid)
  if program == nil then return nil end
  if cache[program] == nil then
    cache[program] = require("sonde.golang.buildinfo").of_pid(pid) or false
  end
  return cache[program]
end

local function row_of(stat, cache, opts)
  if stat.threads < FEWEST_THREADS and not opts.all then return nil end
  local found, search = endpoint.find(stat)
  local is_dotnet <const> = found ~= nil or endpoint.is_dotnet(search)
  local go <const> = not is_dotnet and go_of(stat.pid, cache) or nil
  if not is_dotnet and not go and not opts.all then return nil end
  local row <const> = describe(stat)
  if row == nil then return nil end
  if is_dotnet then row.runtime = "dotnet" end
  if go then
    row.runtime, row.version, row.module = "go", go.version, go.module or go.path
  elseif found then
    row.suspended = endpoint.is_suspended(search) or nil
  else
    row.version = is_dotnet and require("sonde.dotnet.version").of_pid(stat.pid) or nil
    block(row, (endpoint.explain(search)))
  end
  return row, found
end

-- The rows, and for those with an endpoint a request each, several at a time.
local function collect(opts)
  local rows, waiting, cache = {}, {}, {}
  for _, pid in ipairs(proc.pids(not opts.all and FEWEST_THREADS or nil)) do
    local stat <const> = proc.stat(pid)
    if stat and not stat.kernel then
      local row, found = row_of(stat, cache, opts)
      rows[#rows + 1] = row
      if found or row and row.runtime == "go" then
        waiting[#waiting + 1] = { row = row, endpoint = found }
      end
    end
  end
  return rows, waiting
end

local function ask_all(waiting)
  local tasks, next_one, networks = {}, 0, {}
  for i = 1, math.min(AT_ONCE, #waiting) do
    tasks[i] = loop.task(function()
      while next_one < #waiting do
        next_one = next_one + 1
        local one <const> = waiting[next_one]
        if one.endpoint then ask(one.row, one.endpoint) else ask_go(one.row, networks) end
      end
    end)
  end
  local longest <const> = loop.after(3 * ANSWER * (2 + #waiting // AT_ONCE))
  for _, task in ipairs(tasks) do task:join(longest) end
end

--- Lists processes that can be looked into, and those that could be but for
-- the reason given.
-- @tparam ?table opts `all`: every process
-- @treturn Rows in order of pid: `pid start_time` (ticks since
--   boot) `started_at` (Unix time) `uid user runtime version name
--   process_name command_line container architecture suspended`, of Go programs
--   `module` and `sources` (addresses: `pprof gops`), `can` (list
--   of what is possible: `record dump`), `reasons` (by the same words, why the
--   others are not)
function targets.list(opts)
  opts = options.check(targets.options, opts, "targets")
  local rows, waiting = collect(opts)
  ask_all(waiting)
  for _, row in ipairs(rows) do finish(row) end
  return rows_of(rows)
end

local function names_of(row)
  return { row.name, row.process_name, base_of(row.command_line[1]) }
end

-- How well a name fits: by what matches, best first.
local MATCHES <const> = {
  function(name, word) return name == word end,
  function(name, word) return name:lower() == word:lower() end,
  function(name, word) return name:lower():find(word:lower(), 1, true) ~= nil end,
}

local function matching(rows, word, fits)
  local found = {}
  for _, row in ipairs(rows) do
    for _, name in pairs(names_of(row)) do
      if fits(name, word) then
        found[#found + 1] = row
        break
      end
    end
  end
  return found
end

-- Enough of a command line to tell two of them apart.
local LONGEST_HINT <const> = 60

local function ambiguous(word, rows)
  local text <const> = require "sonde.base.text"
  local list = {}
  for i, row in ipairs(rows) do
    list[i] = ("%d (%s)"):format(row.pid, text.cut_middle(text.utf8(
      table.concat(row.command_line, " ")), LONGEST_HINT))
  end
  return nil, ("'%s' is %d processes: %s"):format(word, #rows, table.concat(list, ", ")),
    "not_found", ("sonde … -p %d"):format(rows[1].pid)
end

-- Of neither runtime, what stands in the way of .NET is told.
local function of_pid(pid)
  local found, message, code, hint = target.of_pid(pid)
  if found then return found end
  local go <const> = require("sonde.golang.target").of_pid(pid)
  if go then return go end
  return nil, message, code, hint
end

local function by_name(word)
  local rows <const> = targets.list()
  for _, fits in ipairs(MATCHES) do
    local found <const> = matching(rows, word, fits)
    if #found > 1 then return ambiguous(word, found) end
    if #found == 1 then return of_pid(found[1].pid) end
  end
  return nil, ("no .NET or Go process is called '%s'"):format(word), "not_found", "sonde ps"
end

--- Is a word the whole name of a process that can be looked into?
-- @tparam string word
-- @treturn boolean
function targets.is_name(word)
  return #matching(targets.list(), word, MATCHES[2]) > 0
end

--- The process that somebody means, whatever runs in it.
-- @param what a pid, as a number or in digits, or a name
-- @treturn ?integer pid
-- @treturn ?string message
-- @treturn ?string code `not_found`
-- @treturn ?string hint
function targets.process(what)
  local pid <const> = math.tointeger(tonumber(what))
  if pid and pid > 0 then
    local stat <const>, message, code = proc.stat(pid)
    if stat == nil then return nil, message, code, "sonde ps --all" end
    return pid
  end
  local rows, own = {}, proc.self().pid
  for _, row in ipairs(targets.list { all = true }) do
    if row.pid ~= own then rows[#rows + 1] = row end
  end
  for _, fits in ipairs(MATCHES) do
    local found <const> = matching(rows, what, fits)
    if #found > 1 then return ambiguous(what, found) end
    if #found == 1 then return found[1].pid end
  end
  return nil, ("no process is called '%s'"):format(what), "not_found", "sonde ps --all"
end

--- The target that somebody means.
-- @param what a pid, as a number or in digits; a name: of the entry assembly,
--   the program or the process; or `{ socket = path }`
-- @treturn ?Target
-- @treturn ?string message
-- @treturn ?string code `not_found`, `no_endpoint` (may be retried) or
--   `permission`
-- @treturn ?string hint
function targets.open(what)
  if type(what) == "table" and type(what.socket) == "string" then
    return target.of_socket(what.socket)
  end
  local pid <const> = math.tointeger(tonumber(what))
  if pid and pid > 0 then return of_pid(pid) end
  if type(what) ~= "string" then
    error(("bad target (pid, name or { socket = path } expected, got %s)"):format(type(what)), 2)
  end
  return by_name(what)
end

return targets
