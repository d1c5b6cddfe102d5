local cli <const> = require "sonde.cli"
local commands <const> = require "spec.support.commands"
local helper <const> = require "spec.support.helper"
local options <const> = require "sonde.base.options"

local PROFILE <const> = helper.data "cases/30-diff-percentages/before.folded"
local LATER <const> = helper.data "cases/30-diff-percentages/after.folded"
local TRACE <const> = helper.data "demo.nettrace"

local run <const> = commands.run

describe("sonde", function()
  it("alone prints worked examples and the verbs", function()
    local out, status, err = run()
    assert.equal(0, status)
    assert.equal("", err)
    assert.matches("sonde api%.nettrace +where did the time go%?", out)
    for _, name in ipairs(cli.verbs) do assert(out:find("\n   " .. name .. " ", 1, true), name) end
    assert.equal(out, (run "help"))
    assert.equal(out, (run "--help"))
  end)

  it("tells its version", function()
    local out, status = run "--version"
    assert.equal(("sonde %s\n"):format(require("sonde").VERSION), out)
    assert.equal(0, status)
    assert.equal(out, (run "version"))
    assert.equal(out, (run "-V"))
  end)

  it("has help for every verb, with each declared option", function()
    for _, name in ipairs(cli.verbs) do
      local out, status = run("help", name)
      assert.equal(0, status)
      assert(#out > 100, name)
    end
    local out <const> = run("top", "--help")
    assert.equal(out, (run("help", "top")))
    for _, option in ipairs(cli.verb("top").declaration().options) do
      local flag <const> = option.short and "-" .. option.short or options.flag(option.name)
      assert(out:find("\n   " .. flag .. " ", 1, true), flag)
    end
  end)
end)

describe("a wrong command line", function()
  for _, row in ipairs {
    { { "tpo", "x" }, "unknown verb 'tpo' (did you mean 'top'?)", "sonde help top" },
    { { "banana" }, "'banana' is neither a verb nor a file", "sonde help" },
    { { "top" }, "missing argument 'input'", "sonde help top" },
    { { "inspect", "a", "b" }, "one argument too many: 'b'", "sonde help inspect" },
    { { "top", "a", "--fcus", "x" }, "unknown option '--fcus' (did you mean '--focus'?)" },
    { { "top", "a", "--sample-idx", "x" },
      "unknown option '--sample-idx' (did you mean '--sample-index'?)" },
    { { "top", "a", "-n", "many" }, "-n is not a whole number: 'many'" },
    { { "top", "a", "-n" }, "option '-n' requires an argument" },
    { { "top", "a", "--focus", "(" }, "--focus is not a regular expression" },
    { { "top", "a", "--limit", "lots" }, "--limit is not a size such as" },
    { { "top", "a", "--limit", "1k" }, "--limit must be at least" },
    { { "top", "a", "--limit", "-5" }, "--limit is not a size such as" },
    { { "top", "a", "-n", "-1" }, "-n must be at least 0" },
    { { "top", "-n", "-1", "a" }, "-n must be at least 0" },
    { { "top", "a", "--node-fraction", "-.5" }, "--node-fraction must be at least 0" },
    { { "events", "a", "--from", "-5s" }, "--from is not a duration such as" },
    { { "diff", "-", "-" }, "-: standard input can be read only once" },
    { { "top", "-", "-" }, "-: standard input can be read only once" },
    { { "top", "-", "--base", "-" }, "-: standard input can be read only once" },
    { { "top", TRACE, "--view", "wal" }, "no view 'wal' (did you mean 'wall'?)" },
    { { "top", TRACE, "--view", "nope" }, "no view 'nope'; the views of this trace are wall" },
    { { "top", TRACE, "--type", "nope" }, "no sample type 'nope': the profile has samples, wall" },
    { { "top", TRACE, "--unit", "parsec" }, "values in nanoseconds cannot be printed in parsec" },
    { { "top", TRACE, "--label", "nope" }, "no label 'nope': the samples have thread, thread_id" },
    { { "top", "a", "--from", "1" }, "--from is not a duration such as" },
    { { "top", "a", "--names", "ugly" },
      "--names is not known: 'ugly' (one of pretty, full, raw)" },
    { { "diff", "a" }, "missing argument 'after'", "sonde help diff" },
    { { "report", "tre", "x" }, "no report 'tre' (did you mean 'tree'?)", "sonde report --help" },
    { { "convert", PROFILE }, "neither -o FILE nor --format says what to write" },
    { { "convert", PROFILE, "-o", "x.what" }, "-o: the name 'x.what' does not say the format" },
    { { "convert", PROFILE, "--format", "fold" },
      "--format: no report 'fold' (did you mean 'folded'?)" },
    { { "help", "tpo" }, "no verb 'tpo' (did you mean 'top'?)", "sonde help" },
    { { "top", PROFILE, "--thread", "1" }, "--thread: only a trace has threads" },
    { { "top", PROFILE, "--label-focus", "(" }, "bad pattern '(' to 'label_focus': missing" },
    { { "top", TRACE, "--focus", "^(([a-zA-Z.]+)+)+$" },
      "the pattern '^(([a-zA-Z.]+)+)+$' takes too many steps to match '" },
  } do
    it(("is told: %s"):format(table.concat(row[1], " ")), function()
      local out, status, err = run(table.unpack(row[1]))
      assert.equal("", out)
      assert.equal(2, status)
      assert(err:find("sonde: " .. row[2], 1, true), err)
      if row[3] then assert(err:find("\ntry: " .. row[3], 1, true), err) end
      assert.is_nil(err:find("stack traceback", 1, true))
    end)
  end
end)

describe("an output", function()
  it("never replaces the input", function()
    helper.in_directory(function(directory)
      local path <const>, link <const> = directory .. "/in.folded", directory .. "/link.svg"
      helper.run(("cp %s %s; ln -s in.folded %s"):format(PROFILE, path, link))
      for _, output in ipairs { path, directory .. "/../" .. path:match("[^/]+/[^/]+$"), link } do
        local _, status, err = run("convert", path, "-o", output, "--format", "svg")
        assert.equal(2, status)
        assert.equal(("sonde: -o: '%s' is the input, which would be lost\n"):format(output), err)
      end
      assert.equal(2, select(2, run("diff", PROFILE, path, "-o", path, "--format", "svg")))
      assert.equal(helper.read(PROFILE), helper.read(path))
    end)
  end)

  it("without a row is told, where stdout holds only JSON", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/zero.folded"
      helper.run(("echo 'a;b 0' >%s"):format(path))
      local out, status, err = run("top", path, "--json")
      assert.equal("", out)
      assert.equal(1, status)
      assert.equal(("sonde: %s: nothing to list\n"):format(path), err)
    end)
  end)
end)

