-- What policies meet that nobody planned for: clocks that are put back, names that
-- are equal, texts of others, restarts.
local engine <const> = require "sonde.policy.engine"
local helper <const> = require "spec.support.helper"
local policy <const> = require "sonde.policy"

local SECOND <const> = 1000000000

local function compile(text)
  return assert(policy.compile(text, "p.lua"))
end

local function new_engine(list, opts)
  local fired <const> = {}
  local one <const> = engine.new { policies = list, saved = opts and opts.saved,
    clock = opts and opts.clock,
    tell = function(told) if told.fired then fired[#fired + 1] = told.time // SECOND end end }
  return one, fired
end

-- Where the clock goes from 01:59 to 03:00 on 2026-03-29, and from 02:59 back to
-- 02:00 on 2026-10-25.
local function daily_firings(zone, first, last)
  local text <const> = ([[local policy = require "sonde.policy"
    local engine = require "sonde.policy.engine"
    local one = assert(policy.compile(
      'return { summary = "s", trigger = { daily = "02:30" } }', "p"))
    local decide = engine.new { policies = { one }, clock = { wall_offset = 0, is_local = true },
      tell = function(told)
        if told.fired then print(os.date("!%%H:%%M", told.time // 1000000000)) end
      end }
    local key = decide:add({ pid = 1, start = 1, name = "a" }, %d)
    for t = %d, %d, 30 do decide:tick(key, t * 1000000000) end]]):format(first, first, last)
  return helper.run(("TZ=%s LUA_PATH='%s' LUA_CPATH='%s' lua5.4 -e '%s'"):format(zone, package.path,
    package.cpath, text:gsub("'", "'\\''")))
end

describe("policies", function()
  it("are stopped one by one when a pattern takes too long on a text", function()
    local bad <const> = compile [[return { summary = "s", trigger = { log = "^(a+)+$" } }]]
    local good <const> = compile [[return { summary = "s", trigger = { log = "^a" } }]]
    local decide <const>, fired <const> = new_engine { bad, good }
    local key <const> = decide:add({ pid = 1, start = 1, name = "a" }, 0)
    decide:feed(key, SECOND, "log", ("a"):rep(40) .. "b")
    assert.matches("too many steps", bad.stopped)
    assert.is_nil(good.stopped)
    assert.same({ 1 }, fired)
  end)

  it("go on at once when saved firings are of a time to come", function()
    local one <const> = compile [[return { summary = "s", trigger = { log = "" },
      limits = { cooldown = "1h" } }]]
    one.name = "p"
    local decide <const>, fired <const> = new_engine({ one },
      { saved = { p = { ["1:1"] = { 9000 * SECOND } } } })
    local key <const> = decide:add({ pid = 1, start = 1, name = "a" }, 0)
    decide:feed(key, 10 * SECOND, "log", "x")
    decide:feed(key, 11 * SECOND, "log", "x")
    assert.same({ 10 }, fired)
  end)

  it("remember over a restart what processes of one name did", function()
    local text <const> = [[return { summary = "s", per = "name", trigger = { start = true },
      limits = { cooldown = "1h" } }]]
    local decide <const>, fired <const> = new_engine { compile(text) }
    decide:feed(decide:add({ pid = 1, start = 1, name = "a" }, 0), SECOND, "start", true)
    local again <const>, more <const> = new_engine({ compile(text) }, { saved = decide:save() })
    again:feed(again:add({ pid = 2, start = 9, name = "a" }, 0), 2 * SECOND, "start", true)
    again:feed(again:add({ pid = 3, start = 9, name = "b" }, 0), 2 * SECOND, "start", true)
    assert.same({ 1 }, fired)
    assert.same({ 2 }, more)   -- that of the other name
  end)

  it("forget processes that are gone", function()
    local one <const> = compile [[return { summary = "s", trigger = { start = true } }]]
    one.name = "p"
    local decide <const> = new_engine({ one }, { saved = { p = { ["7:7"] = { 1 } } } })
    for pid = 1, 50 do
      local key <const> = decide:add({ pid = pid, start = 1, name = "a" }, 0)
      decide:feed(key, SECOND, "start", true)
      if pid < 50 then decide:remove(key) end
    end
    decide:forget_gone()
    local keys = {}
    for key in pairs(decide:save().p) do keys[#keys + 1] = key end
    table.sort(keys)
    assert.same({ "50:1", "all" }, keys)
  end)

  it("fire once on the days on which the clock is changed", function()
    if helper.run "TZ=Europe/Berlin date -d @1774746000 +%H" ~= "03\n" then
      return helper.skip "no time zones are installed"
    end
    local midnight <const> = 1774738800   -- 2026-03-29 00:00 there
    assert.equal("01:00\n", (daily_firings("Europe/Berlin", midnight, midnight + 86000 - 3600)))
    local autumn <const> = 1792879200     -- 2026-10-25 00:00 there
    assert.equal("00:30\n", (daily_firings("Europe/Berlin", autumn, autumn + 86400 + 3000)))
  end)

  it("are quiet over midnight, and not for a span that is none", function()
    local function quiet(span, hour)
      local one <const> = compile(([[return { summary = "s", trigger = { log = "" },
        limits = { quiet = "%s" } }]]):format(span))
      local decide <const>, fired <const> = new_engine { one }
      local key <const> = decide:add({ pid = 1, start = 1, name = "a" }, 0)
      decide:feed(key, hour * 3600 * SECOND, "log", "x")
      return #fired == 0
    end
    assert.same({ true, true, false, false }, { quiet("22:00-06:00", 23), quiet("22:00-06:00", 5),
      quiet("22:00-06:00", 6), quiet("22:00-06:00", 12) })
    assert.is_true(quiet("20:00-24:00", 23))
    for _, span in ipairs { "03:00-03:00", "20:00-24:30", "25:00-26:00" } do
      local loaded, message = policy.compile(([[return { summary = "s", trigger = { log = "" },
        limits = { quiet = "%s" } }]]):format(span), "p.lua")
      assert.is_nil(loaded)
      assert.matches("is not a span of hours", message)
    end
  end)

  it("tell of a bad pattern for a variable, and of too many triggers", function()
    local loaded, message = policy.compile([[return { summary = "s",
      targets = { environment = { HOME = "(" } }, trigger = { log = "x" } }]], "p.lua")
    assert.is_nil(loaded)
    assert.matches("p%.lua:2: targets%.environment%.HOME is not a regular expression", message)
    loaded, message = policy.compile([[local t = { log = "x" }
      for i = 1, 4 do t = { any = { t, t, t, t } } end
      return { summary = "s", trigger = t }]], "p.lua")
    assert.is_nil(loaded)
    assert.matches("more than 100 triggers", message)
  end)

  it("cannot be watched with under one name", function()
    helper.in_directory(function(directory)
      helper.run(("mkdir -p %s/a %s/b"):format(directory, directory))
      for _, folder in ipairs { "a", "b" } do
        helper.write(("%s/%s/x.lua"):format(directory, folder),
          [[return { summary = "s", trigger = { log = "x" } }]])
      end
      local _, status, err = helper.sonde("watch", directory .. "/a/x.lua", directory .. "/b/x.lua",
        "--duration", "1s", "-o", directory .. "/out")
      assert.is_true(status ~= 0)
      assert.matches("two policies are called 'x'", err)
    end)
  end)
end)
