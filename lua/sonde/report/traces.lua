--- Every stack with its value and its labels, innermost frame first.
-- @module sonde.report.traces
local json <const> = require "sonde.base.json"
local names <const> = require "sonde.report.names"
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
}, options.select(scope.options, { "type", "unit" }))


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

-- Calls `use(stack, values, labels)` for the samples to show.
local function each(profile, about, n, use)
  if n == nil or n == 0 then
    for stack, values, labels in profile:samples() do use(stack, values, labels) end
    return
  end
  local chosen, kept, i = heaviest(profile, about.index, n), {}, 0
  for stack, values, labels in profile:samples() do
    i = i + 1
    if chosen[i] then kept[chosen[i]] = { stack, values, labels } end
  end
  for _, sample in ipairs(kept) do use(sample[1], sample[2], sample[3]) end
end

local function sorted_keys(labels)
  local keys = {}
  for key in pairs(labels or {}) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function write_labels(to, about, labels)
  for _, key in ipairs(sorted_keys(labels)) do
    local words = {}
    for i, value in ipairs(labels[key]) do words[i] = text.printable(tostring(value)) end
    to:putf("%s:  %s\n", about:pad(text.printable(key)), table.concat(words, " "))
  end
end

-- The line of each frame below the first, made once.
local function frame_lines(about, frames)
  local blank <const> = about:pad("")
  return names.memo(function(frame)
    return ("%s   %s\n"):format(blank, scope.name(names.of(frames, frame)))
  end)
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
  local line_of <const> = frame_lines(about, profile:frames())
  local rule <const> = ("-"):rep(#about:pad("") + 1) .. "+" .. ("-"):rep(55) .. "\n"
  local to <const> = sink.new(out)
  to:lines(about:header())
  each(profile, about, opts.n, function(stack, values, labels)
    to:put(rule)
    write_labels(to, about, labels)
    local head <const> = about:column(values[about.index])
    if #stack == 0 then to:putf("%s   %s\n", head, names.NO_STACK) end
    for i, frame in ipairs(stack) do
      to:put(i == 1 and head .. line_of[frame]:sub(#head + 1) or line_of[frame])
    end
  end)
  to:put(rule)
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
    each(profile, about, opts.n, function(stack, values, labels)
      local list = json.array {}
      for i, frame in ipairs(stack) do
        list[i] = {
          func = names.of(frames, frame), file = frames.file[frame], line = frames.line[frame],
        }
      end
      coroutine.yield { schema = schema, value = values[about.index], unit = about.unit,
        frames = list, labels = labels and json.object(labels) }
      schema = nil
    end)
  end)
end

return traces
