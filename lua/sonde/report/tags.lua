--- The values of each label, with what the samples that carry them are worth.
-- @module sonde.report.tags
local labels <const> = require "sonde.report.labels"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local tags = {}

tags.name = "tags"
tags.summary = "the values of each label and what they are worth"
tags.takes = "profile"
tags.extensions = {}
tags.options = options.join({
  { name = "pattern", type = "pattern", help = "only labels whose key matches" },
}, options.select(scope.options, { "type", "unit", "relative" }))

local magnitude <const> = scope.magnitude

-- Adds a sample's value to each value of its labels.
local function add(found, key, words, value)
  local values <const> = found[key] or {}
  found[key] = values
  values[words] = (values[words] or 0) + value
end

-- Key to text of a value to sum.
local function collect(profile, index, out_unit)
  local rows <const> = profile:label_rows()
  local unit_of <const> = labels.units(profile, rows)
  local found = {}
  for _, values, _, set in profile:samples() do
    for _, label in ipairs(rows[set]) do
      local words = label.value
      if label.unit then words = labels.number(words, labels.unit(label, unit_of), out_unit) end
      add(found, label.key, words, values[index])
    end
  end
  return found
end

local function sorted(values)
  local list, total = {}, 0
  for name, value in pairs(values) do
    list[#list + 1], total = { name = name, value = value }, total + value
  end
  table.sort(list, function(a, b)
    local x, y = magnitude(a.value), magnitude(b.value)
    if x ~= y then return x > y end
    return a.name < b.name
  end)
  return list, total
end

local function share(about, value)
  return (units.percent(value, about.whole):gsub("^ +", ""))
end

-- The label's table: cells that are aligned to the right over all of it.
local function lines_of(about, key, values)
  local list, total = sorted(values)
  local lines = { {
    text.printable(key) .. ":",
    (" Total %s of %s (%s)"):format(about:value(total), about:value(about.whole),
      share(about, total)),
  } }
  for i, row in ipairs(list) do
    lines[i + 1] = {
      " ", ("%s (%s):"):format(about:value(row.value), share(about, row.value)),
      " " .. text.printable(row.name),
    }
  end
  return lines
end

-- As Go's tabwriter does: a column ends where a line has no cell for it, the
-- last cell of a line has no width.
local function write_lines(to, lines)
  local first, second = 0, 0
  for i, cells in ipairs(lines) do
    first = math.max(first, utf8.len(cells[1]) or #cells[1])
    if i > 1 then second = math.max(second, utf8.len(cells[2]) or #cells[2]) end
  end
  local function padded(cell, width)
    return (" "):rep(width + 1 - (utf8.len(cell) or #cell)) .. cell
  end
  for i, cells in ipairs(lines) do
    to:put(padded(cells[1], first))
    to:put(i == 1 and cells[2] or padded(cells[2], second) .. cells[3])
    to:put("\n")
  end
end

local function keys_in_order(found)
  return labels.sorted(found)
end

local function look(profile, opts)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local found <const> = collect(profile, about.index, opts.unit)
  if opts.pattern then
    local matches <const> = require("sonde.base.pattern").matcher(opts.pattern)
    for key in pairs(found) do
      if not matches(key) then found[key] = nil end
    end
  end
  if next(found) == nil then return nil, "no sample has a label", "no_samples" end
  return about, found
end

--- Writes a table for each label.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples` without labels
function tags.write(profile, opts, out)
  local about, found, code = look(profile, opts)
  if about == nil then return nil, found, code end
  local to <const> = sink.new(out)
  for _, key in ipairs(keys_in_order(found)) do
    write_lines(to, lines_of(about, key, found[key]))
    to:put("\n")
  end
  return to:finish()
end

--- Iterates over the values, for `--json`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?function iterator of `{ key, name, value, unit }`
-- @treturn ?string message
-- @treturn ?string code
function tags.rows(profile, opts)
  local about, found, code = look(profile, opts)
  if about == nil then return nil, found, code end
  return coroutine.wrap(function()
    local schema = 1
    for _, key in ipairs(keys_in_order(found)) do
      for _, row in ipairs((sorted(found[key]))) do
        coroutine.yield { schema = schema, key = key, name = row.name, value = row.value,
          unit = about.unit }
        schema = nil
      end
    end
  end)
end

return tags
