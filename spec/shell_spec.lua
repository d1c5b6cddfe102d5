local complete <const> = require "sonde.shell.complete"
local helper <const> = require "spec.support.helper"
local show <const> = require "sonde.shell.show"
local sonde <const> = require "sonde"

local BEFORE <const> = helper.data "cases/30-diff-percentages/before.folded"
local AFTER <const> = helper.data "cases/30-diff-percentages/after.folded"
local TRACE <const> = helper.data "demo.nettrace"
local HEAP <const> = helper.data "pprof/h0.pb.gz"

local new_shell <const> = require("spec.support.shells").new

local function report(name, opts, filters)
  local profile = assert(sonde.open(TRACE)):profile()
  if filters then profile = profile:where(filters) end
  return profile:render(name, opts)
end

describe("a word", function()
  local shell <const> = new_shell(TRACE)
  after_each(function() shell.ask(":", "view=") end)

  it("is a report, with pprof's arguments", function()
    assert.equal(report("top", { n = 3 }), (shell.ask "top3"))
    assert.equal(report("top", { n = 3, cum = true }), (shell.ask "top 3 -cum"))
    assert.equal(report("top", { n = 3, cum = true }), (shell.ask "top3 --cum"))
    assert.equal(report("top", { by = "module" }), (shell.ask "top -by=module"))
    assert.equal(report("top", { by = "module" }), (shell.ask "top --by module"))
    assert.equal(report "tree", (shell.ask "tree"))
    assert.equal(report("calltree", { inverted = true }), (shell.ask "calltree -inverted"))
    assert.equal(report("traces", { n = 2 }), (shell.ask "traces 2"))
    assert.equal(report("peek", { pattern = "Burn.Alpha" }), (shell.ask "peek Burn.Alpha"))
    assert.equal(report("peek", { pattern = "Burn.Alpha(?= ?)" }),
      (shell.ask 'peek "Burn.Alpha(?= ?)"'))
  end)

  it("takes functions to choose and to leave out for this once", function()
    local filters <const> = { focus = "Alpha|Beta", ignore = "Async" }
    assert.equal(report("top", { n = 5 }, filters), (shell.ask "top5 Alpha Beta -Async"))
    shell.ask "focus=Gamma"
    assert.equal(report("top", { n = 5 }, filters), (shell.ask "top5 Alpha Beta -Async"))
    assert.equal(report("top", { n = 5 }, { focus = "Gamma" }), (shell.ask "top5"))
  end)

  it("writes to a file, and to a command", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/out"
      local out, status, err = shell.ask("top3 > " .. path)
      assert.same({ "", 0, "wrote " .. path .. " (top)\n" }, { out, status, err })
      assert.equal(report("top", { n = 3 }), helper.read(path))
      assert.equal(0, select(2, shell.ask(("pprof >%s.pb.gz"):format(path))))
      assert.equal(13424, sonde.open(path .. ".pb.gz"):total(1))
      assert.equal(0, select(2, shell.ask(("write %s.folded"):format(path))))
      assert.equal(report "folded", helper.read(path .. ".folded"))
      assert.equal(0, select(2, shell.ask(("tree | head -1 > %s"):format(path))))
      assert.equal("Type: wall (nanoseconds)\n", helper.read(path))
      local _, failed, why = shell.ask "tree | exit 3"
      assert.equal(3, failed)
      assert.matches("exit 3: ended with status 3", why)
    end)
  end)

  it("is about the view, which a name or a number sets", function()
    assert.matches("^Type: running ", (shell.ask("view=running", "top1")))
    assert.matches("^Type: samples ", (shell.ask("samples", "top1")))
    assert.matches("^Type: wall ", (shell.ask("sample_index=0", "top1")))
    assert.matches("names +full", (shell.ask("names=full", "o")))
  end)

  it("is of a trace where that is what it tells", function()
    assert.matches("^Threads: 11\n", (shell.ask "threads"))
    local trace <const> = assert(sonde.open(TRACE))
    assert.equal(sonde.report.render(trace, "trace", "providers", {}, "spec"),
      (shell.ask "providers"))
  end)

  it("exists for every report, with its help", function()
    for _, name in ipairs(sonde.report.names()) do
      local out, status = shell.ask("help " .. name)
      assert.equal(0, status)
      assert.matches("^" .. name .. ": ", out)
    end
  end)
