--- A session as a Lua script: what was asked, as calls of the library, with the
-- objects defined anew wherever the settings had changed.
-- @module sonde.shell.script
local code <const> = require "sonde.shell.code"
local text <const> = require "sonde.base.text"

local script = {}

-- What each object is made of; in the order in which they are defined.
local NEEDS <const> = {
  { "trace", {} }, { "whole", {} }, { "profile", { "whole" } }, { "before", {} },
  { "after", {} }, { "diff", { "before", "after" } },
}

local needs_of <const> = {}
for _, row in ipairs(NEEDS) do needs_of[row[1]] = row[2] end

-- The key and the forbidden words are secrets, and the names of the recordings may be.
local function redacted(redactor)
  local lines = {
    "-- Names are pseudonyms: the same ones with the same key.",
    'local redactor <const> = require("sonde.redact").new {',
    '  key = os.getenv "SONDE_REDACT_KEY",',
  }
  local allow = {}
  for i, pattern in ipairs(redactor.rules.patterns) do allow[i] = code.literal(pattern) end
  if #allow > 0 then
    lines[#lines + 1] = ("  allow = { %s },"):format(table.concat(allow, ", "))
  end
  if #redactor.rules.forbid > 0 then
    lines[#lines + 1] = '  forbid = assert(os.getenv "SONDE_REDACT_FORBID",'
    lines[#lines + 1] = '    "SONDE_REDACT_FORBID must hold the forbidden words: one,two"),'
  end
  lines[#lines + 1] = "}"
  lines[#lines + 1] = "redactor:guard()"
  return table.concat(lines, "\n")
end

--- Opens a recording, as Lua text.
-- @tparam string path Lua text that gives it
-- @tparam table about `limit`, `redactor`
-- @treturn string
function script.opening(path, about)
  local opts <const> = about.limit and (", { limit = %d }"):format(about.limit) or ""
  local opened <const> = ("(assert(sonde.open(%s%s)))"):format(path, opts)
  return about.redactor and ("redactor:object%s"):format(opened) or opened
end

local function head(inputs, about)
  local lines = {
    "-- A session of sonde shell. Run it with lua5.4 or sonde shell --script; arguments take the",
    "-- place of the recordings.",
    'local sonde <const> = require "sonde"',
  }
  lines[#lines + 1] = 'local show <const> = require("sonde.shell").show'
  for _, name in ipairs(require("sonde.shell").names) do
    -- No constant: `store = store "captures.db"` may stand below.
    if code.uses(about.sources, name) then
      lines[#lines + 1] = ('local %s = require("sonde.shell").%s'):format(name, name)
    end
  end
  if about.redactor then
    lines[#lines + 1] = redacted(about.redactor)
  end
  lines[#lines + 1] = "local inputs <const> = {"
  for i, input in ipairs(inputs) do
    local path <const> = about.redactor
      and ('(assert(arg and arg[%d], "the recordings are arguments"))'):format(i)
      or ("arg and arg[%d] or %s"):format(i, code.literal(input.path))
    lines[#lines + 1] = ("  %s,"):format(script.opening(path, about))
  end
  lines[#lines + 1] = "}"
  return lines
end

-- Defines, before an entry, the objects that it uses and that have changed.
local function define(lines, entry, state)
  local function bring(name)
    local definition <const> = entry.definitions[name]
    if definition == nil then return "" end
    local key = definition
    for _, need in ipairs(needs_of[name]) do key = key .. "\n" .. bring(need) end
    if state.keys[name] ~= key then
      state.keys[name] = key
      lines[#lines + 1] = ("%s = %s"):format(name, definition)
    end
    return key
  end
  for _, row in ipairs(NEEDS) do
    if code.uses(entry.source, row[1]) or state.eager[row[1]] then bring(row[1]) end
  end
end

-- A function may use an object long after the line that made it, so what typed
-- Lua mentions once is kept up to date from then on.
local function watch(source, state)
  for _, row in ipairs(NEEDS) do
    if code.uses(source, row[1]) then state.eager[row[1]] = true end
  end
end

-- A chunk that returns something would end the script.
local function as_function(source)
  return ("(function()\n%s\nend)()"):format(source)
end

-- A definition of a function, and nothing behind it.
local function is_definition(source)
  return (source:find("^%s*function%f[^%w_]") or source:find("^%s*[%w_.]+%s*=%s*function%f[^%w_]"))
    and load(source .. "\nlocal more") ~= nil
end

local function call_of(entry, show)
  local source = entry.source
  if entry.form == "local" then return "local " .. source end
  if entry.form == "quiet" then return ("assert(%s)"):format(source) end
  local is_expression <const> = load("return " .. source) ~= nil
  if entry.form == "expression" and is_expression then
    return ("%s(%s)"):format(show, source:find("--", 1, true) and source .. "\n" or source)
  end
  if code.uses(source, "return") and not is_definition(source) then
    return ("%s(%s)"):format(show, as_function(source))
  end
  local may_leak <const> = code.uses(source, "local") and not is_definition(source)
  return may_leak and ("do\n%s\nend"):format(source) or source
end

local KEEP <const> = [[
local _, __, it
local function keep(...)
  show(...)
  if (...) ~= nil then
    _, __ = (...), _
  end
  if type(...) == "table" or type(...) == "userdata" then
    it = (...)
  end
end]]

local function all_sources(log)
  local list = {}
  for i, entry in ipairs(log) do list[i] = entry.source end
  return table.concat(list, "\n")
end

local function body(log, show, config)
  local lines, state = {}, { keys = {}, eager = {} }
  watch(config, state)
  for _, entry in ipairs(log) do
    lines[#lines + 1] = ""
    if entry.line then lines[#lines + 1] = "-- " .. text.printable(entry.line) end
    define(lines, entry, state)
    if entry.line == nil then watch(entry.source, state) end
    lines[#lines + 1] = call_of(entry, show)
  end
  return lines, state
end

local function declared(state)
  local names = {}
  for _, row in ipairs(NEEDS) do
    if state.keys[row[1]] then names[#names + 1] = row[1] end
  end
  return #names > 0 and "local " .. table.concat(names, ", ") or nil
end

-- The text of the user's own file, when the session used anything that it
-- defines.
local function config_text(about, sources)
  for name in pairs(about.config_names or {}) do
    if code.uses(sources, name) then
      local file <close> = io.open(about.config_path, "r")
      return file and file:read("a") or ""
    end
  end
end

--- The text of the script.
-- @tparam table session
-- @tparam table about `config_path`, `config_names` (set of what it defined),
--   `limit` (when it is not the usual one)
-- @treturn string
function script.text(session, about)
  local log <const>, sources <const> = session.log, all_sources(session.log)
  local keeps <const> = code.uses(sources, "_") or code.uses(sources, "__")
    or code.uses(sources, "it")
  local lines <const> = head(session.inputs, {
    limit = about.limit, sources = sources, redactor = about.redactor,
  })
  local config <const> = config_text(about, sources)
  local statements, state = body(log, keeps and "keep" or "show", config or "")
  -- The user's own file sees globals only.
  if config == nil then lines[#lines + 1] = declared(state) end
  if keeps then lines[#lines + 1] = KEEP end
  if config then
    lines[#lines + 1] = ("assert(loadfile(%s))(function() end)"):format(
      code.literal(about.config_path))
  end
  table.move(statements, 1, #statements, #lines + 1, lines)
  return table.concat(lines, "\n") .. "\n"
end

return script
