--- Redaction: what may be shown to others. Names, paths, labels, command lines
-- and texts that do not belong to a framework get pseudonyms; the shape of
-- everything stays.
--
--    local redactor = require("sonde.redact").new { key = "for the ticket" }
--    local shown = redactor:profile(profile)
--    assert(shown:write("shared.pb.gz"))
--
-- An object is redacted before it is written, so every form of it is. What was
-- written can be checked: `redactor:check(bytes, form)`.
-- @module sonde.redact
local core <const> = require "sonde.c.core"
local names <const> = require "sonde.redact.name"
local paths <const> = require "sonde.redact.path"
local siphash <const> = require "sonde.redact.siphash"
local vocabulary <const> = require "sonde.redact.vocabulary"
local words <const> = require "sonde.redact.words"

local redact = {}

local Redactor <const> = {}
Redactor.__index = Redactor
Redactor.__name = "sonde.redact"

local Rules <const> = {}
Rules.__index = Rules

-- Does the user want it to stay?
function Rules:is_allowed(text)
  for _, pattern in ipairs(self.allow) do
    if pattern:find(text) then return true end
  end
  return false
end

-- Has it a word that must not be shown?
function Rules:is_forbidden(text)
  local lower <const> = text:lower()
  for _, word in ipairs(self.forbid) do
    if lower:find(word, 1, true) then return true end
  end
  return false
end

