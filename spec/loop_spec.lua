local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local MS <const> = 1000000

local function soon() return loop.after(2000 * MS) end

local function later(ms, fn)
  local timer <const> = uv.new_timer()
  timer:start(ms, 0, loop.guard(function()
    timer:close()
    fn()
  end))
end

describe("waiting outside of tasks", function()
  it("runs the loop until it is over", function()
    local event <const> = loop.event()
    later(5, function() event:set("a", nil, 3) end)
    assert.is_false(event:is_set())
    assert.same({ true, "a", nil, 3 }, { event:wait(soon()) })
    assert.is_true(event:is_set())
    assert.same({ true, "a", nil, 3 }, { event:wait(0) })
    assert.is_false(event:set "again")
  end)

  it("ends at the deadline, not before and not much later", function()
    for _, ms in ipairs { 0, 1, 30 } do
      local began <const> = loop.now()
      local done, message, code = loop.event():wait(loop.after(ms * MS))
      local took <const> = loop.now() - began
      assert.same({ nil, "timed out", "timeout" }, { done, message, code })
      assert.is_true(took >= ms * MS and took < (ms + 200) * MS)
    end
    assert.is_true(loop.after(math.maxinteger) == math.maxinteger)
  end)

  it("ends when the machine was too busy to begin in time", function()
    -- The loop of libuv looks for timers first and waits for descriptors then: a
    -- timer that is due when a turn begins must not leave it waiting for ever.
    local script <const> = [[
      local loop = require "sonde.base.loop"
      local uv = require "sonde.base.uv"
      local run, other = uv.run, uv.new_timer()
      other:start(3600000, 0, function() end)
      uv.run = function(mode)
        local late = uv.hrtime() + 5000000
        while uv.hrtime() < late do end
        return run(mode)
      end
      loop.sleep(1000000)
      local event = loop.event()
      loop.task(function()
        loop.sleep(1000000)
        event:set()
      end)
      assert(event:wait(loop.after(3600 * 1000000000)))
      print "over"
      loop.close(other)
    ]]
    assert.equal("over\n", (helper.run("timeout 20 lua5.4 -e " .. helper.quote(
      ("package.path = %q package.cpath = %q "):format(package.path, package.cpath) .. script))))
  end)

  it("works in a host's coroutine", function()
    local result
    local host <const> = coroutine.create(function()
      assert(loop.sleep(3 * MS))
      result = coroutine.yield "host"
    end)
    assert.same({ true, "host" }, { coroutine.resume(host) })
    coroutine.resume(host, "end")
    assert.equal("end", result)
  end)

  it("raises in a foreign callback of the running loop", function()
    local message
    local timer <const> = uv.new_timer()
    timer:start(1, 0, function()
      timer:close()
      local _, what = pcall(loop.sleep, MS)
      message = what
    end)
    uv.run()
    assert.matches("cannot wait in a callback of the event loop", message)
    -- A host's coroutine that such a callback resumes is no task either.
    local second <const> = uv.new_timer()
    second:start(1, 0, function()
      second:close()
      message = select(2, coroutine.resume(coroutine.create(function() loop.sleep(MS) end)))
    end)
    uv.run()
    assert.matches("cannot wait in a callback", message)
  end)

  it("raises the error of a callback", function()
    later(1, function() error { "own" } end)
    local done, what = pcall(loop.sleep, 500 * MS)
    assert.is_false(done)
    assert.same({ "own" }, what)
    -- The loop goes on afterwards.
    assert.is_true(loop.sleep(MS))
  end)
end)

