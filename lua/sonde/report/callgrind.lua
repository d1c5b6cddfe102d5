--- Costs and calls for KCachegrind and callgrind_annotate: a node for each
-- address, names written once and referred to by number.
-- @module sonde.report.callgrind
local call_tree <const> = require "sonde.report.call_tree"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local trim <const> = require "sonde.report.trim"
local units <const> = require "sonde.base.units"

local callgrind = {}

callgrind.name = "callgrind"
callgrind.summary = "costs and calls for KCachegrind"
callgrind.takes = "profile"
callgrind.extensions = { "callgrind" }
callgrind.options = options.join({
  { name = "call_tree", type = "boolean", default = false,
    help = "a node for each way to a function, not one for each function" },
}, options.select(scope.options, { "type", "mean" }),
  options.select(trim.options, { "drop_negative" }))

local SHAPE <const> = { by = "address", edges = true, modules = true, detail = true }
local TREE <const> = setmetatable({ tree = call_tree }, { __index = SHAPE })
local NO_TRIM <const> = { no_trim = true }

-- "(3) name" for a name the first time, then "(3)".
local function compressor()
  local known, n = {}, 0
  return function(name)
    if name == "" then return "" end
    if known[name] then return ("(%d)"):format(known[name]) end
    n = n + 1
    known[name] = n
    return ("(%d) %s"):format(n, text.printable(name))
  end
end

-- An address, relative to that of the node before when that is shorter.
local function address_words(before, address)
  local absolute <const> = ("0x%x"):format(address)
  if before == nil then return absolute end
  if before.address == address then return "*" end
  local relative <const> = ("%+d"):format(address - before.address)
  return #relative < #absolute and relative or absolute
end

-- The format joins functions of one name in one file; those that differ in
-- more get a number behind the name.
local function distinct_names(nodes)
  local groups = {}
  for _, node in ipairs(nodes) do
    local place <const> = node.file .. "\0" .. node.function_name
    local group <const> = groups[place] or { n = 0 }
    groups[place], node.group = group, group
    node.function_key = node.module .. "\0" .. node.start_line
    if group[node.function_key] == nil then
      group.n = group.n + 1
      group[node.function_key] = group.n
    end
  end
  for _, node in ipairs(nodes) do
    local group <const> = node.group
    node.distinct = group.n < 2 and node.function_name
      or ("%s [%d/%d]"):format(node.function_name, group[node.function_key], group.n)
  end
end

local function differs(a, b)
  return b == nil or a.module ~= b.module or a.file ~= b.file
    or a.function_name ~= b.function_name
end

local function write_node(to, node, before, by, cost)
  if differs(node, before) then
    to:putf("\nob=%s\nfl=%s\nfn=%s\n", by.module(node.module), by.file(node.file),
      by.name(node.function_name))
  end
  to:putf("%s %d %d\n", address_words(before, node.address), node.line, cost(node.flat))
  table.sort(node.outs, trim.heavier)
  for _, edge in ipairs(node.outs) do
    local callee <const> = edge.to
    to:putf("cfl=%s\ncfn=%s\n", by.file(callee.file), by.name(callee.distinct))
    -- How often it was called, no sample tells.
    to:putf("calls=0 %s %d\n* * %d\n", address_words(before, callee.address), callee.line,
      cost(edge.raw_value or edge.value))
  end
end

--- Writes the file.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function callgrind.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local nodes <const> = trim.graph(about, setmetatable({}, { __index = function(_, key)
    if NO_TRIM[key] ~= nil then return NO_TRIM[key] end
    return opts[key]
  end }), opts.call_tree and TREE or SHAPE).nodes
  -- Values must be whole, so the unit is that of the smallest.
  local smallest <const> = trim.smallest(nodes)
  local unit <const> = units.auto(about.unit, smallest == 0 and about.whole or smallest)
  local function cost(value) return units.whole(value, about.unit, unit) end
  distinct_names(nodes)
  local to <const> = sink.new(out)
  to:putf("positions: instr line\nevents: %s(%s)\n", text.printable(about:type_name()),
    unit == "" and text.printable(about.unit) or unit)
  local by <const> = { module = compressor(), file = compressor(), name = compressor() }
  for i, node in ipairs(nodes) do write_node(to, node, nodes[i - 1], by, cost) end
  return to:finish()
end

return callgrind
