--- What changed between two profiles, function by function.
-- @module sonde.report.diff
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local report = {}

report.name = "diff"
report.summary = "what changed between two profiles: before, after, change"
report.takes = "diff"
report.extensions = {}
report.options = options.join({
  { name = "n", type = "integer", short = "n", min = 0,
    help = "rows to print, 0 for all; 20 otherwise" },
  { name = "cum", type = "boolean", default = false,
    help = "compare values with callees" },
}, nodes.options, options.select(scope.options, { "unit" }))

local DEFAULT_ROWS <const> = 20
-- From here on the totals differ so much that values say little.
local UNEQUAL <const> = 5

--- Iterates over the rows, for `--json`; without `n` all of them.
-- @param diff
-- @tparam table opts checked options
-- @treturn function iterator of `{ name, before, after, change, relative, unit }`
function report.rows(diff, opts)
  local rows <const> = diff:rows(opts)
  local last <const> = (opts.n or 0) == 0 and #rows or math.min(opts.n, #rows)
  local i = 0
  return function()
    i = i + 1
    if i > last then return nil end
    if i == 1 then rows[i].schema = 1 end
    return rows[i]
  end
end

-- How a row's numbers read: values with their unit, or shares.
local function printer(diff, out_unit)
  if diff.normalize then
    return function(share) return ("%.2f%%"):format(share):gsub("^%-(0%.00%%)$", "%1") end
  end
  if diff.scale == "time" then
    return function(value) return units.value(value, diff.unit, out_unit) .. "/s" end
  end
  return function(value) return units.value(value, diff.unit, out_unit) end
end

local function signed(print, value)
  local words <const> = print(value)
  return value > 0 and "+" .. words or words
end

local function smallest_of(rows, last)
  local smallest = 0
  for i = 1, last do
    for _, value in ipairs { rows[i].before, rows[i].after } do
      value = scope.magnitude(value)
      if value > 0 and (smallest == 0 or value < smallest) then smallest = value end
    end
  end
  return smallest
end

-- The totals' ratio as people say it, "10:1"; nil when they are alike.
local function imbalance(diff)
  local a, b = diff.total_before + 0.0, diff.total_after + 0.0
  if a < b then a, b = b, a end
  if b == 0 or a / b < UNEQUAL then return nil end
  local words <const> = (("%.1f"):format(a / b):gsub("%.0$", "")) .. ":1"
  return words
end

local function header(diff)
  local lines = {
    ("Type: %s (%s)"):format(text.printable(diff.type), text.printable(diff.unit)),
    "Before: " .. scope.amount(diff.before, diff.from.index),
    "After: " .. scope.amount(diff.after, diff.to.index),
    "Sides are " .. diff:scale_text(),
  }
  if diff.normalize then
    lines[#lines + 1] = "Percentages before and after are of each side's own total; "
      .. "change is in percentage points, relative of the share before"
  else
    lines[#lines + 1] = "Percentages (relative) are of the value before"
    local ratio <const> = imbalance(diff)
    if ratio and diff.scale == "none" then
      lines[#lines + 1] = ("Hint: the totals differ %s; normalize compares shares instead")
        :format(ratio)
    end
  end
  return lines
end

local FORMAT <const> = "%12s %12s %12s %9s  %s\n"

local function total_row(diff)
  if diff.normalize then
    return { name = "total", before = 100.0, after = 100.0, change = 0.0, relative = 0 }
  end
  local before, after = diff.before:total(diff.from.index) * diff.from.worth,
    diff.after:total(diff.to.index) * diff.to.worth
  if diff.scale == "time" then
    before, after = before / diff.seconds[1], after / diff.seconds[2]
  end
  return {
    name = "total", before = before, after = after, change = after - before,
    relative = diff.relative(before, after),
  }
end

--- Writes the table.
-- @param diff
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function report.write(diff, opts, out)
  local rows <const> = diff:rows(opts)
  local n <const> = opts.n or DEFAULT_ROWS
  local last <const> = n == 0 and #rows or math.min(n, #rows)
  local out_unit = opts.unit
  if out_unit == "auto" and not diff.normalize then
    local total <const> = total_row(diff)
    out_unit = units.choose(diff.unit, smallest_of(rows, last),
      math.max(scope.magnitude(total.before), scope.magnitude(total.after)))
  end
  local print <const> = printer(diff, out_unit)
  local to <const> = sink.new(out)
  to:lines(header(diff))
  to:putf("Showing %d of %d rows, %s\n", last, #rows,
    opts.cum and "values with callees (cum)" or "own values (flat)")
  to:putf(FORMAT, "before", "after", "change", "relative", opts.label or opts.by)
  local function put(row)
    to:putf(FORMAT, print(row.before), print(row.after), signed(print, row.change),
      diff.relative_text(row.relative), scope.name(row.name))
  end
  for i = 1, last do put(rows[i]) end
  put(total_row(diff))
  return to:finish()
end

return report
