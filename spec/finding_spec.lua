-- Findings as a whole: which rules there are, what goes wrong in them, how
-- findings are shown, and that healthy traces have none.
local finding <const> = require "sonde.finding"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.made_profiles"
local sonde <const> = require "sonde"

local DEMO <const> = helper.data "demo.nettrace"
local EXCEPTIONS <const> = helper.data "real/sdk-exceptions.nettrace.gz"

local BUSY <const> = [[
  main.main;main.parse 80 800000000
  main.main;main.print 20 200000000
]]

local function busy()
  return profiles.of(BUSY, { { "samples", "count" }, { "cpu", "nanoseconds" } })
end

local function names(list)
  local words = {}
  for i, row in ipairs(list) do words[i] = row.name end
  return table.concat(words, " ")
end

-- What each trace that spec/data/README.md lists as healthy may be said of.
local HEALTHY <const> = {
  ["real/healthy.nettrace.gz"] = "", ["real/net10-default.nettrace.gz"] = "",
  ["demo.nettrace"] = "hot", ["real/mixed.nettrace.gz"] = "hot",
  ["real/net50-arraytypes.nettrace.gz"] = "sampler",
  ["real/net21-tracelogging.netperf.gz"] = "sampler",
  ["../net10/attach.nettrace.xz"] = "", ["../net10/exceptions.nettrace.xz"] = "",
  ["../net10/counters.nettrace.xz"] = "sampler", ["../net10/gc-verbose.nettrace.xz"] = "sampler",
  ["../net10/verbose-all.nettrace.xz"] = "jit_start",
  ["../public/only_managed_samples.nettrace.xz"] = "hot",
  ["../public/eventpipe-dotnetcore2.1-linux-x64-objver3.netperf.xz"] = "sampler",
}

describe("healthy traces", function()
  for name, allowed in pairs(HEALTHY) do
    it("have no false finding: " .. name, function()
      local path = name:find("^%.%./") and helper.shared("traces/" .. name:sub(4))
        or helper.data(name)
      local trace <close> = assert(sonde.open(path))
      for _, row in ipairs(finding.all(trace, { directory = false })) do
        assert.equal(allowed, row.name, row.title)
        -- A method in which threads wait is never called hot.
        assert(row.name ~= "hot" or not row.title:find("Wait"), row.title)
      end
    end)
  end

  it("are those that the README of the data lists", function()
    local text <const> = helper.read(helper.data "README.md"):match("## Healthy traces(.*)$")
    for name in pairs(HEALTHY) do
      local word <const> = name:match("([^/]+)%.net")
      assert(text:find(word, 1, true), word)
    end
  end)
end)

