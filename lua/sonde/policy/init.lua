--- Policies: when to capture, what, and how much it may cost.
-- A policy is a Lua file that returns a table; any part may be a function:
--
--    return {
--      summary = "15 s CPU trace when a service is busy",
--      args = { cpu = 80 },
--      targets = { runtime = "dotnet", name = "^Api" },
--      trigger = { metric = "cpu", above = "%{cpu}", ["for"] = "10s" },
--      actions = { { record = { duration = "15s" } } },
--      limits = { count = 3, window = "1h", cooldown = "5m" },
--    }
--
-- It runs in a Lua state of its own (`core.sandbox`) without a way to the
-- machine, unless its user trusts it.
-- @module sonde.policy
local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"
local action <const> = require "sonde.policy.action"
local check <const> = require "sonde.policy.check"
local core <const> = require "sonde.c.core"
local limits <const> = require "sonde.policy.limits"
local options <const> = require "sonde.base.options"
local rows_of <const> = require("sonde.base.rows").of
local settings <const> = require "sonde.base.settings"
local targets <const> = require "sonde.policy.targets"
local trigger <const> = require "sonde.policy.trigger"

local policy = {}

local MAX_SOURCE <const> = 1 << 20

--- The names of those that come with sonde.
policy.NAMES = require "sonde.policy.shipped"

local SECOND <const> = 1000000000

--- Fields of a policy.
policy.fields = {
  { name = "summary", type = "string", required = true, help = "one line" },
  { name = "description", type = "string", help = "more about it" },
  { name = "args", type = "table", help = "what its user may set: names and defaults" },
  { name = "targets", type = "table", may_call = true, help = "which processes" },
  { name = "trigger", type = "table", may_call = true, required = true, help = "when" },
  { name = "actions", type = "table", may_call = true, help = "what, in this order" },
  { name = "limits", type = "table", help = "how often, and how much" },
  { name = "metrics", type = "string", many = true,
    help = "figures that a trigger which is a function wants to see" },
  { name = "per", type = "string", choices = { "process", "name" }, default = "process",
    help = "whether processes of one name are looked at one by one or together" },
  { name = "interval", type = "duration", default = SECOND, min = SECOND // 10,
    max = 3600 * SECOND, help = "time between two samples" },
  { name = "trust", type = "boolean", help = "it needs os, io and require: its user has to agree" },
}

-- The line on which a word stands in a source; nil when it does not.
local function line_of(source, word)
  if word == nil then return nil end
  local line = 0
  for text in (source .. "\n"):gmatch("([^\n]*)\n") do
    line = line + 1
    local code <const> = text:gsub("%-%-.*$", "")
    if code:find("%f[%w_]" .. word:gsub("%W", "%%%0") .. "%f[^%w_]") then return line end
  end
end

local function describe(problems, source, name)
  local list = {}
  for i, problem in ipairs(problems.list) do
    local line <const> = line_of(source, problem.word)
    list[i] = ("%s%s: %s %s"):format(name, line and ":" .. line or "",
      problem.where:gsub("^policy%.", ""), problem.message)
  end
  return list
end

-- Its user's settings over its own defaults.
local function settle_args(args, given, problems)
  local settled = {}
  for name, value in pairs(args or {}) do settled[name] = value end
  for name, value in pairs(given or {}) do
    local known <const> = settled[name]
    if known == nil then
      problems:add("args", ("'%s' is not one of this policy's"):format(name))
    elseif type(known) == "number" then
      settled[name] = tonumber(value)
      if settled[name] == nil then
        problems:add("args." .. name, ("needs a number, not '%s'"):format(value))
      end
    else
      settled[name] = value
    end
  end
  return settled
end

local function has_calls(value)
  if type(value) == "function" then return true end
  if type(value) ~= "table" then return false end
  for _, part in pairs(value) do
    if has_calls(part) then return true end
  end
  return false
end

