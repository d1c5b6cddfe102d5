--- Which format a command line asks for.
-- @module sonde.cmd.formats
local errors <const> = require "sonde.base.errors"

local formats = {}

-- The value that a word gives to one of the flags, when it does.
local function value_at(words, i, flags)
  for _, flag in ipairs(flags) do
    if words[i] == flag then return words[i + 1] end
    local joined <const> = #flag == 2 and flag or flag .. "="
    if words[i]:sub(1, #joined) == joined and #words[i] > #joined then
      return words[i]:sub(#joined + 1)
    end
  end
end

--- The report that `--format` or `-o` of a command line choose, looked up
-- before the command line is read, since it says which options there are.
-- @tparam {string,...} words
-- @treturn ?table the module; nil when neither is there
-- @treturn table options that the output's name implies
function formats.chosen(words)
  local reports <const> = require "sonde.report"
  local name, output
  for i = 1, #words do
    name = name or value_at(words, i, { "--format" })
    output = output or value_at(words, i, { "-o", "--output" })
  end
  if name then
    local module, message = reports.get(name)
    if module == nil then errors.usage("--format: " .. message, "sonde report --help") end
    return module, {}
  end
  if output == nil or output == "-" then return nil, {} end
  local module, implied = reports.for_path(output)
  if module == nil then
    errors.usage("-o: " .. implied, "--format NAME; sonde report --help lists them")
  end
  return module, implied
end

--- The options of a format, with what the output's name implies as defaults.
-- @tparam table module
-- @tparam ?table implied
-- @treturn {table,...} declared options
function formats.options(module, implied)
  local list = {}
  for i, option in ipairs(module.options) do
    list[i] = option
    if implied and implied[option.name] ~= nil then
      list[i] = setmetatable({ default = implied[option.name] }, { __index = option })
    end
  end
  return list
end

return formats
