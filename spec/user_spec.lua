-- A user who is not root: the command as somebody without rights or a home, in a copy
-- of the build. When the suite runs as such a user all other specs say it, too.
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local proc <const> = require "sonde.process.proc"

-- A number that no user of a fresh machine has.
local UID <const> = 61234

local PREPARE <const> = [[
cp -R %s/sonde %s/lua %s
cp -R lua spec/data/demo.nettrace %s
mkdir %s/tmp && chown -R %d:%d %s && chmod 755 %s]]

-- Calls `use(run, directory)`, where `run(…)` runs sonde as that user, with an input.
local function as_user(use)
  helper.needs "setpriv"
  if proc.self().uid ~= 0 then helper.skip "the suite does not run as root" end
  helper.in_directory(function(directory)
    local build <const> = os.getenv "SONDE_BUILD" or "build"
    local made <const> = directory .. "/build"
    helper.run("mkdir " .. made)
    local _, status, err = helper.run(PREPARE:format(build, build, made, directory, directory,
      UID, UID, directory, directory))
    assert.equal(0, status, err)
    local become <const> = ("cd %s && exec setpriv --reuid %d --regid %d --clear-groups env -i "
      .. "PATH=\"$PATH\" HOME=/nowhere TMPDIR=%s/tmp "):format(directory, UID, UID, directory)
    use(function(input, ...)
      local words = {}
      for i, word in ipairs { ... } do words[i] = helper.quote(word) end
      return helper.run(("printf '%%b' %s | (%sbuild/sonde %s)"):format(helper.quote(input), become,
        table.concat(words, " ")))
    end, directory, become)
  end)
end

describe("a user who is not root", function()
  it("looks into files, and has the shell", function()
    as_user(function(run)
      local out, status, err = run("", "top", "demo.nettrace", "-n", "3")
      assert.equal(0, status, err)
      assert.matches("Showing 3 of", out)
      out, status, err = run("", "demo.nettrace")
      assert.equal(0, status, err)
      assert.matches("Targets.Cpu.Burn.Alpha", out)
      out, status, err = run("top 2\n", "shell", "demo.nettrace")
      assert.equal(0, status, err)
      assert.matches("Showing 2 of", out)
    end)
  end)

  it("looks into own processes", function()
    helper.needs "eu-stack"
    as_user(function(run, directory, become)
      local own <close> = dotnet.spawn { "/bin/sh", "-c", become .. "sleep 1000" }
      local out, status, err
      for _ = 1, 100 do   -- until it is the user's
        out, status, err = run("", "capture", "-p", tostring(own.pid), "--store", "c.db",
          "--kind", "stacks,process_tree")
        if status == 0 then break end
      end
      assert.equal(0, status, out .. err)
      out, status = run("", "c.db")
      assert.equal(0, status)
      assert.matches("2 records of process_tree stacks", out)
      helper.write(directory .. "/here.lua", [[return { summary = "s", interval = "100ms",
        trigger = { metric = "memory", above = 1 }, actions = { { log = "seen" },
          { write = { path = "note.txt", text = "%{pid}" } } } }]])
      out, status, err = run("", "watch", "here.lua", "-p", tostring(own.pid), "--duration", "2s",
        "-o", "out", "--json")
      assert.equal(0, status, err)
      assert.matches('"text":"seen"', out)
      assert.equal(tostring(own.pid), helper.read(directory .. "/out/here/note.txt"))
    end)
  end)

  it("is told whose the others are, and what would help", function()
    local other <close> = dotnet.spawn { "/bin/sh", "-c", "echo ready; read line" }
    assert.is_string(other:line "ready")
    as_user(function(run)
      local out, status = run("", "ps", "--all")
      assert.equal(0, status)
      assert.matches("%d+%s+root", out)
      local pid <const> = tostring(other.pid)
      local _, refused, err = run("", "dump", "-p", pid)
      assert.equal(3, refused)
      assert.matches("permission denied", err)
      assert.matches("try: as its user, or as root", err)
      _, refused, err = run("", "probe", "-p", pid, "-f", "main", "--duration", "1s")
      assert.equal(3, refused)
      assert.matches("of user root %(uid 0%)", err)
      assert.matches("try: sudo", err)
    end)
  end)
end)
