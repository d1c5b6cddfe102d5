--- Pseudonyms of words: the same word gets the same one with the same key, and
-- two words never share one. A word here is a run of letters, digits and
-- underscores; everything between words is shape and stays.
-- @module sonde.redact.words
local siphash <const> = require "sonde.redact.siphash"
local vocabulary <const> = require "sonde.redact.vocabulary"

local words = {}

local Words <const> = {}
Words.__index = Words

--- A pattern that finds a word.
words.PATTERN = "[%w_$@\x80-\xff]+"

--- Begins with a key.
-- @tparam integer k0
-- @tparam integer k1
-- @treturn Words with `replaced` (word to pseudonym) and `kept` (a set): what
--   was decided of each word so far
function words.new(k0, k1)
  return setmetatable({ k0 = k0, k1 = k1, replaced = {}, kept = {}, taken = {} }, Words)
end

local DIGITS <const> = "0123456789abcdefghjkmnpqrstvwxyz"

-- Letters and digits that stand for a text: no vowels but a and e, so that no
-- words come about by chance.
local function code(self, text, n)
  local hash = siphash.hash(self.k0, self.k1, text)
  local pieces = {}
  for i = 1, n do
    local digit <const> = (hash & 31) + 1
    pieces[i] = DIGITS:sub(digit, digit)
    hash = hash >> 5
  end
  return table.concat(pieces)
end

local LENGTHS <const> = { 7, 10, 12 }

-- A code that no other text has. The first length nearly always does.
local function unique(self, text)
  for _, n in ipairs(LENGTHS) do
    local found <const> = code(self, text, n)
    local owner <const> = self.taken[found]
    if owner == nil or owner == text then
      self.taken[found] = text
      return found
    end
  end
  error("two names with one pseudonym: choose another key")
end

local ENDINGS <const> = { "Async", "Exception", "EventSource" }

-- The parts of a word that say what it is and not which: what is before and
-- behind its pseudonym.
local function shape(word)
  local before = word:match("^I%u%l") and "I" or ""
  local behind = ""
  for _, ending in ipairs(ENDINGS) do
    if #word > #ending and word:sub(-#ending) == ending then behind = ending end
  end
  return before .. (word:find("^%u") and "X" or "x"), behind
end

-- What compilers put before the name that somebody chose.
local PREFIXES <const> = {
  "^(_+)(.+)$", "^(%l__)(.+)$", "^(get_)(.+)$", "^(set_)(.+)$", "^(add_)(.+)$",
  "^(remove_)(.+)$", "^(op_)(.+)$", "^(InvokeStub_)(.+)$", "^(IL_STUB_)(.+)$",
}

-- Words that stay whatever they belong to.
local function is_plain(word)
  return #word == 1 or vocabulary.language[word] or word:find("^%d[%d_]*$")
    or word:find("^0x%x+$") or word:find("^%u%d$") or word:find("^func%d+$")
    or word:find("^gowrap%d+$") or word:find("^lambda_method%d*$")
    or word:find("^DisplayClass[%d_]+$") or word:find("^[du]__%d+$") or word:find("^wrap%d+$")
end

local function pseudonym(self, word)
  if is_plain(word) then
    self.kept[word] = true
    return word
  end
  for _, pattern in ipairs(PREFIXES) do
    local prefix <const>, rest = word:match(pattern)
    if prefix then return prefix .. self:replace(rest) end
  end
  local before <const>, behind <const> = shape(word)
  return before .. unique(self, word) .. behind
end

--- The pseudonym of a word.
-- @tparam string word
-- @treturn string
function Words:replace(word)
  local known = self.replaced[word]
  if known == nil then
    known = pseudonym(self, word)
    self.replaced[word] = known
  end
  return known
end

--- Notes that a word stays.
-- @tparam string word
-- @treturn string the same
function Words:keep(word)
  self.kept[word] = true
  return word
end

--- Notes that all words of a text stay.
-- @tparam string text
-- @treturn string the same
function Words:keep_all(text)
  for word in text:gmatch(words.PATTERN) do self.kept[word] = true end
  return text
end

--- Replaces all words of a text.
-- @tparam string text
-- @treturn string
function Words:replace_all(text)
  return (text:gsub(words.PATTERN, function(word) return self:replace(word) end))
end

-- Looks it like a name, and not like a word of a language?
local function is_telling(word)
  return #word >= 6 and (word:find("[%d_]") or word:find("%l%u")) ~= nil
end

--- One pseudonym for a whole text that may say anything.
-- @tparam string text
-- @treturn string "" for ""
function Words:text(text)
  if text == "" then return "" end
  for word in text:gmatch(words.PATTERN) do
    if is_telling(word) then self:replace(word) end
  end
  return "x" .. unique(self, "text " .. text)
end

--- The pseudonym of a number.
-- @tparam integer number
-- @treturn integer from 0 to 2^31 - 1
function Words:number(number)
  return siphash.hash(self.k0, self.k1, ("number %d"):format(number)) & 0x7fffffff
end

--- Hexadecimal digits that take the place of others.
-- @tparam string digits may hold other characters between
-- @treturn string of the same form
function Words:hex(digits)
  local hash, left = 0, 0
  local part = 0
  return (digits:gsub("%x", function()
    if left == 0 then
      part, left = part + 1, 16
      hash = siphash.hash(self.k0, self.k1, ("hex %d %s"):format(part, digits))
    end
    local digit <const> = ("%x"):format(hash & 15)
    hash, left = hash >> 4, left - 1
    return digit
  end))
end

return words