local function check_parts(data, problems)
  local fields <const> = check.fields(policy.fields, data, "policy", problems)
  if type(data) ~= "table" then return fields end
  local checked <const> = { summary = fields.summary, description = fields.description,
    metrics = fields.metrics or {}, per = fields.per,
    interval = fields.interval or SECOND, calls = has_calls(data.trigger) }
  checked.targets = targets.check(fields.targets, "targets", problems)
  if data.trigger ~= nil then
    checked.trigger = trigger.check(data.trigger, "trigger", problems, checked)
  end
  checked.actions = action.check_all(fields.actions, "actions", problems)
  checked.limits = limits.check(fields.limits, "limits", problems)
  return checked
end

local function trusted_chunk(source, name)
  local chunk <const>, message <const> = load(source, "=" .. name, "t")
  if chunk == nil then return nil, message end
  local done <const>, data <const> = errors.pcall(chunk)
  if not done then return nil, tostring(data) end
  return data
end

-- "%{cpu}" in any text of a policy is the argument of that name: alone it is
-- the argument itself, with its type. Other names stay, for actions.
local function fill_in(value, args)
  if type(value) == "table" then
    local filled = {}
    for key, part in pairs(value) do filled[key] = fill_in(part, args) end
    return filled
  end
  if type(value) ~= "string" then return value end
  local alone <const> = value:match "^%%{([%w_]+)}$"
  if alone and args[alone] ~= nil then return args[alone] end
  return (value:gsub("%%{([%w_]+)}", function(name)
    return args[name] ~= nil and tostring(args[name]) or nil
  end))
end

local function run(source, name, opts)
  if opts.trust then return trusted_chunk(source, name) end
  local sandbox <const> = core.sandbox()
  local data, message = sandbox:load(source, "=" .. name)
  if data == nil then return nil, message, sandbox end
  return data, nil, sandbox
end

local Policy <const> = {}
Policy.__index = Policy
Policy.__name = "sonde.Policy"

function Policy:__tostring()
  return ("policy %s: %s"):format(self.name, self.summary)
end

--- What the policy would do, in plain words.
-- @treturn string lines
function Policy:explain()
  return table.concat(require("sonde.policy.explain").lines(self), "\n")
end

--- Which processes it is about now.
-- @tparam ?{table,...} processes as of `sonde.targets{ all = true }`
-- @treturn Rows `pid name fits why`
function Policy:matches(processes)
  processes = processes or require("sonde.targets").list { all = true }
  local list = {}
  for i, match in ipairs(require("sonde.policy.explain").matches(self, processes)) do
    list[i] = { pid = match.row.pid, name = match.row.name, fits = match.fits, why = match.why }
  end
  return rows_of(list)
end

--- When it would have fired on a recording, and why not otherwise.
-- @tparam string|{string,...} recording path of a timeline, a trace or a store of
--   captures; or the lines of a timeline
-- @treturn ?Rows all decisions: `time_s pid start name fired reason cost`
-- @treturn ?string message
-- @treturn ?string code
function Policy:test(recording)
  local firings <const>, decisions <const>, code <const> = policy.try(self, recording)
  if firings == nil then return nil, decisions, code end
  return rows_of(decisions)
end