describe("an empty answer", function()
  local NONE <const> = helper.data "cases/55-nt-one-or-no-sample/none.nettrace"
  local NOTHING <const> = "nothing is left by focus=nowhere"

  for _, row in ipairs {
    { { NONE }, "the trace has no ThreadSample events" },
    { { "top", NONE }, "the trace has no ThreadSample events" },
    { { "diff", NONE, NONE }, "the trace has no ThreadSample events" },
    { { "top", TRACE, "--view", "contention" }, "no samples for view contention" },
    { { "top", TRACE, "--thread", "1" }, "no thread 1" },
    { { "top", TRACE, "--process", "nobody" }, "no process nobody" },
    { { "top", TRACE, "--from", "1h" }, "no samples in this range of time" },
    { { TRACE, "--focus", "nowhere" }, NOTHING },
    { { "report", "raw", TRACE, "--focus", "nowhere" }, NOTHING },
    { { "convert", TRACE, "--format", "pprof", "--focus", "nowhere" }, NOTHING },
    { { "report", "peek", TRACE, "--pattern", "nowhere" }, "no function matches 'nowhere'" },
    { { "report", "list", TRACE, "--pattern", "nowhere" }, "no function matches 'nowhere'" },
    { { "report", "gc", TRACE }, "no garbage collections in the trace" },
    { { "report", "exceptions", TRACE, "--json" }, "no exceptions in the trace" },
    { { "events", TRACE, "--provider", "nobody" }, "none of its 24578 events matches" },
    { { "convert", NONE, "--format", "chromium" }, NONE .. ": no samples in time order" },
  } do
    it(("has a status of its own: %s"):format(table.concat(row[1], " ")), function()
      local out, status, err = run(table.unpack(row[1]))
      assert(err:find(row[2], 1, true), err)
      assert.equal(1, status)
      if row[1][1] ~= NONE and row[1][1] ~= TRACE then assert.equal("", out) end
    end)
  end

  it("is written where a format can, and told", function()
    helper.in_directory(function(directory)
      local empty <const>, copy <const> = directory .. "/empty.pb", directory .. "/copy.pb"
      local core <const> = require "sonde.c.core"
      helper.write(empty, core.profile_new { types = { { "cpu", "count" } } }:encode {
        gzip = false })
      local _, status, err = run("convert", empty, "-o", copy)
      assert.equal(1, status)
      assert.matches("no samples", err)
      assert.equal(helper.read(empty), helper.read(copy))
    end)
  end)
end)

