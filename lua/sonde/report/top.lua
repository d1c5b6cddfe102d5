--- The functions with the largest values: flat, and with their callees.
-- @module sonde.report.top
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"

local top = {}

top.name = "top"
top.summary = "functions by their own value (flat) and with their callees (cum)"
top.takes = "profile"
top.extensions = {}
top.options = options.join({
  { name = "n", type = "integer", short = "n", min = 0,
    help = "rows to print, 0 for all; 20 otherwise" },
  { name = "cum", type = "boolean", default = false,
    help = "sort by the value with callees" },
  { name = "by", type = "string", default = "function", argname = "WHAT",
    help = "row for each function, filefunction, file, line, address, module or label:KEY" },
}, scope.options)

local DEFAULT_ROWS <const> = 20

local function order(first, second)
  local magnitude <const> = scope.magnitude
  return function(a, b)
    local x, y = magnitude(a[first]), magnitude(b[first])
    if x ~= y then return x > y end
    if a.name ~= b.name then return a.name < b.name end
    return magnitude(a[second]) > magnitude(b[second])
  end
end

local BY_FLAT <const> = order("flat", "cum")
local BY_CUM <const> = order("cum", "flat")

-- The nodes that have a value, sorted, at most `n` of them (0: all); and how
-- many there are.
local function sorted(about, opts, n)
  local nodes = {}
  for _, node in ipairs(about.profile:graph { type = about.index, by = opts.by }.nodes) do
    if node.flat ~= 0 or node.cum ~= 0 then nodes[#nodes + 1] = node end
  end
  table.sort(nodes, opts.cum and BY_CUM or BY_FLAT)
  local all <const> = #nodes
  for i = all, (n == 0 and all or n) + 1, -1 do nodes[i] = nil end
  return nodes, all
end

--- The rows as plain tables.
-- @param profile
-- @tparam table opts checked options; without `n` all rows
-- @treturn ?{table,...} each `{ name, flat, cum, unit }`
-- @treturn ?string message
-- @treturn ?string code
function top.list(profile, opts)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local list = {}
  for i, node in ipairs((sorted(about, opts, opts.n or 0))) do
    list[i] = { name = node.name, flat = node.flat, cum = node.cum, unit = about.unit }
  end
  return list, about
end

--- Iterates over the rows, for `--json`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?function iterator of tables; the first has `schema`
-- @treturn ?string message
-- @treturn ?string code
function top.rows(profile, opts)
  local list, message, code = top.list(profile, opts)
  if list == nil then return nil, message, code end
  if list[1] then list[1].schema = 1 end
  local i = 0
  return function()
    i = i + 1
    return list[i]
  end
end

local function smallest_of(nodes)
  local smallest = 0
  for _, node in ipairs(nodes) do
    local value = scope.magnitude(node.flat ~= 0 and node.flat or node.cum)
    if value > 0 and (smallest == 0 or value < smallest) then smallest = value end
  end
  return smallest
end

local NOUNS <const> = {
  ["function"] = "functions", filefunction = "functions", module = "modules",
  file = "files", line = "lines", address = "addresses",
}

local function write_rows(to, about, nodes)
  local sum = 0
  to:putf("%s  flat%%   sum%% %s   cum%%\n", about:pad("flat"), about:pad("cum"))
  for _, node in ipairs(nodes) do
    sum = sum + node.flat
    to:putf("%s %s %s %s %s  %s\n", about:column(node.flat), about:percent(node.flat),
      about:percent(sum), about:column(node.cum), about:percent(node.cum),
      scope.name(node.name))
  end
end

--- Writes the table.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function top.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local nodes, all = sorted(about, opts, opts.n or DEFAULT_ROWS)
  about:choose_unit(smallest_of(nodes))
  local shown = 0
  for _, node in ipairs(nodes) do shown = shown + node.flat end
  local to <const> = sink.new(out)
  to:lines(about:header())
  to:putf("Showing %d of %d %s, %s (%s) of %s; %s\n", #nodes, all,
    NOUNS[opts.by] or "values of " .. opts.by, about:value(shown),
    (about:percent(shown):gsub("^ +", "")), about:value(about.whole), about:denominator())
  write_rows(to, about, nodes)
  return to:finish()
end

return top
