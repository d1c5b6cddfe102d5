--- The completion for bash.
-- It needs nothing but bash itself; files are left to readline.
-- @module sonde.completion.bash
local words <const> = require "sonde.completion.words"

local bash = {}

local HEAD <const> = [=[
# bash completion for sonde, written by: sonde completion bash

_sonde_words() {
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$1" -- "$current")
}

_sonde_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
}

_sonde_processes() {
  _sonde_words "$(cd /proc && printf '%s ' [0-9]*)"
}

_sonde_policies() {
  _sonde_words "$(sonde policy list --json 2>/dev/null \
    | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')"
  _sonde_files
}

# What stands before the word that is typed: the verb and how many arguments.
_sonde_look() {
  local i word
  verb= position=0
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -z $verb ]]; then verb=$word
    elif [[ $word == -* ]]; then
      if [[ " $(_sonde_valued "$verb") " == *" $word "* ]]; then
        ((i++))
        [[ ${COMP_WORDS[i]} == = ]] && ((i++))
      fi
    else ((position++))
    fi
  done
}

]=]

local TAIL <const> = [=[

_sonde() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local verb position
  COMPREPLY=()
  _sonde_look
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]] && ((COMP_CWORD > 1)); then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [[ -z $verb ]]; then
    _sonde_words "$_sonde_verbs --help --version"
    _sonde_files
  elif _sonde_value "$verb" "$previous"; then
    :
  elif [[ $current == -* ]]; then
    _sonde_words "$(_sonde_options "$verb")"
  else
    _sonde_argument "$verb" "$position"
  fi
}

complete -F _sonde sonde
]=]

local CALLS <const> = {
  process = "_sonde_processes", file = "_sonde_files", policy = "_sonde_policies",
  verb = '_sonde_words "$_sonde_verbs"', input = "_sonde_processes; _sonde_files",
  text = "_sonde_files",
}

local function call_of(entry)
  if entry.choices then return ('_sonde_words "%s"'):format(table.concat(entry.choices, " ")) end
  return CALLS[entry.kind]
end

-- A function with a branch for each verb; `branch` gives its lines.
local function by_verb(lines, name, verbs, branch, otherwise)
  lines[#lines + 1] = name .. "() {\n  case $1 in"
  for _, verb in ipairs(verbs) do
    local body <const> = branch(verb)
    if body then lines[#lines + 1] = ("  %s) %s ;;"):format(verb.name, body) end
  end
  if otherwise then lines[#lines + 1] = ("  *) %s ;;"):format(otherwise) end
  lines[#lines + 1] = "  esac\n}\n"
end

local function echoed(list)
  return ("echo '%s'"):format(table.concat(list, " "))
end

local function valued(verb)
  local flags = {}
  for _, option in ipairs(verb.options) do
    if option.kind then table.move(option.flags, 1, #option.flags, #flags + 1, flags) end
  end
  return #flags > 0 and echoed(flags) or nil
end

local function value_branches(verb)
  local lines = {}
  for _, option in ipairs(verb.options) do
    if option.kind then
      local call <const> = option.kind == "text" and not option.choices and ":" or call_of(option)
      lines[#lines + 1] = ("    %s) %s ;;"):format(table.concat(option.flags, "|"), call)
    end
  end
  if #lines == 0 then return nil end
  return ("case $2 in\n%s\n    *) return 1 ;;\n    esac"):format(table.concat(lines, "\n"))
end

local function argument_branches(verb)
  local lines = {}
  for i, argument in ipairs(verb.arguments) do
    local place <const> = argument.many and "*" or tostring(i - 1)
    lines[i] = ("    %s) %s ;;"):format(place, call_of(argument))
  end
  if #lines == 0 then return nil end
  return ("case $2 in\n%s\n    esac"):format(table.concat(lines, "\n"))
end

--- The completion, to be read by bash.
-- @treturn string
function bash.text()
  local verbs <const> = words.verbs()
  local lines = { HEAD .. ("_sonde_verbs='%s'\n"):format(table.concat(words.names(), " ")) }
  by_verb(lines, "_sonde_options", verbs, function(verb)
    return echoed(words.flags(verb.options))
  end, "echo '--help'")
  by_verb(lines, "_sonde_valued", verbs, valued)
  by_verb(lines, "_sonde_value", verbs, value_branches, "return 1")
  by_verb(lines, "_sonde_argument", verbs, argument_branches, "_sonde_files")
  return table.concat(lines, "\n") .. TAIL
end

return bash
