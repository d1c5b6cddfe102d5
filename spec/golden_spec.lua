-- Real traces against an independent reader: samples by stack, time by pass,
-- facts of the container and of the runtime.
local dkjson <const> = require "dkjson"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

-- Files of the suite, and those that lie beside the checkout: trace, golden.
local SHIPPED <const> = {
  { "mixed.nettrace.gz", "mixed" },
  { "net10-attach-killed.nettrace.gz", "net10-attach-killed" },
  { "net10-default.nettrace.gz", "net10-default" },
  { "sdk-exceptions.nettrace.gz", "sdk-exceptions" },
  { "../demo.nettrace", "sdk-cpu" },
}

local BESIDE <const> = {
  { "net10/attach.nettrace.xz", "net10-attach" },
  { "net10/counters.nettrace.xz", "net10-counters" },
  { "net10/exceptions.nettrace.xz", "net10-exceptions" },
  { "net10/gc-verbose.nettrace.xz", "net10-gc-verbose" },
  { "net10/lossy.nettrace.xz", "net10-lossy" },
  { "net10/norundown.nettrace.xz", "net10-norundown" },
  { "public/eventpipe-dotnetcore3.0-win-x64-objver4.nettrace.xz", "net30" },
}

local function lines_of_gzip(path)
  local text <const> = helper.run("gzip -dc " .. helper.quote(path))
  local lines <const> = helper.lines(text)
  table.sort(lines)
  return lines
end

local function folded(trace, view)
  local profile <const>, _, code = trace:profile { view = view, names = "raw" }
  if profile == nil then
    assert.equal("no_samples", code)
    return {}
  end
  local lines <const> = helper.lines(assert(profile:render("folded")))
  table.sort(lines)
  return lines
end

