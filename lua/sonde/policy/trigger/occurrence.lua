--- Triggers of things that happen at an instant: `{ exception = "^System", count = 10,
-- within = "1m" }`. One row of `KINDS` is one kind of trigger.
-- @module sonde.policy.trigger.occurrence
local check <const> = require "sonde.policy.check"
local options <const> = require "sonde.base.options"
local pattern <const> = require "sonde.base.pattern"
local words <const> = require "sonde.policy.words"

local occurrence = {}

local COUNTED <const> = {
  { name = "count", type = "integer", default = 1, min = 1, max = 1000000,
    help = "fires when it happened so often" },
  { name = "within", type = "duration", min = 1, help = "in this time" },
}

-- Text of a timeline's cell, when a sample is not a table.
local function exception_of(value)
  return type(value) == "table" and value or { type = tostring(value) }
end

-- "2.5 /api/orders 500": seconds, path, status.
local function request_of(value)
  if type(value) == "table" then return value end
  local seconds, path, status = tostring(value):match("^(%S+)%s*(%S*)%s*(%d*)$")
  return { duration_ns = math.floor((tonumber(seconds) or 0) * 1e9), path = path,
    status = tonumber(status) }
end

-- "PROVIDER/NAME"
local function event_of(value)
  if type(value) == "table" then return value end
  local provider, name = tostring(value):match("^(.*)/([^/]*)$")
  return { provider = provider or "", name = name or tostring(value), payload = {} }
end

-- "0.25 handle_request": seconds, if measured, and the function.
local function call_of(value)
  if type(value) == "table" then return value end
  local seconds, name = tostring(value):match("^([%d.]+) (.+)$")
  return { name = name or tostring(value),
    latency_ns = seconds and math.floor((tonumber(seconds) or 0) * 1e9) or nil }
end

local function is_text_match(spec, text)
  return spec.matches == nil or spec.matches(text)
end

local function describe_pattern(noun, source)
  if source == "" then return noun end
  return ("%s matching /%s/"):format(noun, source)
end

--- The kinds. `fields` are its own, `is_match(spec, value)` judges a sample and
-- returns words for it, `noun(spec)` says what is waited for.
occurrence.KINDS = {
  {
    key = "exception", summary = "exceptions whose type matches",
    fields = { { name = "exception", type = "pattern", required = true,
      help = "what the type's name matches; \"\" is any" } },
    is_match = function(spec, value)
      local exception <const> = exception_of(value)
      return is_text_match(spec, exception.type or ""), exception.type
    end,
    noun = function(spec) return describe_pattern("an exception", spec.exception) end,
  },
  {
    key = "request", summary = "requests that a path matches and that take long or fail",
    fields = {
      { name = "request", type = "pattern", required = true,
        help = "what the path matches; \"\" is any" },
      { name = "above", type = "duration", help = "only requests that took longer" },
      { name = "status", type = "pattern", help = "only answers whose status matches" },
    },
    is_match = function(spec, value)
      local request <const> = request_of(value)
      local slow <const> = spec.above == nil or (request.duration_ns or 0) > spec.above
      local status <const> = spec.status_matches == nil
        or spec.status_matches(tostring(request.status or ""))
      return slow and status and is_text_match(spec, request.path or ""),
        ("%s, %s"):format(request.path or "", words.duration(request.duration_ns or 0))
    end,
    noun = function(spec)
      local text = describe_pattern("a request", spec.request)
      if spec.above then text = ("%s of more than %s"):format(text, words.duration(spec.above)) end
      if spec.status then text = ("%s with a status matching /%s/"):format(text, spec.status) end
      return text
    end,
  },
  {
    key = "event", summary = "events of a provider, with a condition on their payload",
    fields = {
      { name = "event", type = "pattern", required = true, help = "what PROVIDER/NAME matches" },
      { name = "provider", type = "string", many = true,
        help = "which providers to ask for it (that of the runtime)" },
      { name = "keywords", type = "integer", min = 0,
        help = "keywords of these providers; all of another than the runtime's when not given" },
      { name = "level", type = "integer", min = 0, max = 5, default = 5,
        help = "most level of an event, 5 is verbose" },
      { name = "where", type = "function", help = "is called with the payload and says whether" },
    },
    is_match = function(spec, value)
      local event <const> = event_of(value)
      local name <const> = ("%s/%s"):format(event.provider, event.name)
      if not is_text_match(spec, name) then return false end
      return spec.where == nil or spec.where(event.payload or {}) == true, name
    end,
    noun = function(spec)
      return describe_pattern("an event", spec.event)
        .. (spec.provider and " of " .. words.list(spec.provider, "or") or "")
        .. (spec.where and " whose payload its function accepts" or "")
    end,
  },
  {
    key = "probe", summary = "calls of functions, in native code and Go, that a pattern matches",
    fields = {
      { name = "probe", type = "pattern", required = true,
        help = "what the function's name matches" },
      { name = "binary", type = "path", help = "program or library; that of the process" },
      { name = "slower", type = "duration", min = 1, help = "only calls that took longer" },
    },
    is_match = function(spec, value)
      local call <const> = call_of(value)
      if not is_text_match(spec, call.name) then return false end
      if spec.slower == nil then return true, call.name end
      return call.latency_ns ~= nil and call.latency_ns > spec.slower,
        ("%s, %s"):format(call.name, words.duration(call.latency_ns or 0))
    end,
    noun = function(spec)
      local noun <const> = describe_pattern("a call of a function", spec.probe)
      return spec.slower and ("%s that takes more than %s"):format(noun,
        words.duration(spec.slower)) or noun
    end,
  },
  {
    key = "log", summary = "lines of a log file that match",
    fields = {
      { name = "log", type = "pattern", required = true, help = "what the line matches" },
      { name = "path", type = "string", help = "the file; %{pid} and %{name} are replaced" },
    },
    is_match = function(spec, value)
      return is_text_match(spec, tostring(value)), tostring(value)
    end,
    noun = function(spec)
      return describe_pattern("a line", spec.log) .. (spec.path and " in " .. spec.path or "")
    end,
  },
  {
    key = "exit", summary = "the target ends",
    fields = { { name = "exit", type = "string", required = true,
      help = "any, failure, or a status such as 139" } },
    is_match = function(spec, value)
      local code <const> = tostring(value)
      local failed <const> = code ~= "0" and code ~= "unknown"
      return spec.exit == "any" or spec.exit == code or spec.exit == "failure" and failed,
        "status " .. code
    end,
    noun = function(spec)
      if spec.exit == "any" then return "the end of the target" end
      if spec.exit == "failure" then return "the end of the target with a status that is not 0" end
      return "the end of the target with status " .. spec.exit
    end,
  },
  {
    key = "start", summary = "a target starts",
    fields = { { name = "start", type = "boolean", required = true, help = "true" } },
    is_match = function() return true, "started" end,
    noun = function() return "the start of a target" end,
  },
  {
    key = "file", summary = "a file appears or changes",
    fields = { { name = "file", type = "path", required = true, help = "its path" } },
    is_match = function(spec, value) return tostring(value) == spec.file, tostring(value) end,
    noun = function(spec) return "a change of " .. spec.file end,
  },
  {
    key = "signal", summary = "sonde gets a signal",
    fields = { { name = "signal", type = "string", required = true,
      choices = { "SIGUSR1", "SIGUSR2" }, help = "its name" } },
    is_match = function(spec, value) return tostring(value) == spec.signal, tostring(value) end,
    noun = function(spec) return "the signal " .. spec.signal end,
  },
}

