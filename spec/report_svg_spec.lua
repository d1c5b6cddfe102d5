local core <const> = require "sonde.c.core"
local page <const> = require "sonde.report.svg_page"
local profiles <const> = require "spec.support.made_profiles"
local xml <const> = require "spec.support.xml"

-- The boxes of a graph: title, rectangle and label of each.
local function boxes_of(text)
  local boxes, all = {}, xml.read(text)
  for i, element in ipairs(all) do
    if element.name == "g" then
      boxes[#boxes + 1] = {
        title = all[i + 1].text, rect = all[i + 2].attributes, label = all[i + 3].text,
      }
    end
  end
  return boxes, all
end

local function draw(profile, opts)
  local text <const> = assert(profile:render("svg", opts))
  local boxes, all = boxes_of(text)
  return boxes, text, all
end

local function percent(text) return tonumber((text:gsub("%%$", ""))) end

describe("the flame graph", function()
  it("has a box for each call, as wide as its value", function()
    local boxes <const> = draw(profiles.program(), { type = "samples" })
    assert.equal(10, #boxes)
    assert.equal("all (66, 100%)", boxes[1].title)
    assert.equal("main (65, 98.48%)", boxes[2].title)
    assert.equal("Json.parse (60, 90.91%)", boxes[3].title)
    assert.near(60 / 66 * 100, percent(boxes[3].rect.width), 1e-4)
    assert.near(30 / 66 * 100, percent(boxes[5].rect.x), 1e-4)
    assert.equal("Json.read", boxes[5].label)
  end)

  it("stands on its callers, or hangs from them as an icicle", function()
    local flame <const> = draw(profiles.program())
    local icicle <const> = draw(profiles.program(), { icicle = true })
    assert.equal(18, tonumber(flame[1].rect.y) - tonumber(flame[2].rect.y))
    assert.equal(18, tonumber(icicle[2].rect.y) - tonumber(icicle[1].rect.y))
  end)

  it("names view, total and notes", function()
    local profile <const> = profiles.program():set_view("wall")
    profile:set_info { comments = { "3 samples left out" } }
    local _, _, all = draw(profile)
    assert.equal("wall, cpu (nanoseconds), 660ms", all[2].text)
    local notes
    for i, element in ipairs(all) do
      if element.attributes.id == "notes" then notes = all[i + 1].text end
    end
    assert.matches("Total: 660ms, 66 samples · Note: 3 samples left out", notes)
  end)

  it("is well formed whatever names hold", function()
    local boxes <const> = draw(profiles.case("29-svg-illegal-characters/in.folded"))
    local titles, sum = {}, 0
    for _, box in ipairs(boxes) do
      local name, value = box.title:match("^(.*) %((%d+), [^()]*%)$")
      titles[name] = tonumber(value)
      if name ~= "all" and name ~= "main" then sum = sum + tonumber(value) end
    end
    assert.equal(14, #boxes)
    assert.equal(78, sum)
    assert.equal(1, titles["nul\\x00in name"])
    assert.equal(2, titles["esc\\x1b[31mred"])
    assert.equal(9, titles["&lt;already&gt;"])
    assert.equal(12, titles["</script><b>"])
    draw(profiles.case("21-pprof-quotes-and-newlines/quotes.pb.gz"))
    local profile <const> = core.profile_new { types = { { "a<b", "c&d" } } }
    for byte = 0, 255 do profile:add({ ("n%c"):format(byte), "\xed\xa0\x80" }, { 1 }) end
    draw(profile, { title = "]]> <x>" })
  end)

  it("cuts long names between characters, and keeps them whole in the title", function()
    local long <const> = ("中"):rep(1000)
    local boxes <const> = draw(profiles.of(long .. " 1"))
    assert.equal("…", (boxes[2].label:gsub("中", "")))
    assert.equal(long .. " (1ns, 100%)", boxes[2].title)
    local generic <const> = "A.B.Type<" .. ("System.Int32,"):rep(300) .. ">.Method(int)"
    boxes[2] = draw(profiles.of(generic .. " 1"))[2]
    assert.equal(generic .. " (1ns, 100%)", boxes[2].title)
  end)

  it("counts what is too narrow to draw", function()
    local lines = { "main;wide 100000" }
    for i = 1, 50 do lines[#lines + 1] = "main;narrow" .. i .. " 1" end
    local boxes, text = draw(profiles.of(table.concat(lines, "\n")))
    assert.equal(4, #boxes)
    assert.matches("0.05%% in boxes too narrow to draw", text)
    assert.equal("(pruned) (50ns, 0.05%)", boxes[4].title)
    assert.near(50 / 100050 * 100, percent(boxes[4].rect.width), 1e-4)
    assert.equal(3, #draw(profiles.of(table.concat(lines, "\n")), { min_width = 1 }))
    assert.equal(53, #draw(profiles.of(table.concat(lines, "\n")), { min_width = 0 }))
  end)

  it("shows what has no stack", function()
    local boxes <const> = draw(profiles.case("19-pprof-sample-without-stack/goroutine.pb.gz"))
    assert.equal("[no stack] (3, 6.98%)", boxes[#boxes].title)
  end)

  it("colours by module, the same in every run", function()
    local boxes <const> = draw(profiles.program())
    local fills = {}
    for _, box in ipairs(boxes) do fills[box.title:match("^%S+")] = box.rect.fill end
    assert.equal("#", fills.main:sub(1, 1))
    assert.same(fills.rec, fills.rec)
    local again = {}
    for _, box in ipairs((draw(profiles.program()))) do
      again[box.title:match("^%S+")] = box.rect.fill
    end
    assert.same(fills, again)
  end)

  it("refuses negative values with advice", function()
    local text, message, code = profiles.case("14-pprof-negative-heap-delta/delta.pb.gz")
      :render("svg", { type = "inuse_space" })
    assert.is_nil(text)
    assert.matches("cache.evict.*draw the difference of the two profiles", message)
    assert.equal("unavailable", code)
  end)

  it("has a script that stays inside its CDATA section", function()
    assert.is_nil(page.SCRIPT:find("]]>", 1, true))
    assert.is_nil(page.STYLE:find("[<&]"))
  end)

  it("draws a difference: both sides, coloured by change", function()
    local before <const> = profiles.case("30-diff-percentages/before.folded")
    local after <const> = profiles.case("30-diff-percentages/after.folded")
    local boxes <const> = boxes_of(assert(before:diff(after):render("svg")))
    local found = {}
    for _, box in ipairs(boxes) do found[box.title:match("^[%w_]+")] = box end
    assert.equal("gone_fn (60 before, 0 after, gone)", found.gone_fn.title)
    assert.equal("new_fn (0 before, 150 after, new)", found.new_fn.title)
    assert.equal("grown_fn (30 before, 60 after, +100%)", found.grown_fn.title)
    assert.near(90 / 360 * 100, percent(found.grown_fn.rect.width), 1e-4)
    assert.equal("#f1efeb", found.same_fn.rect.fill)
    assert.equal("#f06a50", found.new_fn.rect.fill)
    assert.equal("#6fa1f2", found.gone_fn.rect.fill)
  end)
end)
