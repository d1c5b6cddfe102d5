--- The functions with the largest values: flat, and with their callees.
-- @module sonde.report.top
local nodes <const> = require "sonde.report.nodes"
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
}, nodes.options, scope.options)

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

-- The rows that have a value, sorted, at most `n` of them (0: all); and how
-- many there are.
local function sorted(about, opts, n)
  local list = {}
  for _, node in ipairs(nodes.list(about.profile, about.index, opts)) do
    if node.flat ~= 0 or node.cum ~= 0 then list[#list + 1] = node end
  end
  table.sort(list, opts.cum and BY_CUM or BY_FLAT)
  local all <const> = #list
  for i = all, (n == 0 and all or n) + 1, -1 do list[i] = nil end
  return list, all
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

local function write_rows(to, about, list)
  local sum = 0
  to:putf("%s  flat%%   sum%% %s   cum%%\n", about:pad("flat"), about:pad("cum"))
  for _, node in ipairs(list) do
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
  local list, all = sorted(about, opts, opts.n or DEFAULT_ROWS)
  about:choose_unit(nodes.smallest(list))
  local shown = 0
  for _, node in ipairs(list) do shown = shown + node.flat end
  local to <const> = sink.new(out)
  to:lines(about:header())
  to:putf("Showing %d of %d %s, %s (%s) of %s; %s\n", #list, all,
    nodes.noun(opts), about:value(shown),
    (about:percent(shown):gsub("^ +", "")), about:value(about.whole), about:denominator())
  write_rows(to, about, list)
  return to:finish()
end

return top
