-- What is exported, in the programs that people open it with. Skipped where
-- they are not installed: apt-get install chromium nodejs npm, then
-- npm ci --prefix spec/browser
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.made_profiles"
local reports <const> = require "sonde.report"

local function needs_browser()
  helper.needs("node")
  if helper.read("spec/browser/node_modules/speedscope/package.json") == nil then
    helper.skip("the packages of spec/browser are not installed")
  end
  if not os.getenv "CHROMIUM" then helper.needs("chromium") end
end

local function node(script, ...)
  local words = { "node spec/browser/" .. script }
  for _, word in ipairs { ... } do words[#words + 1] = helper.quote(word) end
  local out, status, errors = helper.run(table.concat(words, " "))
  assert.equal(0, status, errors)
  return helper.json_lines(out)
end

describe("the real speedscope", function()
  it("opens our files and no broken one", function()
    needs_browser()
    helper.in_directory(function(directory)
      local function path(name) return directory .. "/" .. name .. ".speedscope.json" end
      assert(profiles.program():write(path "threads"))
      assert(profiles.case("29-svg-illegal-characters/in.folded"):write(path "names"))
      assert(profiles.case("19-pprof-sample-without-stack/goroutine.pb.gz"):write(path "bare"))
      assert(reports.write(profiles.timeline {
        { "main", 10, 5, "a;b" }, { "main", 15, 5, "a;b;c" }, { "main", 15, 0, "d" },
        { "io", 9, 1, "x;x" }, { "main", 40, 1, "" },
      }, "timeline", { path = path "order", time_order = true }, "spec"))
      local trace <const> = core.trace { timeline = true }
      assert(trace:feed(helper.read(helper.data("cases/53-nt-wall-not-cpu/wait.nettrace"))))
      trace:finish()
      assert(reports.write(trace:timeline(), "timeline",
        { path = path "trace", time_order = true }, "spec"))
      local broken <const> = helper.data(
        "cases/31-speedscope-validity/unbalanced.speedscope.json")
      local seen <const> = node("speedscope.js", path "threads", path "names", path "bare",
        path "order", path "trace", broken)
      for i = 1, 5 do
        assert.same({ false, {} }, { seen[i].failed, seen[i].errors }, tostring(i))
      end
      assert.is_true(seen[6].failed)
      assert.equal("cpu (nanoseconds) - speedscope", seen[1].title)
      assert.same({ 3, 1, 1, 2 },
        { seen[1].profiles, seen[2].profiles, seen[3].profiles, seen[4].profiles })
    end)
  end)
end)

describe("a flame graph in a browser", function()
  local function names(boxes, only)
    local list = {}
    for _, box in ipairs(boxes) do
      if only == nil or box[only] then list[#list + 1] = box.name end
    end
    return table.concat(list, " ")
  end

  it("zooms, searches, and keeps both in its address", function()
    needs_browser()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/a.svg"
      assert(profiles.program():write(path))
      local seen <const> = node("svg.js", path, "Json.parse (", "skip|wait")[1]
      assert.same({}, seen.errors)
      assert.equal(10, #seen.start)
      assert.equal("Json.parse (600ms, 90.91%)", seen.details)
      assert.equal("all main Json.parse Json.skip Json.read", names(seen.zoomed))
      assert.near(1180, seen.zoomed[3].width, 2)
      assert.near(590, seen.zoomed[4].width, 2)
      assert.equal("Json.skip", names(seen.found, "hit"))
      assert.equal("matched 53.03% of all", seen.matched)
      assert.equal("#zoom=2&search=skip%7Cwait", seen.hash)
      assert.same(seen.found, seen.recalled)
      assert.same(seen.start, seen.reset)
      assert.equal("", seen.cleared)
    end)
  end)

  it("survives names made to break it", function()
    needs_browser()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/a.svg"
      assert(profiles.case("29-svg-illegal-characters/in.folded"):write(path))
      local seen <const> = node("svg.js", path, "</script><b> (", "(")[1]
      assert.same({}, seen.errors)
      assert.equal("</script><b> (12, 15.38%)", seen.details)
      assert.equal("all main </script><b>", names(seen.zoomed))
    end)
  end)
end)
