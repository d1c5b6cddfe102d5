-- What the shell has beside the inputs: running processes, stores, policies, the
-- verbs, and saved sessions.
local complete <const> = require "sonde.shell.complete"
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local new_shell <const> = require("spec.support.shells").new
local pty <const> = require "spec.support.pty"
local sample_store <const> = require "spec.support.sample_store"

local BEFORE <const> = helper.data "cases/30-diff-percentages/before.folded"
local AFTER <const> = helper.data "cases/30-diff-percentages/after.folded"

-- What a line tells on stderr.
local function told(shell, ...)
  return (select(3, shell.ask(...)))
end

describe("a running process in the shell", function()
  it("is listed, asked, dumped, counted and recorded by the code of the verbs", function()
    local process <close> = dotnet.start("idle", "10.0")
    helper.in_directory(function(directory)
      local shell <const> = new_shell(BEFORE)
      assert.matches("^ *PID +USER.*\n *" .. process.pid .. " ", (shell.ask "targets()"))
      assert.equal("target-idle\n", (shell.ask(("it:where{ pid = %d }[1].name"):format(
        process.pid))))
      shell.ask(("t = target(targets():where{ pid = %d }[1])"):format(process.pid))
      assert.equal(("target: process %d (target-idle)\n"):format(process.pid), (shell.ask "t"))
      assert.matches("^10%.0%.", (shell.ask "t:info().version"))
      local function completed(line) return (complete.find(shell, line, 1, #line)) end
      assert.same({ "t:record" }, completed "t:rec")
      assert.same({ "t:environment" }, completed "t:envi")
      local some <const> = tostring(process.pid):sub(1, -2)
      -- A list of processes is good for two seconds.
      for _ = 1, 100 do
        if table.concat(completed("target(" .. some), " "):find(process.pid, 1, true) then break end
        loop.sleep(100000000)
      end
      for _, start in ipairs { "target(", "sonde counters ", "sonde record -p " } do
        local found <const> = table.concat(completed(start .. some), "\n") .. "\n"
        assert(found:find(start .. process.pid .. "\n", 1, true), found)
      end
      assert.same({ 'target "target-idle' }, completed 'target "target-id')
      assert.matches("^dump of process %d+ %(target%-idle%): %d+ threads\n$",
        (shell.ask "t:dump()"))
      assert.matches("^thread_id +samples\n",
        (shell.ask 'it.threads:select("thread_id", "samples")'))
      assert.matches("^SOURCE .*\nSystem%.Runtime", (shell.ask "t:counters()"))
      assert.equal("System.Runtime\n", (shell.ask "it:where{ name = 'working.set' }[1].provider"))
      local path <const> = directory .. "/r.nettrace"
      local _, status, err = shell.ask(("r = t:record{ duration = '500ms', output = %q }"):format(
        path), "use r", "top1")
      assert.equal(0, status, err)
      assert.equal("r", shell:state():match "^%S+")
      assert.matches("NetTrace", (shell.ask "trace"))
      assert.is_true(dotnet.has_no_sessions(process.pid))
    end)
  end)

  it("that is none is told in one line", function()
    local shell <const> = new_shell(BEFORE)
    for _, line in ipairs { "target 'nosuchprocess'", "x = target 'nosuchprocess'" } do
      assert.equal("sonde: no .NET or Go process is called 'nosuchprocess'\ntry: sonde ps\n",
        told(shell, line))
    end
    assert.matches("^sonde: which process%?\ntry: targets%(%)\n", told(shell, "target()"))
  end)

  it("is not shown where names are pseudonyms", function()
    local _, status, err = helper.sonde("shell", BEFORE, "--redact", "-c", "targets()", "-c",
      "sonde ps", "-c", "store()", "-c", "policies()")
    assert.equal(2, status)
    assert.equal(4, select(2, err:gsub("%-%-redact: [^\n]* would be shown with its names\n", "")))
  end)

  it("is recorded until Ctrl-C, and looked at until q; the shell goes on", function()
    local process <close> = dotnet.start("idle", "10.0")
    helper.in_directory(function(directory)
      local terminal <const> = pty.start(directory, ("env HOME=%s TERM=dumb %s shell %s"):format(
        directory, helper.quote(helper.command), BEFORE))
      terminal:expect "> "
      terminal:say(("r = target(%d):record{ output = '%s/r.nettrace' }"):format(process.pid,
        directory), "until Ctrl-C")
      -- The events of the session have begun to come when the status line says so.
      terminal:expect "samples"
      terminal:type "\3"
      terminal:expect "wrote "
      terminal:expect "> "
      terminal:say("r", "trace " .. directory .. "/r.nettrace")
      terminal:expect "> "
      terminal:say(("target(%d):top()"):format(process.pid), "OWN%")
      terminal:type "q"
      terminal:expect "> "
      -- A second time, too, the terminal is given back as it was.
      terminal:say(("sonde counters %d"):format(process.pid), "VALUE")
      terminal:type "\3"
      terminal:expect "> "
      -- What was interrupted leaves nothing behind in the process.
      terminal:say(("target(%d):trace{ output = '%s/x.nettrace' }:wait()"):format(process.pid,
        directory), "wait()\n")
      for _ = 1, 400 do
        if dotnet.sessions(process.pid) > 0 then break end
        loop.sleep(25000000)
      end
      assert.is_true(dotnet.sessions(process.pid) > 0)
      terminal:type "\3"
      terminal:expect "interrupted\n"
      terminal:expect "> "
      assert.is_true(dotnet.has_no_sessions(process.pid))
      -- Signals are the shell's again.
      terminal:say("print(2 * 21) while true do end", "\n42\n")
      terminal:type "\3"
      terminal:expect "interrupted\n"
      terminal:say("6 * 8", "\n48\n")
      assert.equal(0, terminal:finish())
      assert.is_true(dotnet.has_no_sessions(process.pid))
    end)
  end)
end)

describe("a verb in the shell", function()
  local shell <const> = new_shell(BEFORE)

  it("does what it does as a command", function()
    assert.equal((helper.sonde("top", AFTER, "-n", "2")), (shell.ask("sonde top " .. AFTER ..
      " -n 2  # two of them")))
    assert.equal((helper.sonde "version"), (shell.ask "sonde version"))
    assert.equal((helper.sonde("policy", "show", "cpu_spike")),
      (shell.ask "sonde policy show 'cpu_spike'"))
  end)

  it("says what it says, and is a failure of the line", function()
    for _, row in ipairs {
      { "sonde top nosuch.nettrace", 3, "nosuch.nettrace: No such file" },
      { "sonde topp x", 2, "unknown verb 'topp' (did you mean 'top'?)" },
      { "sonde shell x", 2, "sonde shell is nothing for a shell" },
      { "sonde top x | less", 2, "'|': a verb writes to the screen here" },
      { "sonde top 'x", 2, "a ' is not closed" },
      { "record -p 1", 2, "'record' is no word here, but a verb of the command\ntry: sonde rec" },
      { "sonde query nosuch.db", 3, "nosuch.db: no such store" },
    } do
      local _, status, err = shell.ask(row[1])
      assert.equal(row[2], status, row[1])
      assert(err:find(row[3], 1, true), err)
    end
    assert.matches("^module", (shell.ask "sonde.VERSION and 'module'"))
  end)
end)

describe("a store in the shell", function()
  it("lists captures, is asked by fields, and gives its profile to the words", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/captures.db"
      sample_store.fill(path)
      local shell <const> = new_shell(BEFORE)
      shell.ask(("store = store %q"):format(path))
      assert.equal("store " .. path .. "\n", (shell.ask "(store)"))
      assert.equal("c1\n", (shell.ask "store:captures()[1].id"))
      shell.ask "store:find{ kind = 'stacks', state = 'select' }"
      assert.equal("60\t33\n", (shell.ask "#it, #it:where{ wait_minutes = '10m..' }"))
      assert.matches("limit = N shows others\n$",
        (shell.ask "store:find{ kind = 'stacks', limit = 2 }"))
      shell.ask "store:checkpoints{ kind = 'stacks' }"
      assert.equal("3\t63\n", (shell.ask "#it, it:sum 'records'"))
      assert.equal("3\n", (shell.ask "#store:checkpoints()"))
      assert.matches("^frames +taken_at\n *main%.wait +20%d%d%-%d%d%-%d%d ", (shell.ask
        "store:find{ kind = 'stacks', state = 'select' }:select('frames', 'taken_at')"))
      assert.equal("60\n", (shell.ask
        "store:groups{ kind = 'stacks', by = 'state' }:where('select')[1].records"))
      assert.equal("3\n", (shell.ask "#store:trend{ kind = 'goprof', func = 'leak' }"))
      assert.matches("\n[^\n]* main%.leak\n", (shell.ask(
        "use store:profile{ kind = 'goprof', checkpoint = 'k3' }", "top")))
      assert.matches("no such store", told(shell, "x = store 'nosuch.db'") .. told(shell,
        "require('sonde.shell').store 'nosuch.db'"))
      -- A saved session opens it again.
      local script <const> = directory .. "/s.lua"
      local told_before <const> = shell.ask("#store:captures()", "save " .. script)
      local out, status, err = helper.sonde("shell", "--script", script)
      assert.same({ 0, "" }, { status, err })
      assert.equal(told_before, out:sub(-#told_before))
    end)
  end)
end)

describe("a policy in the shell", function()
  it("is listed, explained, and tested on a timeline", function()
    local shell <const> = new_shell(BEFORE)
    assert.equal("cpu_spike\n", (shell.ask "policies():where{ name = 'spike' }[1].name"))
    assert.matches("^policy cpu_spike: CPU profile", (shell.ask "policy 'cpu_spike'"))
    assert.matches("\nwhen +cpu is above 55 ", (shell.ask
      "policy('cpu_spike', { cpu = 55 }):explain()"))
    shell.ask("lines = {} for i = 1, 20 do lines[i] = i .. ',7,1,Api,cpu,90' end")
    shell.ask "policy('cpu_spike'):test(lines)"
    assert.equal("11.0\n", (shell.ask "it:where{ fired = true }[1].time_s"))
    assert.matches("^fits +rows\n", (shell.ask "policy('cpu_spike'):matches():group 'fits'"))
    assert.matches("^sonde: no policy is called 'cpu_spik' %(did you mean 'cpu_spike'%?%)",
      told(shell, "policy 'cpu_spik'"))
    helper.in_directory(function(directory)
      local path <const> = directory .. "/p.lua"
      helper.write(path, "return { trigger = { metrik = 'cpu' }, limits = { cuont = 3 } }")
      local err <const> = told(shell, ("p = policy %q"):format(path))
      for _, word in ipairs { "metrik", "cuont", "summary" } do assert.matches(word, err) end
    end)
  end)
end)

describe("a saved session that is replayed", function()
  it("asks the same of what is open", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/s.lua"
      new_shell(BEFORE).ask("top2", "focus=fn", "#it", "save " .. path)
      local shell <const> = new_shell(AFTER)
      local want <const> = new_shell(AFTER).ask("top2", "#it")
      assert.equal(want, (shell.ask("replay " .. path)))
      assert.equal("2\n", (shell.ask "_"))
      assert(shell.ask "save":find(("\nassert(replay(%q))\n"):format(path), 1, true))
      assert.matches("^sonde: cannot run: [^\n]*nosuch", told(shell, "replay nosuch.lua"))
      assert.matches("^sonde: replay needs the name of a file", told(shell, "replay"))
      helper.write(path, 'local redactor <const> = require("sonde.redact").new {}')
      assert.matches("saved with %-%-redact", told(shell, "replay " .. path))
    end)
  end)
end)
