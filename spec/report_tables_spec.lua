local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.made_profiles"
local reports <const> = require "sonde.report"

local function case(name) return profiles.case(name) end

describe("the legend of the report dot", function()
  -- The others change what is shown of a stack, and pprof does not tell them.
  it("names the filters that pprof names", function()
    local words = assert(profiles.program():where { focus = "Json", prune_from = "nothing",
      no_inlines = true, tagroot = "route" }:render "dot")
    assert.matches("\\lActive filters:\\l   focus=Json\\lShowing nodes", words)
    words = assert(profiles.program():where { tagleaf = "route" }:render "dot")
    assert.is_nil(words:find("Active filters", 1, true))
  end)
end)

describe("the unit minimum", function()
  it("is what no unit is", function()
    assert.equal(profiles.program():render("tree", {}),
      profiles.program():render("tree", { unit = "minimum" }))
  end)
end)

describe("the report callgrind", function()
  it("has a node for each way to a function where that is asked for", function()
    local function count(opts)
      return select(2, profiles.program():render("callgrind", opts):gsub("\nfn=", ""))
    end
    assert.truthy(count { call_tree = true } > count {})
  end)
end)

describe("the report top", function()
  it("gives flat and cum as plain rows", function()
    local rows <const> = profiles.program():top { type = "samples" }
    assert.same({ name = "Json.skip", flat = 30, cum = 30, unit = "count" }, rows[1])
    assert.equal(7, #rows)
    local by_name = {}
    for _, row in ipairs(rows) do by_name[row.name] = row end
    assert.equal(10, by_name["Json.parse"].flat)
    assert.equal(60, by_name["Json.parse"].cum)
    assert.equal(1, by_name.rec.cum)
    assert.equal(0, by_name.main.flat)
  end)

  it("says what is measured, of what, and what percentages are of", function()
    local words <const> = tostring(profiles.program():top { n = 2 })
    assert.matches("^Type: cpu %(nanoseconds%)\n", words)
    assert.matches("Total: 660ms, 66 samples\n", words)
    assert.matches("Showing 2 of 7 functions, 500ms %(75.76%%%) of 660ms; "
      .. "percentages are of the total, 660ms\n", words)
    assert.matches("\n     300ms 45.45%% 45.45%%      300ms 45.45%%  Json.skip\n", words)
    assert.equal(6, #helper.lines(words))
  end)

  it("names the view and keeps it through filters", function()
    local words <const> = tostring(profiles.program():set_view("wall"):focus("Json"):top())
    assert.matches("^Type: wall, cpu %(nanoseconds%)\n", words)
    assert.matches("Filters: focus=Json; 60ms %(9.09%% of 660ms%) left out\n", words)
    assert.matches("percentages are of the total before filters, 660ms", words)
  end)

  it("takes percentages of what is left when asked", function()
    local words <const> = tostring(profiles.program():focus("Json"):top { relative = true })
    assert.matches("percentages are of the total, 600ms", words)
    assert.matches("\n     300ms 50.00%% 50.00%%", words)
  end)

  it("sorts by cum, prints in another unit, groups by module and label", function()
    local program <const> = profiles.program()
    assert.equal("main", program:top({ cum = true })[1].name)
    assert.matches("\n     0.30s 45.45%%", tostring(program:top { unit = "s" }))
    local modules <const> = program:top { by = "module", type = "samples" }
    assert.same({ "[json]", 60 }, { modules[1].name, modules[1].flat })
    local threads <const> = program:top { label = "thread", type = "samples" }
    assert.same({ "worker", 50 }, { threads[1].name, threads[1].flat })
    assert.same({ "boss", 16 }, { threads[2].name, threads[2].flat })
  end)

  it("counts what is too small without making rows of it", function()
    local lines <const> = { "main;big 100000" }
    for i = 1, 300 do lines[#lines + 1] = ("main;small%d 1"):format(i) end
    local profile <const> = profiles.of(table.concat(lines, "\n"))
    local words <const> = assert(profile:render("top"))
    assert.matches("Showing 2 of 302 functions", words)
    assert.matches("Dropped 300 nodes %(cum <= 0.50us%)", words)
    assert.equal(2, #profile:graph { least_share = 0.005 }.nodes)
    assert.equal(302, profile:graph { least_share = 0.005 }.n_all)
    assert.equal(100300, profile:graph { least_share = 0.005 }.flat_sum)
    assert.matches("Showing 302 of 302 functions", profile:render("top", { no_trim = true }))
  end)

  it("refuses units and types that do not fit, with words", function()
    local rows, message, code = profiles.program():top { unit = "MB" }
    assert.is_nil(rows)
    assert.equal("values in nanoseconds cannot be printed in MB", message)
    assert.equal("unknown_name", code)
    rows, message, code = profiles.program():top { type = "heap" }
    assert.is_nil(rows)
    assert.equal("no sample type 'heap': the profile has samples, cpu", message)
    assert.equal("unknown_name", code)
    assert.error_matches(function() profiles.program():top { flat = true } end,
      "unknown option 'flat'")
  end)

  it("says that there is nothing, and why", function()
    local rows, message, code = profiles.program():focus("nowhere"):top()
    assert.is_nil(rows)
    assert.equal("no samples: nothing is left by focus=nowhere", message)
    assert.equal("no_samples", code)
    local empty <const> = profiles.of("")
    empty:set_info { comments = { "the program ended too early" } }
    assert.equal("no samples: the program ended too early", select(2, empty:top()))
  end)

  it("shows negative values by magnitude", function()
    local words <const> = tostring(case("14-pprof-negative-heap-delta/delta.pb.gz"):top {
      type = "inuse_space" })
    assert.matches("\n     %-36kB 69.23%% 69.23%%      %-36kB 69.23%%  cache.evict\n", words)
    assert.matches("\n      16kB 30.77%% 38.46%%       16kB 30.77%%  cache.fill\n", words)
  end)

  it("takes the default sample type by its name", function()
    local function first(name)
      local row <const> = case("15-pprof-default-sample-type/" .. name .. ".pb.gz"):top()[1]
      return row.name .. " " .. row.flat .. " " .. row.unit
    end
    assert.equal("codec.grow 1048576 bytes", first "allocs")
    assert.equal("codec.read 90000000 nanoseconds", first "no-default")
    assert.equal("codec.read 90000000 nanoseconds", first "unknown-default")
    assert.matches("Note: the profile's default sample type 'not_a_type' is none of its types",
      tostring(case("15-pprof-default-sample-type/unknown-default.pb.gz"):top()))
  end)

  it("counts what has no stack in the total", function()
    local words <const> = tostring(case("19-pprof-sample-without-stack/goroutine.pb.gz"):top())
    assert.matches("40 %(93.02%%%) of 43", words)
  end)

  it("keeps odd names whole", function()
    local found = {}
    for _, row in ipairs(case("23-pprof-odd-function-names/names.pb.gz"):top()) do
      found[row.flat] = row.name
    end
    assert.equal("(anonymous namespace)::step(int)", found[4])
    assert.equal("+(::Int, ::Int)", found[3])
    assert.equal('pkg.Fill[go.shape.struct { A int "json:\\"a;b\\""; B []string }]', found[6])
  end)

  it("never sends a control character to a terminal", function()
    local hostile <const> = case("29-svg-illegal-characters/in.folded")
    for _, name in ipairs { "top", "tree", "peek", "traces", "folded", "dot", "svg", "json" } do
      local words <const> = assert(hostile:render(name))
      assert.is_nil(words:find("[^\t\n\32-\126\128-\255]"), name)
      assert.truthy(utf8.len(words), name)
    end
    assert.matches("esc\\x1b%[31mred", tostring(hostile:top()))
  end)
end)

describe("the report tree", function()
  it("has a block for each function, callers above, callees below", function()
    local words <const> = profiles.program():render("tree", { type = "samples" })
    assert.matches("\n        30 45.45%% 45.45%%         30 45.45%%                | Json.skip\n",
      words)
    assert.matches("\n                                                60   100%% |   main\n", words)
  end)

  it("gives the same as rows", function()
    local rows <const> = profiles.program():tree { type = "samples" }
    assert.equal(7, #rows)
    assert.same({ "Json.skip", 30, 30 }, { rows[1].name, rows[1].flat, rows[1].cum })
    assert.same({ { name = "Json.parse", value = 30 } }, rows[1].callers)
    assert.same({}, rows[1].callees)
  end)
end)

describe("the report calltree", function()
  it("gives calls in preorder", function()
    local rows <const> = profiles.program():calls { type = "samples" }
    local lines = {}
    for i, row in ipairs(rows) do
      lines[i] = ("%d %s %d %d"):format(row.depth, row.name, row.self, row.total)
    end
    assert.same({
      "1 main 0 65", "2 Json.parse 10 60", "3 Json.skip 30 30", "3 Json.read 20 20",
      "2 idle 0 5", "3 wait 5 5", "1 rec 0 1", "2 rec 0 1", "3 rec 1 1",
    }, lines)
  end)

  it("steps to the right where the value divides", function()
    local words <const> = profiles.program():render("calltree", { type = "samples", min = 0 })
    local names = {}
    for line in words:gmatch("[^\n]+") do names[#names + 1] = line:match("^ .-%%.-%%  (.*)$") end
    assert.same({
      "main", "├─ Json.parse", "│  ├─ Json.skip", "│  └─ Json.read", "└─ idle", "   wait",
      "rec", "rec", "rec",
    }, names)
  end)

  it("shows what has no stack, limits depth, leaves out the small", function()
    local words <const> = case("19-pprof-sample-without-stack/goroutine.pb.gz"):render("calltree")
    assert.matches("\n         3  6.98%%          3  6.98%%  %[no stack%]\n", words)
    local rows <const> = profiles.program():calls { depth = 1 }
    assert.equal(2, #rows)
    assert.equal(1, #profiles.program():calls { depth = 1, min = 50 })
  end)

  it("begins with the values of labels when asked", function()
    local rows <const> = profiles.program():calls { labels = { "thread" }, type = "samples" }
    assert.same({ "thread worker", 1, 50 }, { rows[1].name, rows[1].depth, rows[1].total })
    assert.same({ "main", 2, 50 }, { rows[2].name, rows[2].depth, rows[2].total })
  end)
end)

describe("the report peek", function()
  it("shows callers and callees of what matches", function()
    local rows <const> = profiles.program():peek("parse$")
    assert.equal(1, #rows)
    assert.same({ { name = "main", value = 600000000 } }, rows[1].callers)
    assert.same({ { name = "Json.skip", value = 300000000 },
      { name = "Json.read", value = 200000000 } }, rows[1].callees)
    local words <const> = tostring(rows)
    assert.matches("\n +600ms   100%% |   main\n", words)
    assert.matches("\n     100ms 15.15%% 15.15%%      600ms 90.91%% +| Json.parse\n", words)
    assert.matches("\n +300ms 50.00%% |   Json.skip\n", words)
  end)

  it("says when nothing matches", function()
    local rows, message, code = profiles.program():peek("nowhere")
    assert.is_nil(rows)
    assert.equal("no function matches 'nowhere'", message)
    assert.equal("no_samples", code)
  end)
end)

describe("the report traces", function()
  it("shows every stack with its labels", function()
    local words <const> = profiles.program():render("traces")
    assert.matches("    thread:  worker\n     300ms   Json.skip\n             Json.parse\n"
      .. "             main\n%-%-%-", words)
    local _, rules = words:gsub("\n%-+%+", "")
    assert.equal(6, rules)
  end)

  it("shows the heaviest first when told how many", function()
    local words <const> = profiles.program():render("traces", { n = 2 })
    local _, rules = words:gsub("\n%-+%+", "")
    assert.equal(3, rules)
    assert.matches("Json.read", words)
    assert.is_nil(words:find("wait"))
  end)

  it("keeps labels on one line", function()
    local words <const> = case("21-pprof-quotes-and-newlines/quotes.pb.gz"):render("traces")
    assert.matches("range:  two\\nlines", words)
    assert.matches("\n      10ms   line1\\nline2\n", words)
  end)
end)

describe("the registry of reports", function()
  it("finds reports by name and by extension", function()
    assert.equal("svg", reports.get("svg").name)
    for path, name in pairs {
      ["a.svg"] = "svg", ["a.pb.gz"] = "pprof", ["A.PB"] = "pprof", ["x.folded"] = "folded",
      ["x.speedscope.json"] = "speedscope", ["x.json"] = "json", ["x.chromium.json"] = "chromium",
      ["dir.svg/x.dot"] = "dot",
    } do
      assert.equal(name, reports.for_path(path).name, path)
    end
    local _, message = reports.get("specscope")
    assert.equal("no report 'specscope' (did you mean 'speedscope'?)", message)
    assert.matches("known are .*%.svg", select(2, reports.for_path("x.docx")))
  end)

  it("describes each of them", function()
    for _, module in ipairs(reports.list()) do
      assert.equal("string", type(module.summary))
      assert.is_nil(module.summary:find("\n"))
      assert.truthy(module.takes)
      assert.equal("table", type(module.options))
      assert.equal("table", type(module.extensions))
      assert.equal("function", type(module.write))
    end
  end)

  it("writes files by their names, and nothing when there is nothing", function()
    helper.in_directory(function(directory)
      local program <const> = profiles.program()
      assert(program:write(directory .. "/a.folded"))
      assert.matches("^main;Json.parse 100000000\n", helper.read(directory .. "/a.folded"))
      assert(program:write { path = directory .. "/b.txt", format = "top", n = 1 })
      assert.matches("Json.skip", helper.read(directory .. "/b.txt"))
      local empty <const> = profiles.of("")
      for _, name in ipairs { "svg", "folded", "speedscope.json", "dot", "json" } do
        local path <const> = directory .. "/empty." .. name
        local done, _, code = empty:write(path)
        assert.is_nil(done)
        assert.equal("no_samples", code)
        assert.is_nil(helper.read(path))
      end
      local _, message, code = program:write(directory .. "/c.chromium.json")
      assert.equal("chromium in time order needs a timeline: only a trace has one", message)
      assert.equal("unavailable", code)
    end)
  end)

  it("tells of a full disk", function()
    local done, message, code = profiles.program():write { path = "/dev/full", format = "svg" }
    assert.is_nil(done)
    assert.equal("/dev/full: No space left on device", message)
    assert.equal("unavailable", code)
  end)
end)