end)

describe("a setting", function()
  it("filters as the command does, and is taken back", function()
    local shell <const> = new_shell(TRACE)
    local all <const> = shell.ask "top5"
    local focused <const> = report("top", { n = 5 }, { focus = "Alpha", ignore = "Sync" })
    assert.equal(focused, (shell.ask("focus=Alpha", "ignore = 'Sync'", "top5")))
    assert.equal(report("top", { n = 5 }, { focus = "Alpha" }), (shell.ask("undo", "top5")))
    assert.equal(focused, (shell.ask("redo", "top5")))
    assert.equal(all, (shell.ask(":", "top5")))
    assert.equal(focused, (shell.ask("undo", "top5")))
    assert.equal(report("top", { n = 5 }, { ignore = "Sync" }), (shell.ask("focus=", "top5")))
    assert.equal(report("top", { n = 5 }, { hide = "System", show = "Burn" }),
      (shell.ask(":", "hide=System", "show=Burn", "top5")))
    assert.equal(report("top", { n = 5 }, { show_from = "Program" }),
      (shell.ask(":", "show_from=Program", "top5")))
    for _ = 1, 20 do shell.ask "undo" end
    assert.equal("sonde: nothing to undo\ntry: o\n", (select(3, shell.ask "undo")))
  end)

  it("holds for every report that knows it", function()
    local shell <const> = new_shell(TRACE)
    local out <const> = shell.ask("rows=2", "unit=s", "cum", "top")
    assert.equal(report("top", { n = 2, unit = "s", cum = true }), out)
    assert.equal(report("top", { n = 4, unit = "s", cum = true }), (shell.ask "top4"))
    assert.equal(report("top", { n = 2, unit = "s" }), (shell.ask "top -flat"))
    assert.equal(report("calltree", { unit = "s" }), (shell.ask "calltree"))
  end)

  it("is listed with its value and choices", function()
    local shell <const> = new_shell(TRACE)
    local out <const> = shell.ask("focus=Alpha", "o")
    assert.matches("\nview +wall +wall samples running managed\n", out)
    assert.matches("\nfocus +Alpha +only samples with a frame", out)
    assert.matches("\nnames +pretty +pretty full raw\n", out)
    assert.matches("^setting +value +choices\nunit +auto", (shell.ask "unit"))
  end)

  it("refuses what cannot be, and stays as it was", function()
    local shell <const> = new_shell(TRACE)
    for _, row in ipairs {
      { "names=ugly", "names is not known: 'ugly' %(one of pretty, full, raw%)", "help names" },
      { "focus=(", "focus is not a regular expression: ", "help focus" },
      { "rows=many", "rows is not a whole number: 'many'", "help rows" },
      { "view=alloc", "no samples for view alloc", "view=wall" },
      { "view=9", "no view 9: there are 0 to 3", "o" },
      { "cum=maybe", "cum is true or false: 'maybe'", "help cum" },
      { "thread=nobody", "no thread nobody", "sonde report threads .*" },
      { "focsu=Alpha", "unknown setting 'focsu' %(did you mean 'focus'%?%)", "focus=Alpha" },
    } do
      local out, status, err = shell.ask(row[1])
      assert.equal("", out)
      assert.is_true(status > 0)
      assert.matches("^sonde: [^\n]*" .. row[2] .. "[^\n]*\ntry: " .. row[3] .. "\n$", err)
    end
    assert.equal(report("top", { n = 1 }), (shell.ask "top1"))
  end)

  it("of a pprof file is its sample type", function()
    local shell <const> = new_shell(HEAP)
    local types <const> = assert(sonde.open(HEAP)):types()
    for i, entry in ipairs(types) do
      local want <const> = sonde.open(HEAP):render("top", { n = 2, type = entry.type })
      assert.equal(want, (shell.ask("view=" .. entry.type, "top2")))
      assert.equal(want, (shell.ask(("sample_index=%d"):format(i - 1), "top2")))
    end
    local _, status, err = shell.ask "gc"
    assert.equal(3, status)
    assert.matches("^sonde: 'gc' is of a trace, and input is a profile\ntry: top\n$", err)
    assert.matches("only a trace has that", (select(3, shell.ask "thread=1")))
  end)
end)

