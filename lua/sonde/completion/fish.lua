--- The completion for fish.
-- @module sonde.completion.fish
local words <const> = require "sonde.completion.words"

local fish = {}

local PROCESSES <const> = "(__fish_complete_pids)"
local POLICIES <const> = "(__sonde_policies)"

local HEAD <const> = [=[
# fish completion for sonde, written by: sonde completion fish

function __sonde_policies
    sonde policy list --json 2>/dev/null | string match -r -g '"name":"([^"]*)"'
end

]=]

local function quoted(text)
  return "'" .. text:gsub("[\\']", "\\%0"):gsub("\n", " ") .. "'"
end

local function values_of(entry)
  if entry.choices then return quoted(table.concat(entry.choices, " ")) end
  if entry.kind == "process" or entry.kind == "input" then return quoted(PROCESSES) end
  if entry.kind == "policy" then return quoted(POLICIES) end
  if entry.kind == "verb" then return quoted(table.concat(words.names(), " ")) end
end

local function option_line(verb, option)
  local parts = { ("complete -c sonde -n '__fish_seen_subcommand_from %s'"):format(verb.name) }
  for _, flag in ipairs(option.flags) do
    local name <const> = flag:gsub("^%-+", "")
    parts[#parts + 1] = (#name == 1 and "-s " or "-l ") .. name
  end
  if option.kind then
    local values <const> = values_of(option)
    parts[#parts + 1] = option.kind == "file" and "-rF" or "-x"
    if values then parts[#parts + 1] = "-a " .. values end
  end
  parts[#parts + 1] = "-d " .. quoted(option.help)
  return table.concat(parts, " ")
end

--- The completion, to be read by fish.
-- @treturn string
function fish.text()
  local lines = {}
  for _, verb in ipairs(words.verbs()) do
    lines[#lines + 1] = ("complete -c sonde -n __fish_use_subcommand -a %s -d %s"):format(
      verb.name, quoted(verb.summary))
    for _, argument in ipairs(verb.arguments) do
      local values <const> = values_of(argument)
      if values then
        lines[#lines + 1] = ("complete -c sonde -n '__fish_seen_subcommand_from %s' -a %s"):format(
          verb.name, values)
      end
    end
    for _, option in ipairs(verb.options) do lines[#lines + 1] = option_line(verb, option) end
  end
  return HEAD .. table.concat(lines, "\n") .. "\n"
end

return fish
