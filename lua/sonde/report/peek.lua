--- Chosen functions between their callers and their callees.
-- @module sonde.report.peek
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local rex <const> = require "rex_pcre2"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"

local peek = {}

peek.name = "peek"
peek.summary = "functions that match, between their callers and their callees"
peek.takes = "profile"
peek.extensions = {}
peek.options = options.join({
  { name = "pattern", type = "pattern", default = ".",
    help = "functions to show; all otherwise" },
}, options.select(nodes.options, { "by" }), scope.options)

local magnitude <const> = scope.magnitude

local function heavier(a, b)
  local x, y = magnitude(a.value), magnitude(b.value)
  if x ~= y then return x > y end
  return a.name < b.name
end

-- Callers and callees of every node, each a list of `{ name, value }`.
local function neighbours(graph)
  local callers, callees = {}, {}
  for _, edge in ipairs(graph.edges) do
    local from, to = graph.nodes[edge.from], graph.nodes[edge.to]
    callers[to] = callers[to] or {}
    callees[from] = callees[from] or {}
    table.insert(callers[to], { name = from.name, value = edge.value })
    table.insert(callees[from], { name = to.name, value = edge.value })
  end
  for _, map in ipairs { callers, callees } do
    for _, list in pairs(map) do table.sort(list, heavier) end
  end
  return callers, callees
end

local function matching(graph, pattern)
  local regex <const> = rex.new(pattern)
  local found = {}
  for _, node in ipairs(graph.nodes) do
    if (node.flat ~= 0 or node.cum ~= 0) and regex:find(node.name) then
      found[#found + 1] = node
    end
  end
  table.sort(found, function(a, b)
    local x, y = magnitude(a.flat), magnitude(b.flat)
    if x ~= y then return x > y end
    return a.name < b.name
  end)
  return found
end

local function look(profile, opts)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local graph <const> = profile:graph { type = about.index, by = opts.by, edges = true }
  local found <const> = matching(graph, opts.pattern)
  if #found == 0 then
    return nil, ("no function matches '%s'"):format(text.printable(opts.pattern)), "not_found"
  end
  local callers, callees = neighbours(graph)
  return about, found, callers, callees
end

--- Iterates over the functions, for `--json`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?function iterator of `{ name, flat, cum, unit, callers, callees }`,
--   the last two lists of `{ name, value }`
-- @treturn ?string message
-- @treturn ?string code
function peek.rows(profile, opts)
  local about, found, callers, callees = look(profile, opts)
  if about == nil then return nil, found, callers end
  local i = 0
  return function()
    i = i + 1
    local node <const> = found[i]
    return node and {
      schema = i == 1 and 1 or nil, name = node.name, flat = node.flat, cum = node.cum,
      unit = about.unit, callers = callers[node] or {}, callees = callees[node] or {},
    }
  end
end

local function write_neighbours(to, about, node, list)
  local blank <const> = about:pad("")
  for _, other in ipairs(list or {}) do
    to:putf("%s        %s        %s %s |   %s\n", blank, blank, about:column(other.value),
      about.percent({ whole = magnitude(node.cum) }, other.value), scope.name(other.name))
  end
end

--- Writes a block for each function: callers above, callees below.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function peek.write(profile, opts, out)
  local about, found, callers, callees = look(profile, opts)
  if about == nil then return nil, found, callers end
  about:choose_unit(nodes.smallest(found))
  local to <const> = sink.new(out)
  to:lines(about:header())
  to:putf("Showing %d function%s; %s, calls%% of the function's cum\n", #found,
    #found == 1 and "" or "s", about:denominator())
  local blank <const> = about:pad("")
  local rule <const> = ("-"):rep(3 * #blank + 24) .. "+" .. ("-"):rep(13) .. "\n"
  to:put(rule)
  to:putf("%s  flat%% %s   cum%%  %s calls%% | context\n", about:pad("flat"), about:pad("cum"),
    about:pad("calls"))
  to:put(rule)
  for _, node in ipairs(found) do
    write_neighbours(to, about, node, callers[node])
    to:putf("%s %s %s %s  %s        | %s\n", about:column(node.flat), about:percent(node.flat),
      about:column(node.cum), about:percent(node.cum), blank, scope.name(node.name))
    write_neighbours(to, about, node, callees[node])
    to:put(rule)
  end
  return to:finish()
end

return peek