-- The first difference says more than two tables of a thousand lines.
local function assert_lines(want, got)
  for i = 1, math.max(#want, #got) do
    if want[i] ~= got[i] then assert.equal(want[i], got[i]) end
  end
end

local function check_facts(trace, facts)
  local counts <const> = trace:counts()
  local names <const> = trace:frames()
  assert.equal(facts.version, trace.version)
  assert.equal(facts.pointer_size, trace.pointer_size)
  assert.equal(facts.process_id, trace.process_id)
  assert.equal(facts.tick_frequency, trace.clock_frequency)
  assert.equal(facts.bytes, counts.bytes)
  assert.equal(facts.events, counts.events)
  assert.equal(facts.stacks, counts.stacks)
  assert.equal(facts.deepest_stack, counts.deepest_stack)
  assert.equal(facts.stacks_at_depth_100, counts.capped_stacks)
  assert.equal(facts.sequence_points, counts.sequence_points)
  assert.equal(facts.lost_by_gaps, counts.lost)
  assert.equal(facts.truncated, counts.truncated)
  assert.equal(facts.method_instances, counts.methods)
  assert.equal(facts.modules, #trace:modules())
  assert.equal(facts.thread_samples,
    counts.samples_error + counts.samples_external + counts.samples_managed)
  assert.equal(facts.thread_samples_by_type["managed(2)"], counts.samples_managed)
  assert.equal(facts.sample_frames, names.frames)
  assert.equal(facts.sample_frames_unresolved, names.unresolved)
end

local function check_providers(trace, want)
  local got = {}
  for _, type in ipairs(trace:types()) do
    got[type.provider] = (got[type.provider] or 0) + type.count
  end
  for provider, count in pairs(want) do assert.equal(count, got[provider], provider) end
end

-- The value behind a key of clr.txt.
local function value_of(text, key)
  return text:match("%f[%w_]" .. key .. ": ([^\n]*)")
end

local function number_of(text, key)
  return tonumber(value_of(text, key))
end

local function near(want, got, width)
  assert.is_true(math.abs(want - got) <= width, ("%s, wanted %s"):format(got, want))
end

local function check_collections(trace, text)
  local gcs <const> = trace:gcs()
  assert.equal(number_of(text, "gcs"), #gcs)
  for generation, count in value_of(text, "gcs_by_generation"):gmatch("(%d+): (%d+)") do
    local n = 0
    for _, row in ipairs(gcs) do
      if row.generation == tonumber(generation) then n = n + 1 end
    end
    assert.equal(tonumber(count), n)
  end
  local total, longest = 0, 0
  for _, pause in ipairs(trace:pauses()) do
    total = total + pause.end_ns - pause.start_ns
    longest = math.max(longest, pause.end_ns - pause.start_ns)
  end
  assert.equal(number_of(text, "gc_pauses"), #trace:pauses())
  near(number_of(text, "gc_pause_total_ms"), total / 1e6, 0.001)
  near(number_of(text, "gc_pause_max_ms"), longest / 1e6, 0.001)
  local i = 0
  for start, stop in text:gmatch("'start_ms': ([%d.]+), 'end_ms': ([%d.]+)") do
    i = i + 1
    near(tonumber(start), gcs[i].start_ns / 1e6, 0.001)
    near(tonumber(stop), gcs[i].end_ns / 1e6, 0.001)
  end
end

local function check_heap(trace, text)
  local sizes <const> = value_of(text, "last_heap_stats_gen0_1_2_loh_size_promoted")
  if sizes == nil then return end
  local heap <const> = assert(trace:heap())
  local want = {}
  for n in sizes:gmatch("%d+") do want[#want + 1] = tonumber(n) end
  for i = 1, 4 do
    assert.equal(want[2 * i - 1], heap.size[i])
    assert.equal(want[2 * i], heap.promoted[i])
  end
end

local function by_type(profile, column)
  local sums = {}
  for _, values, labels in profile:samples() do
    local name <const> = labels.type[1]
    sums[name] = (sums[name] or 0) + values[column]
  end
  return sums
end

local function check_allocations(trace, text)
  local ticks <const>, sampled <const> =
    number_of(text, "allocation_ticks"), number_of(text, "sampled_allocations")
  if ticks + sampled == 0 then return end
  local profile <const> = assert(trace:profile { view = "alloc" })
  local types <const> = profile:types()
  assert.equal("alloc_space", types[#types].type)
  assert.equal(sampled > 0 and sampled or ticks, profile:total(1))
  if sampled == 0 then
    assert.equal(number_of(text, "allocation_tick_bytes"), profile:total(#types))
    local bytes <const> = by_type(profile, #types)
    local top <const> = text:match("allocation_top:(.-)\nsampled") or ""
    for name, size in top:gmatch("%('(.-)', (%d+), %d+%)") do
      assert.equal(tonumber(size), bytes[name], name)
    end
  else
    local counts <const> = by_type(profile, 1)
    local top <const> = text:match("sampled_top:(.-)\nexceptions") or ""
    for name, n in top:gmatch("%('(.-)', (%d+)%)") do
      assert.equal(tonumber(n), counts[name], name)
    end
  end
end

local function check_exceptions(trace, text)
  local total, counts = 0, {}
  for _, row in ipairs(trace:exceptions()) do
    total = total + row.count
    counts[row.type] = row
  end
  assert.equal(number_of(text, "exceptions"), total)
  for name, n, message in text:gmatch("%('([%w.]+)', (%d+), ['\"](.-)['\"]%)") do
    if counts[name] then
      assert.equal(tonumber(n), counts[name].count, name)
      assert.equal(message, counts[name].message:sub(1, #message))
    end
  end
end

local function check_contention(trace, text)
  local sum <const> = trace:contention()
  assert.equal(number_of(text, "contentions"), sum.count)
  near(number_of(text, "contention_ns_reported"), sum.reported_ns, 0.5)
  near(number_of(text, "contention_ns_by_timestamps"), sum.between_ns, sum.count)
end

local function check(path, golden)
  local trace <const> = assert(sonde.open(path))
  assert_lines(lines_of_gzip(golden .. ".count.folded.gz"), folded(trace, "samples"))
  assert_lines(lines_of_gzip(golden .. ".pass.folded.gz"), folded(trace, "wall"))
  local facts <const> = dkjson.decode(assert(helper.read(golden .. ".facts.json")))
  check_facts(trace, facts)
  check_providers(trace, facts.events_per_provider)
  local text <const> = "\n" .. assert(helper.read(golden .. ".clr.txt"))
  check_collections(trace, text)
  check_heap(trace, text)
  check_allocations(trace, text)
  check_exceptions(trace, text)
  check_contention(trace, text)
end

describe("real trace", function()
  for _, row in ipairs(SHIPPED) do
    it(row[2] .. " agrees with an independent reader", function()
      check(helper.data("real/" .. row[1]), helper.data("real/golden/" .. row[2]))
    end)
  end

  for _, row in ipairs(BESIDE) do
    it(row[2] .. " agrees with an independent reader", function()
      local path <const> = helper.shared("traces/" .. row[1])
      helper.needs "xz"
      check(path, "../shared/traces/golden/" .. row[2])
    end)
  end
end)

-- Inclusive and exclusive samples by full name.
local function samples_by_name(trace)
  local flat, cum = {}, {}
  local profile <const> = assert(trace:profile { view = "samples", names = "full" })
  local names <const> = profile:frames().name
  for stack, values in profile:samples() do
    local seen = {}
    for i, frame in ipairs(stack) do
      local name <const> = names[frame]
      if i == 1 then flat[name] = (flat[name] or 0) + values[1] end
      if not seen[name] then cum[name] = (cum[name] or 0) + values[1] end
      seen[name] = true
    end
  end
  return flat, cum
end

local function sum_matching(counts, part)
  local sum = 0
  for name, n in pairs(counts) do
    if name:find(part, 1, true) then sum = sum + n end
  end
  return sum
end

describe("program of known shares", function()
  it("burns 60, 30 and 10 % of two threads in three methods", function()
    local trace <const> = assert(sonde.open(helper.data "demo.nettrace"))
    local flat <const>, cum <const> = samples_by_name(trace)
    assert.equal(1383, flat["Targets.Cpu.Burn.Alpha"])
    assert.equal(685, flat["Targets.Cpu.Burn.Beta"])
    assert.equal(246, flat["Targets.Cpu.Burn.Gamma"])
    assert.equal(1103, flat["Targets.Cpu.Burn.DeepLeaf"])
    assert.equal(374, sum_matching(cum, "Box`1[System.__Canon].Run"))
    assert.equal(340, sum_matching(cum, "Box`1[System.Int32].Run"))
    local profile <const> = assert(trace:profile { view = "samples" })
    assert.equal(1152, profile:focus("AsyncAlpha"):total "samples")
    assert.equal(328, sum_matching(cum, "<SyncRound>b__0_0"))
    assert.equal(134, sum_matching(cum, "<SyncRound>g__Local|0_1"))
    assert.equal(357, sum_matching(cum, "<Iterator>d__2.MoveNext"))
    assert.equal(112, sum_matching(cum, "IStep.Step"))
    assert.equal(1103, cum["[stack cut at 100 frames]"])
    assert.equal(12, trace:counts().capped_stacks)
  end)

  it("has readable names for what the compiler made", function()
    local trace <const> = assert(sonde.open(helper.data "demo.nettrace"))
    local names = {}
    for _, name in ipairs(assert(trace:profile()):frames().name) do names[name] = true end
    local function has(part)
      for name in pairs(names) do
        if name:find(part, 1, true) then return true end
      end
      return false
    end
    assert.is_true(has "AsyncAlpha (async)")
    assert.is_true(has "SyncRound lambda")
    assert.is_true(has "SyncRound.Local(")
    assert.is_true(has "Iterator (iterator)")
    assert.is_true(has "Box<int>.Run(")
  end)

  it("throws, waits and collects as often as it says", function()
    local trace <const> = assert(sonde.open(helper.data "real/sdk-exceptions.nettrace.gz"))
    local counts = {}
    for _, row in ipairs(trace:exceptions()) do counts[row.type] = row.count end
    assert.same({ ["System.InvalidOperationException"] = 1000,
      ["Targets.Alloc.TicketException"] = 500, ["System.FormatException"] = 25 }, counts)
    local generations, induced = {}, 0
    for _, row in ipairs(trace:gcs()) do
      generations[row.generation] = (generations[row.generation] or 0) + 1
      if row.reason == "induced" then induced = induced + 1 end
    end
    assert.same({ [0] = 9, [1] = 3, [2] = 9 }, generations)
    assert.equal(7, induced)
    assert.equal(50, trace:contention().count)
    near(513.54, trace:contention().reported_ns / 1e6, 0.01)
  end)
end)
