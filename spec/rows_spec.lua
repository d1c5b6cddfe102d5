local helper <const> = require "spec.support.helper"
local rows <const> = require "sonde.base.rows"
local sonde <const> = require "sonde"

local function sample()
  return rows.of {
    { name = "Json", flat = 5, unit = "milliseconds", wait_minutes = 3, ok = true },
    { name = "Html", flat = 50, unit = "milliseconds", frames = { { func = "main" } } },
    { name = "Xml", flat = 20, unit = "milliseconds", wait_minutes = 7, ok = false },
  }
end

local function names(list)
  return table.concat(list:values "name", " ")
end

describe("rows", function()
  it("are filtered by patterns, numbers, ranges, presence and functions", function()
    local list <const> = sample()
    for _, case in ipairs {
      { { name = "ml$" }, "Html Xml" }, { { name = { "^J", "^X" } }, "Json Xml" },
      { { name = "(?i)json" }, "Json" }, { { flat = 20 }, "Xml" },
      { { flat = { 5, 50 } }, "Json Html" },
      { { flat = ">0.01k" }, "Html Xml" },
      { { flat = ">5" }, "Html Xml" }, { { flat = ">= 20ms" }, "Html Xml" },
      { { flat = "~=20" }, "Json Html" }, { { flat = "..20" }, "Json Xml" },
      { { flat = "6ms..1s" }, "Html Xml" }, { { flat = { min = 6, max = 20 } }, "Xml" },
      { { wait_minutes = ">5m" }, "Xml" }, { { wait_minutes = true }, "Json Xml" },
      { { wait_minutes = false }, "Html" }, { { ok = true }, "Json" },
      { { frames = "^main$" }, "Html" }, { { flat = ">5", name = "Xml" }, "Xml" },
      { { flat = function(value, record) return value > 5 and record.ok == false end }, "Xml" },
      { "^main$", "Html" }, { function(record) return record.flat < 10 end, "Json" },
    } do
      assert.equal(case[2], names(list:where(case[1])))
    end
    assert.equal("Json", names(list:except { name = "ml$" }))
    assert.equal(3, #list)
  end)

  it("are sorted, absent values last, equal ones as they were", function()
    local list <const> = sample()
    assert.equal("Html Xml Json", names(list:sort "-flat"))
    assert.equal("Json Xml Html", names(list:sort "wait_minutes"))
    assert.equal("Xml Json Html", names(list:sort "-wait_minutes"))
    assert.equal("Json Html Xml", names(list:sort "unit"))
    assert.equal("Xml Json Html", names(list:sort("unit", "-name")))
    assert.equal("Xml Json Html", names(list:sort(function(a, b) return #a.name < #b.name end)))
  end)

  it("are summed, grouped and cut to what is of interest", function()
    local list <const> = sample()
    assert.equal(75, list:sum "flat")
    assert.same({ { flat = 5 } }, list:first(1):select "flat")
    assert.same({ { unit = "milliseconds", rows = 3, flat = 75, wait_minutes = 10 } },
      list:group "unit")
    assert.equal("3 rows: flat frames name ok unit wait_minutes", tostring(list))
    assert.equal("0 rows: nothing", tostring(list:where { flat = 1 }))
  end)

  it("refuse a field that no record has, and what is no comparison", function()
    local list <const> = sample()
    for _, case in ipairs {
      { function() list:where { nam = "x" } end, "no field 'nam' .-did you mean 'name'" },
      { function() list:sort "-falt" end, "no field 'falt'" },
      { function() list:where { flat = "Json" } end, "'Json' to 'rows:where{ flat }' is neither" },
      { function() list:where { name = "(" } end, "bad pattern '%('" },
      { function() list:where(5) end, "got number" },
      { function() list:sort() end, "needs the name of a field" },
    } do
      local done, raised = pcall(case[1])
      assert.is_false(done)
      assert.matches(case[2], tostring(raised))
    end
    assert.equal(0, #rows.of({}):where { any = "thing" })
    -- What records happen to be without is no mistake.
    assert.equal(0, #list:where { provider = "thing" })
    assert.equal("Json Html Xml", names(list:sort "provider"))
    assert.same({ "flat", "name" }, rows.columns(list:select("flat", "name"):sort "-name"))
  end)

  it("are what traces, profiles and differences give", function()
    local trace <const> = assert(sonde.open(helper.data "demo.nettrace"))
    local profile <const> = trace:profile()
    for _, list in ipairs { trace:threads(), trace:methods(), profile:top(), profile:rows "tags",
      profile:calls(), sonde.diff(profile, profile):rows(), sonde.doctor(), sonde.targets(),
      sonde.events(helper.data "demo.nettrace"):rows(3),
      sonde.report.rows(trace, "trace", "threads", {}, "spec") } do
      assert.is_true(rows.is(list))
    end
    local top <const> = profile:top()
    assert.matches("^Type: ", tostring(top))
    assert.equal(top[1].name, top:where { flat = top[1].flat }[1].name)
    assert.is_nil((tostring(top:where { flat = ">1s" }):find "Type:"))
    assert.same({ nil, "the report 'svg' has no rows", "unavailable" },
      { profile:rows "svg" })
  end)
end)
