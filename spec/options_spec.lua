local options <const> = require "sonde.base.options"

local declared <const> = {
  { name = "n", type = "integer", short = "n", min = 0, max = 100, help = "rows" },
  { name = "view", type = "string", choices = { "wall", "alloc" }, default = "wall", help = "v" },
  { name = "show_from", type = "pattern", help = "frames" },
  { name = "limit", type = "size", aliases = { "memory" }, help = "memory" },
  { name = "from", type = "duration", help = "time" },
  { name = "cum", type = "boolean", help = "sort" },
  { name = "thread", type = "string", many = true, help = "threads" },
  { name = "progress", type = "function", help = "called" },
}

local function check(given)
  return options.check(declared, given, "f")
end

local function by_name(name)
  return options.index(declared)[name]
end

describe("options.check", function()
  it("gives defaults, and leaves the caller's table alone", function()
    local given <const> = { n = 3 }
    local checked <const> = check(given)
    assert.same({ n = 3, view = "wall" }, checked)
    assert.same({ n = 3 }, given)
    assert.same({ view = "wall" }, check(nil))
  end)

  it("reads durations and sizes that are text", function()
    local checked <const> = check { limit = "2MiB", from = "1.5s" }
    assert.equal(2097152, checked.limit)
    assert.equal(1500000000, checked.from)
    assert.equal(7, check({ limit = 7 }).limit)
  end)

  it("knows aliases and puts the value under the main name", function()
    local checked <const> = check { memory = 1 }
    assert.equal(1, checked.limit)
    assert.is_nil(checked.memory)
  end)

  it("takes one value for a list", function()
    assert.same({ "a" }, check({ thread = "a" }).thread)
    assert.same({ "a", "b" }, check({ thread = { "a", "b" } }).thread)
  end)

  local wrong <const> = {
    { { viw = "wall" }, "unknown option 'viw' to 'f' %(did you mean 'view'%?%)" },
    { { zzzzzz = 1 }, "unknown option 'zzzzzz' to 'f'$" },
    { { [1] = "x" }, "unknown option '1' to 'f'" },
    { { n = "3" }, "bad option 'n' to 'f': must be a number, not a string" },
    { { n = 1.5 }, "bad option 'n' to 'f': must be a whole number" },
    { { n = -1 }, "bad option 'n' to 'f': must be at least 0" },
    { { n = 101 }, "bad option 'n' to 'f': must be at most 100" },
    { { view = "wal" }, "bad option 'view' to 'f': is not known: 'wal' %(did you mean 'wall'%?%)" },
    { { view = "zzz" }, "is not known: 'zzz' %(one of wall, alloc%)" },
    { { show_from = "(" }, "bad option 'show_from' to 'f': is not a regular expression" },
    { { from = "soon" }, "bad option 'from' to 'f': is not a duration" },
    { { limit = true }, "bad option 'limit' to 'f': must be a number, not a boolean" },
    { { thread = { 1 } }, "bad option 'thread' to 'f': must be a string, not a number" },
    { { progress = 1 }, "bad option 'progress' to 'f': must be a function, not a number" },
    { 3, "bad options to 'f' %(table expected, got number%)" },
  }
  for i, row in ipairs(wrong) do
    it("raises for wrong use, case " .. i, function()
      local ok, message = pcall(check, row[1])
      assert.is_false(ok)
      assert.matches(row[2], message)
    end)
  end

  it("blames the line that called the function", function()
    local function f(opts)
      opts = options.check(declared, opts, "f")
      return opts
    end
    local line <const> = debug.getinfo(1, "l").currentline + 1
    local _, message = pcall(function() local r <const> = f { zz = 1 } return r end)
    assert.matches("options_spec.lua:" .. line .. ": unknown option", message)
  end)
end)

describe("options.scan", function()
  local good <const> = {
    { "n", "12", 12 }, { "view", "alloc", "alloc" }, { "show_from", "^A", "^A" },
    { "limit", "1k", 1024 }, { "from", "10ms", 10000000 }, { "thread", "", "" },
  }
  for _, row in ipairs(good) do
    it(("reads %s of '%s'"):format(row[1], row[2]), function()
      assert.equal(row[3], (options.scan(by_name(row[1]), row[2])))
    end)
  end

  for _, row in ipairs { { "n", "x" }, { "n", "1.5" }, { "n", "" }, { "n", "-1" },
    { "n", "99999999999999999999" }, { "view", "" }, { "limit", "1q" }, { "from", "1" } } do
    it(("refuses %s of '%s'"):format(row[1], row[2]), function()
      local value, message = options.scan(by_name(row[1]), row[2])
      assert.is_nil(value)
      assert.is_string(message)
    end)
  end
end)

describe("options.suggest", function()
  local words <const> = { "top", "report", "diff", "convert", "inspect", "events" }
  for _, row in ipairs { { "tpo", "top" }, { "repot", "report" }, { "dif", "diff" },
    { "conv", "convert" }, { "INSPECT", "inspect" }, { "evnets", "events" } } do
    it(("knows what %s means"):format(row[1]), function()
      assert.equal(row[2], options.suggest(row[1], words))
    end)
  end

  it("says nothing when nothing is near", function()
    assert.is_nil(options.suggest("banana", words))
    assert.is_nil(options.suggest("x", words))
    assert.is_nil(options.suggest("x", { "h", "o" }))
    assert.equal("h", options.suggest("H", { "h", "o" }))
    assert.is_nil(options.suggest("", words))
  end)
end)

describe("options.join and select", function()
  it("lets a later declaration replace an earlier one in its place", function()
    local other <const> = { name = "n", type = "count", help = "other" }
    local joined <const> = options.join(declared, { other })
    assert.equal(#declared, #joined)
    assert.equal(other, joined[1])
  end)

  it("picks by name", function()
    local picked <const> = options.select(declared, { "cum", "n" })
    assert.same({ "cum", "n" }, { picked[1].name, picked[2].name })
    assert.has_error(function() options.select(declared, { "nope" }) end)
  end)
end)

describe("a command line", function()
  -- No words are read without a parser.
  it("takes no words for what a parser takes them for", function()
    local arguments <const> = require "sonde.base.arguments"
    local cli <const> = require "sonde.cli"
    local errors <const> = require "sonde.base.errors"
    local kinds = { asks = 0, runs = 0 }
    for _, name in ipairs(cli.verbs) do
      local verb <const> = cli.verb(name)
      for _, form in ipairs(verb.forms and verb.forms() or { verb.declaration() }) do
        local done, got = errors.pcall(arguments.read, form, name, {})
        local as_parsed <const> = { errors.pcall(arguments.read, form, name, { "--" }) }
        assert.equal(as_parsed[1], done)
        assert.same(done and as_parsed[2] or as_parsed[2].message, done and got or got.message)
        kinds[done and "runs" or "asks"] = kinds[done and "runs" or "asks"] + 1
      end
    end
    assert(kinds.asks > 3 and kinds.runs > 3)
  end)
end)
