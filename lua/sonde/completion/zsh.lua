--- The completion for zsh.
-- @module sonde.completion.zsh
local words <const> = require "sonde.completion.words"

local zsh = {}

local ACTIONS <const> = {
  process = "_pids", file = "_files", input = "_sonde_input", policy = "_sonde_policy",
  verb = "(%s)", text = " ",
}

-- Inside single quotes, in a specification of _arguments.
local function escaped(text)
  return (text:gsub("[%[%]:\\]", "\\%0"):gsub("'", "'\\''"):gsub("\n", " "))
end

local function action_of(entry)
  if entry.choices then return ("(%s)"):format(table.concat(entry.choices, " ")) end
  return (ACTIONS[entry.kind]:gsub("%%s", table.concat(words.names(), " ")))
end

local function option_lines(lines, option)
  for _, flag in ipairs(option.flags) do
    local value = ""
    local mark <const> = option.kind and (flag:sub(1, 2) == "--" and "=" or "+") or ""
    if option.kind then
      value = (":%s:%s"):format(escaped(option.argname), escaped(action_of(option)))
    end
    lines[#lines + 1] = ("      '*%s%s[%s]%s'"):format(flag, mark, escaped(option.help), value)
  end
end

local function argument_line(argument)
  local name <const> = escaped(argument.name)
  local head <const> = argument.many and "*:" or argument.optional and "::" or ":"
  return ("      '%s%s:%s'"):format(head, name, action_of(argument))
end

local function branch(verb)
  local lines = { "      '--help[show the options]'" }
  for _, option in ipairs(verb.options) do option_lines(lines, option) end
  for _, argument in ipairs(verb.arguments) do lines[#lines + 1] = argument_line(argument) end
  return ("  %s)\n    _arguments -s \\\n%s ;;"):format(verb.name, table.concat(lines, " \\\n"))
end

local HEAD <const> = [=[
#compdef sonde
# zsh completion for sonde, written by: sonde completion zsh

_sonde_input() {
  _alternative 'files:file:_files' 'processes:process:_pids'
}

_sonde_policy() {
  local -a names
  names=(${(f)"$(sonde policy list --json 2>/dev/null \
    | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')"})
  _alternative "policies:policy:(${names})" 'files:file:_files'
}

_sonde() {
  local -a verbs
  verbs=(
]=]

local MIDDLE <const> = [=[
  )
  if ((CURRENT == 2)); then
    _describe -t verbs verb verbs
    _files
    return
  fi
  local verb=$words[2]
  shift words
  ((CURRENT--))
  case $verb in
]=]

local TAIL <const> = [=[

  *) _files ;;
  esac
}

_sonde "$@"
]=]

--- The completion, to be read by zsh.
-- @treturn string
function zsh.text()
  local names, branches = {}, {}
  for i, verb in ipairs(words.verbs()) do
    names[i] = ("    '%s:%s'\n"):format(verb.name, escaped(verb.summary))
    branches[i] = branch(verb)
  end
  return HEAD .. table.concat(names) .. MIDDLE .. table.concat(branches, "\n") .. TAIL
end

return zsh
