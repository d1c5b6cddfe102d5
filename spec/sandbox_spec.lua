local core <const> = require "sonde.c.core"

-- A function of a sandbox, made by a chunk's text.
local function load(text, opts)
  local sandbox <const> = core.sandbox(opts)
  return assert(sandbox:load(text, "=policy")), sandbox
end

-- Fails at the first call and then for good, with this reason.
local function stops(text, reason, opts)
  local fn <const>, sandbox <const> = load(text, opts)
  local done, message = pcall(fn)
  assert.is_false(done)
  assert.matches(reason, sandbox:stopped() or "not stopped: " .. tostring(message))
  done, message = pcall(fn)
  assert.is_false(done)
  assert.matches("stopped for good", message)
end

describe("a sandbox", function()
  it("copies values in and out", function()
    local fn <const> = load [[return function(a, b)
      return { a.list[2], b, deep = { n = math.maxinteger } }, nil, 1.5
    end]]
    local value, none, number = fn({ list = { "x", "\0y" } }, true)
    assert.same({ "\0y", true, deep = { n = math.maxinteger } }, value)
    assert.is_nil(none)
    assert.equal(1.5, number)
  end)

  it("gives functions anywhere in what a chunk returns", function()
    local data <const> = load [[
      local calls = 0
      local function count() calls = calls + 1; return calls end
      return { summary = "s", actions = { { run = count }, { run = count } } }]]
    assert.equal("s", data.summary)
    assert.equal(1, data.actions[1].run())
    assert.equal(2, data.actions[2].run())
  end)

  it("has no way to the machine", function()
    local fn <const> = load [[return function()
      local found = {}
      for _, name in ipairs { "os", "io", "require", "load", "loadstring", "dofile", "debug",
          "package", "setmetatable", "getmetatable", "collectgarbage", "coroutine", "rawset",
          "print", "loadfile" } do
        if _G[name] ~= nil then found[#found + 1] = name end
      end
      if ("").dump then found[#found + 1] = "string.dump" end
      return found
    end]]
    assert.same({}, fn())
  end)

  it("takes text only", function()
    local chunk <const> = string.dump(function() return 1 end)
    local value, message, code = core.sandbox():load(chunk, "=policy")
    assert.is_nil(value)
    assert.matches("binary chunk", message)
    assert.equal("malformed", code)
  end)

  it("tells where an error is", function()
    local value, message = core.sandbox():load("return {\n  a = 1\n  b = 2 }", "=p.lua")
    assert.is_nil(value)
    assert.matches("^p%.lua:3: ", message)
    local fn <const>, sandbox <const> = load "return function()\n error 'late' end"
    local _, words = pcall(fn)
    assert.matches("policy:2: late", words)
    -- An error is no reason to stop for good.
    assert.is_nil(sandbox:stopped())
  end)

  it("stops an endless loop, also within pcall", function()
    stops("return function() while true do end end", "more steps", { steps = 100000 })
    stops([[return function()
      while true do pcall(function() while true do end end) end end]], "more steps",
      { steps = 100000 })
    stops([[return function()
      while true do xpcall(function() while true do end end, function() while true do end end) end
    end]], "more steps", { steps = 100000 })
    stops("return function() local s = ('x'):rep(500000) while true do s:reverse() end end",
      "more time", { time_ns = 50000000, steps = 1 << 40 })
  end)

  it("stops a leak and a huge string", function()
    stops("return function() local t = {} while true do t[#t + 1] = {} end end", "memory")
    stops("return function() local s = 'x' while true do s = s .. s end end", "memory")
    stops([[return function() while true do pcall(function()
      local s = 'x' while true do s = s .. s end end) end end]], "memory")
  end)

  it("refuses what would run for long inside of C", function()
    for _, text in ipairs {
      "('x'):rep(1 << 40)", "(''):rep(1 << 60)", "('x'):rep(1 << 60, '')",
      "('a'):rep(30000):find('.-.-.-b')", "('a'):rep(30000):match('(.*)(.*)(.*)b')",
      "('a'):rep(30000):gsub('.-.-b', '')", "string.gmatch(('a'):rep(30000), '.-.-.-b')",
      "('a'):rep(1000000):find(('a'):rep(1000) .. 'b', 1, true)",
      "('a'):rep(64):find(('a?'):rep(64) .. ('a'):rep(64))", "string.gmatch('aaa', '^a')",
      "table.move({}, 1, 1 << 60, 2)", "table.concat({}, '', 1, 1 << 60)",
      "table.unpack({}, 1, 1 << 30)", "table.move({}, math.mininteger, math.maxinteger, 1)",
    } do
      local fn <const>, sandbox <const> = load("return function() return " .. text .. " end",
        { time_ns = 10000000000 })
      local began <const> = os.clock()
      local done, message = pcall(fn)
      assert.is_false(done, text)
      assert.is_nil(sandbox:stopped(), text .. ": " .. message)
      assert.is_true(os.clock() - began < 1, text)
    end
  end)

  it("lets ordinary patterns be", function()
    local fn <const> = load [[return function(s)
      return s:match "^(%w+)=(.*)$", (s:gsub("%s+$", "")), s:find("=", 1, true)
    end]]
    local key, trimmed, at = fn("name=value of a line  ")
    assert.same({ "name", "name=value of a line", 5 }, { key, trimmed, at })
  end)

  it("refuses values that cannot be copied", function()
    local fn <const> = load "return function(v) return v end"
    local loop <const> = {}
    loop.loop = loop
    assert.has_error(function() fn(loop) end)
    assert.has_error(function() fn(print) end)
    local round <const> = load "return function() local t = {} t.t = t return t end"
    assert.has_error(round)
    local value, message = core.sandbox():load("local t = {} t.t = t return t", "=p")
    assert.is_nil(value)
    assert.matches("contains itself", message)
  end)

  it("raises when it is used after it was closed", function()
    local fn <const>, sandbox <const> = load "return function() return 1 end"
    sandbox:close()
    sandbox:close()
    assert.has_error(fn)
    assert.has_error(function() sandbox:stopped() end)
  end)
end)
