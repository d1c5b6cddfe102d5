-- Redaction of dumps, counters and recordings: nothing of the program's own is
-- left in any output.
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"

local LOCKS <const> = helper.data "dumps/lock-order.txt"
local RACES <const> = helper.data "dumps/races.txt"

local function shown(...)
  local out <const>, status, err = helper.sonde(...)
  assert.equal(0, status, err)
  return out
end

-- A program that says nothing when it is ready, once its runtime answers.
local function start(name, ...)
  local process <const> = dotnet.start(name, "10.0", { args = { ... }, wait = false })
  for _ = 1, 200 do
    local target <const> = sonde.target(process.pid)
    if target and target:info() then break end
    loop.sleep(200000000)
  end
  return process
end

local function none_left(text, ...)
  for _, word in ipairs { ... } do
    assert.is_nil(text:lower():find(word, 1, true), word .. " is left in " .. text)
  end
end

describe("--redact of a dump", function()
  local OWN <const> = { "transfer", "account", "dumps", "lock-order" }

  it("leaves no own name, keeps the shape", function()
    local out <const> = shown("dump", LOCKS, "--redact")
    none_left(out, table.unpack(OWN))
    assert.matches("4 goroutines in 3 stacks", out)
    assert.matches("sync%.%(%*Mutex%)%.Lock", out)
    assert.matches("semacquire", out)
    none_left(shown("dump", RACES, "--redact"), "counter", "/src/")
  end)

  it("does so as JSON, without the raw text", function()
    local out <const> = shown("dump", LOCKS, "--redact", "--json")
    none_left(out, table.unpack(OWN))
    local rows <const>, whole <const> = helper.json_lines(out),
      helper.json_lines(shown("dump", LOCKS, "--json"))
    assert.equal(#whole, #rows)
    for i, row in ipairs(rows) do
      assert.is_nil(row.raw)
      assert.equal(#whole[i].frames, #row.frames)
      assert.equal(whole[i].state, row.state)
      assert.equal(whole[i].frames[1].line, row.frames[1].line)
    end
  end)

  it("does so in a difference, and with filters that ask the true names", function()
    none_left(shown("dump", "--diff", LOCKS, LOCKS, "--redact"), table.unpack(OWN))
    local out <const> = shown("dump", LOCKS, "--redact", "--func", "transfer")
    none_left(out, table.unpack(OWN))
    assert.matches("func=%[redacted%]", out)
  end)

  it("refuses the text itself, and a forbidden word", function()
    local _, status, err = helper.sonde("dump", LOCKS, "--redact", "--full")
    assert.equal(2, status)
    assert.matches("%-%-full", err)
    local out, code = helper.sonde("dump", LOCKS, "--redact", "--redact-forbid", "goroutine")
    assert.equal(3, code)
    assert.equal("", out)
  end)

  it("works on a live process", function()
    local process <close> = start("cpu", "100000")
    for _, more in ipairs { "", "--json" } do
      local out <const> = shown("dump", tostring(process.pid), "--redact",
        more ~= "" and more or nil)
      none_left(out, "targets.")
      assert.matches("System%.", out)
    end
  end)
end)

describe("--redact of counters", function()
  local counters <const> = require "sonde.redact.counters"
  local redact <const> = require "sonde.redact"

  it("keeps the framework's names, and nobody's tags", function()
    local r <const> = redact.new { key = "k" }
    local row <const> = counters.row(r, { provider = "System.Net.Http", name = "http.requests",
      unit = "{request}", value = 5, tags = { ["server.address"] = "db7.contoso.com" },
      tag_text = "server.address=db7.contoso.com" })
    assert.equal("System.Net.Http", row.provider)
    assert.equal("http.requests", row.name)
    assert.equal("{request}", row.unit)
    assert.equal(5, row.value)
    assert.matches("^server%.address=", row.tag_text)
    none_left(row.tag_text .. row.tags["server.address"], "contoso")
  end)

  it("replaces all of one's own", function()
    local r <const> = redact.new { key = "k" }
    local given <const> = { provider = "Contoso.Orders", name = "orders-placed", unit = "orders",
      display_name = "Orders placed", tags = { tenant = "acme" }, tag_text = "tenant=acme" }
    local row <const> = counters.row(r, given)
    local text = table.concat({ row.provider, row.name, row.unit, row.display_name,
      row.tag_text }, " ")
    none_left(text, "contoso", "order", "tenant", "acme")
    assert.equal("Contoso.Orders", given.provider)
    assert.equal("ms", counters.row(r, { provider = "A", name = "b", unit = "ms" }).unit)
  end)

  it("works on a live process", function()
    local process <close> = start("eventsource", "100", "20000")
    local out <const> = shown("counters", tostring(process.pid), "--provider", "Targets-Plain",
      "--once", "--json", "--redact")
    none_left(out, "targets", "plain", "queue")
    assert.matches("42%.5", out)
  end)
end)

describe("--redact of a recording", function()
  it("refuses a recording, which keeps what the process sent", function()
    for _, words in ipairs { {}, { "-o", "x.nettrace" } } do
      local _, status, err = helper.sonde("record", "-p", "1", "--redact", table.unpack(words))
      assert.equal(2, status)
      assert.matches("%-%-redact: a recording", err)
    end
  end)

  it("writes formats without own names", function()
    local process <close> = start("cpu", "100000")
    helper.in_directory(function(directory)
      local path <const> = directory .. "/x.folded"
      shown("record", "-p", tostring(process.pid), "--redact", "--duration", "1s", "-o", path)
      local text <const> = helper.read(path)
      none_left(text, "targets.")
      assert.matches("System%.Threading", text)
    end)
  end)
end)

describe("--redact of a shell", function()
  local DEMO <const> = helper.data "demo.nettrace"

  local function shell(...)
    local words = { "shell", DEMO, "--no-config", "--redact", "--redact-key", "k" }
    for _, word in ipairs { ... } do words[#words + 1] = word end
    return helper.sonde(table.unpack(words))
  end

  it("shows, writes and saves pseudonyms", function()
    helper.in_directory(function(directory)
      local text <const>, script <const> = directory .. "/a.folded", directory .. "/s.lua"
      local out <const>, status, err = shell("-c", "top", "-c", "trace:jits()", "-c",
        "write " .. text, "-c", "calltree > " .. directory .. "/b.txt", "-c", "save " .. script)
      assert.equal(0, status, err)
      none_left(out, "targets", "burn")
      none_left(helper.read(text), "targets", "burn")
      none_left(helper.read(directory .. "/b.txt"), "targets", "burn")
      none_left(helper.read(script), "targets", "demo")
      local again <const>, code = helper.run(("SONDE_REDACT_KEY=k %s shell --script %s %s"):format(
        helper.quote(helper.command), helper.quote(script), helper.quote(DEMO)))
      assert.equal(0, code)
      assert.equal(out:match "[^\n]*Thread%.Join[^\n]*", again:match "[^\n]*Thread%.Join[^\n]*")
    end)
  end)

  it("takes back a file or a script in which a word is left", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/a.folded"
      local _, status = shell("--redact-forbid", "0", "-c", "write " .. path)   -- of its numbers
      assert.is_true(status ~= 0)
      assert.is_nil(helper.read(path))
      local out, code, err = shell("--redact-forbid", "marker", "-c", "print 'marker'", "-c",
        "save")
      assert.is_true(code ~= 0)
      assert.matches("'marker' %(forbidden%) is left", err)
      assert.is_nil(out:find("sonde.open", 1, true))
    end)
  end)

  it("looks through what typed Lua writes, too", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/a.folded"
      local _, status, err = shell("--redact-forbid", "0", "-c",
        ("assert(profile:write(%q))"):format(path))
      assert.is_true(status ~= 0)
      assert.matches("'0' %(forbidden%) is left", err)
      assert.is_nil(helper.read(path))
      _, status, err = shell("-c", ("assert(profile:write(%q))"):format(path))
      assert.equal(0, status, err)
      none_left(helper.read(path), "targets", "burn")
    end)
  end)

  it("saves what may stay, and where forbidden words come from", function()
    helper.in_directory(function(directory)
      local script <const>, file <const> = directory .. "/s.lua", directory .. "/a.folded"
      local out <const>, status, err = shell("--redact-allow", "^Targets[.]", "--redact-forbid",
        "secret", "--redact-forbid", "Other", "-c", "top", "-c", "write " .. file, "-c",
        "save " .. script)
      assert.equal(0, status, err)
      none_left(helper.read(script), "secret", "other")
      local function replay(forbid)
        os.remove(file)
        return helper.run(("SONDE_REDACT_KEY=k %s %s shell --script %s %s"):format(forbid,
          helper.quote(helper.command), helper.quote(script), helper.quote(DEMO)))
      end
      local again, code = replay "SONDE_REDACT_FORBID=secret,other"
      assert.equal(0, code)
      local line <const> = out:match "[^\n]*Targets%.[^\n]*"
      assert.is_truthy(line)
      assert.equal(line, again:match "[^\n]*Targets%.[^\n]*")
      assert.is_truthy(helper.read(file))
      again, code = replay "SONDE_REDACT_FORBID=secret,0"
      assert.is_true(code ~= 0, again)
      assert.is_nil(helper.read(file))
      again, code = replay ""
      assert.is_true(code ~= 0, again)
    end)
  end)
end)
