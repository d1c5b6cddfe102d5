-- The shell as a process: lines from a file, saved scripts, and a real
-- terminal, with lua-readline and without.
local helper <const> = require "spec.support.helper"
local pty <const> = require "spec.support.pty"

local BEFORE <const> = helper.data "cases/30-diff-percentages/before.folded"
local AFTER <const> = helper.data "cases/30-diff-percentages/after.folded"
local TRACE <const> = helper.data "demo.nettrace"

-- The user's folders lie in `directory`, so that no test sees anybody's own.
local function command(directory, ...)
  local words = { ("HOME=%s XDG_STATE_HOME=%s/state XDG_CONFIG_HOME=%s/config"):format(directory,
    directory, directory), helper.quote(helper.command), "shell" }
  for _, word in ipairs { ... } do words[#words + 1] = helper.quote(word) end
  return table.concat(words, " ")
end

-- Runs lines without a terminal.
local function feed(directory, lines, ...)
  helper.write(directory .. "/lines", table.concat(lines, "\n") .. "\n")
  return helper.run(("%s <%s/lines"):format(command(directory, ...), directory))
end

describe("a shell without a terminal", function()
  it("reads lines, without a prompt or a greeting", function()
    helper.in_directory(function(directory)
      local out, status, err = feed(directory, { "top1", "", "1 +", "1", "for i = 1, 2 do",
        "  print(i)", "end", "quit", "2" }, TRACE)
      assert.equal((helper.sonde("top", TRACE, "-n", "1")) .. "2\n1\n2\n", out)
      assert.same({ 0, "" }, { status, err })
      assert.is_nil(helper.read(directory .. "/state/sonde/history"))
    end)
  end)

  it("goes on after an error, and ends with the first one's status", function()
    helper.in_directory(function(directory)
      local lines <const> = { "1", "gc", "tpo", "2" }
      local out, status, err = feed(directory, lines, TRACE)
      assert.same({ "1\n2\n", 1 }, { out, status })
      assert.matches("^sonde: line 2: .-\ntry: providers\nsonde: line 3: unknown word 'tpo'", err)
      out, status, err = feed(directory, lines, TRACE, "--strict")
      assert.same({ "1\n", 1 }, { out, status })
      assert.matches("^sonde: line 2: [^\n]*\ntry: providers\n$", err)
      out, status = feed(directory, { "tpo", "gc", "2" }, TRACE, "-e")
      assert.same({ "", 2 }, { out, status })
    end)
  end)

  it("runs the lines of -c instead", function()
    local out, status = helper.sonde("shell", TRACE, "-c", "focus=Alpha", "-c", "top2",
      "--no-config")
    assert.equal((helper.sonde("top", TRACE, "-n", "2", "--focus", "Alpha")), out)
    assert.equal(0, status)
    out = helper.sonde("shell", TRACE, "--view", "running", "--hide", "System", "-c", "top2")
    assert.equal((helper.sonde("top", TRACE, "-n", "2", "--view", "running", "--hide", "System")),
      out)
  end)

  it("needs no input", function()
    local out, status, err = helper.sonde("shell", "-c", "1 + 1", "-c", "top",
      "-c", "open " .. TRACE, "-c", "focus=Alpha", "-c", "top2", "--no-config")
    assert.equal("2\n" .. helper.sonde("top", TRACE, "-n", "2", "--focus", "Alpha"), out)
    assert.equal(3, status)
    assert.equal("sonde: no trace or profile is open\ntry: open FILE\n", err)
  end)

  it("wants an input that can be opened and is not its lines", function()
    for _, row in ipairs {
      { { "shell", "-" }, 2, "standard input cannot be both" },
      { { "shell", "none.nettrace", "-c", "1" }, 3, "none.nettrace: No such file" },
      { { "shell", TRACE, "--view", "alloc", "-c", "1" }, 1, "no samples for view alloc" },
      { { "shell", "--script", "none.lua" }, 2, "cannot run: cannot open none.lua" },
    } do
      local _, status, err = helper.sonde(table.unpack(row[1]))
      assert.equal(row[2], status)
      assert.matches("^sonde: [^\n]*" .. row[3]:gsub("%p", "%%%0"), err)
    end
    local out <const> = helper.run(("cat %s | %s shell - -c 'profile:total(1)'"):format(BEFORE,
      helper.quote(helper.command)))
    assert.equal("120\n", out)
  end)

  it("loads nothing that is for running processes until it is asked for", function()
    local out <const> = helper.sonde("shell", TRACE, "-c", "focus=Alpha", "-c", "top1", "-c",
      "for _, name in ipairs { 'luv', 'sonde.targets', 'sonde.policy', 'sonde.shell.live' } do"
      .. " print(name, package.loaded[name] ~= nil) end")
    assert.matches("\nluv\tfalse\nsonde.targets\tfalse\nsonde.policy\tfalse\n"
      .. "sonde.shell.live\tfalse\n$", out)
  end)

  it("loads the user's own file", function()
    helper.in_directory(function(directory)
      helper.run(("mkdir -p %s/config/sonde"):format(directory))
      local path <const> = directory .. "/config/sonde/shell.lua"
      helper.write(path, "local run = ...\nrun 'focus=Alpha'\nfunction hot() return #profile end\n")
      local out, status = feed(directory, { "hot()", ":", "hot()" }, TRACE)
      assert.same({ "68\n168\n", 0 }, { out, status })
      assert.equal("168\n", (feed(directory, { "#profile" }, TRACE, "--no-config")))
      helper.write(path, "nosuch()\n")
      local _, _, err = feed(directory, { "#profile" }, TRACE)
      assert.matches("^sonde: [^\n]*shell%.lua was not loaded: [^\n]*nosuch[^\n]*\ntry: ", err)
    end)
  end)
end)

describe("a saved session", function()
  -- What lua5.4 needs to find the modules of the build.
  local function lua(script, ...)
    local build <const> = helper.module:match("^(.*)/sonde/c/core%.so$")
    return helper.run(("LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='%s/?.so;;' "
      .. "lua5.4 %s %s"):format(build, helper.quote(script), table.concat({ ... }, " ")))
  end

  local function check(lines, ...)
    local inputs <const> = { ... }
    helper.in_directory(function(directory)
      local script <const> = directory .. "/session.lua"
      lines[#lines + 1] = "save " .. script
      local told, status = feed(directory, lines, table.unpack(inputs))
      assert.equal(0, status)
      local again, done, err = lua(script)
      assert.same({ told, 0, "" }, { again, done, err })
      again, done = helper.sonde("shell", "--script", script)
      assert.same({ told, 0 }, { again, done })
      local shown <const> = feed(directory, { "1", "save" }, table.unpack(inputs))
      assert.matches('^1\n%-%- A session of sonde shell.*\nlocal sonde <const> = require "sonde"\n',
        shown)
    end)
  end

  it("gives the same answers", function()
    check({ "top3", "_[1].name", "__", "focus=Burn",
      "function two() return profile:top{ n = 2 } end", "two()",
      "top5 -cum -by=module", "view=running", "tree Alpha | head -5", "undo", "two()",
      "local x = 5; print(x)", "return 1, 2",
      "for i, row in ipairs(two()) do print(i, row.name) end",
      "profile:top{ n = 1 }  -- with a comment", "do local a = 1", "  b = a + 1", "end", "b",
      'peek "Burn.Alpha(?= ?)"', ":", "threads", "if b then return 'early' end",
      "trace:threads()", "use profile:ignore('System')", "top2",
      "use profile:focus('Targets')", "top1", "undo", "top2", "undo", "rows=1", "top",
      "profile:info().duration_ns", "profile == whole", "threads",
      "it:where{ wall_ns = '>5s' }:sort '-wall_ns'", "it:sum 'wall_ns'" }, TRACE)
  end)

  it("gives them for two inputs", function()
    check({ "diff", "normalize", "diff -cum", "use before", "top", "before:total(1)", "focus=fn",
      "diff:rows()", "use diff:profile()", "top" }, BEFORE, AFTER)
  end)

  it("asks the same of another recording", function()
    helper.in_directory(function(directory)
      local script <const> = directory .. "/session.lua"
      feed(directory, { "top", "save " .. script }, BEFORE)
      assert.equal((helper.sonde("top", AFTER)), (lua(script, AFTER)))
      assert.equal((helper.sonde("top", AFTER)),
        (helper.sonde("shell", "--script", script, AFTER)))
    end)
  end)
end)

-- A session in a terminal; `typed` gets it, and the directory.
local function in_terminal(how, typed, ...)
  local inputs <const> = { ... }
  helper.in_directory(function(directory)
    local terminal <close> = pty.start(directory,
      ("env %s %s"):format(how, command(directory, table.unpack(inputs))))
    terminal:expect "> "
    typed(terminal, directory)
  end)
end

local function needs_readline()
  local _, status = helper.run("lua5.4 -e 'require \"readline\"'")
  if status ~= 0 then helper.skip("lua-readline is not installed") end
end

local KINDS <const> = {
  { "with lua-readline", "TERM=xterm NO_COLOR=1", needs_readline },
  { "without lua-readline", "TERM=dumb", function() end },
}

for _, kind in ipairs(KINDS) do
  local name, how, needs <const> = table.unpack(kind)

  describe("a terminal " .. name, function()
    it("greets, prompts, answers and ends", function()
      needs()
      in_terminal(how, function(terminal)
        assert.matches("^trace .*\nviews: wall samples running managed\nhelp lists.*\nwall> $",
          terminal:screen())
        terminal:say("1 + 1", "\n2\n")
        terminal:expect "wall> "
        terminal:say("focus=Alpha", "\nwall focus=Alpha: 7.25s, 1,866 samples, 19.81% of 36.59s\n")
        terminal:expect "wall focus=Alpha> "
        terminal:say("for i = 1, 2 do", ">> ")
        terminal:say("print(i * 7)", ">> ")
        terminal:say("end", "\n7\n14\n")
        terminal:say("tpo", "\nsonde: unknown word 'tpo' (did you mean 'top'?)\ntry: top\n")
        assert.equal(0, terminal:finish())
      end, TRACE)
    end)

    it("stops a computation at Ctrl-C, and goes on", function()
      needs()
      in_terminal(how, function(terminal)
        for _, line in ipairs {
          "while true do end", "while true do pcall(function() while true do end end) end",
          "coroutine.wrap(function() while true do end end)()",
          "while true do profile:focus('Alpha') end",
          "while true do sonde.open(trace.path) end",
          "while true do print(profile:top()) end",
        } do
          -- With Ctrl-C a terminal throws away what was typed and not read, and what
          -- was printed and not shown: it must come when the line runs, and once.
          terminal:say("print(2 * 21) " .. line, "\n42\n")
          terminal:type "\3"
          terminal:expect "interrupted\n"
          terminal:expect "wall> "
        end
        terminal:say("6 * 7", "\n42\n")
        assert.equal(0, terminal:finish())
      end, TRACE)
    end)

    it("outlives any number of Ctrl-C", function()
      needs()
      in_terminal(how, function(terminal)
        for i = 1, 10 do
          terminal:insist(("print(%d + 50) while true do profile:focus 'Alpha' end"):format(i),
            ("%d\n"):format(i + 50))
          for _ = 1, 20 do terminal:type "\3" end
        end
        terminal:insist("6 * 8", "48\n")
        assert.equal(0, terminal:finish())
      end, TRACE)
    end)

    it("gives up a line at Ctrl-C", function()
      needs()
      in_terminal(how, function(terminal)
        terminal:type "nosuch()"
        os.execute "sleep 0.2"
        terminal:type "\3"
        terminal:expect "wall> "
        terminal:say("do", ">> ")
        terminal:type "\3"
        terminal:expect "wall> "
        terminal:say("6 * 7", "\n42\n")
        assert.is_nil(terminal:screen():find("nil value", 1, true))
        assert.equal(0, terminal:finish())
      end, TRACE)
    end)

    it("keeps a history", function()
      needs()
      in_terminal(how, function(terminal, directory)
        terminal:say("6 * 7", "\n42\n")
        terminal:say("6 * 7", "\n42\n")
        terminal:say(" 'hidden'", "\nhidden\n")
        terminal:say("'last'", "\nlast\n")
        assert.equal(0, terminal:finish())
        local path <const> = directory .. "/state/sonde/history"
        assert.equal("6 * 7\n'last'\n", helper.read(path))
        assert.equal("600\n", (helper.run("stat -c %a " .. path)))
      end, TRACE)
    end)

    it("holds back what does not fit on the screen", function()
      needs()
      in_terminal(how, function(terminal)
        terminal:say("for i = 1, 2 do end return ('x\\n'):rep(100)", "\n… 73 more lines: Enter")
        terminal:say("", "\n… 46 more lines: Enter")
        terminal:say("more all", "\nx\nwall> ")
        terminal:say("more", "\nsonde: nothing more to show\n")
        assert.equal(0, terminal:finish())
      end, TRACE)
    end)

    it("says once what every report says", function()
      needs()
      in_terminal(how, function(terminal)
        assert.matches("\nNote: wall%-clock", terminal:say("top1", "WaitNative"))
        terminal:expect "wall> "
        assert.is_nil(terminal:say("top1", "WaitNative"):find("Note:", 1, true))
        terminal:expect "wall> "
        terminal:say("svg", "sonde: svg is nothing to read on a terminal\ntry: svg > out.svg\n")
        assert.equal(0, terminal:finish())
      end, TRACE)
    end)
  end)
end

describe("a terminal with lua-readline", function()
  it("completes, and finds lines of the history", function()
    needs_readline()
    in_terminal(KINDS[1][2], function(terminal)
      terminal:say("pee\tBurn.Alph\t", "Targets.Cpu.Burn.Alpha\n")
      terminal:expect "| Targets.Cpu.Burn.Alpha(int)\n"
      terminal:expect "wall> "
      terminal:say("threads", "11\n")
      terminal:expect "wall> "
      terminal:say("it:where{ manag\t = '>1000' }:su\t 'events'", "\n23\n")
      terminal:expect "wall> "
      terminal:say("profile:tot\t(1)", "\n13424\n")
      terminal:say("\16", "\n13424\n")
      assert.equal(0, terminal:finish())
    end, TRACE)
  end)

  it("is coloured, unless NO_COLOR says no", function()
    needs_readline()
    in_terminal("TERM=xterm", function(terminal, directory)
      assert.matches("\27%[1;36mwall>\27%[0m ", helper.read(directory .. "/screen"))
      assert.equal(0, terminal:finish())
    end, TRACE)
    in_terminal(KINDS[1][2], function(terminal, directory)
      terminal:say("tpo", "try: top")
      assert.is_nil(helper.read(directory .. "/screen"):find("\27%[%d*;?%d*m"))
      assert.equal(0, terminal:finish())
    end, TRACE)
  end)

  it("leaves the terminal as it was when it is killed", function()
    needs_readline()
    helper.in_directory(function(directory)
      local start <const> = "stty -a >%s/old; sh -c 'echo $$ >%s/pid; exec env %s %s'; "
        .. "stty -a >%s/new"
      local terminal <close> = pty.start(directory, start:format(directory, directory, KINDS[1][2],
        (command(directory, TRACE):gsub("'", "")), directory))
      terminal:expect "wall> "
      helper.run(("kill $(cat %s/pid)"):format(directory))
      terminal:expect "ended "
      assert.equal(helper.read(directory .. "/old"), helper.read(directory .. "/new"))
      terminal.keys:close()
    end)
  end)
end)
