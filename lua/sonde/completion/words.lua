--- What can be typed after `sonde`: the declarations of all verbs, gathered for
-- completions and the manual page.
-- @module sonde.completion.words
local options <const> = require "sonde.base.options"

local words = {}

-- What an argument with one of these names is about, where it has no choices.
local KINDS <const> = {
  target = "process", input = "file", other = "file", before = "file", after = "file",
  store = "file", policy = "policy", policies = "policy", verb = "verb",
}

-- Options whose value is a process.
local OF_PROCESS <const> = { process = true, pid = true, tree = true }

local function kind_of_option(option)
  if option.type == "boolean" then return nil end
  if option.type == "path" then return "file" end
  if option.type == "string" and OF_PROCESS[option.name] then return "process" end
  return "text"
end

-- A verb is one declaration, or several when what it is given chooses.
local function forms_of(verb)
  if verb.forms then return verb.forms() end
  return { verb.declaration and verb.declaration() or verb }
end

local function flags_of(option)
  local flags = {}
  if option.short then flags[1] = "-" .. option.short end
  if #option.name > 1 then flags[#flags + 1] = options.flag(option.name) end
  for _, alias in ipairs(option.aliases or {}) do flags[#flags + 1] = options.flag(alias) end
  return flags
end

local function described(option)
  local kind <const> = kind_of_option(option)
  return { flags = flags_of(option), kind = kind, choices = option.choices, help = option.help,
    argname = kind and (option.argname or options.types[option.type].argname or "TEXT"),
    default = option.default_text or option.choices and option.default or nil }
end

-- One name may have more spellings in one form than in another.
local function add_flags(known, more)
  local has <const> = {}
  for _, flag in ipairs(known) do has[flag] = true end
  for _, flag in ipairs(more) do
    if not has[flag] then table.insert(known, #flag == 2 and 1 or #known + 1, flag) end
  end
end

local function all_options(forms)
  local list, at = {}, {}
  for _, form in ipairs(forms) do
    local declared = form.options or {}
    if type(declared) == "function" then declared = declared() end
    for _, option in ipairs(declared) do
      local known <const> = list[at[option.name]]
      if known then
        add_flags(known.flags, flags_of(option))
        -- What filters a trace by process in one form names a process in another.
        local own <const> = described(option)
        if own.kind == "process" then known.kind, known.argname = own.kind, own.argname end
      else
        at[option.name] = #list + 1
        list[#list + 1] = described(option)
      end
    end
  end
  return list
end

local function all_arguments(forms)
  local list = {}
  for i, argument in ipairs(forms[1].arguments or {}) do
    list[i] = { name = argument.name, optional = argument.optional, many = argument.many,
      choices = argument.choices, help = argument.help,
      kind = argument.choices and "choice" or KINDS[argument.name] or "text" }
  end
  -- What a later form takes at the same place.
  for i = 2, #forms do
    local first <const> = (forms[i].arguments or {})[1]
    if first and list[1] and KINDS[first.name] == "process" and list[1].kind == "file" then
      list[1].kind = "input"
    end
  end
  return list
end

--- One verb, as it can be typed.
-- @tparam string name
-- @tparam table verb its module
-- @treturn table `name summary arguments options examples`; an argument has
--   `name help optional many choices` and `kind` (choice, process, file, input
--   (either of these), policy, verb, text), an option `flags help choices
--   argname kind` (nil for one that takes no value)
function words.of(name, verb)
  local forms <const> = forms_of(verb)
  local examples = {}
  for _, form in ipairs(forms) do
    for _, example in ipairs(form.examples or {}) do examples[#examples + 1] = example end
  end
  return { name = name, summary = verb.summary, arguments = all_arguments(forms),
    options = all_options(forms), examples = verb.name == "report" and {} or examples }
end

--- All verbs, in the order of the help.
-- @treturn {table,...} see `words.of`
function words.verbs()
  local cli <const> = require "sonde.cli"
  local list = {}
  for i, name in ipairs(cli.verbs) do list[i] = words.of(name, cli.verb(name)) end
  return list
end

--- The names of all verbs.
-- @treturn {string,...}
function words.names()
  return require("sonde.cli").verbs
end

--- The words that a list of options begins with, such as "-n" and "--view".
-- @tparam {table,...} list of `words.of`
-- @treturn {string,...}
function words.flags(list)
  local flags = { "--help" }
  for _, option in ipairs(list) do
    table.move(option.flags, 1, #option.flags, #flags + 1, flags)
  end
  return flags
end

return words
