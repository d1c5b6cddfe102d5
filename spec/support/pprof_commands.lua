--- Commands of the reference tool as reports of sonde, and what is compared.
local reference = {}

-- Options of the reference that have another name here.
local RENAMED <const> = {
  nodefraction = "node_fraction", edgefraction = "edge_fraction", nodecount = "n",
  sample_index = "type", noinlines = "no_inlines", relative_percentages = "relative",
}
local NUMBERS <const> = {
  node_fraction = true, edge_fraction = true, n = true, divide_by = true,
}
local GRANULARITIES <const> = {
  functions = "function", filefunctions = "filefunction", files = "file", lines = "line",
  addresses = "address",
}
local REPORTS <const> = {
  top = true, text = true, tree = true, peek = true, traces = true, tags = true, raw = true,
  dot = true, callgrind = true, list = true, proto = true,
}
local COMBINING <const> = { base = true, diff_base = true, normalize = true }

--- Reads a command line: `go tool pprof -symbolize=none …`.
-- Gives the report, its options, those for filters, those that combine
-- profiles, and the files.
function reference.parse(line)
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  local command <const> = { opts = {}, filters = {}, combine = {}, files = {} }
  local i = 4
  while words[i] do
    local name, value = words[i]:match("^%-([%w_]+)=?(.*)$")
    if name == nil then
      command.files[#command.files + 1] = words[i]
    elseif REPORTS[name] then
      command.report = name
      if name == "peek" or name == "list" then
        i = i + 1
        command.opts.pattern = words[i]
      end
    elseif GRANULARITIES[name] then
      command.opts.by = GRANULARITIES[name]
    elseif COMBINING[name] then
      command.combine[name] = value ~= "" and value or true
    elseif name ~= "symbolize" and name ~= "output" then
      name = RENAMED[name] or name
      if NUMBERS[name] then value = tonumber(value) end
      if value == "" then value = true end
      command.opts[name] = value
    end
    i = i + 1
  end
  for _, option in ipairs(require("sonde.filter").options) do
    command.filters[option.name] = command.opts[option.name]
    command.opts[option.name] = nil
  end
  return command
end

--- Runs a command; returns the text, or nil and a message.
function reference.run(command, directory)
  local sonde <const> = require "sonde"
  local profiles = {}
  for i, name in ipairs(command.files) do profiles[i] = assert(sonde.open(directory .. name)) end
  local profile = #profiles == 1 and profiles[1] or assert(sonde.merge(profiles))
  local base <const> = command.combine.base or command.combine.diff_base
  if base then
    profile = assert(profile:minus(assert(sonde.open(directory .. base)),
      { mark = command.combine.diff_base ~= nil, normalize = command.combine.normalize or false }))
  end
  local message
  profile, message = profile:where(command.filters, command.report == "raw")
  if profile == nil then return nil, message end
  if command.report == "proto" then return profile:encode { gzip = false } end
  return profile:render(command.report, command.opts)
end

-- The first line that is no header any more, by report.
local function is_begin(line)
  return line:find("^%s*flat%s+flat%%") ~= nil or line:find("^%-%-%-") ~= nil
end

--- The lines that have to be equal: all of formats without a header.
function reference.body(text, report)
  local lines, begun = {}, report == "raw" or report == "tags" or report == "dot"
    or report == "callgrind" or report == "list"
  for line in text:gmatch("([^\n]*)\n") do
    begun = begun or is_begin(line)
    if begun then lines[#lines + 1] = line end
  end
  return lines
end

return reference