describe("what the world does", function()
  for _, row in ipairs {
    { { "no/such.nettrace" }, 3, "cannot open: no/such.nettrace: No such file or directory" },
    { { "top", "no-such" }, 3, "cannot open: no-such: No such file or directory" },
    { { "top", "spec" }, 3, "cannot open: spec: is a directory" },
    { { "99999999" }, 3, "cannot open: no process 99999999" },
    { { "http://127.0.0.1:1/debug/pprof/heap" }, 3, "cannot connect: connection refused" },
    { { "http://127.0.0.1:1/x.nettrace" }, 3, "cannot connect: connection refused" },
    { { "http://nowhere:99999/" }, 4, "no address: no such port" },
    { { "Makefile" }, 4, "cannot open: Makefile: text, but not folded stacks" },
    { { helper.data "synth/v4-empty-file.nettrace" }, 4, "the file is empty" },
    { { helper.data "synth/v4-not-a-trace.nettrace" }, 4, "a program or library (ELF)" },
    { { helper.data "cases/31-speedscope-validity/unbalanced.speedscope.json" }, 4,
      "closes a frame that is not the innermost open one" },
    { { helper.data "cases/26-pprof-header-only/ten-bytes.pprof" }, 4,
      "a gzip header and no data" },
    { { "events", PROFILE }, 3, "a profile has no events" },
    { { "top", PROFILE, "--from", "1s" }, 3, "a profile has no times to cut by" },
    { { "convert", PROFILE, "-o", "/no/place/x.svg" }, 3,
      "cannot write: /no/place/x.svg: No such" },
    { { "top", PROFILE, "--focus", "nothing like it" }, 1, "no samples" },
  } do
    it(("is told: %s"):format(table.concat(row[1], " ")), function()
      local _, status, err = run(table.unpack(row[1]))
      assert(err:find(row[3], 1, true), err)
      assert.equal(row[2], status)
      assert.is_nil(err:find("stack traceback", 1, true))
    end)
  end

  -- The verb `version` with another body.
  local function with(start)
    local env <const> = commands.env {}
    local verb <const> = require "sonde.cmd.version"
    local own <const> = verb.start
    verb.start = start
    local status <const> = cli.main({ "version" }, env)
    verb.start = own
    return status, env.err.text
  end

  it("and an error of our own asks for a report", function()
    local status, err = with(function() error("boom") end)
    assert.equal(70, status)
    assert.matches("please report it", err)
    assert.matches("cli_spec.lua:%d+: boom", err)
    assert.matches("stack traceback", err)
  end)

  it("and a missing Lua module names its package", function()
    local status, err = with(function() error("x.lua:1: module 'rex_pcre2' not found:\n\tno") end)
    assert.equal(3, status)
    assert.equal("sonde: the Lua module 'rex_pcre2' is not installed\n"
      .. "try: apt-get install lua-rex-pcre2\n", err)
  end)
end)

