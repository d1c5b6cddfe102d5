local dkjson <const> = require "dkjson"
local core <const> = require "sonde.c.core"
local diff <const> = require "sonde.diff"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.made_profiles"

local function case(name) return profiles.case("30-diff-percentages/" .. name .. ".folded") end

local function by_name(rows)
  local found = {}
  for _, row in ipairs(rows) do found[row.name] = row end
  return found
end

describe("a difference", function()
  it("has before, after, change and the change relative to before", function()
    local rows <const> = case("before"):diff(case("after")):top()
    local lines = {}
    for i, row in ipairs(rows) do
      lines[i] = ("%s %d %d %d %s"):format(row.name, row.before, row.after, row.change,
        row.relative)
      assert.equal("count", row.unit)
    end
    assert.same({
      "new_fn 0 150 150 new", "gone_fn 60 0 -60 gone", "grown_fn 30 60 30 100.0",
      "same_fn 30 30 0 0",
    }, lines)
  end)

  it("flips when its sides are swapped", function()
    local there <const> = by_name(case("before"):diff(case("after")):top())
    local back <const> = by_name(case("after"):diff(case("before")):top())
    for name, row in pairs(there) do
      assert.equal(-row.change, back[name].change)
      assert.same({ row.before, row.after }, { back[name].after, back[name].before })
    end
    assert.equal("gone", back.new_fn.relative)
    assert.equal("new", back.gone_fn.relative)
    assert.equal(-50, back.grown_fn.relative)
  end)

  it("names the denominator, and shows the totals", function()
    local words <const> = tostring(case("before"):diff(case("after")):top())
    assert.matches("Before: 120 samples\nAfter: 240 samples\n", words)
    assert.matches("Percentages %(relative%) are of the value before\n", words)
    assert.matches("\n          60            0          %-60      gone  gone_fn\n", words)
    assert.matches("\n         120          240         %+120     %+100%%  total\n$", words)
    assert.is_nil(words:find("Hint"))
  end)

  it("compares shares when normalized", function()
    local rows <const> = by_name(case("before"):diff(case("after"), { normalize = true }):top())
    local function row(name)
      return { rows[name].before, rows[name].after, rows[name].change, rows[name].unit }
    end
    assert.same({ 25.0, 25.0, 0.0, "percent" }, row "grown_fn")
    assert.same({ 25.0, 12.5, -12.5, "percent" }, row "same_fn")
    assert.same({ 0.0, 62.5, 62.5, "percent" }, row "new_fn")
    assert.same({ 50.0, 0.0, -50.0, "percent" }, row "gone_fn")
    local words <const> = tostring(case("before"):diff(case("after"), { normalize = true }):top())
    assert.matches("Percentages before and after are of each side's own total", words)
    assert.matches("\n      25.00%%       12.50%%      %-12.50%%      %-50%%  same_fn\n", words)
  end)

  it("hints at totals that differ much, and normalizing ends it", function()
    local before <const>, after <const> = case("before-1khz"), case("after-100hz")
    assert.matches("Hint: the totals differ 10:1; normalize compares shares instead",
      tostring(before:diff(after):top()))
    assert.matches("Hint: the totals differ 10:1", tostring(after:diff(before):top()))
    local normalized <const> = before:diff(after, { normalize = true }):top()
    for _, row in ipairs(normalized) do assert.equal(0.0, row.change) end
    assert.is_nil(tostring(normalized):find("Hint"))
  end)

  it("compares values with callees, and by module", function()
    local before <const>, after <const> = profiles.program(), profiles.program():ignore("skip")
    local rows <const> = by_name(before:diff(after, { type = "samples" }):top { cum = true })
    assert.same({ 65, 35 }, { rows.main.before, rows.main.after })
    rows["Json.skip"].schema = nil
    assert.same({ name = "Json.skip", before = 30, after = 0, change = -30, relative = "gone",
      unit = "count" }, rows["Json.skip"])
    local modules <const> = by_name(before:diff(after, { type = "samples" }):top {
      by = "module", n = 1 })
    assert.equal(-30, modules["[json]"].change)
  end)

  it("brings units of one family together", function()
    local ms <const> = profiles.of("a 5", { { "cpu", "milliseconds" } })
    local ns <const> = profiles.of("a 7000000", { { "cpu", "nanoseconds" } })
    local row <const> = ms:diff(ns):top()[1]
    assert.same({ 5000000, 7000000, "nanoseconds" }, { row.before, row.after, row.unit })
    row.unit = ns:diff(ms):top()[1].unit
    assert.equal("nanoseconds", row.unit)
  end)

  it("says what cannot be compared", function()
    local a <const>, b <const> = profiles.of("a 1"), profiles.of("a 1", { { "heap", "bytes" } })
    local none, message, code = a:diff(b)
    assert.is_nil(none)
    assert.equal("before: no sample type 'heap': the profile has cpu", message)
    assert.equal("unknown_name", code)
    none, message, code = a:diff(profiles.of("a 1", { { "cpu", "bytes" } }))
    assert.is_nil(none)
    assert.equal("before is in nanoseconds, after in bytes: they cannot be compared", message)
    assert.equal("unavailable", code)
    none, message, code = profiles.of(""):diff(profiles.of(""))
    assert.is_nil(none)
    assert.equal("no samples in either profile", message)
    assert.equal("no_samples", code)
    none, message, code = a:diff(a):write { format = "tree" }
    assert.is_nil(none)
    assert.equal("the report 'tree' takes a profile, not a difference of two profiles", message)
    assert.equal("unavailable", code)
    assert.error_matches(function() diff.new(a, a, { normalise = true }) end,
      "did you mean 'normalize'")
  end)

  it("with one side empty is all new or all gone", function()
    local a <const>, none <const> = profiles.of("a 1"), profiles.of("")
    assert.equal("gone", a:diff(none):top()[1].relative)
    assert.equal("new", none:diff(a):top()[1].relative)
    tostring(none:diff(a, { normalize = true }):top())
  end)

  it("is written with two columns as folded text", function()
    local text <const> = case("before"):diff(case("after")):render("folded")
    local lines = {}
    for line in text:gmatch("[^\n]+") do lines[#lines + 1] = line end
    table.sort(lines)
    assert.same({ "gone_fn 60 0", "grown_fn 30 60", "new_fn 0 150", "same_fn 30 30" }, lines)
    local normalized <const> = case("before-1khz"):diff(case("after-100hz"), { normalize = true })
    assert.equal("main;a 9000 9000\nmain;b 1000 1000\n", normalized:render("folded"))
  end)

  it("is after minus before as pprof", function()
    local back <const> = assert(core.pprof_decode(
      assert(case("before"):diff(case("after")):render("pprof"))))
    local rows <const> = by_name(back:top())
    assert.same({ 150, -60, 30 },
      { rows.new_fn.flat, rows.gone_fn.flat, rows.grown_fn.flat })
    assert.is_nil(rows.same_fn)
  end)

  it("is beside the sum, which a profile has by `plus`", function()
    local sum <const> = assert(case("before"):plus(case("after")))
    assert.equal(120 + 240, sum:total(1))
    local rows <const> = by_name(sum:top())
    assert.same({ 150, 60, 90, 60 }, { rows.new_fn.flat, rows.gone_fn.flat, rows.grown_fn.flat,
      rows.same_fn.flat })
  end)

  it("is one object as JSON", function()
    local file <const> = dkjson.decode(case("before"):diff(case("after")):render("json"))
    assert.same({ 1, "samples", "count", 120, 240 },
      { file.schema, file.type, file.unit, file.total_before, file.total_after })
    assert.same({ name = "new_fn", before = 0, after = 150, change = 150, relative = "new",
      unit = "count" }, file.rows[1])
  end)

  it("matches frames whatever their addresses and lines", function()
    local function at(line)
      local profile <const> = core.profile_new { types = { { "samples", "count" } } }
      profile:add({ { name = "f", line = line, address = line * 16, file = "f.c" } }, { 1 })
      return profile
    end
    assert.equal("f 1 1\n", at(1):diff(at(2)):render("folded"))
    assert.equal(0, at(1):diff(at(2)):top()[1].change)
  end)
end)

describe("the report diff", function()
  it("is what the verb shows", function()
    local folder <const> = "spec/data/cases/30-diff-percentages/"
    local before <const>, after <const> = folder .. "before.folded", folder .. "after.folded"
    local shown <const>, status = helper.sonde("report", "diff", before, after, "--cum")
    assert.equal(0, status)
    assert.equal((helper.sonde("diff", before, after, "--cum")), shown)
  end)
end)
