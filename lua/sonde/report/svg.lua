--- A flame graph as one SVG file that needs nothing else: a click zooms, "/"
-- searches, the address keeps both. Boxes are as wide as their values, the
-- widest first, callers below their callees (above, as an icicle).
-- @module sonde.report.svg
local calls <const> = require "sonde.report.calls"
local colours <const> = require "sonde.report.colours"
local names <const> = require "sonde.report.names"
local options <const> = require "sonde.base.options"
local page <const> = require "sonde.report.svg_page"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local svg = {}

svg.name = "svg"
svg.summary = "a flame graph: zoom, search, one file for any browser"
svg.takes = "profile"
svg.extensions = { "svg" }
svg.options = options.join(options.select(scope.options, { "type", "unit" }), {
  { name = "icicle", type = "boolean", default = false, help = "callers on top" },
  { name = "title", type = "string", help = "title; what is measured otherwise" },
  { name = "width", type = "integer", default = 1200, min = 300, max = 20000,
    help = "width in pixels where no script runs; browsers use the whole window" },
  { name = "min_width", type = "number", default = 0.1, min = 0, max = 100,
    help = "leave out boxes narrower than this many pixels" },
  calls.labels_option,
})

local ADVICE <const> = "draw the difference of the two profiles that it was made of"
local ROW <const> = 18
local SIDE <const> = 10
local TOP <const> = 62
local BOTTOM <const> = 30
local LETTER <const> = 7.22

-- What a box says without a script: its name as far as there is room, the
-- short one when the whole does not fit.
local function label_of(name, pixels)
  local room <const> = (pixels - 6) // LETTER | 0
  if room < 3 then return "" end
  local shown = text.printable(name)
  if text.length(shown) > room then shown = text.cut(names.short(shown), room) end
  return text.xml(shown)
end

local Drawing <const> = {}
Drawing.__index = Drawing

-- Begins a drawing of `rows` levels whose root is worth `total`.
local function new_drawing(out, opts, rows, total)
  return setmetatable({
    to = sink.new(out), rows = rows, total = total, icicle = opts.icicle,
    width = opts.width, inner = opts.width - 2 * SIDE,
  }, Drawing)
end

function Drawing:box(level, x, value, name, words, fill)
  local left <const>, share <const> = x / self.total * 100, value / self.total * 100
  local y <const> = (self.icicle and level or self.rows - 1 - level) * ROW
  self.to:putf('<g><title>%s (%s)</title><rect x="%.5f%%" y="%d" width="%.5f%%" '
    .. 'height="%d" fill="%s"/><text x="%.5f%%" dx="3" y="%d">%s</text></g>\n',
    text.xml(name), text.xml(words), left, y, share, ROW - 1, fill, left, y + 13,
    label_of(name, share / 100 * self.inner))
end