-- Words as a list, or as one text with commas between them.
local function words_of(given)
  if type(given) ~= "string" then return given or {} end
  local list = {}
  for word in given:gmatch "[^,]+" do list[#list + 1] = word end
  return list
end

local function rules_of(opts)
  local rules <const> = setmetatable({ allow = {}, forbid = {},
    patterns = opts.allow or {} }, Rules)
  local rex <const> = #(opts.allow or {}) > 0 and require "rex_pcre2"
  for i, pattern in ipairs(opts.allow or {}) do rules.allow[i] = rex.new(pattern) end
  for _, word in ipairs(words_of(opts.forbid)) do
    if word ~= "" then rules.forbid[#rules.forbid + 1] = word:lower() end
  end
  return rules
end

--- Begins. One redactor gives one name one pseudonym, over all objects.
-- @tparam ?table opts `key` (text; random otherwise), `allow` (list of regular
--   expressions: names that stay beside the framework's), `forbid` (list of
--   words that must not be left, or one text with commas between them)
-- @treturn Redactor
function redact.new(opts)
  opts = opts or {}
  local k0, k1
  if opts.key then
    k0, k1 = siphash.key_of(opts.key)
  else
    k0, k1 = siphash.random_key()
  end
  local all <const>, rules <const> = words.new(k0, k1), rules_of(opts)
  return setmetatable({
    words = all, rules = rules, names = names.new(all, rules), paths = paths.new(all, rules),
    people = {}, memo = {},
  }, Redactor)
end

-- What a role makes of a text, made once.
local function once(self, role, text, context, make)
  local key <const> = ("%s\0%s\0%s"):format(role, context or "", text)
  local known = self.memo[key]
  if known == nil then
    known = make()
    self.memo[key] = known
  end
  return known
end

-- What stands in the place of a name: ours, or the file of a mapping.
local STAND_INS <const> = {
  "^%[unknown 0x%x+%]$", "^%[native%]$", "^%[stack cut at %d+ frames%]$", "^%[no stack%]$",
  "^<unknown>$", "^%?!0x%x+$", "^%?!%?$",
}

local function stand_in(self, text)
  for _, pattern in ipairs(STAND_INS) do
    if text:find(pattern) then return text end
  end
  local front <const>, file <const> = text:match("^(%[n?a?t?i?v?e? ?)([^%[%]]+)%]$")
  return file and front .. self:path(file) .. "]"
end

--- Redacts the name of a function.
-- @tparam string text
-- @tparam ?string module whose it is
-- @treturn string
function Redactor:name(text, module)
  return once(self, "name", text, module or "", function()
    return stand_in(self, text) or self.names:redact(text, module or "")
  end)
end

--- Redacts the name of a method that comes in two parts.
-- @tparam string space its class with its namespace; may be ""
-- @tparam string name
-- @tparam ?string module
-- @treturn string the class
-- @treturn string the name
function Redactor:method(space, name, module)
  if space == "" then return "", self:name(name, module) end
  local class <const> = once(self, "class", space, module, function()
    local text, stays = self.names:redact(space, module or "")
    return { text = text, stays = stays }
  end)
  if name:find("^%.?[%a_][%w_]*$") then
    return class.text, class.stays and self.words:keep_all(name) or self.words:replace_all(name)
  end
  -- The name is what is left behind the class, since both are redacted word by
  -- word.
  local whole <const> = self.names:redact(space .. "." .. name, module or "")
  return class.text, whole:sub(#class.text + 2)
end

--- Redacts the name of a type.
-- @tparam string text
-- @treturn string
function Redactor:type_name(text)
  return once(self, "type", text, nil, function() return self.names:redact(text) end)
end

-- Whose home directory it is.
local function note_people(self, text)
  for _, pattern in ipairs { "/home/([^/]+)", "/Users/([^/]+)", "\\Users\\([^\\]+)" } do
    for person in text:gmatch(pattern) do self.people[person:lower()] = true end
  end
end

--- Redacts a path.
-- @tparam string text
-- @treturn string
function Redactor:path(text)
  return once(self, "path", text, nil, function()
    note_people(self, text)
    return self.paths:redact(text)
  end)
end

--- Redacts a command line.
-- @tparam string text
-- @treturn string
function Redactor:command(text)
  note_people(self, text)
  return self.paths:command(text)
end

--- Redacts the full name of an assembly.
-- @tparam string text
-- @treturn string
function Redactor:assembly(text)
  return self.paths:assembly(text)
end

--- Redacts a text that may say anything: one pseudonym for all of it.
-- @tparam string text
-- @treturn string
function Redactor:text(text)
  return self.words:text(text)
end

--- Redacts the name of a provider of events, or of one of its events.
-- @tparam string text
-- @tparam ?string provider whose event it is
-- @treturn string
function Redactor:provider(text, provider)
  if redact.is_known_provider(provider or text) and not self.rules:is_forbidden(text) then
    return self.words:keep_all(text)
  end
  return self.words:replace_all(text)
end

--- Is it a provider of a framework, whose names of events and fields stay?
-- @tparam string name
-- @treturn boolean
function redact.is_known_provider(name)
  return name:find("^Microsoft[%-.]") ~= nil or name:find("^System%.") ~= nil
    or name:find("^Universal%.") ~= nil
end

--- Redacts the name of a thread or a process: word by word.
-- @tparam string text
-- @treturn string
function Redactor:thread(text)
  if text:find("^Thread %(%-?%d+%)$") then return text end
  if text:find("^%.NET ") and not self.rules:is_forbidden(text) then
    return self.words:keep_all(text)
  end
  return self.words:replace_all(text)
end

-- Of a word that stays: notes it and gives it back; else its pseudonym.
local function if_known(self, text, known)
  if known and not self.rules:is_forbidden(text) then return self.words:keep(text) end
  return self.words:replace_all(text)
end

--- Redacts the key of a label.
-- @tparam string key
-- @treturn string
function Redactor:label_key(key)
  return if_known(self, key, vocabulary.label_keys[key])
end

-- What values of known keys are; of others, a text that may say anything.
local LABELS <const> = {
  thread = function(self, text) return self:thread(text) end,
  process = function(self, text) return self:thread(text) end,
  type = function(self, text) return self:type_name(text) end,
  reason = function(self, text) return self.words:keep_all(text) end,
}

--- Redacts the value of a label.
-- @tparam string text
-- @tparam string key
-- @treturn string
function Redactor:label(text, key)
  local make <const> = LABELS[key]
  if make and not self.rules:is_forbidden(text) then return make(self, text) end
  if text == "true" or text == "false" then return text end
  return self.words:replace_all(text)
end

--- Redacts the numeric value of a label: those of known keys stay.
-- @tparam integer number
-- @tparam string key
-- @treturn integer
function Redactor:number(number, key)
  return vocabulary.label_keys[key] and number or self.words:number(number)
end

-- What each role of `core.rename` becomes.
local ROLES <const> = {
  ["function"] = Redactor.name, file = Redactor.path, module = Redactor.path,
  label_key = Redactor.label_key, label = Redactor.label, number = Redactor.number,
  thread = Redactor.thread, process = Redactor.thread,
  type = function(self, text) return if_known(self, text, vocabulary.sample_types[text]) end,
  unit = function(self, text) return if_known(self, text, vocabulary.sample_types[text]) end,
  build_id = function(self, text, module)
    local framework <const> = require "sonde.base.framework"
    return framework.is_module(module) and text or self.words:hex(text)
  end,
  pattern = function() return "" end,
  url = function() return "" end,
  comment = function() return "" end,
}

-- A function for `core.rename`. Comments of ours stay, those of files go.
local function renamer(self, own_comments)
  return function(role, text, context)
    if role == "comment" and own_comments then return text end
    return ROLES[role](self, text, context)
  end
end

-- Names are learned before any is redacted, so that a type's name stays or
-- goes everywhere.
local function learn(self, profile)
  local frames <const> = profile:frames()
  for i = 1, frames.n do
    if frames.system_name[i] ~= "" then self:name(frames.system_name[i], frames.module[i]) end
    self.memo[("name\0%s\0%s"):format(frames.module[i], frames.system_name[i])] = nil
  end
end

local function filters_of(notes)
  local list = {}
  for i, filter in ipairs(notes.filters) do
    list[i] = filter:match("^[%w_]+=") and filter:match("^[%w_]+=") .. "[redacted]" or filter
  end
  return list
end

--- Redacts a profile.
-- @tparam Profile profile
-- @treturn ?Profile a new one
-- @treturn ?string message
-- @treturn ?string code
function Redactor:profile(profile)
  require "sonde.profile"
  learn(self, profile)
  local notes <const> = profile:notes()
  local result, message, code = core.rename(profile, renamer(self, notes.view ~= nil))
  if result == nil then return nil, message, code end
  return result:set_notes { view = notes.view, filters = filters_of(notes), whole = notes.whole }
end

--- Redacts the samples of a trace in order.
-- @tparam Timeline timeline
-- @treturn ?Timeline a new one
-- @treturn ?string message
-- @treturn ?string code
function Redactor:timeline(timeline)
  learn(self, timeline:profile())
  return core.rename_timeline(timeline, renamer(self, true))
end

--- Redacts a trace: all that it tells from now on.
-- @tparam Trace trace
-- @treturn Trace a new one
function Redactor:trace(trace)
  return require("sonde.redact.trace").wrap(self, trace)
end

--- Redacts what was opened.
-- @param object Trace or Profile
-- @return the same kind
-- @treturn ?string message
-- @treturn ?string code
function Redactor:object(object)
  if type(object.profile) == "function" then return self:trace(object) end
  return self:profile(object)
end

--- Redacts a line of JSON that tells an event.
-- @tparam string line
-- @treturn string
function Redactor:event_line(line)
  return require("sonde.redact.events").line(self, line)
end

--- Is anything left in what was written that must not be shown?
-- @tparam string bytes
-- @tparam ?string form "pprof", "html", or anything for text
-- @treturn ?boolean true when nothing is left
-- @treturn ?string message that names a word
-- @treturn ?string code `unavailable`
function Redactor:check(bytes, form)
  return require("sonde.redact.check").check(self, bytes, form)
end

--- Checks, from now on, whatever an object of this process writes to a file by
-- `write`: when something is left in it, there is no file, and `write` gives
-- the message of `check`.
function Redactor:guard()
  require("sonde.report").guard(function(bytes, form) return self:check(bytes, form) end)
end

return redact