describe("sonde top", function()
  it("prints a table, and JSON lines with --json", function()
    local out, status, err = run("top", PROFILE)
    assert.equal(0, status)
    assert.equal("", err)
    assert.matches("flat%%", out)
    assert.matches("gone_fn", out)
    local rows <const> = helper.json_lines((run("top", PROFILE, "--json")))
    assert.equal(3, #rows)
    assert.same({ schema = 1, name = "gone_fn", flat = 60, cum = 60, unit = "count" }, rows[1])
    assert.is_nil(rows[2].schema)
    assert.equal(1, #helper.json_lines((run("top", PROFILE, "--json", "-n", "1"))))
  end)

  it("takes a pprof sample type as its view", function()
    local heap <const> = helper.data "cases/15-pprof-default-sample-type/allocs.pb.gz"
    local name <const> = run("top", heap):match("^Type: (%S+)")
    assert.is_string(name)
    assert.matches("^Type: " .. name, (run("top", heap, "--sample-index", name)))
    local _, status, err = run("top", heap, "--view", "nope")
    assert.matches("no sample type 'nope'", err)
    assert.equal(2, status)
  end)

  it("has the rows of the text in JSON when their number is given, all otherwise", function()
    local function rows(...) return #helper.json_lines((run("top", TRACE, "--json", ...))) end
    local shown, all = run("top", TRACE, "-n", "100"):match("Showing (%d+) of (%d+) functions")
    assert.is_true(tonumber(shown) < 100 and tonumber(all) > 100)
    assert.equal(tonumber(shown), rows("-n", "100"))
    assert.equal(tonumber(all), rows())
    assert.equal(tonumber(all), rows("-n", "1000", "--no-trim"))
  end)
end)

describe("reading", function()
  it("shows how far it is on a terminal, for long inputs, and cleans up", function()
    local common <const> = require "sonde.cmd.common"
    local err <const>, clock <const> = commands.collector(), os.clock
    local progress, status = common.progress("a\27b", { err = err, terminal = { err = true } })
    progress(10, 100)
    assert.equal("", err.text)
    rawset(os, "clock", function() return clock() + 1 end)
    progress(50, 100)
    progress(50, 100)
    status(nil)
    rawset(os, "clock", clock)
    assert.equal("\r\27[Kreading a\\x1bb 50%\r\27[K", err.text)
    local quiet <const> = commands.collector()
    common.progress("a", { err = quiet, terminal = { err = false } })(50, 100)
    assert.equal("", quiet.text)
  end)
end)

describe("sonde convert", function()
  it("chooses by the output's name, or by --format", function()
    helper.in_directory(function(directory)
      for _, name in ipairs { "x.svg", "x.pb.gz", "x.folded", "x.json", "x.dot",
        "x.speedscope.json" } do
        local path <const> = directory .. "/" .. name
        local out, status, err = run("convert", PROFILE, "-o", path)
        assert.equal("", out)
        assert.equal(0, status)
        assert.matches("^sonde: wrote " .. path:gsub("%p", "%%%0"), err)
        assert.is_true(#helper.read(path) > 20)
      end
    end)
    local out <const> = run("convert", PROFILE, "--format", "folded")
    assert.matches("gone_fn 60\n", out)
  end)

  it("does not send bytes to a terminal", function()
    local env <const> = commands.env { out = true }
    assert.equal(2, (cli.main({ "convert", PROFILE, "--format", "pprof" }, env)))
    assert.equal("", env.out.text)
    assert.matches("pprof is no text for a terminal\ntry: %-o FILE", env.err.text)
  end)
end)

describe("sonde diff", function()
  it("prints what changed, and JSON lines with --json", function()
    local out, status = run("diff", PROFILE, LATER)
    assert.equal(0, status)
    assert.matches("new_fn", out)
    local rows, by_name = helper.json_lines((run("diff", PROFILE, LATER, "--json"))), {}
    for _, row in ipairs(rows) do by_name[row.name] = row end
    assert.same({ name = "gone_fn", before = 60, after = 0, change = -60, relative = "gone",
      unit = "count", schema = by_name.gone_fn.schema }, by_name.gone_fn)
    assert.equal("new", by_name.new_fn.relative)
    assert.equal(100, by_name.grown_fn.relative)
    assert.equal(0, by_name.same_fn.relative)
  end)
end)

describe("sonde report", function()
  it("lists the reports", function()
    local out, status = run("report", "--help")
    assert.equal(0, status)
    for _, name in ipairs(require("sonde.report").names()) do
      assert(out:find("\n   " .. name .. " ", 1, true), name)
    end
  end)

  it("runs each that any input has, from a profile", function()
    for _, module in ipairs(require("sonde.report").list()) do
      if module.takes == "profile" and module.name ~= "peek" then
        local words = { "report", module.name, PROFILE }
        local out, status, err = run(table.unpack(words))
        assert(status == 0 or err:find("time order", 1, true)
          or err:find("no sample has a label", 1, true) or err:find("has no comments", 1, true),
          module.name .. ": " .. err)
        assert(status ~= 0 or #out > 0, module.name)
      end
    end
  end)

  it("of a trace refuses a profile", function()
    local _, status, err = run("report", "gc", PROFILE)
    assert.equal(3, status)
    assert.matches("the report 'gc' is of a trace, and this is a profile", err)
  end)
end)

describe("sonde events", function()
  it("lists events, as text and as JSON", function()
    local out, status = run("events", TRACE, "-n", "3")
    assert.equal(0, status)
    assert.equal(3, #helper.lines(out))
    local rows <const> = helper.json_lines((run("events", TRACE, "--json", "-n", "3")))
    assert.equal(3, #rows)
    for _, key in ipairs { "time_ns", "thread", "provider", "id", "name", "payload" } do
      assert(rows[1][key] ~= nil, key)
    end
    assert.equal(1, rows[1].schema)
  end)

  it("chooses by provider, name, number, thread and time", function()
    local sampler <const> = helper.json_lines((run("events", TRACE, "--json", "-n", "5",
      "--provider", "SampleProfiler", "--from", "1s", "--to", "2s")))
    assert.equal(5, #sampler)
    for _, row in ipairs(sampler) do
      assert.equal("Microsoft-DotNETCore-SampleProfiler", row.provider)
      assert.is_true(row.time_ns >= 1000000000 and row.time_ns <= 2000000000)
    end
    local thread <const> = tostring(sampler[1].thread)
    for _, row in ipairs(helper.json_lines((run("events", TRACE, "--json", "-n", "9", "--thread",
      thread)))) do
      assert.equal(thread, tostring(row.thread))
    end
  end)

  it("tells ids of 64 bits without a sign", function()
    local made <const> = require "spec.support.made_trace"
    helper.in_directory(function(directory)
      local path <const> = directory .. "/ids.nettrace"
      local events <const> = {
        { 500, made.suspend(1), thread = -3 }, { 1000, made.gc_start(1, 2, 1), thread = -3 },
        { 2000, made.gc_end(1, 2), 5, thread = -3 }, { 3000, made.restarted(), thread = -3 },
      }
      helper.write(path, made.trace(events))
      local id <const>, hex <const> = "18446744073709551613", "0xfffffffffffffffd"
      assert.equal(hex, helper.json_lines((run("events", path, "--json")))[1].thread)
      assert.matches("thread " .. hex .. " ", (run("events", path)))
      for _, word in ipairs { id, hex } do
        assert.equal(0, select(2, run("events", path, "--thread", word)))
      end
      assert.equal(1, select(2, run("events", path, "--thread", "3")))
      local _, status, err = run("events", path, "--thread", id .. "0")
      assert.equal(2, status)
      assert.matches("is not an id such as", err)
      assert.matches("\n" .. id .. " ", (run("report", "threads", path)))
      assert.equal(hex, helper.json_lines((run("report", "threads", path, "--json")))[1].id)
      local facts <const> = helper.json_lines((run("inspect", path, "--json")))[1]
      assert.equal(hex, facts.lost_by_thread[1].thread)
      assert.matches("5 on thread " .. id, (run("inspect", path)))
      assert.equal(1, select(2, run("top", path, "--view", "gc", "--thread", "7")))
      assert.equal(0, select(2, run("top", path, "--view", "gc", "--thread", id)))
    end)
  end)

  it("says that nothing matches", function()
    local out, status, err = run("events", TRACE, "--name", "no such event")
    assert.equal("", out)
    assert.equal(1, status)
    assert.matches("none of its 24578 events matches", err)
  end)
end)

describe("the process", function()
  it("runs from any directory and through links, without LUA_PATH", function()
    local here <const> = helper.run("pwd"):match("%S+")
    helper.in_directory(function(directory)
      helper.run(("ln -s %s/%s %s/sonde"):format(here, helper.command, directory))
      for _, command in ipairs { here .. "/" .. helper.command, directory .. "/sonde" } do
        local line <const> = "cd / && env -u LUA_PATH -u LUA_CPATH %s version"
        local out, status = helper.run(line:format(command))
        assert.equal(0, status)
        assert.matches("^sonde ", out)
      end
    end)
  end)

  it("ends quietly when its reader goes", function()
    local out, _, err = helper.run(("{ %s events %s; echo $? >&2; } | head -n 1"):format(
      helper.command, TRACE))
    assert.equal(1, #helper.lines(out))
    assert.equal("141\n", err)
    out, _, err = helper.run(("{ trap '' PIPE; %s events %s; echo $? >&2; } | head -n 1"):format(
      helper.command, TRACE))
    assert.equal(1, #helper.lines(out))
    assert.equal("141\n", err)
  end)

  it("ends quietly on Ctrl-C, and leaves no partial file", function()
    helper.in_directory(function(directory)
      local line <const> = "mkfifo %s/in; sleep 9 >%s/in & holder=$!;"
        .. " %s convert %s/in -o %s/out.svg & sonde=$!; sleep 0.5; kill -INT $sonde; wait $sonde;"
        .. " echo $?; kill $holder; ls %s"
      -- A shell without job control starts what is in the background with
      -- SIGINT ignored; the command catches it all the same.
      local out, _, err = helper.run(line:format(directory, directory, helper.command, directory,
        directory, directory))
      assert.equal("130\nin\n", out)
      assert.equal("", err)
    end)
  end)

  it("tells that standard output is full", function()
    local _, status, err = helper.run(("%s top %s >/dev/full"):format(helper.command, PROFILE))
    assert.equal(3, status)
    assert.equal("sonde: cannot write: standard output: No space left on device\n", err)
  end)

  it("reads standard input", function()
    local out, status = helper.run(("%s top - <%s"):format(helper.command, PROFILE))
    assert.equal(0, status)
    assert.equal(out, (helper.run(("cat %s | %s top -"):format(PROFILE, helper.command))))
  end)

  it("writes only JSON to stdout under --json, also for partial data", function()
    local path <const> = helper.data "synth/v4-cut-in-event-block.nettrace"
    local out, status, err = helper.sonde("events", path, "--json")
    assert.equal(4, status)
    assert.equal(3, #helper.json_lines(out))
    assert.matches(path:gsub("%p", "%%%0"), err)
  end)
end)
