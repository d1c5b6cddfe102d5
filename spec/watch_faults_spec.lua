-- What goes wrong while `sonde watch` runs: each fault stays where it is.
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local uv <const> = require "sonde.base.uv"

local SIGHUP <const>, SIGTERM <const>, SIGSTOP <const> = 1, 15, 19

local GOOD <const> = [[return { summary = "one", trigger = { metric = "cpu", above = 1 },
  actions = { { log = "seen" } }, limits = { cooldown = "0s", count = 1000 } }]]

-- `sonde watch`, with its lines of JSON on its standard output.
local function start(path, directory, ...)
  return dotnet.spawn { (os.getenv "SONDE_BUILD" or "build") .. "/sonde", "watch", path, "--json",
    "-o", directory .. "/out", ... }
end

local function next_of(process, kind)
  return process:line('"kind":"' .. kind .. '"', 30)
end

local function busy_process()
  return dotnet.spawn { "/bin/sh", "-c", "while :; do :; done" }
end

describe("sonde watch", function()
  it("keeps the old policies when new ones are bad, and takes good ones", function()
    local target <close> = busy_process()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/one.lua"
      helper.write(path, GOOD)
      local watching <close> = start(path, directory, "-p", tostring(target.pid))
      assert.is_string(next_of(watching, "log"))
      helper.write(path, "return { summary = ")
      watching:kill(SIGHUP)
      watching.output = ""
      assert.is_string(next_of(watching, "log"))   -- the old one goes on
      helper.write(path, (GOOD:gsub("seen", "again")))
      watching:kill(SIGHUP)
      assert.is_string(watching:line('"text":"again"', 30))
      watching:kill(SIGTERM)
      assert.equal(0, (watching:wait(60)))
    end)
  end)

  it("goes on when a target is stopped, or killed", function()
    local target <close> = busy_process()
    local other <close> = busy_process()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/one.lua"
      helper.write(path, GOOD)
      local watching <close> = start(path, directory, "-p", tostring(target.pid), "-p",
        tostring(other.pid))
      assert.is_string(next_of(watching, "log"))
      uv.kill(target.pid, SIGSTOP)
      assert.is_string(watching:line(('"log".*"pid":%d'):format(other.pid), 30))
      target:close()
      assert.is_string(watching:line(('"gone".*"pid":%d'):format(target.pid), 30))
      watching.output = ""
      assert.is_string(watching:line(('"log".*"pid":%d'):format(other.pid), 30))
      watching:kill(SIGTERM)
      assert.equal(0, (watching:wait(60)))
    end)
  end)

  it("keeps the cooldown when it is killed a moment after it fired", function()
    local target <close> = busy_process()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/one.lua"
      helper.write(path, (GOOD:gsub('cooldown = "0s"', 'cooldown = "1h"')))
      local watching <close> = start(path, directory, "-p", tostring(target.pid))
      assert.is_string(next_of(watching, "log"))
      watching:kill(9)
      watching:wait(60)
      local again <close> = start(path, directory, "-p", tostring(target.pid))
      local first <const> = again:line('"kind":"[fn][io][rt]', 30)   -- fired, or not
      assert.matches('"kind":"not".*cooldown of 1h', first)
      again:kill(SIGTERM)
      assert.equal(0, (again:wait(60)))
    end)
  end)

  it("does nothing more when its disk is used up, and says so", function()
    local target <close> = busy_process()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/one.lua"
      helper.write(path, [[return { summary = "s", trigger = { metric = "cpu", above = 1 },
        actions = { { write = { path = "%{time}.txt", text = ("x"):rep(2000) } } },
        limits = { cooldown = "0s", count = 1000, per_day = "1KiB" } }]])
      local watching <close> = start(path, directory, "-p", tostring(target.pid))
      assert.is_string(watching:line('"kind":"acted".*written today', 30))
      watching:kill(SIGTERM)
      assert.equal(0, (watching:wait(60)))
      local out <const> = helper.run(("ls %s/out/one | grep -c txt"):format(directory))
      assert.equal("1\n", out)
    end)
  end)

  it("follows many processes that come and go", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/one.lua"
      helper.write(path, [[return { summary = "s", per = "name", targets = { name = "^sleep$" },
        trigger = { start = true, count = 20, within = "1m" }, actions = { { log = "many" } } }]])
      local watching <close> = start(path, directory, "--name", "^sleep$")
      local crowd <close> = dotnet.spawn { "/bin/sh", "-c",
        "i=0; while [ $i -lt 60 ]; do sleep 2.5 & sleep 0.1; i=$((i+1)); done; wait" }
      assert.is_string(watching:line('"text":"many"', 60))
      watching:kill(SIGTERM)
      assert.equal(0, (watching:wait(60)))
      assert.equal(0, (crowd:wait(60)))
    end)
  end)
end)