function Drawing:head(title, notes)
  local to <const>, height = self.to, TOP + self.rows * ROW + BOTTOM
  to:putf('<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
    .. 'width="%d" height="%d">\n<title>%s</title>\n', self.width, height, text.xml(title))
  to:putf("<style>%s</style>\n", page.STYLE)
  to:put('<rect width="100%" height="100%" fill="#fdfcfa"/>\n')
  to:putf('<text id="title" x="%d" y="24">%s</text>\n', SIDE, text.xml(title))
  to:putf('<text id="notes" x="%d" y="42"><title>%s</title>%s</text>\n', SIDE, text.xml(notes),
    text.xml(text.cut(notes, self.inner // LETTER | 0)))
  to:put('<text id="search" class="button" x="100%" dx="-10" y="24" text-anchor="end">'
    .. "search</text>\n")
  to:put('<text id="reset" class="button" x="100%" dx="-72" y="24" text-anchor="end" '
    .. 'visibility="hidden">reset</text>\n')
  to:put('<text id="matched" x="100%" dx="-130" y="24" text-anchor="end"></text>\n')
  to:putf('<text id="details" x="%d" y="%d"></text>\n', SIDE, height - 10)
  to:putf('<svg id="frames" data-row="%d" x="%d" y="%d" width="%d" height="%d">\n', ROW, SIDE,
    TOP - 6, self.inner, self.rows * ROW)
end

function Drawing:finish()
  self.to:putf("</svg>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", page.SCRIPT)
  return self.to:finish()
end

local function depth_of(tree)
  local depth = 0
  for i = 1, tree.n do depth = math.max(depth, tree.depth[i]) end
  return depth
end

-- Calls `box(level, x, value, row)` for every row of a tree, and with row nil
-- for what was pruned below one, where that is at least `least` wide. A parent
-- is worth its own value, its children and what was pruned.
local function lay_out(tree, least, box)
  local next_x, rest = { [0] = 0 }, {}
  local depth = 0
  local function close(to)
    for level = depth, to, -1 do
      local gap = rest[level]
      if gap > 0 and gap >= least then box(level + 1, next_x[level], gap) end
    end
  end
  for i = 1, tree.n do
    local level <const>, value <const> = tree.depth[i], tree.total[i]
    if level <= depth then close(level) end
    local x <const> = next_x[level - 1]
    box(level, x, value, i)
    next_x[level - 1] = x + value
    if rest[level - 1] then rest[level - 1] = rest[level - 1] - value end
    next_x[level], rest[level] = x, value - tree.self[i]
    depth = level
  end
  close(1)
  return next_x[0]
end

-- The least value that is drawn.
local function least_of(total, opts)
  local per_pixel <const> = (total + 0.0) / (opts.width - 2 * SIDE)
  return math.max(1, math.ceil(per_pixel * opts.min_width))
end

local function notes_of(about, tree)
  local words = about:header()
  table.remove(words, 1)
  if tree.pruned ~= 0 then
    words[#words + 1] = ("%s in boxes too narrow to draw"):format(about:percent(tree.pruned)
      :gsub("^ +", ""))
  end
  return table.concat(words, " · ")
end

-- Draws all boxes. `words_of(value, row)` is what stands in brackets behind a
-- name, `fill_of(row)` a colour.
local function draw(drawing, tree, words_of, fill_of, least)
  drawing:box(0, 0, drawing.total, "all", words_of(drawing.total), colours.ROOT)
  local used <const> = lay_out(tree, least, function(level, x, value, row)
    if row then
      drawing:box(level, x, value, tree.name[row], words_of(value, row), fill_of(row))
    else
      drawing:box(level, x, value, "(pruned)", words_of(value), colours.PRUNED)
    end
  end)
  local gap <const> = drawing.total - used
  if gap >= least then
    drawing:box(1, used, gap, "(pruned)", words_of(gap), colours.PRUNED)
  end
end

--- Writes the graph.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples`; `unavailable` when a value is negative
function svg.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local sign, why, which = about:sign(nil, ADVICE)
  if sign == nil then return nil, why, which end
  local total <const> = profile:total(about.index)
  local least <const> = least_of(total, opts)
  local tree <const> = calls.tree(profile, { type = about.index, min = least }, opts.labels)
  local fill <const> = colours.by_module(profile:frames())
  local drawing <const> = new_drawing(out, opts, depth_of(tree) + 1, total)
  drawing:head(opts.title or about:title() .. ", " .. about:value(total), notes_of(about, tree))
  draw(drawing, tree, function(value)
    return ("%s, %s"):format(about:value(value), (about:percent(value):gsub("^ +", "")))
  end, function(row) return fill(tree.name[row], tree.frame[row]) end, least)
  return drawing:finish()
end

local function diff_notes(diff, value)
  local notes = ("Before: %s · After: %s · width: before + after, red: more, blue: less"):format(
    value(diff.total_before), value(diff.total_after))
  if diff.scale ~= "none" then notes = notes .. " · " .. diff:scale_text() end
  return notes
end

--- Writes a difference: boxes are as wide as before and after together, red
-- where there is more after, blue where there is less.
-- @param diff
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function svg.write_diff(diff, opts, out)
  local joined, message, code = diff:joined()
  if joined == nil then return nil, message, code end
  local about, why, which = scope.new(joined, { type = "both", unit = opts.unit })
  if about == nil then return nil, why, which end
  local sign
  sign, why, which = about:sign(nil, ADVICE)
  if sign == nil then return nil, why, which end
  local total <const> = joined:total(3)
  local least <const> = least_of(total, opts)
  local tree <const> = calls.tree(joined, { type = 3, also = 2, min = least }, opts.labels)
  local drawing <const> = new_drawing(out, opts, depth_of(tree) + 1, total)
  local function value(number) return units.value(number, diff.unit, opts.unit) end
  drawing:head(opts.title or ("Difference of %s"):format(diff.type), diff_notes(diff, value))
  draw(drawing, tree, function(both, row)
    if row == nil then return value(both) .. " before and after" end
    local after <const> = tree.total2[row]
    return ("%s before, %s after, %s"):format(value(both - after), value(after),
      diff.relative_text(diff.relative(both - after, after)))
  end, function(row)
    return colours.of_change(tree.total[row] - tree.total2[row], tree.total2[row])
  end, least)
  return drawing:finish()
end

return svg
