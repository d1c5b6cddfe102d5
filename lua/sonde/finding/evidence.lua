--- What rules ask of an input: each question is answered once, and an answer
-- that the input cannot give is nil, so that a rule only has to look.
-- @module sonde.finding.evidence
local framework <const> = require "sonde.base.framework"
local units <const> = require "sonde.base.units"

local evidence = {}

local Evidence <const> = {}
Evidence.__index = Evidence

-- The part of the trace that was opened, as options of a command.
local function range_of(opts)
  local words = {}
  for _, name in ipairs { "from", "to" } do
    if opts[name] then words[#words + 1] = ("--%s %dns"):format(name, opts[name]) end
  end
  return table.concat(words, " ")
end

--- Begins to look at an input.
-- @param object Trace, Profile or Store
-- @tparam ?string name of the input, for commands; the trace's own otherwise
-- @treturn Evidence with `trace`, `profile` or `store`, `counts` (of a trace),
--   `duration_ns` (0 unknown), and the methods below
function evidence.new(object, name)
  local self <const> = setmetatable({ asked = {} }, Evidence)
  if type(object) == "table" and type(object.growth) == "function" then
    self.store, self.duration_ns, self.name = object, 0, name or object.name
  elseif type(object.profile) == "function" then
    self.trace, self.counts = object, object:counts()
    local counts <const> = self.counts
    self.duration_ns = counts.events > 0 and counts.last_ns - counts.first_ns or 0
    self.name = name or object.path and object.name or "FILE"
    self.range = range_of(object.opts or {})
  else
    self.profile = object
    self.duration_ns = object:info().duration_ns or 0
    self.name = name or object:notes().name or "FILE"
  end
  return self
end

-- The answer to a question, made when it is first asked.
local function once(self, key, make)
  local known = self.asked[key]
  if known == nil then
    known = { make() }
    self.asked[key] = known
  end
  return known[1]
end

-- The same of a question about a profile, which is kept alive: another one
-- must not come to lie where it lay.
local function once_of(self, profile, key, make)
  local asked = self.asked[profile]
  if asked == nil then
    asked = {}
    self.asked[profile] = asked
  end
  if asked[key] == nil then asked[key] = make() end
  return asked[key]
end

--- A view of the trace.
-- @tparam string name
-- @treturn ?Profile nil when the trace has no events for it, or is no trace
function Evidence:view(name)
  if self.trace == nil then return nil end
  return once(self, "view " .. name, function()
    return (self.trace:profile { view = name })
  end)
end

--- The rows of a profile by function.
-- @param profile
-- @tparam integer|string type
-- @treturn {table,...} each `{ name, flat, cum, frame }`
function Evidence:nodes(profile, type)
  return once_of(self, profile, "nodes " .. type, function()
    return profile:graph { type = type }.nodes
  end)
end

--- How many events of the runtime with a number the trace has.
-- @tparam integer id
-- @treturn integer
function Evidence:count_of(id)
  local counts <const> = once(self, "types", function()
    local n = {}
    for _, type in ipairs(self.trace and self.trace:types() or {}) do
      if type.provider == "Microsoft-Windows-DotNETRuntime" then
        n[type.id] = (n[type.id] or 0) + type.count
      end
    end
    return n
  end)
  return counts[id] or 0
end

--- The runtime's events with a number, read again from the file.
-- @tparam integer id
-- @treturn {table,...} each `time_ns thread payload`; empty when there are
--   none or the input cannot be read again
function Evidence:events(id)
  if self:count_of(id) == 0 then return {} end
  return once(self, "events " .. id, function()
    local opts <const> = self.trace.opts or {}
    local found <const> = self.trace:events {
      provider = "^Microsoft-Windows-DotNETRuntime$", id = id, from = opts.from, to = opts.to,
    }
    local list = {}
    if found == nil then return list end
    for event in found do
      list[#list + 1] = { time_ns = event.time_ns, thread = event.thread, payload = event.payload }
    end
    return list
  end)
end

--- How many frames of the samples have no name, or a guessed one.
-- @treturn table `frames unresolved guessed`
function Evidence:names()
  return once(self, "names", function() return self.trace:frames() end)
end

--- Are the names of functions to be believed?
-- @treturn boolean
function Evidence:has_names()
  if self.trace == nil then return true end
  local facts <const> = self:names()
  return facts.frames == 0 or facts.unresolved * 5 < facts.frames
end

local function mask_of(profile, patterns)
  local names <const> = profile:frames().name
  local known, bytes = {}, {}
  for i, name in ipairs(names) do
    local hit = known[name]
    if hit == nil then
      hit = "\0"
      for _, pattern in ipairs(patterns) do
        if name:find(pattern) then hit = "\1" end
      end
      known[name] = hit
    end
    bytes[i] = hit
  end
  return table.concat(bytes)
end

--- A mask over the frames of a profile whose name one of the patterns (of Lua)
-- finds.
-- @param profile
-- @tparam {string,...} patterns
-- @treturn string
function Evidence:mask(profile, patterns)
  return once_of(self, profile, "mask " .. table.concat(patterns, "\n"), function()
    return mask_of(profile, patterns)
  end)
end

-- Which frames of a profile are the user's own.
local function own_frames(profile)
  local frames <const> = profile:frames()
  local own = {}
  for i = 1, frames.n do
    local name <const> = frames.name[i]
    own[i] = name ~= "" and name:sub(1, 1) ~= "[" and not name:find("^%?!0x")
      and not framework.is_function(name, frames.module[i])
  end
  return own, frames.name
end

local function charge(profile, type)
  local index = type
  for i, entry in ipairs(profile:types()) do
    if entry.type == type then index = i end
  end
  local own <const>, names <const> = own_frames(profile)
  local values, list = {}, {}
  for stack, row in profile:samples() do
    for _, frame in ipairs(stack) do
      if own[frame] then
        local name <const> = names[frame]
        values[name] = (values[name] or 0) + row[index]
        break
      end
    end
  end
  for name, value in pairs(values) do list[#list + 1] = { name = name, value = value } end
  table.sort(list, function(a, b)
    if a.value ~= b.value then return a.value > b.value end
    return a.name < b.name
  end)
  return list
end

--- The user's own functions that are nearest to what a profile measures: each
-- sample is charged to its innermost frame that is no framework's.
-- @param profile
-- @tparam integer|string type
-- @treturn {table,...} each `{ name, value }`, the largest first
function Evidence:blame(profile, type)
  return once_of(self, profile, "blame " .. type, function()
    return charge(profile, type)
  end)
end

--- "by Shop.Program.Run (98%)": who is to blame for most of it; "" when nobody
-- of the user's is.
-- @param profile
-- @tparam integer|string type
-- @tparam string words before the name
-- @treturn string
-- @treturn ?string the function's name
function Evidence:blame_text(profile, type, words)
  local list <const> = self:blame(profile, type)
  local total <const> = profile:total(type, true)
  if list[1] == nil or total == 0 then return "" end
  return ("%s %s (%s)"):format(words, evidence.short(list[1].name),
    evidence.percent(list[1].value, total)), list[1].name
end

--- A name without its arguments, for a sentence.
-- @tparam string name
-- @treturn string
function evidence.short(name)
  local short <const> = name:gsub("^[^!%s(<]+!", ""):gsub("([%w_>%]])%(.*$", "%1")
  return short ~= "" and short or name
end

--- A share as text: "41%", "4.2%", "0.31%".
-- @tparam number part
-- @tparam number whole
-- @treturn string
function evidence.percent(part, whole)
  local share <const> = whole == 0 and 0 or (part + 0.0) / whole * 100
  if share >= 99.5 and part < whole then return "over 99%" end
  if share >= 10 then return ("%.0f%%"):format(share) end
  return ("%.2g%%"):format(share)
end

--- A word for the shell.
-- @tparam string word
-- @treturn string as it is when it needs no quotes
function evidence.quote(word)
  if word:find("^[%w_./:@%%+,=-]+$") then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- A command of sonde that is about the input.
-- @tparam string verb such as "report gc"
-- @tparam ?string options behind the input
-- @treturn string
function Evidence:command(verb, options)
  local words <const> = { "sonde", verb, evidence.quote(self.name) }
  words[#words + 1] = options
  if self.range and self.range ~= "" then words[#words + 1] = self.range end
  return table.concat(words, " ")
end

--- A pattern that finds a function's name and nothing else, as a word for the
-- shell.
-- @tparam string name
-- @treturn string
function evidence.pattern(name)
  local short <const> = evidence.short(name)
  return evidence.quote((short:gsub("[%^%$%(%)%[%]%.%*%+%?%{%}|\\]", "\\%0")))
end

--- Nanoseconds as text.
evidence.duration = units.duration

return evidence
