--- A strict reader of XML, for specs: is a text well formed? It knows what our
-- writers use (elements, attributes, text, CDATA, the XML declaration) and
-- refuses everything else.
local xml = {}

local ENTITY <const> = { lt = "<", gt = ">", amp = "&", quot = '"', apos = "'" }

-- XML's characters; a file with any other is refused by every browser.
local function is_character(code)
  return code == 9 or code == 10 or code == 13 or code >= 0x20 and code <= 0xd7ff
    or code >= 0xe000 and code <= 0xfffd or code >= 0x10000
end

local function fail(text, at, why)
  local _, lines = text:sub(1, at):gsub("\n", "")
  error(("XML, line %d: %s: %s"):format(lines + 1, why, text:sub(at, at + 60)), 0)
end

local function decode(text, at, raw)
  if raw:find("<", 1, true) then fail(text, at, "'<' in an attribute") end
  return (raw:gsub("&([^;&]*);?", function(name)
    local code = name:match("^#(%d+)$")
    local value = ENTITY[name] or code and utf8.char(tonumber(code))
    if value == nil then fail(text, at, "bad entity '&" .. name .. "'") end
    return value
  end))
end

local function attributes(text, at, raw)
  local found = {}
  local rest = raw:gsub("^%s*/?$", "")
  while rest:find("%S") do
    local name, quote, after = rest:match("^%s+([%w:_-]+)=([\"'])()")
    if name == nil then fail(text, at, "bad attribute in <" .. raw) end
    local value, stop = rest:match("^([^" .. quote .. "]*)" .. quote .. "()", after)
    if value == nil or found[name] then fail(text, at, "bad attribute " .. name) end
    found[name] = decode(text, at, value)
    rest = rest:sub(stop):gsub("^%s*/?$", "")
  end
  return found
end

--- Reads a document; raises where it is not well formed.
-- Returns the list of its elements in order, each `{ name, attributes, text }`
-- where `text` is the content before the first child.
function xml.read(text)
  if not utf8.len(text) then error("XML: not UTF-8", 0) end
  for _, code in utf8.codes(text) do
    if not is_character(code) then error(("XML: character U+%04X"):format(code), 0) end
  end
  local elements, open = {}, {}
  local at = text:match("^<%?xml [^?]*%?>%s*()") or 1
  while at <= #text do
    local cdata, after_cdata = text:match("^<!%[CDATA%[(.-)%]%]>()", at)
    local name, rest, after = text:match("^<([%a][%w:_-]*)([^>]*)>()", at)
    local closed, after_close = text:match("^</([%w:_-]+)%s*>()", at)
    local words, after_words = text:match("^([^<]+)()", at)
    local top <const> = elements[open[#open]]
    if cdata then
      top.text, at = top.text .. cdata, after_cdata
    elseif name then
      if #open == 0 and #elements > 0 then fail(text, at, "a second root") end
      elements[#elements + 1] = { name = name, attributes = attributes(text, at, rest), text = "" }
      if not rest:find("/$") then open[#open + 1] = #elements end
      at = after
    elseif closed then
      if top == nil or top.name ~= closed then fail(text, at, "wrong end of element") end
      open[#open] = nil
      at = after_close
    elseif words then
      if words:find("]]>", 1, true) then fail(text, at, "']]>' in text") end
      words = decode(text, at, words)
      if top then
        top.text = top.text .. words
      elseif words:find("%S") then
        fail(text, at, "text outside the root")
      end
      at = after_words
    else
      fail(text, at, "not markup")
    end
  end
  if #open > 0 then error("XML: <" .. elements[open[#open]].name .. "> is not closed", 0) end
  return elements
end

return xml
