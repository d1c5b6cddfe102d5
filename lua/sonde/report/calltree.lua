--- The tree of calls, root first, as indented text.
-- @module sonde.report.calltree
local calls <const> = require "sonde.report.calls"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"

local calltree = {}

calltree.name = "calltree"
calltree.summary = "the calls as a tree, callers above their callees"
calltree.takes = "profile"
calltree.extensions = {}
calltree.options = options.join({
  { name = "min", type = "number", default = 0.5, min = 0, max = 100, argname = "PERCENT",
    help = "leave out calls below this share of the total" },
  { name = "depth", type = "integer", min = 1,
    help = "levels to print; all otherwise" },
  { name = "inverted", type = "boolean", default = false,
    help = "begin with the functions that hold the value, and go up to their callers" },
  calls.labels_option,
}, scope.options)

local function least(about, opts)
  return math.floor((about.whole + 0.0) * opts.min / 100)
end

local function calls_of(about, opts)
  return calls.tree(about.profile, {
    type = about.index, min = least(about, opts), inverted = opts.inverted,
  }, opts.labels)
end

--- Iterates over the calls, for `--json`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?function iterator of `{ depth, name, self, total, unit }` in preorder
-- @treturn ?string message
-- @treturn ?string code
function calltree.rows(profile, opts)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local rows <const> = calls_of(about, opts)
  local i = 0
  return function()
    repeat
      i = i + 1
      if i > rows.n then return nil end
    until opts.depth == nil or rows.depth[i] <= opts.depth
    return {
      schema = i == 1 and 1 or nil, depth = rows.depth[i], name = rows.name[i],
      self = rows.self[i], total = rows.total[i], unit = about.unit,
    }
  end
end

-- Which calls are shown, how many of them each has below it, and which is the
-- last one below its caller.
local function family(rows, depth)
  local below, last, open = {}, {}, {}
  for i = 1, rows.n do
    local level = rows.depth[i]
    if depth == nil or level <= depth then
      local caller = open[level - 1]
      if caller then below[caller], last[caller] = below[caller] + 1, i end
      open[level], below[i] = i, 0
    end
  end
  local is_last = {}
  for _, i in pairs(last) do is_last[i] = true end
  return below, is_last
end

-- What stands in front of each name. An only callee that takes all of its
-- caller's value stands below it without a step to the right: a step shows
-- where the value divides, and deep stacks stay readable.
local function guides(rows, below, is_last)
  local own, stems, open = {}, {}, {}
  for i = 1, rows.n do
    local level = rows.depth[i]
    if below[i] then
      local caller, stem = open[level - 1], stems[level - 1] or ""
      if caller == nil or below[caller] == 1 and rows.total[caller] == rows.total[i] then
        own[i], stems[level] = stem, stem
      else
        own[i] = stem .. (is_last[i] and "└─ " or "├─ ")
        stems[level] = stem .. (is_last[i] and "   " or "│  ")
      end
      open[level] = i
    end
  end
  return own
end

local function smallest_of(rows, below)
  local smallest = 0
  for i in pairs(below) do
    local value = scope.magnitude(rows.self[i] ~= 0 and rows.self[i] or rows.total[i])
    if value > 0 and (smallest == 0 or value < smallest) then smallest = value end
  end
  return smallest
end

local function write_calls(to, about, rows, below, own)
  to:putf("%s total%% %s  self%%\n", ("%10s"):format("total"), ("%10s"):format("self"))
  for i = 1, rows.n do
    if below[i] then
      to:putf("%s %s %s %s  %s%s\n", about:column(rows.total[i]),
        about:percent(rows.total[i]), about:column(rows.self[i]),
        about:percent(rows.self[i]), own[i], scope.name(rows.name[i]))
    end
  end
end

--- Writes the tree.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function calltree.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local rows <const> = calls_of(about, opts)
  local below, is_last = family(rows, opts.depth)
  about:choose_unit(smallest_of(rows, below))
  local to <const> = sink.new(out)
  to:lines(about:header())
  to:putf("Showing calls of %s or more%s; %s\n", about:value(least(about, opts)),
    opts.depth and (", %d levels"):format(opts.depth) or "", about:denominator())
  write_calls(to, about, rows, below, guides(rows, below, is_last))
  return to:finish()
end

return calltree
