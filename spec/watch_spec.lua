local core <const> = require "sonde.c.core"
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local policy <const> = require "sonde.policy"
local watch <const> = require "sonde.policy.watch"

local SECOND <const> = 1000000000

-- A process that keeps a processor busy until it is closed.
local function busy_process()
  return dotnet.spawn { "/bin/sh", "-c", "while :; do :; done" }
end

local function compile(name, text)
  local loaded <const> = assert(policy.compile(text, name .. ".lua"))
  loaded.name = name
  return loaded
end

-- Watches one process until `enough(events)`, for at most so many seconds.
local function watch_one(pid, policies, directory, enough, opts)
  local events <const>, started <const> = {}, loop.now()
  local one <const> = watch.new {
    policies = policies, directory = directory, saved = opts and opts.saved,
    select = function(facts) return facts.pid == pid end,
    say = function(event)
      events[#events + 1] = event
      events[event.kind] = (events[event.kind] or 0) + 1
    end,
  }
  one:run(loop.after(40 * SECOND), function()
    if opts and opts.each then opts.each(one, loop.now() - started) end
    if enough(events) then one:stop() end
  end)
  one:close()
  return events, one
end

local function acted(events)
  return events.acted
end

local function last_of(events, kind)
  local last
  for _, event in ipairs(events) do
    if event.kind == kind then last = event end
  end
  return last
end

describe("watching", function()
  it("runs the actions of a policy that fires, in their order", function()
    local process <close> = busy_process()
    local one <const> = compile("busy", [[return { summary = "s",
      trigger = { metric = "cpu", above = 1, ["for"] = "1s" },
      actions = { { write = { path = "note.txt", text = "%{name} %{pid}" } },
        { run = { command = { "cat", "%{write.path}" } }, as = "cat" },
        { write = { path = "copy.txt", text = "<%{cat.output}>" } },
        { run = { command = { "false" } }, on_failure = "go_on" },
        { run = { command = { "sh", "-c", "echo bad >&2; exit 3" } } },
        { write = { path = "never.txt", text = "" } } } }]])
    helper.in_directory(function(directory)
      local events <const>, watching <const> = watch_one(process.pid, { one }, directory, acted)
      local folder <const> = directory .. "/busy/"
      assert.equal(("sh %d"):format(process.pid), helper.read(folder .. "note.txt"))
      assert.equal(("<sh %d>"):format(process.pid), helper.read(folder .. "copy.txt"))
      assert.is_nil(helper.read(folder .. "never.txt"))
      local last <const> = last_of(events, "acted")
      assert.matches("sh ended with status 3: bad", last.message)
      assert.equal(5, #last.results)
      -- A restart does not begin the cooldown anew.
      local again <const> = watch_one(process.pid, { one }, directory,
        function(list) return list["not"] end, { saved = watching:save() })
      assert.is_nil(again.fired)
      assert.matches("cooldown of 1m", last_of(again, "not").firing.reason)
    end)
  end)

  it("stops a policy that fails and no other", function()
    local process <close> = busy_process()
    local bad <const> = compile("bad", [[return { summary = "s", metrics = "cpu",
      trigger = function() while true do end end }]])
    local good <const> = compile("good", [[return { summary = "s",
      trigger = { metric = "cpu", above = 1 }, actions = { { log = "seen" } } }]])
    helper.in_directory(function(directory)
      local events <const>, watching <const> = watch_one(process.pid, { bad, good }, directory,
        function(list) return list.acted and list.stopped end)
      assert.equal(1, events.stopped)
      assert.matches("more steps", watching:status().policies[1].stopped)
      assert.is_nil(watching:status().policies[2].stopped)
    end)
  end)

  it("tells of starts and ends, and keeps the old policies when new ones are bad", function()
    local one <const> = compile("ends", [[return { summary = "s", per = "name",
      trigger = { any = { { start = true, count = 2, within = "1m" }, { exit = "any" } } } }]])
    helper.in_directory(function(directory)
      local events, started = {}, nil
      local watching = watch.new { policies = { one }, directory = directory,
        select = function(facts) return started ~= nil and facts.pid == started.pid end,
        say = function(event) events[#events + 1] = event end }
      watching:run(loop.after(30 * SECOND), function()
        started = started or dotnet.spawn { "sleep", "7654" }
        if #events == 1 then started:kill(9) end   -- watched
        if last_of(events, "fired") then watching:stop() end
      end)
      started:close()
      watching:close()
      assert.equal("target", events[1].kind)
      -- 128 and the signal, where the kernel tells it.
      assert.equal("exit: status " .. (core.exits() and "137" or "unknown"),
        last_of(events, "fired").firing.reason)
    end)
  end)

  it("keeps artifacts within their limits, the oldest go first", function()
    helper.in_directory(function(directory)
      local artifacts <const> = require "sonde.policy.artifacts"
      local folder <const> = artifacts.folder(directory, { name = "p",
        limits = { disk = 250, free = 0, per_day = 1000 } })
      assert(folder:make())
      for i = 1, 4 do
        helper.write(folder:place(i .. ".bin"), ("x"):rep(100))
        os.execute(("touch -d '2026-01-0%d' %s"):format(i, folder:place(i .. ".bin")))
      end
      local removed <const> = folder:prune { [folder:place "1.bin"] = true }
      assert.same({ folder:place "2.bin", folder:place "3.bin" }, removed)
      assert.is_true(folder:has_room(1))
      folder:count(1, 1000)
      local room <const>, why <const> = folder:has_room(1)
      assert.is_false(room)
      assert.matches("were written today", why)
      assert.is_true(folder:has_room(2))
    end)
  end)
end)

describe("watching a .NET process", function()
  it("records what came before an exception storm", function()
    local process <close> = dotnet.start("idle", "10.0")
    local one <const> = compile("storm", [[return { summary = "s",
      targets = { runtime = "dotnet", version = "^10" },
      trigger = { exception = "Timeout", count = 20, within = "10s" },
      actions = { { record = { profile = { "cpu", "exceptions" }, duration = "1s",
        before = "20s" } } } }]])
    helper.in_directory(function(directory)
      local thrown
      local events <const> = watch_one(process.pid, { one }, directory, acted, {
        each = function(_, since)
          if thrown or since < 4 * SECOND then return end
          thrown = true
          process:command "throw 100"
        end })
      local result <const> = last_of(events, "acted").results[1]
      assert.is_nil(result.failed)
      local trace <const> = assert(require("sonde").open(result.path))
      assert.equal("complete", trace:info().rundown or "complete")
      local profile <const> = assert(trace:profile { view = "exception" })
      assert.equal(100, profile:total(1))
      -- Samples of seconds before the first exception.
      assert.is_true(assert(trace:profile { view = "samples" }):total(1) > 1000)
    end)
  end)

  it("sees counters by their names and by shorter ones", function()
    local process <close> = dotnet.start("idle", "8.0")
    local one <const> = compile("heap", [[return { summary = "s",
      trigger = { all = { { metric = "System.Runtime/working-set", above = 0 },
        { metric = "heap", above = 0 } } } }]])
    helper.in_directory(function(directory)
      local events <const> = watch_one(process.pid, { one }, directory,
        function(list) return list.fired end)
      assert.equal(1, events.fired)
    end)
  end)
end)

describe("sonde watch", function()
  it("tells why a process is no target only of those that it was pointed at", function()
    local process <close> = busy_process()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/other.lua"
      helper.write(path, [[return { summary = "s", targets = { name = "^no such$" },
        trigger = { metric = "cpu", above = 1 }, actions = { { log = "x" } } }]])
      local pointed <const>, status <const>, err <const> = helper.sonde("watch", path, "-p",
        tostring(process.pid), "--duration", "2s", "-o", directory .. "/out", "--json")
      assert.equal(0, status, err)
      local row <const> = helper.json_lines(pointed)[1]
      assert.equal("not", row.kind)
      assert.matches("^no target: name 'sh' does not match", row.reason)
      assert.equal("", (helper.sonde("watch", path, "--duration", "2s", "-o",
        directory .. "/out", "--json")))
    end)
  end)

  it("ends in time, writes its decisions as lines, and can be asked how it stands", function()
    local process <close> = busy_process()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/busy.lua"
      helper.write(path, [[return { summary = "busy", args = { cpu = 1 },
        trigger = { metric = "cpu", above = "%{cpu}" }, actions = { { log = "%{reason}" } } }]])
      local timeline <const> = directory .. "/metrics.csv"
      local out, status, err = helper.sonde("watch", path, "-p", tostring(process.pid),
        "--duration", "4s", "-o", directory .. "/out", "--json", "--record-metrics", timeline)
      assert.equal(0, status, err)
      local kinds = {}
      for _, row in ipairs(helper.json_lines(out)) do kinds[row.kind] = row end
      assert.equal(process.pid, kinds.fired.pid)
      assert.matches("cpu above 1", kinds.log.text)
      -- The same policy on the same samples decides the same.
      local replayed <const> = helper.sonde("policy", "test", path, "--replay", timeline, "--json")
      local fired = 0
      for _, row in ipairs(helper.json_lines(replayed)) do
        if row.fired then fired = fired + 1 end
      end
      assert.equal(1, fired)
      local shown, code = helper.sonde("watch", "--status", "-o", directory .. "/out")
      assert.equal(1, code)   -- it has ended
      assert.matches("fired 1 time", shown)
    end)
  end)

  it("refuses what it cannot load", function()
    local _, status, err = helper.sonde("watch", "cpu_spiek", "--duration", "1s")
    assert.equal(3, status)
    assert.matches("did you mean 'cpu_spike'", err)
    _, status = helper.sonde("watch")
    assert.equal(2, status)
  end)
end)
