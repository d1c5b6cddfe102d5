--- Events with pseudonyms. What the fields of a framework's events hold is
-- known by their names; all other texts get pseudonyms, and what could not be
-- decoded is left out, since it may hold anything.
-- @module sonde.redact.events
local json <const> = require "sonde.base.json"
local redact <const> = require "sonde.redact"

local events = {}

local function keep(r, text) return r.words:keep_all(text) end
local function type_name(r, text) return r:type_name(text) end
local function path(r, text) return r:path(text) end
local function assembly(r, text) return r:assembly(text) end

-- Fields of frameworks' events, by name.
local FIELDS <const> = {
  TypeName = type_name, ExceptionType = type_name,
  OperationName = type_name, SecondTypeName = type_name, InterfaceTypeName = type_name,
  VariantInterfaceTypeName = type_name, NativeMethodSignature = type_name,
  StubMethodSignature = type_name,
  ModulePath = path, ILImage = path, AssemblyCodebase = path,
  ComputedRequestedAssemblyPath = path,
  Chunk = function() return "" end,   -- of a file of symbols, with paths
  ModuleILPath = path, ModuleNativePath = path, ManagedPdbBuildPath = path,
  NativePdbBuildPath = path, RuntimeDllPath = path, AssemblyPath = path,
  RequestingAssemblyPath = path, FilePath = path, FileName = path,
  ResultAssemblyPath = path, AttemptedPath = path,
  FullyQualifiedAssemblyName = assembly, AssemblyName = assembly,
  ResultAssemblyName = assembly, RequestingAssembly = assembly,
  CommandLine = function(r, text) return r:command(text) end,
  OSInformation = keep, ArchInformation = keep, CounterType = keep, DisplayUnits = keep,
  Series = keep, DisplayRateTimeScale = keep, intervalStartTime = keep, intervalEndTime = keep,
}
-- Whose methods events tell of. A method's name is judged with its class, which
-- comes before it.
local SPACES <const> = {}   -- the field of the class by that of the method
for _, who in ipairs { "Method", "MethodBeingCompiled", "Inliner", "Inlinee", "Caller", "Callee",
  "ManagedInteropMethod" } do
  local space <const> = who .. "Namespace"
  SPACES[who .. "Name"] = space
  FIELDS[space] = function(r, text, scene)
    scene.spaces[space] = text
    return (r:method(text, ""))
  end
  FIELDS[who .. "Name"] = function(r, text, scene)
    local _, name = r:method(scene.spaces[space] or "", text)
    return name
  end
  FIELDS[who .. "NameSignature"], FIELDS[who .. "Signature"] = type_name, type_name
end
-- Names that are constants of the provider.
local CONSTANTS <const> = {
  ["System.Runtime"] = { Name = true, DisplayName = true },
  ["Microsoft-Windows-DotNETRuntime"] = { Name = true },
  ["Microsoft-Windows-DotNETRuntimeRundown"] = { Name = true },
}

-- Texts that say nothing: numbers, addresses, ids of nothing.
local function is_plain(text)
  return text == "" or text:find("^0x%x+$") or text:find("^[%-+]?%d+%.?%d*$") and #text < 4
    or text:find("^0+%-0+%-0+%-0+%-0+$")
end

local GUID <const> = "^%x+%-%x+%-%x+%-%x+%-%x+$"

-- `scene` is what is known of the event: its `provider`, and the classes of
-- methods that were met.
local function payload_text(r, scene, key, text)
  if is_plain(text) then return r.words:keep_all(text) end
  if text:find(GUID) and #text == 36 then return r.words:hex(text) end
  if scene.is_known then
    local constants <const> = CONSTANTS[scene.provider]
    if constants and constants[key] and not r.rules:is_forbidden(text) then
      return keep(r, text)
    end
    local make <const> = FIELDS[key]
    if make then return make(r, text, scene) end
  end
  return r:text(text)
end

local function payload_key(r, scene, key)
  if scene.is_known then return r.words:keep_all(key) end
  return r.words:replace_all(key)
end

-- "\u00e9" and its like as UTF-8.
local ESCAPES <const> = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function unescape(text)
  if not text:find("\\", 1, true) then return text end
  text = text:gsub("\\u([dD][89aAbB]%x%x)\\u([dD][c-fC-F]%x%x)", function(high, low)
    local code <const> = 0x10000 + ((tonumber(high, 16) & 0x3ff) << 10 | tonumber(low, 16) & 0x3ff)
    return utf8.char(code)
  end)
  return (text:gsub("\\(u?)(.)(%x?%x?%x?)", function(u, character, rest)
    if u == "u" and #rest == 3 then return utf8.char(tonumber(character .. rest, 16)) end
    return (ESCAPES[character] or character) .. rest
  end))
end

-- Where the string ends that begins behind `at`, its quote.
local function string_end(line, at)
  local from = at + 1
  while true do
    local quote <const> = assert(line:find('"', from, true), "a string without its end")
    local slashes <const> = #line:sub(at + 1, quote - 1):match("\\*$")
    if slashes % 2 == 0 then return quote end
    from = quote + 1
  end
end

