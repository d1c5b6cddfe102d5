--- Text that came from outside, made fit for where it goes.
-- Names in profiles are any bytes: a terminal must not obey them, XML and JSON
-- must stay valid, and a cut must not split a character.
-- @module sonde.base.text
local text = {}

local REPLACEMENT <const> = "\u{FFFD}"

local ESCAPES <const> = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

-- Characters that a terminal or a viewer obeys instead of showing: the C1
-- controls, line and paragraph separators, and those that turn the direction
-- of what follows.
local OBEYED <const> = {
  { 0x80, 0x9f }, { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 },
  { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xfffe, 0xffff },
}

local function is_obeyed(code)
  for _, range in ipairs(OBEYED) do
    if code >= range[1] and code <= range[2] then return true end
  end
  return false
end

-- Calls `good(piece)` on every valid run of `s` and `bad(byte)` on every byte
-- that belongs to none.
local function each_run(s, good, bad)
  local at = 1
  while at <= #s do
    local length, wrong = utf8.len(s, at)
    if length then
      good(s:sub(at))
      return
    end
    if wrong > at then good(s:sub(at, wrong - 1)) end
    bad(s:sub(wrong, wrong))
    at = wrong + 1
  end
end

--- Valid UTF-8, whatever comes in: each invalid byte becomes U+FFFD.
-- @tparam string s
-- @treturn string `s` itself when it is valid
function text.utf8(s)
  if not s:find("[\x80-\xff]") or utf8.len(s) then return s end
  local pieces = {}
  each_run(s, function(piece) pieces[#pieces + 1] = piece end,
    function() pieces[#pieces + 1] = REPLACEMENT end)
  return table.concat(pieces)
end

local function escape_byte(byte)
  return ESCAPES[byte] or ("\\x%02x"):format(byte:byte())
end

local function escape_wide(character)
  local code <const> = utf8.codepoint(character)
  return is_obeyed(code) and ("\\u{%x}"):format(code) or nil
end

--- One line that shows and does nothing else: controls, characters that turn
-- the writing direction and invalid bytes are escaped as \n, \x1b, \u{202e}.
-- @tparam string s
-- @treturn string `s` itself when it needs nothing
function text.printable(s)
  if not s:find("[%c\x80-\xff]") then return s end
  local pieces = {}
  each_run(s, function(piece)
    piece = piece:gsub("%c", escape_byte)
    pieces[#pieces + 1] = piece:gsub("[\xc2\xe2\xef][\x80-\xbf]+", escape_wide)
  end, function(byte) pieces[#pieces + 1] = escape_byte(byte) end)
  return table.concat(pieces)
end

--- Number of characters of valid text; of bytes when it is not.
-- @tparam string s
-- @treturn integer
function text.length(s)
  return utf8.len(s) or #s
end

--- Cuts to at most `n` characters, the last one "…" when something went.
-- Never inside a character.
-- @tparam string s valid UTF-8
-- @tparam integer n at least 1
-- @treturn string
function text.cut(s, n)
  if #s <= n or text.length(s) <= n then return s end
  return s:sub(1, utf8.offset(s, n) - 1) .. "…"
end

--- Cuts out of the middle, so that both ends of a long name stay.
-- @tparam string s valid UTF-8
-- @tparam integer n at least 3
-- @treturn string
function text.cut_middle(s, n)
  local length <const> = text.length(s)
  if length <= n then return s end
  local tail <const> = (n - 1) // 2
  return text.cut(s, n - tail) .. s:sub(utf8.offset(s, length - tail + 1))
end

local ENTITIES <const> = {
  ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;",
}

--- Text for XML or HTML, in content or in an attribute.
-- @tparam string s
-- @treturn string
function text.xml(s)
  return (text.printable(s):gsub("[&<>\"']", ENTITIES))
end

--- An integer as decimal digits without a sign: above 2^63 too.
-- @tparam integer value
-- @treturn string
function text.unsigned(value)
  if value >= 0 then return ("%d"):format(value) end
  local tens <const> = (value >> 1) // 5
  return ("%d%d"):format(tens, value - tens * 10)
end

return text
