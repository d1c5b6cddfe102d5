-- Every call of the trace's objects on small traces, and what becomes of them
-- when they are closed. `make sanitize` runs this with a full collection at
-- every call.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"

local TRACES <const> = {
  helper.data "synth/v4-program-compressed.nettrace", helper.data "synth/v6-universal.nettrace",
  helper.data "synth/v5-all-types.nettrace",
  helper.data "cases/45-nt-gc-pause-interleaved/gc.nettrace",
}

local TABLES <const> = {
  "info", "counts", "problems", "losses", "threads", "types", "processes", "methods", "modules",
  "assemblies", "runtime", "gcs", "pauses", "heap", "exceptions", "contention", "jits",
  "sampling", "kinds", "il_maps",
}

local function fed(object, path)
  local bytes <const> = helper.read(path)
  for at = 1, #bytes, 100 do assert(object:feed(bytes:sub(at, at + 99))) end
  assert(object:finish())
  return object
end

describe("a trace #binding", function()
  for _, path in ipairs(TRACES) do
    it("gives tables, profiles and samples of " .. path, function()
      local trace <const> = fed(core.trace { timeline = true }, path)
      for _, name in ipairs(TABLES) do
        local value <const> = trace[name](trace)
        assert(value == nil or type(value) == "table", name)
      end
      for _, view in ipairs { "wall", "samples", "running", "managed", "alloc", "gc", "jit" } do
        for _, names in ipairs { "pretty", "full", "raw" } do
          local profile <const> = assert(trace:profile { view = view, names = names })
          assert.is_number(#profile)
          assert.is_string(tostring(profile))
        end
      end
      local timeline <const> = assert(trace:timeline())
      for i in ipairs(timeline:threads()) do
        for time in timeline:each(i) do assert.is_number(time) end
      end
      for sample in assert(trace:samples()) do assert.is_table(sample.frames) end
      trace:close()
      assert.has_error(function() trace:info() end)
    end)
  end

  it("refuses wrong use", function()
    assert.has_error(function() core.trace { nope = 1 } end)
    assert.has_error(function() core.trace { limit = "1" } end)
    local trace <const> = core.trace()
    assert.has_error(function() trace:profile() end)
    assert.has_error(function() trace:feed() end)
    assert.has_error(function() trace:pump("x") end)
    assert.matches("trace", tostring(trace))
  end)
end)

describe("events #binding", function()
  for _, path in ipairs(TRACES) do
    it("come as tables and as JSON from " .. path, function()
      local events <const> = fed(core.events { stacks = true }, path)
      local count = 0
      for event in function() return events:next() end do
        assert.is_string(event.provider)
        count = count + 1
      end
      assert.equal(events:counts().matched, count)
      local lines <const> = fed(core.events { json = true }, path):take_json()
      assert.equal(count, #helper.json_lines(lines))
      events:close()
      assert.has_error(function() events:next() end)
    end)
  end

  it("let an error of the want function through", function()
    local events <const> = core.events { want = function() error("no", 0) end }
    local ok, message = pcall(fed, events, TRACES[1])
    assert.is_false(ok)
    assert.equal("no", message)
  end)

  it("are chosen by time, thread and number", function()
    local function count(opts) return fed(core.events(opts), TRACES[1]):counts().matched end
    local all <const> = count {}
    assert.equal(all, 7)
    assert.equal(2, count { most = 2 })
    assert.equal(0, count { to_ns = -1 })
    assert.equal(all, count { thread = 100 })
    assert.equal(0, count { thread = 101 })
  end)
end)

describe("an input of pieces #binding", function()
  it("pumps into traces and events", function()
    for _, make in ipairs { core.trace, core.events } do
      local object <const> = make {}
      local input <const> = core.input(helper.read(TRACES[1]), "t")
      local total = 0
      repeat
        local n <const> = assert(object:pump(input))
        total = total + n
      until n == 0
      assert.equal(1454, total)
      assert(object:finish())
    end
  end)
end)