local function check_kind(kind, given, where, problems)
  local spec <const> = check.fields(options.join(kind.fields, COUNTED), given, where, problems)
  spec.kind = kind
  local source <const> = spec[kind.key]
  local is_pattern <const> = kind.fields[1].type == "pattern"
  if is_pattern and type(source) == "string" and source ~= "" then
    spec.matches = pattern.matcher(source, where)
  end
  if type(spec.status) == "string" then
    spec.status_matches = pattern.matcher(spec.status, where)
  end
  if spec.count and spec.count > 1 and spec.within == nil then
    problems:add(where, "needs 'within', the time in which it happens so often")
  end
  return spec
end

local function explain(spec)
  local noun <const> = spec.kind.noun(spec)
  if spec.count == 1 then return noun end
  return ("%s, %d times within %s"):format(noun, spec.count, words.duration(spec.within))
end

local Instance <const> = {}
Instance.__index = Instance

local function new(spec)
  return setmetatable({ spec = spec, channels = { spec.kind.key }, times = {}, first = 1,
    last = 0, seen = 0 }, Instance)
end

--- Takes a sample: something that happened.
-- @tparam integer time
-- @param value
-- @treturn ?string "fires"
-- @treturn ?string why
function Instance:feed(time, value)
  local spec <const> = self.spec
  local is_match <const>, what <const> = spec.kind.is_match(spec, value)
  if not is_match then return nil end
  self.seen = self.seen + 1
  self.last = self.last + 1
  self.times[self.last] = time
  local oldest <const> = spec.within and time - spec.within or time
  while self.times[self.first] < oldest or self.last - self.first >= spec.count do
    self.times[self.first] = nil
    self.first = self.first + 1
  end
  if self.last - self.first + 1 < spec.count then return nil end
  if spec.count == 1 then return "fires", ("%s: %s"):format(spec.kind.key, what) end
  return "fires", ("%s: %d times within %s, the last %s"):format(spec.kind.key, spec.count,
    words.duration(time - self.times[self.first]), what)
end

--- It fired: the count begins anew.
function Instance:fired()
  self.times, self.first, self.last = {}, 1, 0
end

--- How near it is.
-- @treturn string
function Instance:state()
  if self.seen == 0 then return "it did not see " .. self.spec.kind.noun(self.spec) end
  return ("%s: %d of %d"):format(self.spec.kind.key, self.last - self.first + 1, self.spec.count)
end

--- The triggers, one for each kind.
-- @treturn {table,...}
function occurrence.triggers()
  local list = {}
  for i, kind in ipairs(occurrence.KINDS) do
    list[i] = {
      key = kind.key, summary = kind.summary, fields = options.join(kind.fields, COUNTED),
      check = function(given, where, problems) return check_kind(kind, given, where, problems) end,
      explain = explain, new = new,
    }
  end
  return list
end

return occurrence
