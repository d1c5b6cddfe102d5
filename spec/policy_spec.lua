local engine <const> = require "sonde.policy.engine"
local helper <const> = require "spec.support.helper"
local policy <const> = require "sonde.policy"
local replay <const> = require "sonde.policy.replay"

local SECOND <const> = 1000000000

local function compile(text, opts)
  return assert(policy.compile(text, "p.lua", opts))
end

-- A policy of a trigger's text; limits that are not in the way.
local function waits_for(trigger, more)
  return compile(([[return { summary = "s", trigger = %s,
    limits = { cooldown = "0s", count = 1000, window = "1h" }, %s }]]):format(trigger, more or ""))
end

-- Decisions over rows { time in s, channel, value } of one target, finally
-- those of time going on to `till`.
local function decide(list, rows, opts)
  local told <const> = {}
  local one <const> = engine.new { policies = list.summary and { list } or list,
    is_recorded = true, clock = opts and opts.clock, saved = opts and opts.saved,
    tell = function(decision) told[#told + 1] = decision end }
  local key <const> = one:add({ pid = 1, start = 1, name = "a" }, 0)
  for _, row in ipairs(rows) do
    if row[2] then one:feed(key, row[1] * SECOND, row[2], row[3])
    else one:tick(key, row[1] * SECOND) end
  end
  one:finish()
  local fired = {}
  for _, decision in ipairs(told) do
    if decision.fired then fired[#fired + 1] = decision.time // SECOND end
  end
  return fired, told, one
end

local function series(channel, values, first)
  local rows = {}
  for i, value in ipairs(values) do rows[i] = { (first or 0) + i - 1, channel, value } end
  return rows
end

local function problems_of(text)
  local loaded, _, code, list = policy.compile(text, "p.lua")
  assert.is_nil(loaded)
  assert.equal("malformed", code)
  return table.concat(list, "\n")
end

describe("a replay", function()
  local BUSY <const> = [[return { summary = "busy", targets = { name = "^Api" },
    trigger = { metric = "cpu", above = 80, ["for"] = "10s" },
    limits = { count = 3, window = "1h", cooldown = "30s" } }]]

  local function run(text)
    local told = {}
    local file <close> = assert(io.open(helper.data "policy/busy.csv"))
    local outcome <const> = replay.run({ compile(text) }, file:lines(), "busy.csv",
      function(decision) told[#told + 1] = decision end)
    return told, outcome
  end

  it("fires when and where it should, and says why not elsewhere", function()
    local told <const>, outcome <const> = run(BUSY)
    local fired, reasons = {}, {}
    for _, decision in ipairs(told) do
      local at <const> = ("%g %d/%d"):format(decision.time_s, decision.pid, decision.start)
      if decision.fired then fired[#fired + 1] = at end
      reasons[#reasons + 1] = ("%s %s"):format(at, decision.reason)
    end
    assert.same({ "41 100/5", "85 100/6" }, fired)
    assert.equal(1, outcome.late)
    local all <const> = table.concat(reasons, "\n")
    assert.matches("19 100/5 cpu above 80 from 10s to 18s %(8s of 10s%), then 79", all)
    assert.matches("56 100/5 .*then a value that is no number", all)
    assert.matches("70 100/5 .*then no sample for 9s", all)
    assert.matches("name 'other' does not match /%^Api/", all)
    assert.not_matches("20s", all)   -- 80 is not above 80
  end)

  it("names lines that it cannot read, and reads the others", function()
    local lines <const> = { "time_s,pid,start,name,metric,value", "x,1,1,a,cpu,1",
      '0,1,1,"a ""b"", c",cpu,99', "1,1,1,a,cpu", '2,1,1,"a,cpu,99' }
    local told = {}
    local i = 0
    local outcome <const> = replay.run({ waits_for '{ metric = "cpu", above = 1 }' }, function()
      i = i + 1
      return lines[i]
    end, "t.csv", function(decision) told[#told + 1] = decision end)
    assert.equal('a "b", c', told[1].name)
    assert.is_true(told[1].fired)
    assert.equal(3, #outcome.problems)
    assert.matches("t%.csv:2: 'x' is no time", outcome.problems[1])
  end)

  it("is what the command prints", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/busy.lua"
      helper.write(path, BUSY)
      local out, status, err = helper.sonde("policy", "test", path, "--replay",
        helper.data "policy/busy.csv", "--json")
      assert.equal(0, status)
      assert.matches("left out", err)
      local n = 0
      for _, line in ipairs(helper.lines(out)) do
        local row <const> = require("dkjson").decode(line)
        if row.fired then
          n = n + 1
          assert.is_true(row.time_s == 41 and row.start == 5 or row.time_s == 85 and row.start == 6)
        end
        assert.equal("string", type(row.reason))
      end
      assert.equal(2, n)
    end)
  end)
end)

describe("a trigger of a metric", function()
  it("wants every sample beyond the threshold, strictly", function()
    local one <const> = waits_for '{ metric = "cpu", above = 80, ["for"] = "2s" }'
    assert.same({ 3 }, (decide(one, series("cpu", { 80, 81, 81, 81, 80 }))))
    assert.same({}, (decide(one, series("cpu", { 81, 81, 80, 81, 81 }))))
  end)

  it("fires again when it lasts, and with rearm only after it was back", function()
    local lasting <const> = { 90, 90, 90, 90, 90, 90, 90, 50, 90, 90, 90 }
    local again <const> = waits_for '{ metric = "cpu", above = 80, ["for"] = "2s" }'
    assert.same({ 2, 4, 6, 10 }, (decide(again, series("cpu", lasting))))
    local once <const> = waits_for '{ metric = "cpu", above = 80, ["for"] = "2s", rearm = 60 }'
    assert.same({ 2, 10 }, (decide(once, series("cpu", lasting))))
  end)

  it("looks at figures below, and at those that stay the same", function()
    local below <const> = waits_for '{ metric = "free", below = 10 }'
    assert.same({ 1 }, (decide(below, series("free", { 10, 9 }))))
    local same <const> = waits_for '{ metric = "requests", unchanged = true, ["for"] = "2s" }'
    assert.same({ 3 }, (decide(same, series("requests", { 1, 2, 2, 2, 3 }))))
  end)

  it("computes statistics of a window that is full", function()
    local function at(stat, values, threshold)
      return (decide(waits_for(([[{ metric = "m", above = %s, rearm = 0,
        stat = "%s", over = "4s" }]])
        :format(threshold, stat)), series("m", values)))
    end
    assert.same({ 4 }, at("mean", { 1, 2, 3, 4, 5 }, 2.9))
    assert.same({}, at("mean", { 1, 2, 3, 4 }, 0))
    assert.same({ 5 }, at("max", { 1, 1, 1, 1, 1, 9 }, 8))
    assert.same({ 4 }, at("p50", { 1, 2, 9, 9, 9 }, 8))
    assert.same({}, at("p50", { 1, 1, 1, 9, 9 }, 8))
    assert.same({ 4 }, at("rate", { 0, 10, 20, 30, 40 }, 9.9))
    assert.same({}, at("rate", { 0, 10, 20, 30, 40 }, 10))
    assert.same({ 4 }, at("slope", { 0, 10, 20, 30, 40 }, 9.9))
    assert.same({ 4 }, at("change", { 0, 1, 1, 1, 3 }, 2))
  end)

  it("begins anew after a gap", function()
    local one <const> = waits_for '{ metric = "m", above = 1, ["for"] = "4s", gap = "2s" }'
    assert.same({}, (decide(one, { { 0, "m", 2 }, { 2, "m", 2 }, { 5, "m", 2 }, { 7, "m", 2 } })))
    assert.same({ 4 }, (decide(one, { { 0, "m", 2 }, { 2, "m", 2 }, { 4, "m", 2 } })))
  end)

  it("can be of a row of a meter, or of a percentile", function()
    local one <const> = waits_for [[{ metric = "M/duration", tags = { route = "/a", code = 200 },
      percentile = 95, above = 1 }]]
    assert.same({ 0 }, (decide(one, { { 0, "M/duration{code=200,route=/a}:p95", 2 } })))
    assert.same({}, (decide(one, { { 0, "M/duration", 2 } })))
  end)
end)

describe("other triggers", function()
  it("count what happens within a time", function()
    local one <const> = waits_for '{ exception = "Timeout", count = 3, within = "10s" }'
    assert.same({ 21 }, (decide(one, { { 0, "exception", "A.TimeoutException" },
      { 5, "exception", "A.TimeoutException" }, { 11, "exception", "A.TimeoutException" },
      { 12, "exception", "Other" }, { 20, "exception", "A.TimeoutException" },
      { 21, "exception", "A.TimeoutException" }, { 22, "exception", "A.TimeoutException" } })))
  end)

  it("look into requests, events, lines and ends", function()
    local slow <const> = waits_for '{ request = "^/api", above = "2s", status = "^5" }'
    assert.same({ 3 }, (decide(slow, { { 0, "request", "3 /other 500" },
      { 1, "request", "1 /api/a 500" }, { 2, "request", "3 /api/a 200" },
      { 3, "request", "3 /api/a 503" } })))
    local event <const> = waits_for [[{ event = "Runtime/GCStart$",
      where = function(payload) return payload.Depth == 2 end }]]
    local function gc(depth)
      return { provider = "Microsoft-Windows-DotNETRuntime", name = "GCStart",
        payload = { Depth = depth } }
    end
    assert.same({ 1 }, (decide(event, { { 0, "event", gc(1) }, { 1, "event", gc(2) } })))
    assert.same({ 1 }, (decide(waits_for '{ log = "FATAL" }', { { 0, "log", "info" },
      { 1, "log", "FATAL: no" } })))
    assert.same({ 1 }, (decide(waits_for '{ exit = "failure" }', { { 0, "exit", 0 },
      { 1, "exit", 139 } })))
    assert.same({ 0 }, (decide(waits_for '{ start = true }', { { 0, "start", true } })))
  end)

  it("go by the clock", function()
    assert.same({ 60, 120 }, (decide(waits_for '{ every = "1m" }', { { 0 }, { 59 }, { 60 }, { 61 },
      { 120 } })))
    assert.same({ 9000 }, (decide(waits_for '{ daily = "02:30" }', { { 0 }, { 8999 }, { 9000 },
      { 9030 } })))
    assert.same({ 300, 600 }, (decide(waits_for '{ cron = "*/5 0-1 * * *" }', { { 60 }, { 300 },
      { 301 }, { 599 }, { 600 }, { 7800 } })))
    -- The first of January 1970 was a Thursday.
    assert.same({}, (decide(waits_for '{ cron = "* * * * 5" }', { { 60 }, { 120 } })))
    assert.same({ 120 }, (decide(waits_for '{ cron = "2 * * * 4" }', { { 60 }, { 120 } })))
  end)

  it("combine", function()
    local both <const> = waits_for [[{ all = { { metric = "cpu", above = 80, ["for"] = "2s" },
      { metric = "queue", above = 5 } } }]]
    assert.same({ 3 }, (decide(both, { { 0, "cpu", 90 }, { 0, "queue", 9 }, { 1, "cpu", 90 },
      { 1, "queue", 1 }, { 2, "cpu", 90 }, { 2, "queue", 1 }, { 3, "cpu", 90 },
      { 3, "queue", 9 } })))
    local either <const> = waits_for [[{ any = { { metric = "cpu", above = 80 },
      { exit = "any" } } }]]
    assert.same({ 0, 2 }, (decide(either, { { 0, "cpu", 90 }, { 1, "cpu", 9 }, { 2, "exit", 0 } })))
    local order <const> = waits_for [[{ sequence = { { log = "deploy" }, { exception = "" } },
      within = "10s" }]]
    assert.same({ 25 }, (decide(order, { { 0, "exception", "E" }, { 1, "log", "deploy" },
      { 12, "exception", "E" }, { 20, "log", "deploy" }, { 25, "exception", "E" },
      { 26, "exception", "E" } })))
  end)

  it("may be a function of the newest figures", function()
    local one <const> = waits_for [[function(t)
      return t.cpu and t.cpu > 50 and t.memory > 100 and t.pid == 1,
        "busy and large at " .. t.time_s
    end]]
    local fired, told = decide(one, { { 0, "cpu", 90 }, { 0, "memory", 10 }, { 1, "cpu", 90 },
      { 1, "memory", 200 }, { 2, "cpu", 10 }, { 2, "memory", 200 } })
    assert.same({ 1 }, fired)
    assert.matches("busy and large at 1", told[1].reason)
  end)
end)

describe("limits", function()
  local function limited(limits, rows, opts)
    return decide(compile(([[return { summary = "s", trigger = { log = "" }, limits = %s }]])
      :format(limits)), rows, opts)
  end
  local function lines(times)
    local rows = {}
    for i, time in ipairs(times) do rows[i] = { time, "log", "x" } end
    return rows
  end

  it("bound count, distance and windows, and say so once", function()
    local fired, told = limited('{ count = 2, window = "100s", cooldown = "10s" }',
      lines { 0, 5, 6, 10, 30, 31, 101, 200 })
    assert.same({ 0, 10, 101, 200 }, fired)
    local against = {}
    for _, decision in ipairs(told) do
      if not decision.fired then against[#against + 1] = decision.reason end
    end
    assert.matches("cooldown of 10s until 10s", against[1])
    assert.matches("2 firings in 1m40s are the limit", against[2])
    assert.equal(3, #against)   -- and the end's
  end)

  it("can be once for each process, and quiet at night", function()
    assert.same({ 0 }, (limited("{ once = true }", lines { 0, 10000, 20000 })))
    assert.same({ 21599 + 1 }, (limited('{ quiet = "22:00-06:00", cooldown = "0s" }',
      lines { 0, 100, 21599, 21600 })))
  end)

  it("outlive a restart", function()
    local one <const> = compile [[return { summary = "s", trigger = { log = "" },
      limits = { cooldown = "1h" } }]]
    local _, _, before = decide(one, { { 0, "log", "x" } })
    assert.same({}, (decide(one, { { 10, "log", "x" } }, { saved = before:save() })))
    assert.same({ 3600 }, (decide(one, { { 3600, "log", "x" } }, { saved = before:save() })))
  end)
end)

describe("a policy with a fault", function()
  it("is refused with line and suggestion", function()
    assert.matches("^p%.lua:2: ", problems_of "return {\n  summary = }")
    assert.matches("p%.lua:3: trigger%.abvoe is not known %(did you mean 'above'%?%)",
      problems_of 'return { summary = "s",\n trigger = { metric = "cpu",\n abvoe = 3 } }')
    assert.matches("'metirc' is no trigger %(did you mean 'metric'%?%)",
      problems_of 'return { summary = "s", trigger = { metirc = "cpu", above = 3 } }')
    assert.matches("'recrod' is no action %(did you mean 'record'%?%)", problems_of [[
      return { summary = "s", trigger = { start = true }, actions = { { recrod = {} } } }]])
    assert.matches("needs 'summary'", problems_of "return { trigger = { start = true } }")
    assert.matches("must be a table", problems_of "return 3")
    assert.matches("exactly one of above, below and unchanged",
      problems_of 'return { summary = "s", trigger = { metric = "cpu" } }')
    assert.matches("is not a regular expression",
      problems_of 'return { summary = "s", targets = { name = "(" }, trigger = { start = true } }')
    assert.matches("is not a duration",
      problems_of 'return { summary = "s", trigger = { every = "soon" } }')
    assert.matches("the minute '61'", problems_of
      'return { summary = "s", trigger = { cron = "61 * * * *" } }')
    assert.matches("its user's consent", problems_of
      'return { summary = "s", trust = true, trigger = { start = true } }')
    assert.matches("returns nothing", problems_of "local x = 1")
  end)

  it("that never ends, or takes all memory, is refused", function()
    assert.matches("more steps", problems_of "while true do end")
    assert.matches("memory", problems_of "local t = {} while true do t[#t + 1] = {} end")
  end)

  it("stops alone when a function of it fails", function()
    local bad <const> = waits_for "function(t) return t.none.x end"
    local hangs <const> = waits_for "function(t) while true do end end"
    local good <const> = waits_for '{ metric = "cpu", above = 80 }'
    local fired, told = decide({ bad, hangs, good }, series("cpu", { 90, 10, 90 }))
    assert.same({ 0, 2 }, fired)
    local reasons = {}
    for i, decision in ipairs(told) do reasons[i] = decision.reason end
    local all <const> = table.concat(reasons, "\n")
    assert.matches("the policy is stopped: p%.lua:1: .*none", all)
    assert.matches("the policy is stopped: it took more steps", all)
  end)

  it("has no way to the machine unless it is trusted", function()
    local text <const> = [[return { summary = os and "has os" or "none",
      trigger = { start = true } }]]
    assert.equal("none", compile(text).summary)
    assert.equal("has os", compile(text, { trust = true }).summary)
  end)
end)

describe("arguments of a policy", function()
  local TEXT <const> = [[return { summary = "over %{cpu} %{other}",
    args = { cpu = 80, span = "2s" },
    trigger = { metric = "cpu", above = "%{cpu}", ["for"] = "%{span}" },
    limits = { cooldown = "0s" } }]]

  it("fill its texts in, with their types", function()
    local one <const> = compile(TEXT, { args = { cpu = "50" } })
    assert.equal("over 50 %{other}", one.summary)
    assert.same({ 2 }, (decide(one, series("cpu", { 60, 60, 60 }))))
    assert.same({}, (decide(compile(TEXT), series("cpu", { 60, 60, 60 }))))
  end)

  it("must be its own", function()
    local loaded, message = policy.compile(TEXT, "p.lua", { args = { cup = "3" } })
    assert.is_nil(loaded)
    assert.matches("'cup' is not one of this policy's", message)
  end)
end)

describe("many samples", function()
  it("are decided in time that grows with them, in memory that does not", function()
    local one <const> = waits_for '{ metric = "cpu", above = 80, stat = "p95", over = "1m" }'
    local decide_all <const> = engine.new { policies = { one }, is_recorded = true,
      tell = function() end }
    local key <const> = decide_all:add({ pid = 1, start = 1, name = "a" }, 0)
    local function feed(from, to)
      for t = from, to do decide_all:feed(key, t * SECOND, "cpu", t % 70) end
      collectgarbage()
      return collectgarbage "count"
    end
    local early <const> = feed(1, 2000)
    assert.is_true(feed(2001, 20000) < early + 64)
  end)
end)