-- Calls `key(text)` and `value(text, key)` for the strings of JSON and puts
-- what they return in their places; all else stays byte for byte. A value for
-- which `value` returns false is left out with its key.
local function rewrite(text, on_key, on_value)
  local pieces, at, last_key = {}, 1, ""
  while true do
    local open <const> = text:find('"', at, true)
    if open == nil then break end
    local close <const> = string_end(text, open)
    local content <const> = unescape(text:sub(open + 1, close - 1))
    pieces[#pieces + 1] = text:sub(at, open - 1)
    if text:sub(close + 1, close + 1) == ":" then
      last_key = content
      pieces[#pieces + 1] = json.string(on_key(content))
    else
      pieces[#pieces + 1] = json.string(on_value(content, last_key))
    end
    at = close + 1
  end
  pieces[#pieces + 1] = text:sub(at)
  return table.concat(pieces)
end

-- Bytes that could not be decoded: only their number is told.
local function drop_raw(payload)
  return (payload:gsub('"raw":"[^"]*",?', ""):gsub('"Data":"[^"]*"', '"Data":""'))
end

local HEAD <const> = { activity = true, related = true }

local function redact_head(r, head, provider)
  return rewrite(head, function(key) return r.words:keep_all(key) end, function(text, key)
    if key == "provider" then return r:provider(text) end
    if key == "name" then return r:provider(text, provider) end
    if HEAD[key] then return r.words:hex(text) end
    return text
  end)
end

local function scene_of(r, provider)
  return {
    provider = provider, spaces = {},
    is_known = redact.is_known_provider(provider) and not r.rules:is_forbidden(provider),
  }
end

-- Labels that sonde names itself, and where they begin.
local LABELS_BEGIN <const> = ',"labels":{'
local LABELS <const> = { labels = true, trace_id = true, span_id = true }

local function redact_payload(r, payload, provider)
  local scene <const> = scene_of(r, provider)
  -- Labels stand behind the payload; their names may be anybody's.
  local labels_at <const> = payload:find(LABELS_BEGIN, 1, true)
  local function on_label(key)
    return LABELS[key] and r.words:keep_all(key) or r.words:replace_all(key)
  end
  if labels_at then
    return redact_payload(r, payload:sub(1, labels_at - 1), provider)
      .. rewrite(payload:sub(labels_at), on_label, function(text, key)
        return LABELS[key] and r.words:hex(text) or r:text(text)
      end)
  end
  local function on_key(key)
    return key == "payload_status" and key or payload_key(r, scene, key)
  end
  return rewrite(drop_raw(payload), on_key,
    function(text, key)
      if key == "payload_status" then return text end
      return payload_text(r, scene, key, text)
    end)
end

-- Is it an event of a framework without any text of its own? Most are. Its
-- names are noted once for each type of event.
local function is_bare(r, head, payload, provider)
  if not redact.is_known_provider(provider) or head:find('"activity"', 1, true)
    or head:find('"related"', 1, true) or payload:find(':"[^0]') or payload:find(':"0[^x]')
    or payload:find('["', 1, true) or payload:find(LABELS_BEGIN, 1, true) then
    return false
  end
  local kind <const> = head:match('"provider":.*$')
  if r.memo[kind] == nil then
    r.memo[kind] = true
    r.words:keep_all(head)
    r.words:keep_all(payload:gsub("0x%x+", ""))
  end
  return true
end

--- Redacts an event's line of JSON.
-- @tparam Redactor r
-- @tparam string line without its end
-- @treturn string
function events.line(r, line)
  local head, payload = line:match('^(.-"payload":)(.*)$')
  if head == nil then head, payload = line, "" end
  local provider <const> = unescape(head:match('"provider":"(.-)","id"') or "")
  if #r.rules.forbid == 0 and is_bare(r, head, payload, provider) then return line end
  return redact_head(r, head, provider) .. redact_payload(r, payload, provider)
end

local function redact_value(r, scene, key, value)
  if type(value) == "string" then
    return utf8.len(value) and payload_text(r, scene, key, value) or ""
  end
  if type(value) ~= "table" then return value end
  -- Classes before their methods' names, as in the file.
  for _, space in pairs(SPACES) do scene.spaces[space] = value[space] or scene.spaces[space] end
  local result = {}
  for name, item in pairs(value) do
    local shown <const> = type(name) == "string" and payload_key(r, scene, name) or name
    if name ~= "raw" then
      result[shown] = redact_value(r, scene, type(name) == "string" and name or key, item)
    end
  end
  return result
end

--- Redacts an event.
-- @tparam Redactor r
-- @tparam table event as of `sonde.events`
-- @treturn table the same, changed
function events.event(r, event)
  local provider <const> = event.provider or ""
  event.payload = redact_value(r, scene_of(r, provider), "", event.payload)
  event.name = event.name and r:provider(event.name, provider)
  event.provider = event.provider and r:provider(provider)
  for field in pairs(HEAD) do
    if event[field] then event[field] = r.words:hex(event[field]) end
  end
  return event
end

local Events <const> = {}
Events.__index = Events

function Events:__call()
  local event <const> = self.found()
  return event and events.event(self.redactor, event)
end

--- Counts of the trace so far.
-- @treturn table see `sonde.events`
function Events:counts() return self.found:counts() end

--- What was wrong with the input, if anything.
-- @treturn ?string message
-- @treturn ?string code
function Events:problem() return self.found:problem() end

--- Redacts events as they come.
-- @tparam Redactor r
-- @tparam Events found
-- @treturn Events
function events.events(r, found)
  return setmetatable({ found = found, redactor = r }, Events)
end

return events
