--- Paths and command lines, redacted element by element: what every machine
-- has stays, and so do the endings of files.
-- @module sonde.redact.path
local framework <const> = require "sonde.base.framework"
local vocabulary <const> = require "sonde.redact.vocabulary"

local path = {}

local Paths <const> = {}
Paths.__index = Paths

--- Begins.
-- @tparam Words all
-- @tparam table rules with `is_allowed(text)` and `is_forbidden(text)`
-- @treturn Paths
function path.new(all, rules)
  return setmetatable({ words = all, rules = rules }, Paths)
end

local function is_framework(element)
  return element:find("^System%.") or element:find("^Microsoft%.")
    or framework.is_module(element) == true
end

local function is_known(self, element)
  if self.rules:is_forbidden(element) then return false end
  return vocabulary.path[element] or element:find("^v?%d[%d.]*$") or element:find("^go%d[%d.]*$")
    or is_framework(element) or self.rules:is_allowed(element)
end

-- "Orders.Api.dll": words without the endings, which stay.
local function redact_file(self, element)
  local stem, endings = element, ""
  while true do
    local rest <const>, ending <const> = stem:match("^(.+)%.(%w+)$")
    if rest == nil or not (vocabulary.extensions[ending] or ending:find("^%d+$")) then break end
    stem, endings = rest, "." .. self.words:keep(ending) .. endings
  end
  local lib <const>, name <const> = stem:match("^(lib)([%w_].*)$")
  if lib then return lib .. self.words:replace_all(name) .. endings end
  return self.words:replace_all(stem) .. endings
end

--- Redacts one element of a path.
-- @tparam string element
-- @treturn string
function Paths:element(element)
  if is_known(self, element) then return self.words:keep_all(element) end
  return redact_file(self, element)
end

-- The part of a path to a source file of Go's own that is the same everywhere.
local function go_tail(text)
  local front, tail = text:match("^(.*/go[%d.]*/src/)([%w_/.-]+)$")
  if tail == nil then return nil end
  if framework.is_go(tail:match("^[^/.]+") .. ".x") then return front, tail end
end

--- Redacts a path.
-- @tparam string text
-- @treturn string
function Paths:redact(text)
  local front <const>, tail = go_tail(text)
  if tail and not self.rules:is_forbidden(tail) then
    return self:redact(front) .. self.words:keep_all(tail)
  end
  return (text:gsub("[^/\\:]+", function(element) return self:element(element) end))
end

--- Redacts a command line: each word of it is like a path.
-- @tparam string text
-- @treturn string
function Paths:command(text)
  return (text:gsub("[^%s\"'=]+", function(word) return self:redact(word) end))
end

--- Redacts the full name of an assembly: "Shop, Version=1.0.0.0, Culture=…".
-- @tparam string text
-- @treturn string
function Paths:assembly(text)
  local first <const>, rest <const> = text:match("^([^,]*)(.*)$")
  if is_framework(first .. ".dll") and not self.rules:is_forbidden(first) then
    return self.words:keep_all(first) .. rest
  end
  return self:element(first) .. rest
end

return path