describe("tasks", function()
  it("run side by side and give results", function()
    local order = {}
    local function work(name, ms)
      loop.sleep(ms * MS)
      order[#order + 1] = name
      return name, ms
    end
    local slow <const>, fast <const> = loop.task(work, "slow", 40), loop.task(work, "fast", 5)
    assert.same({}, order)
    assert.same({ true, "slow", 40 }, { slow:join(soon()) })
    assert.same({ true, "fast", 5 }, { fast:join(soon()) })
    assert.same({ "fast", "slow" }, order)
  end)

  it("wait for each other and for events, each to its own deadline", function()
    local event <const> = loop.event()
    local function wait(ms) return select(3, event:wait(loop.after(ms * MS))) end
    local impatient <const>, patient <const> = loop.task(wait, 5), loop.task(wait, 2000)
    local outer <const> = loop.task(function()
      local _, code = impatient:join(soon())
      event:set()
      return code
    end)
    assert.same({ true, "timeout" }, { outer:join(soon()) })
    assert.same({ true }, { patient:join(soon()) })
  end)

  it("hand their errors to who joins them, and close what they hold", function()
    local closed = false
    local task <const> = loop.task(function()
      local _ <close> = setmetatable({}, { __close = function() closed = true end })
      loop.sleep(MS)
      error({ "broken" })
    end)
    local done, what = pcall(task.join, task, soon())
    assert.is_false(done)
    assert.same({ "broken" }, what)
    assert.is_true(closed)
  end)

  it("do not fail in silence when nobody joins them", function()
    loop.task(function() error "lonely" end)
    local done, what = pcall(loop.sleep, 200 * MS)
    assert.is_false(done)
    assert.matches("lonely", what)
  end)

  it("are canceled by their waits returning", function()
    local seen = {}
    local task <const> = loop.task(function()
      seen[1] = table.pack(loop.sleep(10000 * MS))
      seen[2] = table.pack(loop.event():wait(soon()))
      return "unwound"
    end)
    loop.sleep(MS)
    task:cancel "by its user"
    assert.same({ true, "unwound" }, { task:join(soon()) })
    for i = 1, 2 do
      assert.same({ nil, "by its user", "canceled" }, { table.unpack(seen[i], 1, 3) })
    end
    task:cancel()
    local early <const> = loop.task(function() return select(3, loop.sleep(MS)) end)
    early:cancel()
    assert.same({ true, "canceled" }, { early:join(soon()) })
  end)

  it("run in a loop that the host runs", function()
    local result
    loop.task(function()
      loop.sleep(2 * MS)
      result = "ran"
    end)
    uv.run()
    assert.equal("ran", result)
  end)

  it("start others and end them by the thousand", function()
    local sum = 0
    local all <const> = loop.task(function()
      local tasks = {}
      for i = 1, 2000 do
        tasks[i] = loop.task(function()
          loop.sleep((i % 3) * MS)
          sum = sum + i
        end)
      end
      for _, task in ipairs(tasks) do assert(task:join(soon())) end
    end)
    assert.is_true((all:join(loop.after(20000 * MS))))
    assert.equal(2001000, sum)
  end)
end)

describe("watching a descriptor", function()
  it("waits until it can be read from", function()
    helper.in_directory(function(directory)
      local core <const> = require "sonde.c.core"
      local listener <const> = assert(core.unix_listen(directory .. "/s"))
      local watch <close> = loop.watch(listener:fd())
      assert.same({ nil, "timed out", "timeout" }, { watch:wait("r", loop.after(2 * MS)) })
      local client
      later(5, function() client = core.unix_connect(directory .. "/s") end)
      assert.is_true((watch:wait("r", soon())))
      assert.truthy(client)
      assert.is_true((watch:wait("r", soon())))
    end)
  end)
end)

describe("signals", function()
  local USR1 <const> = 10

  it("wake who waits, as often as they come", function()
    local heard, event = {}, loop.event()
    local release <const> = loop.on_signals({ USR1 }, function(number, count)
      heard[#heard + 1] = { number, count }
      if count == 2 then event:set() end
    end)
    later(5, function() uv.kill(uv.os_getpid(), USR1) end)
    later(30, function() uv.kill(uv.os_getpid(), USR1) end)
    assert.is_true((event:wait(soon())))
    release()
    assert.same({ { USR1, 1 }, { USR1, 2 } }, heard)
  end)

  -- A process of its own, in which the signals end things as in the command.
  local function interrupted(body)
    helper.in_directory(function(directory)
      helper.write(directory .. "/s.lua", ([[
        package.path, package.cpath = %q, %q
        local core, loop = require "sonde.c.core", require "sonde.base.loop"
        core.catch_signal(2)
        assert(io.open(%q, "w")):close()
        local began = loop.now()
        local ok, what = pcall(function() %s end)
        io.write(tostring(ok), " ", tostring(what), " ", core.caught_signal(), " ",
          (loop.now() - began) // 1000000)
      ]]):format(package.path, package.cpath, directory .. "/ready", body))
      local out <const> = helper.run(("lua5.4 %s/s.lua & for i in $(seq 200); do"
        .. " [ -e %s/ready ] && break; sleep 0.05; done; sleep 0.2; kill -INT $!; wait")
        :format(directory, directory))
      local took <const> = out:match("^false .*interrupted! 2 (%d+)$")
      assert.truthy(took, out)
      assert.is_true(math.tointeger(tonumber(took)) < 1500)
    end)
  end

  it("interrupt a wait", function()
    interrupted "loop.sleep(5000000000)"
  end)

  it("interrupt a computation in a task", function()
    interrupted "loop.task(function() while true do end end):join(loop.after(5000000000))"
  end)

  it("interrupt a task's wait", function()
    interrupted "loop.task(function() loop.sleep(9000000000) end):join(loop.after(5000000000))"
  end)
end)