describe("Lua in the shell", function()
  local shell <const> = new_shell(TRACE)

  it("prints expressions, and remembers them", function()
    assert.equal("3\n", (shell.ask "1 + 2"))
    assert.equal("4\n", (shell.ask "_ + 1"))
    assert.equal("3\n", (shell.ask "__"))
    assert.equal("1\t2\n", (shell.ask "return 1, 2"))
    assert.equal("nil\n", (shell.ask "nil"))
    assert.equal("", (shell.ask "x = 5"))
    assert.equal("5\n", (shell.ask "= x"))
    assert.equal("", (shell.ask "-- nothing"))
    assert.equal("11\n", (shell.ask("function add(a,\n b) return a + b end", "add(5, 6)")))
    shell.ask "top2"
    assert.equal("2\n", (shell.ask "#_"))
  end)

  it("has the objects, which follow the settings", function()
    assert.matches("^trace spec/data/demo.nettrace ", (shell.ask "trace"))
    assert.matches("^profile: ", (shell.ask "profile"))
    assert.equal("true\n", (shell.ask "profile == whole"))
    assert.equal("true\n", (shell.ask("focus=Alpha", "#profile < #whole")))
    assert.equal("true\n", (shell.ask "profile == profile"))
    assert.matches("'profile' follows the settings", (select(3, shell.ask "profile = 1")))
    shell.ask ":"
  end)

  it("tells what is wrong in one line, and what to try", function()
    for _, row in ipairs {
      { "nosuch.x", "attempt to index a nil value (global 'nosuch')", "help lua" },
      { "profil:top()", "attempt to index a nil value (global 'profil')", "profile" },
      { "error 'oops'", "oops", "help lua" },
      { "trace:threads():wher {}", "attempt to call a nil value (method 'wher')",
        "help rows:where" },
      { "error{ why = 1 }", "why  1", "help lua" },
      { "1 +* 2", "unexpected symbol near '*'", "help lua" },
      { "tpo", "unknown word 'tpo' (did you mean 'top'?)", "top" },
      { "tpo20 -cum", "unknown word 'tpo' (did you mean 'top'?)", "top" },
      { "peke Alpha", "unknown word 'peke' (did you mean 'peek'?)", "peek" },
      { "sonde.open 'none'", "none: No such file or directory", "help" },
      { "profile:top{ m = 1 }", "unknown option 'm' to 'profile:top'", "help lua" },
      { "x = 1\ny = nosuch.z", "line 2: attempt to index a nil value (global 'nosuch')",
        "help lua" },
    } do
      local out, status, err = shell.ask(row[1])
      assert.equal("", out)
      assert.is_true(status > 0)
      assert(err:find(row[2], 1, true), err)
      assert.equal(("try: %s\n"):format(row[3]), err:match("\n(.*)$"))
    end
    assert.matches("in function <line:1>", (shell.ask("function f() nosuch() end", "f()",
      "traceback")))
  end)

  it("prefers a variable to a word that stands alone", function()
    assert.equal("7\n", (shell.ask("q = 7", "q")))
    assert.is_nil(shell.over)
    assert.equal("Type:", (shell.ask("tree = 1", "tree -inverted"):match("^%S+")))
    shell.ask("q = nil", "tree = nil")
  end)

  it("is interrupted in coroutines and through pcall", function()
    assert.equal("true\n", (shell.ask "coroutine.wrap(function(a) return a end)(true)"))
    assert.equal("1\t2\n", (shell.ask [[
      select(2, coroutine.resume(coroutine.create(function(...) return ... end), 1, 2))]]))
    assert.equal("false\n", (shell.ask "(pcall(error))"))
    -- Where nobody types, an interrupt is for who runs the shell.
    assert.has_error(function() shell.ask "pcall(error, 'interrupted!', 0)" end, "interrupted!")
  end)
end)

it("the prompt names what is in use by its variable or its file", function()
  local shell <const> = new_shell(BEFORE)
  shell.ask(("use sonde.open %q"):format(AFTER))
  assert.equal("after.folded samples", shell:state())
  shell.ask(("tuesday = sonde.open %q"):format(AFTER), "use tuesday")
  assert.equal("tuesday samples", shell:state())
end)

