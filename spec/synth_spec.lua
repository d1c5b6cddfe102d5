-- The made traces: each gives what EXPECT.json says it must.
local dkjson <const> = require "dkjson"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local FOLDER <const> = helper.data "synth/"
local EXPECT <const> = dkjson.decode(assert(helper.read(FOLDER .. "EXPECT.json")))

local function path_of(name)
  local path <const> = FOLDER .. name .. ".nettrace"
  return helper.read(path) and path or path .. ".gz"
end

-- Samples by stack, root first; with the labels of machine-wide traces in
-- front of it.
local function folded(profile, column, labels_of)
  local names <const> = profile:frames().name
  local counts = {}
  for stack, values, labels in profile:samples() do
    local frames = labels_of and labels_of(labels) or {}
    for i = #stack, 1, -1 do frames[#frames + 1] = names[stack[i]] end
    local line <const> = table.concat(frames, ";")
    counts[line] = (counts[line] or 0) + values[column]
  end
  return counts
end

local function folded_view(trace, view, column, labels_of)
  local profile <const> = trace:profile { view = view, names = "raw" }
  return profile and folded(profile, column, labels_of) or {}
end

local function process_and_thread(labels)
  return { labels.process[1], ("Thread (%d)"):format(labels.thread_id[1]) }
end

local function events_of(name)
  local list = {}
  for event in assert(sonde.events(path_of(name))) do list[#list + 1] = event end
  return list
end

-- Ticks of the events as the file has them; the clocks of these files tick
-- in nanoseconds, or in multiples that the time can be divided by.
local function ticks_of(name, trace)
  local info <const> = trace:info()
  local list = {}
  for i, event in ipairs(events_of(name)) do
    list[i] = info.sync_ticks + event.time_ns * info.clock_frequency // 1000000000
  end
  return list
end

local function threads_of(name)
  local list, seen = {}, {}
  for _, event in ipairs(events_of(name)) do
    if not seen[event.thread] then list[#list + 1] = event.thread end
    seen[event.thread] = true
  end
  return list
end

-- JSON has no unsigned integers of 64 bits: those too large are doubles there.
local function same_value(want, got)
  if type(want) == "table" then
    if type(got) ~= "table" then return false end
    for key, value in pairs(want) do
      if not same_value(value, got[key]) then return false end
    end
    return true
  end
  if math.type(want) == "float" and math.type(got) == "integer" and want >= 2.0 ^ 63 then
    return want == got + 2.0 ^ 64
  end
  return want == got
end

local function check_decoded(name, want)
  for i, event in ipairs(events_of(name)) do
    if want[i] == "error" then
      assert.is_true(event.payload_status ~= nil or event.payload == nil
        or event.payload.raw ~= nil, name)
    elseif want[i] ~= nil then
      assert.is_true(same_value(want[i], event.payload),
        name .. ": " .. dkjson.encode(event.payload))
    end
  end
end

local CHECKS <const> = {
  version = function(want, _, trace) assert.equal(want, trace.version) end,
  pid = function(want, _, trace) assert.equal(want, trace.process_id) end,
  events = function(want, _, trace)
    assert.equal(want, trace and trace:counts().events or 0)
  end,
  events_min = function(want, _, trace) assert.is_true(trace:counts().events >= want) end,
  ended = function(want, _, trace) assert.equal(want, trace:counts().ended) end,
  truncated = function(want, _, trace) assert.equal(want, trace:counts().truncated) end,
  lost = function(want, _, trace) assert.equal(want, trace:counts().lost) end,
  errors = function(want, _, trace, code)
    local got <const> = trace and trace:counts().errors or code and 1 or 0
    assert.equal(want > 0, got > 0)
  end,
  warnings = function(want, _, trace) assert.equal(want > 0, trace:counts().warnings > 0) end,
  warnings_min = function(want, _, trace) assert.is_true(trace:counts().warnings >= want) end,
  unsupported = function(want, _, _, code, message)
    assert.equal("unsupported_version", code)
    assert.truthy(message:find(tostring(want), 1, true))
  end,
  folded = function(want, _, trace) assert.same(want, folded_view(trace, "samples", 1)) end,
  universal = function(want, _, trace)
    assert.same(want, folded_view(trace, "cpu", 1, process_and_thread))
  end,
  cswitch = function(want, _, trace)
    assert.same(want, folded_view(trace, "cswitch", 2, process_and_thread))
  end,
  order = function(want, name, trace) assert.same(want, ticks_of(name, trace)) end,
  -- A writer that breaks its promise of order cannot be put in order.
  order_sorted = function(want, name, trace)
    local got <const> = ticks_of(name, trace)
    table.sort(got)
    assert.same(want, got)
  end,
  tids = function(want, name) assert.same(want, threads_of(name)) end,
  aids = function(want, name)
    for i, event in ipairs(events_of(name)) do
      assert.equal(want[i], event.activity ~= nil)
    end
  end,
  opcode = function(want, name) assert.equal(want, events_of(name)[1].opcode) end,
  decoded = function(want, name) check_decoded(name, want) end,
}

describe("made trace", function()
  local names = {}
  for name in pairs(EXPECT) do names[#names + 1] = name end
  table.sort(names)

  it("is there for each of 62 expectations", function()
    assert.equal(62, #names)
  end)

  for _, name in ipairs(names) do
    it(name .. ": " .. EXPECT[name].why, function()
      local trace, message, code = sonde.open(path_of(name))
      if code then assert.is_string(message) end
      for key, want in pairs(EXPECT[name].want) do
        assert(CHECKS[key], key)(want, name, trace, code, message)
      end
    end)
  end
end)