--- Makes a policy of a source text.
-- @tparam string source
-- @tparam string name for messages
-- @tparam ?table opts `trust` (its code may use os, io, require), `args` (its
--   user's settings, by name)
-- @treturn ?table the policy: `name summary targets trigger actions limits
--   interval args`
-- @treturn ?string message: the first problem
-- @treturn ?string code `malformed`
-- @treturn ?{string,...} all problems, each with file and line where known
function policy.compile(source, name, opts)
  opts = opts or {}
  local data, message, sandbox = run(source, name, opts)
  if data == nil then
    message = message or name .. ": returns nothing; it must return a table"
    return nil, message, "malformed", { message }
  end
  local problems <const> = check.problems()
  if type(data) == "table" and data.trust and not opts.trust then
    problems:add("trust", "needs its user's consent: --trust", "trust")
  end
  local checked
  if type(data) == "table" then
    local args <const> = settle_args(data.args, opts.args, problems)
    checked = check_parts(fill_in(data, args), problems)
    checked.args = args
  else
    problems:add("policy", ("must be a table, not a %s"):format(type(data)))
  end
  if #problems.list > 0 then
    local list <const> = describe(problems, source, name)
    return nil, list[1], "malformed", list
  end
  checked.name, checked.sandbox, checked.source = name, sandbox, source
  return setmetatable(checked, Policy)
end

-- The file that a word means: a path, a user's own policy or a shipped one.
local function find_path(word, getenv)
  if word:find("/", 1, true) or word:find("%.lua$") then return word end
  local own <const> = settings.lua_file("policies", word, getenv)
  if own then return own end
  for _, name in ipairs(policy.NAMES) do
    if name == word then return package.searchpath("sonde.policies." .. word, package.path) end
  end
end

--- Loads a policy.
-- @tparam string word a path, or a name: of a file in the folder of the user's
--   own policies, or of one that comes with sonde
-- @tparam ?table opts see `policy.compile`; also `getenv`
-- @treturn ?table the policy, also with `path`
-- @treturn ?string message
-- @treturn ?string code `not_found` or `malformed`
-- @treturn ?{string,...} all problems
function policy.load(word, opts)
  opts = opts or {}
  local path <const> = find_path(word, opts.getenv)
  if path == nil then
    local near <const> = options.suggest(word, policy.NAMES)
    return nil, ("no policy is called '%s'%s"):format(word,
      near and (" (did you mean '%s'?)"):format(near) or ""), "not_found"
  end
  local source, message, code = files.read(path, MAX_SOURCE)
  if source == nil then return nil, message, code, { message } end
  local loaded, why, kind, list = policy.compile(source, path:match "([^/]+)$", opts)
  if loaded == nil then return nil, why, kind, list end
  loaded.path, loaded.name = path, path:match("([^/]+)%.lua$") or path:match "([^/]+)$"
  return loaded
end

--- Tries a policy on a recording: for specs of your own.
--
--    local firings = assert(require("sonde.policy").try("busy.lua", "day.csv"))
--    assert(#firings == 1 and firings[1].time_s == 41)
--
-- @tparam string|table one a path or a name, as of `policy.load`, or a policy
-- @tparam string|{string,...} recording path of a timeline, a trace or a store of
--   captures; or the lines of a timeline
-- @tparam ?table opts see `policy.load`
-- @treturn ?{table,...} firings: `policy time_s pid start name fired reason cost`
-- @treturn string|{table,...} all decisions, also those not to fire; or message
-- @treturn ?string code
function policy.try(one, recording, opts)
  local loaded, message, code = one, nil, nil
  if type(one) == "string" then loaded, message, code = policy.load(one, opts) end
  if loaded == nil then return nil, message, code end
  local firings, decisions = {}, {}
  local function tell(decision)
    decisions[#decisions + 1] = decision
    if decision.fired then firings[#firings + 1] = decision end
  end
  local replay <const> = require "sonde.policy.replay"
  if type(recording) == "table" then
    local i = 0
    replay.run({ loaded }, function()
      i = i + 1
      return recording[i]
    end, "timeline", tell)
    return firings, decisions
  end
  local done, why, reason = replay.open({ loaded }, recording, tell)
  if done == nil then return nil, why, reason end
  return firings, decisions
end

--- The policies that can be named, the user's own last.
-- @tparam ?table opts `getenv`
-- @treturn Rows `name summary path problem`
function policy.list(opts)
  local getenv <const> = opts and opts.getenv
  local list, seen = {}, {}
  local own <const> = settings.lua_names(settings.path("policies", getenv))
  for _, names in ipairs { policy.NAMES, own } do
    for _, name in ipairs(names) do
      if not seen[name] then
        local loaded <const>, message <const> = policy.load(name, { getenv = getenv })
        list[#list + 1] = { name = name, summary = loaded and loaded.summary,
          path = find_path(name, getenv), problem = message }
      end
      seen[name] = true
    end
  end
  return rows_of(list)
end

return policy