describe("rows in the shell", function()
  it("of every table that is shown can be filtered and sorted", function()
    local shell <const> = new_shell(TRACE)
    assert.equal("nil\n", (shell.ask "it"))
    assert.equal(report("top", { n = 5 }), (shell.ask "top5"))
    assert.matches("^name +flat +cum\nTargets%.Cpu%.Burn%.Alpha%(int%) +5%.42s +5%.42s\n$",
      (shell.ask 'it:where{ name = "Alpha" }'))
    assert.equal("1\n", (shell.ask "#it"))
    assert.matches("^ *cum +name\n", (shell.ask "it:select('cum', 'name'):sort 'name'"))
    assert.equal((helper.sonde("report", "threads", TRACE)), (shell.ask "threads"))
    assert.matches("^ *id[^\n]*\n23577[^\n]*\n$",
      (shell.ask "it:where{ managed = '>0', wall_ns = '2s..5s' }"))
    shell.ask "profile:types()"
    assert.matches("^it:where\n", (shell.ask "help it:where"))
    assert.equal("samples\n", (shell.ask "it:where{ unit = 'count' }[1].type"))
    assert.equal("1\tnil\t3\n", (shell.ask "return 1, nil, 3, nil"))
    shell.ask "providers"
    assert.equal("no rows\n", (shell.ask "it:where{ count = '<0' }"))
    assert.matches("^sonde: no field 'cuont' .*did you mean 'count'",
      select(3, shell.ask("providers", "it:sort '-cuont'")))
  end)
end)

describe("two inputs", function()
  it("are before and after, and their difference", function()
    local shell <const> = new_shell(BEFORE, AFTER)
    local before <const>, after <const> = assert(sonde.open(BEFORE)), assert(sonde.open(AFTER))
    assert.equal("120\t240\n", (shell.ask "before:total(1), after:total(1)"))
    assert.equal(sonde.diff(before, after):render "diff", (shell.ask "diff"))
    assert.equal(sonde.diff(before, after):render("diff", { n = 2 }), (shell.ask "diff2"))
    assert.equal(sonde.diff(before, after, { normalize = true }):render "diff",
      (shell.ask("normalize", "diff")))
    assert.matches("^diff: samples", (shell.ask "= diff"))
    assert.equal(after:render "top", (shell.ask "top"))
    assert.equal(before:render "top", (shell.ask("use before", "top")))
    assert.equal(after:render "top", (shell.ask("undo", "top")))
    assert.equal("120\n", (shell.ask("normalize=false", "use diff:profile()",
      "profile:total(1)")))
    assert.equal("after", shell.ask "use after" and shell:state():match("^%S+"))
    assert.matches("neither a trace nor a profile", (select(3, shell.ask "use 5")))
  end)

  it("are not there with one", function()
    local shell <const> = new_shell(BEFORE)
    assert.equal("nil\n", (shell.ask "(before)"))
    assert.matches("^sonde: 'diff' compares two inputs", (select(3, shell.ask "diff")))
  end)
end)

