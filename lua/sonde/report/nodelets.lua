--- The labels of the nodes of a picture: small boxes with what the samples
-- that carry them are worth there. Of numbers only the key "bytes" is shown,
-- as in pprof, gathered into few ranges.
-- @module sonde.report.nodelets
local labels <const> = require "sonde.report.labels"
local scope <const> = require "sonde.report.scope"
local units <const> = require "sonde.base.units"

local nodelets = {}

local magnitude <const> = scope.magnitude
local MOST <const> = 4
local NUMBER_KEY <const> = "bytes"

local function new_tag(name, unit, value)
  return { name = name, unit = unit, value = value, flat = 0, flat_count = 0, cum = 0,
    cum_count = 0 }
end

local function add(tag, row)
  tag.flat, tag.flat_count = tag.flat + row.flat, tag.flat_count + row.flat_count
  tag.cum, tag.cum_count = tag.cum + row.cum, tag.cum_count + row.cum_count
end

local function quotient(sum, count)
  if count == 0 then return sum end
  return math.tointeger(scope.truncate(sum / count)) or sum
end

-- What a set of labels is called, and its numbers.
local function describe(row, escape)
  local words, numbers = {}, {}
  for _, label in ipairs(row) do
    if label.unit == nil and label.key ~= labels.BASE then
      words[#words + 1] = label.key .. ":" .. label.value
    elseif label.key == NUMBER_KEY then
      numbers[#numbers + 1] = label.value
    end
  end
  table.sort(words)
  for i, word in ipairs(words) do words[i] = escape(word) end
  return table.concat(words, "\\n"), numbers
end

--- A maker of nodelets for one profile.
-- @param profile
-- @tparam function escape makes a text fit to stand in quotes
-- @treturn function (node) the tags of a node: `texts` by name, `numbers` by the
--   name of the text beside them and by their own
function nodelets.maker(profile, escape)
  local rows <const> = profile:label_rows()
  local unit <const> = labels.units(profile, rows)[NUMBER_KEY]
  local known = {}
  for set, row in ipairs(rows) do
    local name, numbers = describe(row, escape)
    known[set] = { name = name, numbers = numbers }
  end
  return function(node)
    if node.made then return node.made end
    local made <const> = { texts = {}, numbers = {} }
    for _, tag in ipairs(node.tags or {}) do
      local set <const> = known[tag.set]
      if set.name ~= "" then
        made.texts[set.name] = made.texts[set.name] or new_tag(set.name)
        add(made.texts[set.name], tag)
      end
      for _, value in ipairs(set.numbers) do
        local beside <const> = made.numbers[set.name] or {}
        made.numbers[set.name] = beside
        local name <const> = units.value(value, unit)
        beside[name] = beside[name] or new_tag(name, unit, value)
        add(beside[name], tag)
      end
    end
    node.made = made
    return made
  end
end

local function list_of(map, cutoff)
  local list = {}
  for _, tag in pairs(map) do
    if magnitude(tag.flat) >= cutoff or magnitude(tag.cum) >= cutoff then
      list[#list + 1] = tag
    end
  end
  return list
end

local function sort(list, by_flat)
  table.sort(list, function(a, b)
    local x, y = magnitude(a.cum), magnitude(b.cum)
    if not by_flat and a.cum ~= b.cum and x ~= y then return x > y end
    x, y = magnitude(a.flat), magnitude(b.flat)
    if x ~= y then return x > y end
    return a.name < b.name
  end)
  return list
end

--- How much room the tags of a node will take.
-- @tparam table made as of the maker
-- @tparam integer cutoff least magnitude of a tag
-- @treturn integer
function nodelets.count(made, cutoff)
  local n = 0
  local function count(map)
    for _, tag in ipairs(list_of(map, cutoff)) do
      if tag.flat ~= 0 then n = n + 1 end
    end
  end
  count(made.texts)
  for _, map in pairs(made.numbers) do count(map) end
  return n
end

local function label_of(group)
  local least, most, sum = group[1], group[1], new_tag("")
  for _, tag in ipairs(group) do
    if tag.value < least.value then least = tag end
    if tag.value > most.value then most = tag end
    add(sum, tag)
  end
  sum.name = units.value(least.value, least.unit)
  if #group > 1 then sum.name = sum.name .. ".." .. units.value(most.value, most.unit) end
  sum.flat, sum.cum = quotient(sum.flat, sum.flat_count), quotient(sum.cum, sum.cum_count)
  sum.flat_count, sum.cum_count = 0, 0
  return sum
end

local function nearest(groups, tag)
  local best, least
  for i, group in ipairs(groups) do
    local distance <const> = magnitude(group[1].value - tag.value)
    if least == nil or distance < least then best, least = i, distance end
  end
  return best
end

-- At most MOST tags: each further one joins the nearest of the heaviest.
local function collapsed(list, by_flat)
  sort(list, by_flat)
  if #list <= MOST then return list end
  local groups = {}
  for i = 1, MOST do groups[i] = { list[i] } end
  for i = MOST + 1, #list do table.insert(groups[nearest(groups, list[i])], list[i]) end
  for i, group in ipairs(groups) do groups[i] = label_of(group) end
  return sort(groups, by_flat)
end

local BOX <const> = '%s [label = "%s" id="%s" fontsize=8 shape=box3d tooltip="%s"]\n'
local ARROW <const> = '%s -> %s [label=" %s" weight=100 tooltip="%s" labeltooltip="%s"%s]\n'

local function put(lines, about, from, to, name, value, style)
  local words <const> = about:value(value)
  lines[#lines + 1] = BOX:format(to, name, to, words)
  lines[#lines + 1] = ARROW:format(from, to, words, words, words, style)
end

local function put_numbers(lines, about, map, by_flat, from, cutoff)
  for i, tag in ipairs(collapsed(list_of(map or {}, cutoff), by_flat)) do
    local flat <const> = quotient(tag.flat, tag.flat_count)
    local cum <const> = quotient(tag.cum, tag.cum_count)
    local value, style = cum, ' style="dotted"'
    if by_flat or flat == cum then value, style = flat, "" end
    if value ~= 0 then
      put(lines, about, from, ("N%s_%d"):format(from, i - 1), tag.name, value, style)
    end
  end
end

--- The lines of a node's nodelets.
-- @param about a scope
-- @tparam table node
-- @tparam table made its tags
-- @tparam integer number of the node
-- @tparam integer cutoff least magnitude of a tag
-- @treturn string "" when there are none
function nodelets.lines(about, node, made, number, cutoff)
  local by_flat <const> = #node.outs > 0
  local lines, from = {}, "N" .. number
  local texts <const> = sort(list_of(made.texts, cutoff), by_flat)
  for i = 1, math.min(#texts, MOST) do
    local tag <const> = texts[i]
    local value <const> = by_flat and quotient(tag.flat, tag.flat_count)
      or quotient(tag.cum, tag.cum_count)
    if value ~= 0 then
      local to <const> = ("%s_%d"):format(from, i - 1)
      put(lines, about, from, to, tag.name, value, "")
      put_numbers(lines, about, made.numbers[tag.name], by_flat, to, cutoff)
    end
  end
  put_numbers(lines, about, made.numbers[""], by_flat, from, cutoff)
  return table.concat(lines)
end

return nodelets
