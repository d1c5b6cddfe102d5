--- Every stack with its value and its labels, innermost frame first.
-- @module sonde.report.traces
local json <const> = require "sonde.base.json"
local labels <const> = require "sonde.report.labels"
local names <const> = require "sonde.report.names"
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"

local traces = {}

traces.name = "traces"
traces.summary = "every sample's stack with its value and labels"
traces.takes = "profile"
traces.extensions = {}
traces.options = options.join({
  { name = "n", type = "integer", short = "n", min = 0,
    help = "only the heaviest samples, this many; all in their order otherwise" },
}, options.select(nodes.options, { "by" }), scope.options)

-- Which samples are among the `n` heaviest: the set of their numbers.
local function heaviest(profile, index, n)
  local values, order = {}, {}
  for _, row in profile:samples() do
    local i = #values + 1
    values[i], order[i] = scope.magnitude(row[index]), i
  end
  table.sort(order, function(a, b)
    if values[a] ~= values[b] then return values[a] > values[b] end
    return a < b
  end)
  local chosen = {}
  for i = 1, math.min(n, #order) do chosen[order[i]] = i end
  return chosen
end

-- Calls `use(stack, values, labels, set)` for the samples to show.
local function each(profile, about, n, use)
  if n == nil or n == 0 then
    for stack, values, by_key, set in profile:samples() do use(stack, values, by_key, set) end
    return
  end
  local chosen, kept, i = heaviest(profile, about.index, n), {}, 0
  for stack, values, by_key, set in profile:samples() do
    i = i + 1
    if chosen[i] then kept[chosen[i]] = { stack, values, by_key, set } end
  end
  for _, sample in ipairs(kept) do use(table.unpack(sample, 1, 4)) end
end

local RULE <const> = ("-"):rep(11) .. "+" .. ("-"):rep(55) .. "\n"

-- The lines of each set of labels, made once: texts first, then numbers.
local function label_lines(profile)
  local rows <const> = profile:label_rows()
  local unit_of <const> = labels.units(profile, rows)
  return names.memo(function(set)
    local texts, numbers = labels.split(rows[set])
    local first, second = {}, {}
    for key, values in pairs(texts) do
      for i, value in ipairs(values) do values[i] = text.printable(value) end
      first[#first + 1] = ("%10s:  %s\n"):format(text.printable(key), table.concat(values, " "))
    end
    for key, list in pairs(numbers) do
      local words = {}
      for i, label in ipairs(list) do
        words[i] = labels.number(label.value, labels.unit(label, unit_of))
      end
      second[#second + 1] = ("%10s:  %s\n"):format(text.printable(key), table.concat(words, " "))
    end
    table.sort(first)
    table.sort(second)
    return table.concat(first) .. table.concat(second)
  end)
end

-- The name of each frame, made once, with a mark when it was inlined.
local function frame_words(profile, by)
  local frames <const>, called <const> = profile:frames(), profile:frame_names(by)
  return names.memo(function(frame)
    local inlined <const> = frames.location[frame] == frames.location[frame + 1]
    return scope.name(called[frame]) .. (inlined and " (inline)" or "") .. "\n"
  end)
end

-- What a sample's line shows, each in the unit that suits it.
local function value_of(about, values)
  local value = values[about.index]
  if about.mean and values[1] ~= 0 then
    value = math.tointeger(scope.truncate(value / values[1])) or value
  end
  return value
end

--- Writes the stacks.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function traces.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local words_of <const>, label_of <const> = frame_words(profile, opts.by), label_lines(profile)
  local blank <const> = (" "):rep(13)
  local to <const> = sink.new(out)
  to:lines(about:header())
  each(profile, about, opts.n, function(stack, values, _, set)
    if #stack == 0 then return end
    to:put(RULE)
    to:put(label_of[set])
    local head <const> = ("%10s   "):format(about:value(value_of(about, values)))
    for i, frame in ipairs(stack) do
      to:put(i == 1 and head or blank)
      to:put(words_of[frame])
    end
  end)
  to:put(RULE)
  return to:finish()
end

--- Iterates over the samples, for `--json`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?function iterator of `{ value, unit, frames, labels }`, frames
--   innermost first, each `{ func, file, line }`
-- @treturn ?string message
-- @treturn ?string code
function traces.rows(profile, opts)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local frames <const> = profile:frames()
  return coroutine.wrap(function()
    local schema = 1
    each(profile, about, opts.n, function(stack, values, by_key)
      local list = json.array {}
      for i, frame in ipairs(stack) do
        list[i] = {
          func = names.of(frames, frame), file = frames.file[frame], line = frames.line[frame],
        }
      end
      coroutine.yield { schema = schema, value = values[about.index], unit = about.unit,
        frames = list, labels = by_key and json.object(by_key) }
      schema = nil
    end)
  end)
end

return traces
