--- `sonde events -p PID`: what a running process tells, as it comes.
-- @module sonde.cmd.events_live
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"

local MS <const>, SECOND <const> = 1000000, 1000000000
local FOREVER <const> = 10 * 365 * 24 * 3600 * SECOND
local SIGNALS <const> = { 2, 15, 1 }

-- After this long without any event it is said that none has come.
local PATIENCE <const> = 5 * SECOND

local ALL_KEYWORDS <const> = -1

-- Of the runtime, all would include a walk of the whole heap: these are what
-- dotnet-trace takes for its events in general.
local OF_RUNTIME <const> = { keywords = 0x14c14fccbd, level = 4 }

local FILTERS <const> = { "name", "id", "thread", "n", "stacks" }

local declared <const> = {
  { name = "provider", type = "string", many = true, argname = "SPEC",
    help = "whose events, NAME[:KEYWORDS[:LEVEL[:KEY=VALUE;…]]], all that do no harm when it is"
      .. " only a name; may be repeated" },
  { name = "duration", type = "duration", min = 1, help = "end after this time" },
  { name = "buffer", type = "size", default = 64 << 20, default_text = "64MiB", min = 1 << 20,
    help = "memory that the process may use for events that wait" },
  common.json,
}

-- A name alone means everything that the provider has and that does no harm.
local function complete(provider)
  if provider.name == require("sonde.dotnet").PROVIDER_RUNTIME then
    provider.keywords, provider.level = OF_RUNTIME.keywords, OF_RUNTIME.level
  else
    provider.keywords = ALL_KEYWORDS
  end
end

local function providers_of(args)
  local list = {}
  for i, spec in ipairs(args.provider or {}) do
    local provider, why = require("sonde.dotnet.providers").parse(spec)
    if provider == nil then errors.usage("--provider: " .. why, "sonde help events") end
    if not spec:find(":", 1, true) then complete(provider) end
    list[i] = provider
  end
  if #list == 0 then
    errors.usage("whose events? name a provider",
      "--provider Microsoft-Windows-DotNETRuntime:exception:2")
  end
  return list
end

-- The stream has events of its own, too, which nobody asked for.
local function exactly(list)
  local names = {}
  for i, provider in ipairs(list) do names[i] = "\\Q" .. provider.name .. "\\E" end
  return "^(?:" .. table.concat(names, "|") .. ")$"
end

local Watch <const> = {}
Watch.__index = Watch

local SCHEMA <const> = '{"schema":1,'   -- what the first line begins with

-- Lines in order of time: those of several threads come one after the other.
local function sorted(lines)
  local list, is_sorted, last = {}, true, math.mininteger
  for line in lines:gmatch("[^\n]+\n") do
    local time <const> = math.tointeger(tonumber(line:match '"time_ns":(%-?%d+)'))
    list[#list + 1] = { time = time, line = line, at = #list }
    is_sorted, last = is_sorted and time >= last, time
  end
  if is_sorted then return lines end
  table.sort(list, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return a.at < b.at
  end)
  for i, row in ipairs(list) do list[i] = row.line end
  local text, marks = table.concat(list):gsub(SCHEMA, "{")
  return marks > 0 and text:gsub("^{", SCHEMA) or text
end

-- Writes what is ready. A reader of ours that went away ends the watch.
local function pass_on(self)
  local lines = self.reader:take_json()
  if lines == "" or self.failed then return end
  lines = sorted(lines)
  local done, what = pcall(function()
    self.env.out:write(self.args.json and lines or self.reader:text(lines))
    self.env.out:flush()
  end)
  if not done then self.failed, self.over = { what }, true end
end

local function feed(self, bytes)
  local taken, message, code = self.reader:feed(bytes)
  pass_on(self)
  if not taken then self.problem, self.over = { message, code }, true end
  if self.args.n and self.reader:counts().matched >= self.args.n then self.over = true end
end

local function start(target, args, env)
  local events <const> = require "sonde.dotnet.events"
  local opts = {}
  for _, name in ipairs(FILTERS) do opts[name] = args[name] end
  local list <const> = providers_of(args)
  opts.provider = exactly(list)
  local self <const> = setmetatable({ target = target, args = args, env = env,
    reader = events.json_reader(opts) }, Watch)
  self.session = common.check(target:trace {
    providers = list, rundown = false, decode = false, max_bytes = 1 << 50,
    buffer_mb = args.buffer >> 20, stackwalk = args.stacks or nil,
    on_bytes = function(bytes)
      if not self.over then feed(self, bytes) end
    end,
  })
  return self
end

local function names_of(args)
  local list = {}
  for i, spec in ipairs(args.provider) do list[i] = spec:match("^[^:]*") end
  return table.concat(list, ", ")
end

-- Waits until there is a reason to end.
function Watch:run()
  local loop <const> = require "sonde.base.loop"
  local began <const>, limit <const> = loop.now(), loop.after(self.args.duration or FOREVER)
  local told = false
  while not self.over and loop.now() < limit do
    if self.session:wait { timeout = math.max(0, math.min(100 * MS, limit - loop.now())) } then
      return true
    end
    if not told and self.reader:counts().matched == 0 and loop.now() - began > PATIENCE then
      self.env:say(("no event has come from %s: a name that this process does not have, or"
        .. " nothing happens"):format(names_of(self.args)))
      told = true
    end
  end
  return false
end

-- What the reader still holds, and what went wrong.
function Watch:finish(ended)
  local stopped, message, code, hint = self.session:stop { timeout = "10s" }
  if not self.problem and not self.failed then
    self.reader:finish()
    pass_on(self)
  end
  if self.failed then error(self.failed[1], 0) end
  local counts <const> = self.reader:counts()
  if self.problem then
    self.env:warn(table.unpack(self.problem))
  elseif ended then
    self.env:say(("process %s (%s) has ended"):format(self.target.pid or "?", self.target.name))
  elseif not stopped then
    self.env:warn(message, code, hint)
  end
  if counts.lost > 0 then
    self.env:warn(("%d events were lost: the process made them faster than they were taken"):format(
      counts.lost), "truncated", "--buffer 256MiB")
  end
  return counts.matched > 0 and errors.exit.done or errors.exit.empty
end

return common.verb {
  name = "events",
  path = "events",
  summary = "the events of a running process, as they come",
  arguments = { live.target_argument },
  options = function()
    return options.join(live.target_options, declared,
      options.select(require("sonde.dotnet.events").options, FILTERS))
  end,
  examples = {
    "sonde events -p Api --provider MyCompany-Orders",
    "sonde events -p 4242 --provider Microsoft-Windows-DotNETRuntime:exception:2 --json",
    "sonde events -p Api --provider System.Net.Http --name Request -n 10",
  },
  run = function(args, env)
    local target <const> = live.target(args)
    local watch <const> = start(target, args, env)
    local release <const> = require("sonde.base.loop").on_signals(SIGNALS,
      function() watch.over = true end)
    local _ <close> = setmetatable({}, { __close = release })
    local ended <const> = watch:run()
    return watch:finish(ended)
  end,
}