describe("findings", function()
  it("have all that a page or a program needs, the gravest first", function()
    local trace <close> = assert(sonde.open(EXCEPTIONS))
    local list <const> = finding.all(trace, { directory = false })
    assert.equal("exceptions locks induced_gc large_objects sampler", names(list))
    local rank <const> = { high = 1, medium = 2, low = 3 }
    local before = 1
    for _, row in ipairs(list) do
      for _, field in ipairs { "title", "severity", "certainty", "detail", "command" } do
        assert.equal("string", type(row[field]), field)
      end
      assert.equal("string", type(row.figure.text))
      assert.equal("string", type(row.figure.unit))
      assert.equal("number", type(row.figure.value))
      assert(rank[row.severity] >= before)
      before = rank[row.severity]
    end
    assert.equal("exception", list[1].view)
    assert.equal("Targets.Alloc.Program.ThrowInvalid", list[1].focus)
  end)

  it("of starvation name what shows it, also of a pool before .NET 6", function()
    local path <const> = helper.shared(
      "traces/public/eventpipe-dotnetcore3.0-win-x64-objver4.nettrace.xz")
    local seen
    for _, row in ipairs(finding.all(assert(sonde.open(path)), { directory = false })) do
      if row.name == "starvation" then seen = row.command end
    end
    assert.matches("ThreadPoolWorkQueue", seen)
    local out, status, err = helper.run((seen:gsub("^sonde", helper.quote(helper.command))))
    assert.equal(0, status, err)
    assert.matches("ThreadPoolWorkQueue", out)
  end)

  it("name commands that work", function()
    for _, path in ipairs { DEMO, EXCEPTIONS, helper.data "real/problem-blocking.nettrace.gz",
      helper.data "real/problem-starve.nettrace.gz", helper.data "real/problem-large.nettrace.gz",
      helper.data "pprof/ref/cpu.pb.gz" } do
      local object <close> = assert(sonde.open(path))
      for _, row in ipairs(finding.all(object, { directory = false })) do
        local command <const> = row.command:gsub("^sonde", helper.quote(helper.command))
        local out, status, err = helper.run(command)
        assert.equal(0, status, row.command .. err)
        assert(#out > 0, row.command)
      end
    end
  end)

  it("quote a name for the shell, and keep the part of a trace", function()
    local profile <const> = busy():set_name "it's mine.pb"
    local list <const> = finding.all(profile, { directory = false })
    assert.equal([[sonde report peek 'it'\''s mine.pb' --pattern 'main\.parse']], list[1].command)
    local trace <close> = assert(sonde.open(DEMO, { from = "1s", to = "3s" }))
    local cut <const> = finding.all(trace, { directory = false })
    assert(cut[1].command:find("--from 1000000000ns --to 3000000000ns", 1, true), cut[1].command)
  end)
end)

describe("rules of one's own", function()
  local function with_rules(files, use)
    helper.in_directory(function(directory)
      for name, text in pairs(files) do helper.write(directory .. "/" .. name, text) end
      use(directory)
    end)
  end

  local MINE <const> = [[
    return {
      name = "mine", summary = "print is slow",
      look = function(ev)
        local total = ev.profile:total("cpu")
        for _, node in ipairs(ev:nodes(ev.profile, "cpu")) do
          if node.name == "main.print" then
            return { title = "Printing takes time", severity = "high", certainty = "certain",
              figure = { value = node.flat, unit = "nanoseconds", share = node.flat / total,
                text = "20%" } }
          end
        end
      end,
    }
  ]]

  it("are found and come with the others", function()
    with_rules({ ["mine.lua"] = MINE, ["notes.txt"] = "no rule" }, function(directory)
      local list, problems = finding.all(busy(), { directory = directory })
      assert.same({}, problems)
      assert.equal("mine hot", names(list))
      assert.equal("sonde inspect FILE", list[1].command)
    end)
  end)

  it("take the place of a shipped rule of the same name", function()
    with_rules({ ["hot.lua"] = "return { name = 'hot', look = function() end }" },
      function(directory)
        assert.equal("", names(finding.all(busy(), { directory = directory })))
      end)
  end)

  it("that fail are told, and harm nobody else", function()
    with_rules({
      ["a.lua"] = "this is no Lua", ["b.lua"] = "return 5", ["c.lua"] = "error 'at once'",
      ["d.lua"] = "return { name = 'd', look = function() error('later', 0) end }",
      ["e.lua"] = "return { name = 'e', look = function() return { title = 'half' } end }",
      ["f.lua"] = [[return { name = 'f', look = function()
        return { title = 't', severity = 'awful', certainty = 'certain', figure = { text = '' } }
      end }]],
    }, function(directory)
      local list, problems = finding.all(busy(), { directory = directory })
      assert.equal("hot", names(list))
      local text <const> = table.concat(problems, "\n")
      assert.equal(6, #problems, text)
      for _, words in ipairs { "a.lua", "b.lua: a rule is", "at once", "rule 'd': later",
        "rule 'e': a finding needs `figure`", "severity is high, medium or low" } do
        assert(text:find(words, 1, true), words)
      end
    end)
  end)

  it("are used by the command", function()
    with_rules({}, function(config)
      helper.run("mkdir -p " .. config .. "/sonde/findings")
      helper.write(config .. "/sonde/findings/x.lua", [[return { name = "x", look = function(ev)
        return { title = ("%d events"):format(ev.counts.events), severity = "low",
          certainty = "certain", figure = { value = 1, unit = "count", text = "one" } } end }]])
      local out <const> = helper.run(("XDG_CONFIG_HOME=%s %s report findings %s"):format(config,
        helper.command, DEMO))
      assert(out:find("24578 events: one (low, certain)", 1, true), out)
    end)
  end)
end)

describe("the report", function()
  it("shows figure, certainty, detail and command", function()
    local out, status = helper.sonde("report", "findings", EXCEPTIONS)
    assert.equal(0, status)
    assert(out:find("^1. Exceptions are thrown in storms"), out)
    assert(out:find("(medium, certain)", 1, true), out)
    assert(out:find("\n   sonde report gc " .. EXCEPTIONS .. "\n", 1, true), out)
    for _, line in ipairs(helper.lines(out)) do assert(utf8.len(line) <= 130, line) end
    out = helper.sonde("report", "findings", EXCEPTIONS, "-n", "1")
    assert(out:find("^1%. ") and not out:find("\n2%. "), out)
  end)

  it("says so when nothing stands out", function()
    local out, status = helper.sonde("report", "findings", helper.data "real/healthy.nettrace.gz")
    assert.equal("Findings: nothing stands out.\n", out)
    assert.equal(0, status)
  end)

  it("is a listing in JSON", function()
    local rows <const> = helper.json_lines(helper.sonde("report", "findings", EXCEPTIONS, "--json"))
    assert.equal(1, rows[1].schema)
    assert.equal("exceptions", rows[1].name)
    assert.equal(1000, rows[1].figure.value)
    assert.equal("exception", rows[1].view)
    assert.equal(5, #rows)
  end)

  it("opens the summary, in two lines each", function()
    local out, status = helper.sonde(DEMO)
    assert.equal(0, status)
    assert(out:find("^Findings:\n1%. Targets%.Cpu%.Burn%.Alpha takes much of the running time"),
      out)
    assert(out:find("in detail: sonde report findings " .. DEMO, 1, true), out)
    assert(out:find("NetTrace version 4", 1, true), out)
    assert(out:find("flat%", 1, true), out)
  end)

  it("makes a summary of a trace without samples, too", function()
    local out, status, err = helper.sonde(EXCEPTIONS)
    assert.equal(0, status, err)
    assert(out:find("No samples, so this trace cannot say where time went", 1, true), out)
    assert(out:find("Type: exception, exceptions (count)", 1, true), out)
    local _, wrong = helper.sonde(EXCEPTIONS, "--view", "wall")
    assert.equal(1, wrong)
  end)

  it("is written from Lua", function()
    local trace <close> = assert(sonde.open(EXCEPTIONS))
    local report <const> = sonde.report.get "findings"
    local out <const> = require("sonde.report.sink").collector()
    assert(report.write(trace, {}, out))
    assert(out:text():find("Exceptions", 1, true))
    assert(busy():render("findings"):find("main.parse", 1, true))
  end)
end)