describe("values", function()
  it("print as tables of records", function()
    assert.equal("name  size\na        1\nbb      20", (show.text {
      { name = "a", size = 1 }, { name = "bb", size = 20 } }))
    local out <const> = show.text { { took_ns = 1500000, used_bytes = 2048, hresult = 16 } }
    assert.equal("hresult took_ns used_bytes\n 0x10 1.50ms 2kB", (out:gsub("  +", " ")))
    assert.equal("a  1\nb  { 1, 2 }", (show.text { a = 1, b = { 1, 2 } }))
    assert.equal('1  "x"\n2  { { 1 values } }', (show.text { "x", { { {} } } }))
    assert.equal("{}", (show.text {}))
  end)

  it("are limited in length, and escape what a terminal would obey", function()
    local long = {}
    for i = 1, 1500 do long[i] = { n = i } end
    local lines <const> = helper.lines((show.text(long)))
    assert.equal(1002, #lines)
    assert.equal("… and 500 more of 1,500", lines[1002])
    assert.equal("a\nb\\x1b[31m", (show.text "a\nb\27[31m\n"))
    assert.equal("name\n\\x1b[2J", (show.text { { name = "\27[2J" } }))
  end)

  it("fit the width of a screen", function()
    local list <const> = {
      { name = ("n"):rep(50), ip = 1 << 50, note = ("t"):rep(300), size = 12 },
    }
    for _, width in ipairs { 60, 80, 100, 200 } do
      for _, line in ipairs(helper.lines((show.text(list, width)))) do
        assert.is_true(utf8.len(line) <= width, line)
      end
    end
    assert.equal("name\n" .. "Some.Name.Space.Class.Method(…)", (show.text({
      { name = "Some.Name.Space.Class.Method(class A.Rather.Long.Argument)" } }, 40)))
    assert.matches("\nleft out: ip %(wide shows all%)$", (show.text(list, 66)))
  end)
end)

describe("completion", function()
  local shell <const> = new_shell(TRACE)

  -- What readline's word becomes: it begins behind the last break character.
  local function completed(line)
    local from <const> = #line - #line:match("[^ \t\n\"\\'`@$><=;|&{(]*$") + 1
    local found <const> = complete.find(shell, line, from, #line)
    for i, text in ipairs(found) do found[i] = line:sub(1, from - 1) .. text end
    return found
  end

  it("knows words, settings, views and names of Lua", function()
    assert.same({ "peek" }, completed "pee")
    assert.same({ "focus=", "fold_recursion=", "folded", "for" }, completed "fo")
    assert.same({ "view=running" }, completed "view=r")
    assert.same({ "names=full" }, completed "names=f")
    assert.same({ "help undo" }, completed "help und")
    assert.same({ "print(whole" }, completed "print(who")
  end)

  it("knows fields and methods", function()
    assert.same({ "profile:top", "profile:total" }, completed "profile:to")
    assert.same({ "x = profile:top", "x = profile:total" }, completed "x = profile:to")
    assert.same({ "print(#trace:gcs" }, completed "print(#trace:gcs")
    assert.same({ "print(#trace:gc_sums", "print(#trace:gcs" }, completed "print(#trace:gc")
    assert.same({ "string.format" }, completed "string.form")
    assert.same({}, completed "nosuch.fo")
  end)

  it("knows the functions of the profile", function()
    assert.same({ "peek Targets.Cpu.Burn.Alpha" }, completed "peek Targets.Cpu.Burn.Al")
    assert.same({ "focus=Targets.Cpu.Burn.Alpha" }, completed "focus=Targets.Cpu.Burn.Al")
    assert.same({ "top -Targets.Cpu.Burn.Alpha" }, completed "top -Targets.Cpu.Burn.Al")
    assert.same({ "tree Targets.Cpu.Burn.Alpha" }, completed "tree Burn.Alph")
    assert.same({ 'profile:focus("Targets.Cpu.Burn.Alpha' },
      completed 'profile:focus("Targets.Cpu.Burn.Al')
    for _, text in ipairs(completed "peek System.") do
      assert.matches("^peek System%.[^.]*%.?$", text)
    end
  end)

  it("knows fields and methods of rows", function()
    local rows_shell <const> = shell
    rows_shell.ask "threads"
    assert.same({ "it:where{ managed" }, completed "it:where{ ma")
    assert.same({ "it:where{ id = 5, wall_ns" }, completed "it:where{ id = 5, wal")
    assert.same({ 'it:sort "-wall_ns' }, completed 'it:sort "-wa')
    assert.same({ 'it:where{ id = 5 }:select("events' }, completed 'it:where{ id = 5 }:select("ev')
    assert.same({ "it:where{ id = 5 }:sort" }, completed "it:where{ id = 5 }:so")
    assert.same({ "it:sort" }, completed "it:so")
    assert.same({ "it[1].samples" }, completed "it[1].sa")
  end)

  it("knows files, processes, policies and verbs", function()
    helper.in_directory(function(directory)
      helper.write(directory .. "/one.nettrace", "")
      assert(os.execute("mkdir " .. directory .. "/one.d"))
      local both <const> = { directory .. "/one.d/", directory .. "/one.nettrace" }
      for _, start in ipairs { "write ", "save ", "replay ", "top5 > ", 'sonde.open "', "store '",
        'use sonde.open "', "sonde top " } do
        local want = {}
        for i, path in ipairs(both) do want[i] = start .. path end
        assert.same(want, completed(start .. directory .. "/on"))
      end
    end)
    assert.same({ 'policy "cpu_spike' }, completed 'policy "cpu_sp')
    assert.same({ "sonde policy" }, completed "sonde poli")
    assert.equal(" ", (select(2, complete.find(shell, "sonde poli", 7, 10))))
    assert.same({ "sonde policy explain" }, completed "sonde policy exp")
    assert.same({ "sonde policy explain cpu_spike" }, completed "sonde policy explain cpu_s")
    assert.same({ "sonde counters Api --interval" }, completed "sonde counters Api --interv")
    assert.same({ "sonde top --by function" }, completed "sonde top --by func")
  end)

  it("knows the options of a report", function()
    assert.same({ "top -cum" }, completed "top -c")
    assert.same({ "top -by=module" }, completed "top -by=mo")
  end)
end)

describe("help", function()
  local shell <const> = new_shell(TRACE)

  it("lists all words and settings", function()
    local out <const> = shell.ask "help"
    for _, name in ipairs { "top", "peek", "gc", "undo", "save", "quit", "focus", "show_from" } do
      assert.matches("%f[%w_]" .. name .. "%f[^%w_]", out)
    end
    for _, line in ipairs(helper.lines(out)) do assert.is_true(#line <= 100, line) end
  end)

  it("tells of settings, methods, classes and topics", function()
    assert.matches("^focus: only samples with", (shell.ask "help focus"))
    assert.matches("\n +one of: wall samples running managed\n", (shell.ask "help view"))
    assert.matches("^profile:top\nThe functions with the largest values", (shell.ask
      "help profile:top"))
    assert.matches("^trace: its methods\n.*:gcs +The garbage collections", (shell.ask
      "help trace"))
    for _, topic in ipairs { "lua", "patterns", "profile", "diff", "sonde", "use", "o" } do
      assert.equal(0, select(2, shell.ask("help " .. topic)))
    end
    assert.matches("^rows: its methods\n.*:where +The rows that fit", (shell.ask "help it"))
    assert.matches("^it:sort\nThe rows in another order", (shell.ask "help it:sort"))
    shell.ask "mine_too = profile:focus 'Alpha'"
    assert.matches("^mine_too:focus\n", (shell.ask "help mine_too:focus"))
    assert.matches("^targets\nThe processes that can be", (shell.ask "help targets"))
    assert.matches("^store\nA store of captures.*:trend ", (shell.ask "help store"))
    assert.matches("^sonde VERB: .*\nsonde: its functions\n.*%.open ", (shell.ask "help sonde"))
    assert.equal((helper.sonde("record", "--help")), (shell.ask "help record"))
    assert.matches("^profile:types\nThe sample types", (shell.ask "help profile:types"))
    local _, status, err = shell.ask "help peak"
    assert.equal(2, status)
    assert.equal("sonde: no help for 'peak'\ntry: help peek\n", err)
  end)
end)

it("the reference knows the methods of everything", function()
  local reference <const> = require "sonde.shell.reference"
  for _, name in ipairs(reference.names()) do
    local page <const> = reference.page(name)
    local _, n = page:gsub("\n   [:.]%a[%w_]* +%S", "")
    assert(n >= 3 or not page:find(": its ", 1, true), page)
  end
  for name, method in pairs(getmetatable(sonde.doctor()).__index) do
    if type(method) == "function" and name:sub(1, 2) ~= "__" then
      assert(reference.method("rows", name, "it"), name)
    end
  end
end)

it("shows no name that a terminal would obey", function()
  helper.in_directory(function(directory)
    local path <const> = directory .. "/hostile.pb.gz"
    local made <const> = sonde.profile { types = { { "\27]0;x\7", "\27[2J" } } }
    made:add({ "\27[31mred", "\u{202e}x" }, 1, { ["\27k"] = "\27v" })
    assert(made:write(path))
    local shell <const> = new_shell(path)
    local out <const> = shell.ask("o", "top", "profile", "profile:types()", "tags", "traces",
      "profile:frames().name", "profile:label_sets()", "help view")
    assert.is_nil((out .. shell:state()):find("[\27\7]"))
    assert.is_nil(out:find("\u{202e}", 1, true))
    assert.same({}, (complete.find(shell, "peek \27", 6, 6)))
  end)
end)

it("asking again costs nothing", function()
  local shell <const> = new_shell(TRACE)
  shell.ask("view=wall", "top")
  local wall <const> = shell.session:whole()
  shell.ask("focus=Alpha", "top")
  local focused <const> = shell.session:profile()
  shell.ask(":", "view=running", "top", "view=wall")
  assert.is_true(rawequal(wall, shell.session:whole()))
  assert.is_true(rawequal(focused, shell.ask "focus=Alpha" and shell.session:profile()))
end)
