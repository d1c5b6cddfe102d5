local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.made_profiles"

local function folded(profile, opts) return assert(profile:render("folded", opts)) end

describe("folded stacks", function()
  it("are a line for each distinct stack, outermost frame first", function()
    assert.equal("b 3\na;b 2\na;b;c 5\n", (folded(profiles.of("a;b;c 2\nb 3\na;b 2\na;b;c 3"))
      :gsub("^(.*)(b 3\n)$", "%2%1")))
  end)

  it("keep ordinary names byte for byte and exact integers", function()
    local name <const> = "Module!Name.Space.Type`1[System.__Canon]+Nested.Method(int32,class A&)"
    assert.equal(name .. " 9223372036854775807\n",
      folded(profiles.of((name:gsub("^Module!", "")) .. " 9223372036854775807")):gsub("^",
        "Module!"))
    assert.equal("日本語;é 1\n", folded(profiles.of("日本語;é 1")))
  end)

  it("never let a name end its frame or its line", function()
    local profile <const> = core.profile_new { types = { { "samples", "count" } } }
    profile:add({ "x;y\nz\r\27[31m\xff", "" }, { 4 })
    assert.equal("<unknown>;x:y\\nz\\r\\x1b[31m\\xff 4\n", folded(profile))
    local odd <const> = folded(profiles.case("23-pprof-odd-function-names/names.pb.gz"))
    local sum = 0
    for line in odd:gmatch("[^\n]+") do
      local _, separators = line:gsub(";", "")
      assert.equal(1, separators, line)
      sum = sum + tonumber(line:match(" (%d+)$"))
    end
    assert.equal(35, sum)
    local quotes <const> = helper.lines(folded(profiles.case(
      "21-pprof-quotes-and-newlines/quotes.pb.gz")))
    assert.equal(3, #quotes)
    assert.equal("main.main;line1\\nline2 10000000", quotes[3])
  end)

  it("lose no value", function()
    assert.equal("main.main;net.Serve 40\n[no stack] 3\n",
      folded(profiles.case("19-pprof-sample-without-stack/goroutine.pb.gz")))
    local text <const> = helper.read(helper.data("cases/27-folded-blanks-and-brackets/in.folded"))
    local back <const> = core.folded_decode(folded(core.folded_decode(text)))
    assert.equal(55, back:total(1))
    assert.equal(8, #helper.lines(folded(back)))
  end)

  it("put the values of labels in front when asked", function()
    assert.equal("thread worker;main;Json.parse;Json.skip 30\n"
      .. "thread worker;main;Json.parse;Json.read 20\nthread boss;main;Json.parse 10\n"
      .. "thread boss;main;idle;wait 5\nthread boss;rec;rec;rec 1\n",
      folded(profiles.program(), { labels = { "thread" }, type = "samples" }))
    assert.matches("^host <none>;main", folded(profiles.program(), { labels = { "host" } }))
  end)

  it("refuse negative values, or write one half", function()
    local delta <const> = profiles.case("14-pprof-negative-heap-delta/delta.pb.gz")
    local text, message, code = delta:render("folded", { type = "inuse_space" })
    assert.is_nil(text)
    assert.matches("^%-36kB is negative in stack main.main;cache.evict", message)
    assert.equal("unavailable", code)
    assert.equal("main.main;cache.evict 36864\n",
      folded(delta, { type = "inuse_space", sign = "negative" }))
    assert.equal("main.main;cache.fill 16384\n",
      folded(delta, { type = "inuse_space", sign = "positive" }))
    local _, none = profiles.program():render("folded", { sign = "negative" })
    assert.equal("no negative values in cpu (nanoseconds)", none)
  end)

  it("take values that cancel out for what they are", function()
    assert.equal("b 1\n", folded(profiles.of("a 5\na -5\nb 1")))
    local _, message, code = profiles.of("a 0"):render("folded")
    assert.equal("no values to write: all samples are 0 in cpu (nanoseconds)", message)
    assert.equal("no_samples", code)
  end)
end)

describe("profile:stack_lines #binding", function()
  local function lines(profile, opts)
    local out = {}
    opts.text = opts.text or function(name) return name end
    opts.write = function(chunk) out[#out + 1] = chunk end
    local sums <const> = profile:stack_lines(opts)
    return table.concat(out), sums
  end

  it("joins what the function makes of names", function()
    local text, sums = lines(profiles.of("a;b 2\na;c 3"), {
      text = function(name, frame) return name:upper() .. frame end,
      open = "<", separator = "|", close = ">", weights = true,
    })
    assert.equal("<A1|C3><A1|B2>", text)
    assert.same({ n = 2, sum = 5, bare = 0, weights = "3,2" }, sums)
  end)

  it("writes two values of a stack", function()
    local profile <const> = profiles.of("a 1 2\nb 0 3\nc 0 0", { { "x", "n" }, { "y", "n" } })
    assert.equal("a 1 2\nb 0 3\n", (lines(profile, { type = 1, also = 2, between = " " })))
  end)

  it("lets errors of the functions out and frees what it holds", function()
    local profile <const> = profiles.of("a;b 2")
    assert.error_matches(function()
      profile:stack_lines { text = function() error("in text") end, write = print }
    end, "in text")
    assert.error_matches(function()
      profile:stack_lines { text = function() return 1.5 == 1 end, write = print }
    end, "must return strings")
    assert.error_matches(function()
      profile:stack_lines { text = tostring, write = function() error("in write") end }
    end, "in write")
    assert.error_matches(function() profile:stack_lines { txt = tostring } end,
      "unknown option 'txt'")
  end)

  it("hands long output on in pieces", function()
    local parts, size = 0, 0
    local profile <const> = core.profile_new { types = { { "samples", "count" } } }
    for i = 1, 3000 do profile:add({ "leaf" .. i, ("x"):rep(1000) }, { 1 }) end
    profile:stack_lines {
      text = function(name) return name end,
      write = function(chunk) parts, size = parts + 1, size + #chunk end,
    }
    assert.truthy(parts > 10)
    assert.truthy(size > 3000000)
  end)
end)
