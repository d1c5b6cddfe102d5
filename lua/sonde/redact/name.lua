--- Names of functions and types, redacted word by word so that their shape
-- stays: namespaces, nested types, generic arguments, arguments, async methods,
-- lambdas, local functions, methods of Go.
--
-- A chain is a run of words joined by `.`, `+`, `::` or `/`, such as
-- `System.Text.Json.JsonDocument.Parse`. A chain stays or goes as a whole; what
-- stands between brackets behind it is of its own, unless the bracket is part
-- of the chain, as in `Shop.Cart+<AddAsync>d__3` and `net/http.(*conn).serve`.
-- @module sonde.redact.name
local framework <const> = require "sonde.base.framework"
local vocabulary <const> = require "sonde.redact.vocabulary"
local words <const> = require "sonde.redact.words"

local name = {}

local WORD <const> = "^" .. words.PATTERN
local OPEN <const> = { ["<"] = true, ["["] = true, ["("] = true }
local CLOSE <const> = { [">"] = true, ["]"] = true, [")"] = true }
local JOINS <const> = {
  ["."] = true, ["+"] = true, ["/"] = true, [":"] = true, ["`"] = true, ["|"] = true,
  ["-"] = true, ["%"] = true,
}

-- The chain that begins at a position, as far as no bracket is in it.
local function chain_at(text, at)
  return text:match("^[%w_$@\x80-\xff.+/:`|%%-]+", at)
end

local function is_namespace(chain)
  local first <const> = chain:match("^([%a_][%w_]*)[.+]")
  return first ~= nil and vocabulary.namespaces[first] == true
end

-- May the chain stay? `managed` says that the name is .NET's, where a package
-- of Go means nothing.
local function is_allowed(rules, chain, managed)
  if rules:is_forbidden(chain) then return false end
  if is_namespace(chain) or rules:is_allowed(chain) then return true end
  if chain:find("^std::") then return true end
  return not managed and framework.is_go(chain:gsub("[.+:|`%-]+$", "") .. ".x")
end

-- A single word, as readable names have their arguments.
local function is_known_type(self, chain)
  return vocabulary.types[chain] or self.learned[chain]
end

-- What a chain is while it is walked over.
local KEEP <const>, REPLACE <const> = { keep = true }, { keep = false }

local Walker <const> = {}
Walker.__index = Walker

function Walker:put(piece)
  self.out[#self.out + 1] = piece
end

-- Decides on the chain that begins here.
function Walker:begin_chain()
  local chain <const> = chain_at(self.text, self.at)
  local single <const> = not chain:find("[.+/:]")
  local keep
  if self.is_head and self.head ~= nil then
    keep = self.head and not self.rules:is_forbidden(chain)
  elseif single and not self.is_head then
    keep = is_known_type(self.names, chain:match("^[^`]*")) and not self.rules:is_forbidden(chain)
  else
    keep = is_allowed(self.rules, chain, self.managed)
  end
  if self.first == nil then self.first = keep end
  self.is_head = false
  self.chain = keep and KEEP or REPLACE
end

function Walker:word(word)
  if self.chain == nil then self:begin_chain() end
  if self.chain.keep then
    self.names:learn(word)
    self:put(self.words:keep(word))
  else
    self:put(self.words:replace(word))
  end
end

-- A bracket that follows a joint belongs to the chain, and so does one at the
-- very begin, as in "<Main>b__0".
function Walker:open(bracket)
  local before <const> = self.at > 1 and self.text:sub(self.at - 1, self.at - 1) or ""
  local inside
  if self.chain and (JOINS[before] or before == "<" and bracket == "<") then
    inside = self.chain
  elseif self.at == 1 and bracket == "<" then
    inside = REPLACE
    self.chain, self.is_head, self.first = inside, false, false
  end
  self.stack[#self.stack + 1] = self.chain or false
  self.chain = inside
  self:put(bracket)
end

function Walker:close(bracket)
  self.chain = table.remove(self.stack) or nil
  self:put(bracket)
end

function Walker:step()
  local word <const> = self.text:match(WORD, self.at)
  if word then
    self:word(word)
    self.at = self.at + #word
    return
  end
  local character <const> = self.text:sub(self.at, self.at)
  if OPEN[character] then
    self:open(character)
  elseif CLOSE[character] then
    self:close(character)
  else
    -- "(*conn)" of Go belongs to the chain before it.
    local star <const> = character == "*" and self.text:sub(self.at - 1, self.at - 1) == "("
    if not JOINS[character] and not star then self.chain = nil end
    self:put(character)
  end
  self.at = self.at + 1
end

local Names <const> = {}
Names.__index = Names

--- Begins.
-- @tparam Words all
-- @tparam table rules with `is_allowed(chain)` and `is_forbidden(text)`
-- @treturn Names
function name.new(all, rules)
  return setmetatable({ words = all, rules = rules, learned = {} }, Names)
end

--- Learns the name of a framework's type, which may stand alone elsewhere.
-- @tparam string word
function Names:learn(word)
  if word:find("^%u%l") or word:find("^I%u") then self.learned[word] = true end
end

-- Whether a function itself stays: all of a system's library, nothing of one's
-- own modules, whatever their namespaces are called; nil when its name says.
local function head_of(self, text, module, managed)
  local known <const> = framework.is_module(module or "")
  if known == false then return self.rules:is_allowed(chain_at(text, 1) or "") end
  if known and not managed then return true end
end

-- Most names are one chain and nothing else.
local function redact_plain(self, text, walker)
  walker:begin_chain()
  if not walker.first then return self.words:replace_all(text), false end
  for word in text:gmatch(words.PATTERN) do self:learn(word) end
  return self.words:keep_all(text), true
end

--- Redacts a name.
-- @tparam string text
-- @tparam ?string module whose function it is; nil for a type
-- @treturn string
-- @treturn boolean whether its first chain stayed
function Names:redact(text, module)
  -- "Module!Name", as raw names are.
  local prefix, rest = text:match("^([^!%s(<%[]+)!(.*)$")
  if prefix then
    local keep <const> = is_namespace(prefix .. ".") or framework.is_module(prefix .. ".dll")
    local front = keep and not self.rules:is_forbidden(prefix)
      and self.words:keep_all(prefix)
      or self.words:replace_all(prefix)
    local redacted, stays = self:redact(rest, module or prefix .. ".dll")
    return front .. "!" .. redacted, stays
  end
  local managed <const> = module ~= nil and module:lower():find("%.dll$") ~= nil
  local walker <const> = setmetatable({
    text = text, at = 1, out = {}, stack = {}, names = self, words = self.words,
    rules = self.rules, is_head = module ~= nil, managed = managed,
    head = head_of(self, text, module, managed),
  }, Walker)
  if text:find("^[%w_.+/]+$") then return redact_plain(self, text, walker) end
  while walker.at <= #text do walker:step() end
  return table.concat(walker.out), walker.first == true
end

return name
