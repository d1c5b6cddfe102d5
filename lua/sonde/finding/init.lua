--- Findings: what an expert would point out, each with its figure and the
-- command that shows more.
--
--    for _, finding in ipairs(require("sonde.finding").all(trace)) do
--      print(finding.severity, finding.title, finding.figure.text)
--    end
--
-- A rule is a file of `sonde.finding.rules`, or the user's own under
-- `$XDG_CONFIG_HOME/sonde/findings/`, that returns a table: `name`, `summary`,
-- and `look(evidence)`, which returns nothing, a finding, or a list of them.
-- docs/findings.md tells how to write one.
-- @module sonde.finding
local errors <const> = require "sonde.base.errors"
local rows_of <const> = require("sonde.base.rows").of
local settings <const> = require "sonde.base.settings"
local evidence <const> = require "sonde.finding.evidence"

local finding = {}

--- The names of the shipped rules, in the order in which equal findings are
-- shown: first what says how far the rest can be trusted.
finding.shipped = {
  "truncated", "lost", "rundown", "sampler",
  "starvation", "sync_over_async", "locks", "gc_pauses", "induced_gc", "large_objects",
  "exceptions", "jit_start", "hot", "go_gc", "goroutine_growth",
}

local SEVERITIES <const> = { high = 1, medium = 2, low = 3 }
local CERTAINTIES <const> = { certain = true, likely = true, hint = true }

local function check_rule(rule, path)
  if type(rule) ~= "table" or type(rule.name) ~= "string" or type(rule.look) ~= "function" then
    return nil, path .. ": a rule is a table with `name` and `look`"
  end
  return rule
end

local function load_own(path)
  local chunk, message = loadfile(path, "t")
  if chunk == nil then return nil, message end
  local ok, rule = errors.pcall(chunk)
  if not ok then return nil, tostring(rule) end
  return check_rule(rule, path)
end

--- All rules: the shipped ones, and the user's, of which one with the name of
-- a shipped rule takes its place.
-- @tparam ?string directory of the user's rules
-- @treturn {table,...}
-- @treturn {string,...} why a file of the user's is no rule
function finding.rules(directory)
  local list, at, problems = {}, {}, {}
  for i, name in ipairs(finding.shipped) do
    list[i] = require("sonde.finding.rules." .. name)
    at[name] = i
  end
  for _, name in ipairs(settings.lua_names(directory)) do
    local rule, message = load_own(("%s/%s.lua"):format(directory, name))
    if rule then
      local i <const> = at[rule.name] or #list + 1
      list[i], at[rule.name] = rule, i
    else
      problems[#problems + 1] = message
    end
  end
  return list, problems
end

-- A finding as everybody may rely on it; raises where a rule forgot something.
local function complete(row, rule, ev)
  local function need(name, kind)
    if type(row[name]) ~= kind then error(("a finding needs `%s` (%s)"):format(name, kind), 0) end
  end
  need("title", "string")
  need("figure", "table")
  if type(row.figure.text) ~= "string" then error("a finding's figure needs `text`", 0) end
  if SEVERITIES[row.severity] == nil then
    error("a finding's severity is high, medium or low", 0)
  end
  if not CERTAINTIES[row.certainty] then
    error("a finding's certainty is certain, likely or hint", 0)
  end
  row.name, row.detail = rule.name, row.detail or ""
  row.command = row.command or ev:command("inspect")
  return row
end

local function look(rule, ev, list)
  local ok, message = errors.pcall(function()
    local found = rule.look(ev)
    if found == nil then return end
    if found.title ~= nil then found = { found } end
    for _, row in ipairs(found) do list[#list + 1] = complete(row, rule, ev) end
  end)
  if ok then return nil end
  return ("rule '%s': %s"):format(rule.name, tostring(message))
end

-- The gravest first; equals stay in the order of the rules.
local function sort(list)
  local place = {}
  for i, row in ipairs(list) do place[row] = i end
  table.sort(list, function(a, b)
    local x <const>, y <const> = SEVERITIES[a.severity], SEVERITIES[b.severity]
    if x ~= y then return x < y end
    return place[a] < place[b]
  end)
end

--- What is to be said about an input, the gravest first.
-- @param object Trace, Profile or Store of captures
-- @tparam ?table opts `name` (of the input, for commands), `directory` (of the
--   user's rules; false for none)
-- @treturn Rows each `name` (of the rule), `title`, `severity` (high,
--   medium, low), `certainty` (certain, likely, hint), `figure` (`value`, `unit`,
--   `text`), `detail`, `command`, and perhaps `view` and `focus` (the view of the
--   trace and the function that show it)
-- @treturn {string,...} rules that failed, in words
function finding.all(object, opts)
  opts = opts or {}
  local directory = opts.directory
  if directory == nil then directory = settings.path "findings" end
  local rules <const>, problems <const> = finding.rules(directory or nil)
  local ev <const> = evidence.new(object, opts.name)
  local list = {}
  for _, rule in ipairs(rules) do
    local problem <const> = look(rule, ev, list)
    if problem then problems[#problems + 1] = problem end
  end
  sort(list)
  return rows_of(list), problems
end

return finding
