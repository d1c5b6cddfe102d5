--- Profiles for specs, out of a few lines.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
require "sonde.profile"

local profiles = {}

--- A profile of lines such as `main;Json.parse;Json.skip 300`: frames outermost
-- first, a value for each sample type, then `key=value` labels. A frame is a
-- name, or `module!name`.
function profiles.of(text, types)
  types = types or { { "cpu", "nanoseconds" } }
  local profile <const> = core.profile_new { types = types, default = types[#types][1] }
  for line in text:gmatch("[^\n]*%d[^\n]*") do
    local frames, rest = line:match("^%s*(.-) ([-%d].*)$")
    local stack, values, labels = {}, {}, {}
    for frame in frames:gmatch("[^;]+") do
      local module, name = frame:match("^(.-)!(.*)$")
      table.insert(stack, 1, { name = name or frame, module = module })
    end
    for word in rest:gmatch("%S+") do
      local key, value = word:match("^([%a_]+)=(.*)$")
      if key then
        labels[key] = value
      else
        values[#values + 1] = math.tointeger(tonumber(word))
      end
    end
    profile:add(stack, values, labels)
  end
  return profile
end

--- A program that parses, mostly.
function profiles.program()
  return profiles.of([[
    app!main;json!Json.parse;json!Json.skip 30 300000000 thread=worker
    app!main;json!Json.parse;json!Json.read 20 200000000 thread=worker
    app!main;json!Json.parse 10 100000000 thread=boss
    app!main;app!idle;sys!wait 5 50000000 thread=boss
    app!rec;app!rec;app!rec 1 10000000 thread=boss
  ]], { { "samples", "count" }, { "cpu", "nanoseconds" } })
end

--- The names of a case of spec/data/cases, decoded.
function profiles.case(name)
  local bytes <const> = assert(helper.read(helper.data("cases/" .. name)))
  local decode <const> = name:find("%.folded$") and core.folded_decode or core.pprof_decode
  return assert(decode(bytes))
end

--- A timeline of rows `{ thread, time, weight, "frame;frame" }`: what a trace
-- gives, without a trace.
function profiles.timeline(rows)
  local names, numbers, threads, at = {}, {}, {}, {}
  local stacks = {}
  for _, row in ipairs(rows) do
    if stacks[row[4]] == nil then
      local stack = {}
      for name in row[4]:gmatch("[^;]+") do
        if numbers[name] == nil then
          names[#names + 1] = name
          numbers[name] = #names
        end
        table.insert(stack, 1, numbers[name])
      end
      stacks[row[4]] = stack
    end
    if at[row[1]] == nil then
      threads[#threads + 1] = { id = 100 + #threads, name = row[1], n = 0 }
      at[row[1]] = #threads
    end
    threads[at[row[1]]].n = threads[at[row[1]]].n + 1
  end
  local blank = {}
  for i = 1, #names do blank[i] = "" end
  local profile <const> = {
    frames = function()
      return { n = #names, name = names, file = blank, module = blank }
    end,
  }
  return {
    threads = function() return threads end,
    profile = function() return profile end,
    each = function(_, thread)
      local i = 0
      return function()
        repeat i = i + 1 until rows[i] == nil or at[rows[i][1]] == thread
        if rows[i] then return rows[i][2], rows[i][3], stacks[rows[i][4]] end
      end
    end,
  }
end

return profiles
