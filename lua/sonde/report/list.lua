--- The source of functions, a value beside each line.
-- @module sonde.report.list
local names <const> = require "sonde.report.names"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local sources <const> = require "sonde.report.sources"
local text <const> = require "sonde.base.text"
local trim <const> = require "sonde.report.trim"
local units <const> = require "sonde.base.units"

local list = {}

list.name = "list"
list.summary = "the source of functions that match, a value beside each line"
list.takes = "profile"
list.extensions = {}
list.options = options.join({
  { name = "pattern", type = "pattern", default = ".",
    help = "functions to show; all otherwise" },
  { name = "source_path", type = "string", argname = "DIRS",
    help = "where to look for sources, and in the directories above; separated by :" },
  { name = "trim_path", type = "string", argname = "DIRS",
    help = "beginnings to take off the files' names; separated by :" },
}, options.select(scope.options, { "type", "unit", "relative", "mean", "divide_by" }))

local SHAPE <const> = { by = "line", modules = true, detail = true }
local OPTIONS <const> = { no_trim = true, by = "line" }
-- Lines before the first and behind the last one with a value.
local MARGIN <const> = 5

local function sum(nodes)
  local flat, cum = 0, 0
  for _, node in ipairs(nodes) do
    flat, cum = flat + (node.raw_flat or node.flat), cum + (node.raw_cum or node.cum)
  end
  return flat, cum
end

-- Nodes by the text of one of their fields, and those texts in order.
local function grouped(nodes, field)
  local groups, order = {}, {}
  for _, node in ipairs(nodes) do
    local key <const> = node[field]
    if groups[key] == nil then
      groups[key] = {}
      order[#order + 1] = key
    end
    table.insert(groups[key], node)
  end
  table.sort(order)
  return groups, order
end

-- The lines to show of a file: those of the nodes with what is around them.
local function range_of(nodes)
  local first <const> = nodes[1]
  local from = first.start_line ~= 0 and first.start_line or first.line - MARGIN
  local to = first.line + MARGIN
  for _, node in ipairs(nodes) do
    local start <const> = node.start_line ~= 0 and node.start_line or node.line - MARGIN
    from, to = math.min(from, start), math.max(to, node.line + MARGIN)
  end
  return math.max(from, 1), to
end

local function value_or_point(about, value)
  return value == 0 and "." or about:value(value)
end

local function write_lines(to, about, nodes, lines, from, last)
  local by_line <const> = names.memo(function() return {} end)
  for _, node in ipairs(nodes) do table.insert(by_line[node.line], node) end
  for number = from, math.min(last, #lines) do
    local flat, cum = sum(by_line[number])
    to:putf("%10s %10s %6d:%s\n", value_or_point(about, flat), value_or_point(about, cum),
      number, lines[number])
  end
end

local function write_file(to, about, name, file, nodes, opts)
  local flat, cum = sum(nodes)
  to:putf("ROUTINE ======================== %s in %s\n", scope.name(name), text.printable(file))
  to:putf("%10s %10s (flat, cum) %s of Total\n", about:value(flat), about:value(cum),
    units.percent(cum, about.whole))
  local from <const>, last <const> = range_of(nodes)
  local lines, message = nil, about.unreadable[file]
  -- A function may end before it begins: then nothing has to be read.
  if from <= last and message == nil then
    lines, message = sources.read(file, opts.source_path, opts.trim_path)
    about.unreadable[file] = message
  end
  if message then to:putf(" Error: %s\n", message) end
  if lines then write_lines(to, about, nodes, lines, from, last) end
end

local function matching(about, pattern)
  local matches <const>, found = require("sonde.base.pattern").matcher(pattern), {}
  for _, node in ipairs(trim.graph(about, OPTIONS, SHAPE).nodes) do
    if matches(node.function_name) then found[#found + 1] = node end
  end
  return found
end

--- Writes the sources.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples` when no function matches
function list.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local found <const> = matching(about, opts.pattern)
  if #found == 0 then
    return nil, ("no function matches '%s'"):format(text.printable(opts.pattern)), "no_samples"
  end
  about.unreadable = {}
  local to <const> = sink.new(out)
  to:putf("Total: %s\n", about:value(about.whole))
  local functions <const>, order <const> = grouped(found, "function_name")
  for _, name in ipairs(order) do
    local files <const>, paths <const> = grouped(functions[name], "file")
    if #paths == 1 and paths[1] == "" then
      to:putf("No source information for %s\n", scope.name(name))
    end
    for _, path in ipairs(paths) do
      if path ~= "" then write_file(to, about, name, path, files[path], opts) end
    end
  end
  return to:finish()
end

return list
