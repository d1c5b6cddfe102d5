local complete <const> = require "sonde.shell.complete"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local TRACE <const> = helper.data "demo.nettrace"
local HEAP <const> = helper.data "pprof/h0.pb.gz"

local new_shell <const> = require("spec.support.shells").new

describe("a shell of nothing", function()
  local shell <const> = new_shell()

  it("is Lua, help and settings", function()
    assert.equal("sonde", shell:state())
    assert.equal("2\n", (shell.ask "1 + 1"))
    assert.matches("\nopen FILE: ", "\n" .. shell.ask "help open")
    assert.equal("view: what is measured; a number counts from 0\n", (shell.ask "help view"))
    assert.matches("^setting +value", (shell.ask "o"))
    assert.equal(0, (select(2, shell.ask "focus=Alpha")))
    assert.equal("sonde focus=Alpha", shell:state())
    shell.ask ":"
  end)

  it("says of everything else that nothing is open", function()
    local told <const> = "sonde: no trace or profile is open\ntry: open FILE\n"
    for _, line in ipairs { "top", "gc", "findings", "inspect", "threads", "profile", "trace",
      "whole:total(1)", "view=alloc", "process=1", "write x.svg", "peek A", "svg > x.svg" } do
      assert.equal(told, (select(3, shell.ask(line))), line)
    end
    assert.matches("compares two inputs, and there is none", (select(3, shell.ask "diff")))
    for _, line in ipairs { "pro", "view=", "peek A", "help ", "top -by=" } do
      assert.is_table((complete.find(shell, line, #line + 1, #line)))
    end
  end)

  it("opens one later, and goes back", function()
    local all <const> = assert(sonde.open(TRACE)):profile():render("top", { n = 3 })
    assert.equal(all, (shell.ask("open " .. TRACE, "top3")))
    assert.equal("demo.nettrace wall", shell:state())
    shell.ask("open " .. HEAP)
    assert.equal("h0.pb.gz", (shell:state():match "^%S+"))
    assert.equal(all, (shell.ask("undo", "top3")))
    local script <const> = shell.ask "save"
    assert.matches("-- open [^\n]*demo.nettrace\nlocal in_use_1 = ", script)
    assert.equal(3, (select(2, shell.ask("undo", "top"))))
    assert.equal("sonde: open needs the name of a file\ntry: open api.nettrace\n",
      (select(3, shell.ask "open")))
  end)

  it("saves scripts that give the same answers", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/session.lua"
      local fresh <const> = new_shell()
      local out <const> = fresh.ask("open " .. TRACE, "focus=Alpha", "top3")
      fresh.ask("save " .. path)
      assert.equal(out, (helper.sonde("shell", "--script", path)))
      assert.equal(out, (new_shell().ask("replay " .. path)))
    end)
  end)
end)
