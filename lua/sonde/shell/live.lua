--- Running processes in the shell: `target "Api"` is a target of the library that
-- the verbs can be called on.
--
--    t = target "Api"
--    use t:record{ duration = "10s" }
--    t:top()
--    t:counters():where{ name = "gc" }
-- @module sonde.shell.live
local errors <const> = require "sonde.base.errors"
local rows_of <const> = require("sonde.base.rows").of
local verbs <const> = require "sonde.shell.verbs"

local live = {}

local Live <const> = {}

-- What is no verb is the library's: info, dump, trace, environment, profile, …
function Live:__index(name)
  local own <const> = Live[name]
  if own ~= nil then return own end
  local theirs <const> = self.target[name]
  if type(theirs) ~= "function" then return theirs end
  return function(receiver, ...)
    return theirs(receiver == self and self.target or receiver, ...)
  end
end

Live.__name = "sonde.live"

-- For completion: what the target has, and the verbs.
function Live.__members(self)
  local all = {}
  for _, class in ipairs { getmetatable(self.target).__index, Live } do
    for name, value in pairs(class) do all[name] = value end
  end
  return all
end

function Live:__tostring()
  return tostring(self.target)
end

local SUFFIX <const> = { go = ".pb.gz" }

local function default_output(target)
  local path <const> = require("sonde.cmd.record_run").default_output(target.name)
  local suffix <const> = SUFFIX[target.runtime]
  return suffix and path:gsub("%.nettrace$", suffix) or path
end

local function names_it(target)
  if target.pid then return { "-p", tostring(target.pid) } end
  return { "--socket", target.endpoint.path }
end

local function run(self, verb, opts)
  local words <const> = table.move(names_it(self.target), 1, 2, 2, { verb })
  return verbs.run(self.env, verbs.words(words, opts))
end

--- Records the process: `sonde record`. Ctrl-C ends the recording, and all of it
-- is there.
-- @tparam ?table opts the verb's options: `duration profile provider output …`
-- @return Trace or Profile of the file
-- @treturn ?string message
-- @treturn ?string code
function Live:record(opts)
  local given = {}
  for name, value in pairs(opts or {}) do given[name] = value end
  given.output = given.output or default_output(self.target)
  run(self, "record", given)
  return require("sonde").open(given.output)
end

--- What the process does, as it changes: `sonde top`. The key q, and Ctrl-C, end it.
-- @tparam ?table opts the verb's options: `view interval by once …`
function Live:top(opts)
  run(self, "top", opts)
end

--- The counters of the process and their values now. `sonde counters PID` shows
-- them as they change.
-- @tparam ?table opts `provider meter interval`
-- @treturn ?Rows `provider name value rate unit kind tags`; they print as the verb
--   prints them
-- @treturn ?string message
-- @treturn ?string code
function Live:counters(opts)
  if self.target.counters == nil then
    return nil, ("process %d (%s) has no counters: it is no .NET program"):format(self.target.pid,
      self.target.name), "unavailable", "sonde dump " .. self.target.pid
  end
  local counters <const>, message <const>, code <const>, hint <const> =
    self.target:counters(opts)
  if counters == nil then return nil, message, code, hint end
  local _ <close> = setmetatable({}, { __close = function() counters:stop { timeout = "10s" } end })
  local list <const>, why <const>, reason <const> = counters:read()
  if list == nil then return nil, why, reason end
  local plain = {}
  for i, row in ipairs(list) do
    plain[i] = { provider = row.provider, name = row.name, value = row.value, rate = row.rate,
      unit = row.unit, kind = row.kind, tags = row.tag_text }
  end
  return rows_of(plain, function()
    return table.concat(require("sonde.cmd.counters_table").lines(list), "\n")
  end)
end

--- A running process.
-- @tparam integer|string|table what pid, name, `{ socket = path }`, or a row of
--   `targets()`
-- @tparam ?table env of `sonde.cli`, for what the verbs print
-- @treturn table; a failure is raised
function live.target(what, env)
  if what == nil then errors.usage("which process?", "targets()") end
  if type(what) == "table" and what.pid then what = what.pid end
  local target, message, code, hint = require("sonde").target(what)
  if target == nil then errors.raise { message = message, code = code, hint = hint } end
  return setmetatable({ target = target, env = env }, Live)
end

--- The processes that can be looked into: `sonde ps`.
-- @tparam ?table opts `all`
-- @treturn Rows as of `sonde.targets`; they print as the verb prints them
function live.targets(opts)
  local list <const> = require("sonde").targets(opts)
  return rows_of(list, function()
    if #list == 0 then return "no .NET or Go process is running here" end
    return table.concat(require("sonde.cmd.ps").table_lines(list), "\n")
  end)
end

return live
