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
      "('a'):rep(500000):find(('a'):rep(1000) .. 'b', 1, true)",
      "('a'):rep(64):find(('a?'):rep(64) .. ('a'):rep(64))", "string.gmatch('aaa', '^a')",
      "table.move({}, 1, 1 << 60, 2)", "table.concat({}, '', 1, 1 << 60)",
      "table.unpack({}, 1, 1 << 30)", "table.move({}, math.mininteger, math.maxinteger, 1)",
      "('a'):rep(500000):find(('a'):rep(100000) .. 'b')",
      "('a'):rep(1000):find('[' .. ('bc'):rep(200000) .. ']*d')",
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

  it("refuses to sort for long, to number without end and to copy more than there is", function()
    local text <const> = [[local a = ("x"):rep(500000)
      local b, t = a .. "b", {}
      for i = 1, 100000 do t[i] = i % 2 == 0 and a or b end ]]
    local sort <const> = load("return function() " .. text .. " table.sort(t) end")
    local _, message = pcall(sort)
    assert.matches("too many values, or too long ones", message)
    local sorted <const> = load [[return function()
      local t = { "b", "a", "c" }
      table.sort(t, function(x, y) return x > y end)
      return t[1] end]]
    assert.equal("c", sorted())
    -- A text of half a megabyte, a hundred thousand times.
    local copy <const> = load("return function() " .. text .. " return t end")
    _, message = pcall(copy)
    assert.matches("texts are too long", message)
    local value, why = core.sandbox():load(
      "local t = {} for i = 1, 30 do t = { t, t } end return t", "=p")
    assert.is_nil(value)
    assert.matches("too many parts", why)
  end)

  it("cannot be left by odd comparators, errors, depths and texts", function()
    for _, body in ipairs {
      "table.sort({ 3, 1, 2, 5, 4 }, function() return true end)",
      "local function f() return f() + 1 end f()", "error({ {} })", "error()",
      "local s = ('x'):rep(100) for i = 1, 300 do s = '(' .. s .. ')' end s:find(s)",
      "('x'):gsub('x', function() error({}) end)", "string.pack('c1000000000', '')",
      "string.format('%1000d', 1)", "string.format('%q', {})", "select(1 << 62)",
      "local function f(s) return s:gsub('.', f) end f('xxxx')",
      "string.format(('%s'):rep(1000), ('x'):rep(500000))", "utf8.char(-1)", "('').x.y = 1",
      "string.x = 1; _G.string.find = nil; error(('x'):rep(500000))",
    } do
      local fn <const> = load("return function() " .. body .. " end")
      local began <const> = os.clock()
      local _, message = pcall(fn)
      assert.is_true(os.clock() - began < 2, body)
      assert.is_true(message == nil or #message <= 1000, body)
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
