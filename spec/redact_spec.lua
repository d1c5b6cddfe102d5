-- Redaction of objects: that they keep their shape, and that nothing is
-- forgotten in any form of output.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.made_profiles"
local redact <const> = require "sonde.redact"
local reports <const> = require "sonde.report"
local sonde <const> = require "sonde"

local DEMO <const> = helper.data "demo.nettrace"
local THROW <const> = helper.data "real/problem-throw.nettrace.gz"
local EXCEPTIONS <const> = helper.data "real/sdk-exceptions.nettrace.gz"
local GO <const> = helper.data "pprof/ref/cpu.pb.gz"

-- What a template such as "{Shop}.{Cart}.Main" is with a redactor's words.
local function fill(r, template)
  return (template:gsub("{([^}]*)}", function(word) return r.words:replace(word) end))
end

local function labelled()
  local profile <const> = core.profile_new { types = { { "cpu", "nanoseconds" },
    { "orders", "count" } } }
  profile:add({ { name = "Shop.Cart.Add", file = "/home/bob/cart.cs", line = 7,
    module = "/app/Shop.dll" }, { name = "main.main" } }, { 5, 1 },
    { tenant = "contoso", thread = "order-worker 3", customer = 4711, bytes = 1024 })
  profile:add({ { name = "Shop.Cart.Remove" }, { name = "main.main" } }, { 7, 2 },
    { tenant = "contoso", flag = "true" })
  profile:set_info { comments = { "host=build07.contoso.com" }, doc_url = "https://contoso.com",
    drop_frames = "Shop.*" }
  return profile
end

describe("a profile", function()
  it("keeps values, lines, labels' shape and what its keys are known for", function()
    local profile <const> = labelled()
    local r <const> = redact.new { key = "k" }
    local shown <const> = assert(r:profile(profile))
    assert.equal(profile:total("cpu"), shown:total("cpu"))
    local stack, values, labels = shown:samples()()
    assert.same({ 5, 1 }, values)
    assert.equal(2, #stack)
    assert.same({ [r.words:replace "tenant"] = { r.words:replace "contoso" },
      thread = { fill(r, "{order}-{worker} 3") },
      [r.words:replace "customer"] = { r.words:number(4711) }, bytes = { 1024 } }, labels)
    local frames <const> = shown:frames()
    assert.equal(7, frames.line[stack[1]])
    assert.equal(fill(r, "/home/{bob}/{cart}.cs"), frames.file[stack[1]])
    assert.equal(fill(r, "/app/{Shop}.dll"), frames.module[stack[1]])
    assert.equal("cpu", shown:types()[1].type)
    assert.equal(r.words:replace "orders", shown:types()[2].type)
  end)

  it("loses what a file says freely: comments, address of documents, patterns", function()
    local info <const> = redact.new():profile(labelled()):info()
    assert.same({}, info.comments)
    assert.equal("", info.doc_url)
    assert.equal("", info.drop_frames)
  end)

  it("keeps our own notes of a view, but not what its filters looked for", function()
    local trace <close> = assert(sonde.open(DEMO))
    local profile <const> = trace:profile():focus "Alpha"
    local shown <const> = redact.new():profile(profile)
    assert.same({ "focus=[redacted]" }, shown:notes().filters)
    assert.equal("wall", shown:notes().view)
    local words <const> = tostring(shown:top())
    assert(words:find("not CPU time", 1, true), words)
    assert.is_nil(words:find("Alpha", 1, true), words)
  end)

  it("has the same shape in every number", function()
    local trace <close> = assert(sonde.open(DEMO))
    local profile <const> = trace:profile()
    local shown <const> = redact.new():profile(profile)
    local function flats(p)
      local list = {}
      for i, node in ipairs(p:graph { type = "wall" }.nodes) do
        list[i] = ("%d %d"):format(node.flat, node.cum)
      end
      table.sort(list)
      return list
    end
    assert.same(flats(profile), flats(shown))
    assert.equal(#profile:label_sets(), #shown:label_sets())
    assert.equal(profile:frames().n, shown:frames().n)
  end)

  it("renames Build IDs of one's own modules only", function()
    local profile <const> = assert(sonde.open(GO))
    local after <const> = redact.new():profile(profile):mappings()
    for i, mapping in ipairs(profile:mappings()) do
      assert.equal(#mapping.build_id, #after[i].build_id)
    end
  end)
end)

describe("#binding core.rename", function()
  it("with the same texts gives the same profile", function()
    for _, name in ipairs { "ref/cpu.pb.gz", "ref/heap.pb.gz", "labels.pb" } do
      local profile <const> = assert(sonde.open(helper.data("pprof/" .. name)))
      local same <const> = core.rename(profile, function(_, text) return text end)
      assert.equal(profile:encode { gzip = false }, same:encode { gzip = false })
    end
  end)

  it("raises on wrong use, and on what a function may do to it", function()
    local profile <const> = labelled()
    assert.has_error(function() core.rename(profile) end)
    assert.has_error(function() core.rename(profile, function() return 5 end) end)
    assert.has_error(function() core.rename(profile, function() return nil end) end)
    assert.has_error(function() core.rename(profile, function() error "no" end) end)
    assert.has_error(function()
      core.rename(profile, function(_, text)
        profile:close()
        return text
      end)
    end)
    assert.has_error(function() core.rename(profile, function(_, text) return text end) end)
    assert.has_error(function() core.rename_timeline(5, print) end)
  end)

  it("copies a timeline with its profile", function()
    local trace <close> = assert(sonde.open(helper.data "synth/v4-program-compressed.nettrace",
      { timeline = true }))
    local timeline <const> = trace:timeline()
    local shown <const> = core.rename_timeline(timeline, function(role, text)
      return role == "thread" and text:upper() or text
    end)
    assert.equal(#timeline, #shown)
    assert(#timeline > 0)
    assert.equal(timeline:threads()[1].name:upper(), shown:threads()[1].name)
    local a <const>, b <const> = timeline:each(), shown:each()
    for _ = 1, #timeline do
      local x <const>, y <const> = table.pack(a()), table.pack(b())
      assert.same({ x[1], x[2], x[5] }, { y[1], y[2], y[5] })
      assert.same(x[3], y[3])
    end
  end)
end)

-- Everything readable in a file, however it is packed, as another program
-- sees it.
local function readable(path)
  local bytes <const> = assert(helper.read(path))
  if bytes:sub(1, 2) == "\x1f\x8b" then
    return (helper.run("gzip -dc " .. helper.quote(path)))
  end
  local data <const> = bytes:match('id="data"[^>]*>([^<]*)<')
  if data == nil then return bytes end
  local packed <const> = path .. ".b64"
  helper.write(packed, data)
  local content <const> = helper.run(("base64 -d %s | gzip -dc"):format(helper.quote(packed)))
  os.remove(packed)
  return bytes:gsub("<script.-</script>", "") .. content
end

local function assert_none(text, words, where)
  local lower <const> = text:lower()
  for _, word in ipairs(words) do
    assert(not lower:find(word:lower(), 1, true), where .. ": " .. word)
  end
end

local DEMO_WORDS <const> = { "Targets", "Burn", "Alpha", "AsyncRound", "SyncWorker", "DeepLeaf",
  "target-cpu", "demo.nettrace" }

describe("no word is left", function()
  for _, module in ipairs(reports.list()) do
    local takes <const> = module.takes
    if takes == "profile" or takes == "any" then
      it("in the form " .. module.name, function()
        if module.name == "list" then return end   -- the source of functions
        helper.in_directory(function(directory)
          local path <const> = directory .. "/x." .. (module.extensions[1] or "txt")
          local _, status, err = helper.sonde("report", module.name, DEMO, "--redact", "-o", path)
          assert.equal(0, status, err)
          assert_none(readable(path), DEMO_WORDS, module.name)
        end)
      end)
    end
  end

  it("in outputs in time order", function()
    helper.in_directory(function(directory)
      for _, form in ipairs { "speedscope.json", "chromium.json" } do
        local path <const> = directory .. "/x." .. form
        local _, status, err = helper.sonde("convert", DEMO, "--redact", "-o", path,
          table.unpack(form:find("speed") and { "--time-order" } or {}))
        assert.equal(0, status, err)
        assert_none(readable(path), DEMO_WORDS, form)
      end
    end)
  end)

  it("in names of any form, and in a pprof file that is redacted", function()
    for _, names in ipairs { "full", "raw" } do
      local out, status, err = helper.sonde("report", "folded", DEMO, "--redact", "--names", names)
      assert.equal(0, status, err)
      assert_none(out, DEMO_WORDS, names)
    end
    local out <const> = helper.sonde("report", "raw", GO, "--redact")
    assert_none(out, { "burn10", "burnCPU" }, "raw")
    assert(out:find("runtime.asyncPreempt", 1, true), out)
  end)

  local WORDS <const> = { "Shop", "OrderNotFound", "no order", "problem-throw", "Prices" }

  for _, name in ipairs { "findings", "exceptions", "threads", "providers", "inspect" } do
    it("in the report " .. name, function()
      for _, json in ipairs { false, "--json" } do
        if not (json and name == "inspect") then
          local words = { "report", name, THROW, "--redact" }
          words[#words + 1] = json or nil
          local out, status, err = helper.sonde(table.unpack(words))
          assert.equal(0, status, err)
          assert_none(out, WORDS, name)
        end
      end
    end)
  end

  it("in gc and jit", function()
    local out <const> = helper.sonde("report", "gc", EXCEPTIONS, "--redact")
    assert(out:find("Collections: 21", 1, true), out)
    assert_none(out, { "sdk-exceptions", "target-alloc" }, "gc")
    local jit <const>, status = helper.sonde("report", "jit",
      helper.data "real/problem-jit.nettrace.gz", "--redact", "-n", "0")
    assert.equal(0, status)
    assert_none(jit, { "Shop", "problem-jit" }, "jit")
    assert(jit:find("System.Linq.Expressions", 1, true), jit)
  end)

  it("in the summary and in inspect", function()
    for _, words in ipairs { { THROW }, { "inspect", THROW }, { "inspect", THROW, "--json" } } do
      words[#words + 1] = "--redact"
      local out, status, err = helper.sonde(table.unpack(words))
      assert.equal(0, status, err)
      assert_none(out, WORDS, words[1])
    end
    local out <const> = helper.sonde("inspect", GO, "--redact", "--json")
    assert_none(out, { "cpu.pb.gz", "pprof/" }, "inspect")
  end)

  it("in events, which keep their form", function()
    local out, status, err = helper.sonde("events", THROW, "--json", "--redact", "--name",
      "Exception|Method|Module|ProcessInfo|Runtime")
    assert.equal(0, status, err)
    assert_none(out, { "Shop", "OrderNotFound", "no order", "/problems" }, "events")
    local plain <const> = helper.sonde("events", THROW, "--json", "--name",
      "Exception|Method|Module|ProcessInfo|Runtime")
    local shown <const>, lines <const> = helper.lines(out), helper.lines(plain)
    assert.equal(#lines, #shown)
    local keys <const> = '"([%w_]+)":'
    for i = 1, #lines, 97 do
      local a, b = {}, {}
      for key in lines[i]:gmatch(keys) do a[#a + 1] = key end
      for key in shown[i]:gmatch(keys) do b[#b + 1] = key end
      assert.same(a, b)
    end
    helper.json_lines(out)
    assert(out:find("System.Enum", 1, true) or out:find('"System.String"', 1, true))
    local text <const> = helper.sonde("events", THROW, "--redact", "--name", "Exception", "-n", "5")
    assert_none(text, { "Shop", "OrderNotFound", "no order" }, "events")
  end)

  it("in events of one's own providers: names, fields and values", function()
    local out, status, err = helper.sonde("events",
      helper.data "real/net21-tracelogging.netperf.gz", "--json", "--redact")
    assert.equal(0, status, err)
    assert_none(out, { "MySource", "TestEvent", "Hello", "field1", "structVal" }, "events")
    helper.json_lines(out)
  end)

  it("in both sides of a difference, which share their pseudonyms", function()
    helper.in_directory(function(directory)
      for _, form in ipairs { "txt", "svg", "folded", "pb.gz", "json", "html" } do
        local path <const> = directory .. "/d." .. form
        local words = { "diff", DEMO, DEMO, "--redact", "-o", path }
        if form == "txt" then table.move({ "--format", "diff" }, 1, 2, #words + 1, words) end
        local _, status, err = helper.sonde(table.unpack(words))
        assert(status == 0 or err:find("no values"), err)
        if status == 0 then assert_none(readable(path), DEMO_WORDS, form) end
      end
    end)
    local out <const> = helper.sonde("diff", DEMO, DEMO, "--redact", "-n", "3")
    assert(out:find("0%", 1, true), out)
    assert_none(out, DEMO_WORDS, "diff")
  end)
end)

describe("the check", function()
  it("finds a name that was forgotten, in text, pprof and pages", function()
    local r <const> = redact.new { key = "k" }
    local profile <const> = profiles.of "main.main;Shop.ParseOrders 10"
    local shown <const> = r:profile(profile)
    assert.is_true(r:check(shown:render("folded")))
    assert.is_true(r:check(shown:render("pprof"), "pprof"))
    assert.is_true(r:check(shown:render("html"), "html"))
    for _, form in ipairs { "folded", "pprof", "html" } do
      local clean, message, code = r:check(profile:render(form), form)
      assert.is_nil(clean, form)
      assert.equal("unavailable", code)
      assert(message:find("'Shop'", 1, true) or message:find("'ParseOrders'", 1, true), message)
    end
  end)

  it("finds people and machines, whatever their letters", function()
    local r <const> = redact.new { key = "k" }
    r:path "/home/robertson/x.txt"
    assert.is_nil(r:check "seen by Robertson today")
    local check <const> = require("sonde.redact.check").check
    local function getenv(name) return name == "USER" and "marvinson" or nil end
    assert.is_nil(check(r, "owner=MARVINSON", nil, getenv))
    assert.is_true(check(r, "owner=somebody", nil, getenv))
  end)

  it("finds forbidden words anywhere, also inside of others", function()
    local r <const> = redact.new { forbid = { "contoso" } }
    assert.is_nil(r:check "http://www.ContosoShop.com")
    assert.is_true(r:check "http://www.example.com")
  end)
end)

describe("the option --redact", function()
  it("writes nothing when a forbidden word is left", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/x.folded"
      local out, status, err = helper.sonde("convert", DEMO, "--redact", "--redact-forbid",
        "lambda", "-o", path)
      assert.equal(3, status)
      assert.equal("", out)
      assert(err:find("'lambda' (forbidden) is left in the output, so nothing was", 1, true), err)
      assert.is_nil(helper.read(path))
      out, status = helper.sonde("report", "folded", DEMO, "--redact", "--redact-forbid", "lambda")
      assert.equal(3, status)
      assert.equal("", out)
    end)
  end)

  it("replaces a forbidden word even in a framework's name", function()
    local out, status = helper.sonde("report", "folded", DEMO, "--redact", "--redact-forbid",
      "Semaphore")
    assert.equal(0, status)
    assert_none(out, { "semaphore" }, "folded")
  end)

  it("keeps what is allowed", function()
    local out, status, err = helper.sonde("report", "folded", DEMO, "--redact", "--redact-allow",
      "^Targets\\.Cpu\\.Burn")
    assert.equal(0, status, err)
    assert(out:find("Targets.Cpu.Burn.Alpha(int)", 1, true), out)
    assert_none(out, { "SyncWorker" }, "folded")
  end)

  it("gives the same pseudonyms with the same key", function()
    local function folded(key)
      return (helper.sonde("report", "folded", DEMO, "--redact", "--redact-key", key))
    end
    assert.equal(folded "a", folded "a")
    assert.are_not.equal(folded "a", folded "b")
  end)

  it("works with filters, which are asked by the true names", function()
    local out, status = helper.sonde("top", DEMO, "--redact", "--focus", "Burn.Alpha")
    assert.equal(0, status)
    assert(out:find("focus=[redacted]", 1, true), out)
    assert_none(out, DEMO_WORDS, "top")
  end)

  it("is needed by the other options of redaction", function()
    local _, status, err = helper.sonde("top", DEMO, "--redact-key", "k")
    assert.equal(2, status)
    assert(err:find("needs --redact", 1, true), err)
  end)
end)

describe("a trace", function()
  it("tells pseudonyms of everything, also of what is read again", function()
    local trace <close> = assert(sonde.open(THROW))
    local r <const> = redact.new { key = "k" }
    local shown <const> = r:trace(trace)
    local texts = {}
    local function collect(value)
      if type(value) == "string" then texts[#texts + 1] = value end
      if type(value) ~= "table" then return end
      for key, item in pairs(value) do
        collect(key)
        collect(item)
      end
    end
    for _, method in ipairs { "threads", "processes", "types", "methods", "modules", "assemblies",
      "runtime", "exceptions", "jits", "problems", "losses", "info" } do
      collect(shown[method](shown))
    end
    collect(shown.name)
    collect(shown:profile { view = "exception" }:frames())
    collect(shown:profile { from = 0, to = 400000000 }:frames())
    for _, row in ipairs(assert(shown:timeline()):threads()) do collect(row) end
    local n = 0
    for sample in assert(shown:samples()) do
      collect(sample.frames)
      n = n + 1
      if n > 50 then break end
    end
    for event in assert(shown:events { name = "Exception" }) do collect(event) end
    assert_none(table.concat(texts, "\n"), { "Shop", "OrderNotFound", "no order", "/problems" },
      "trace")
    assert.equal(trace:exceptions()[1].count, shown:exceptions()[1].count)
    assert.equal(#trace:methods(), #shown:methods())
  end)

  it("leaves its original alone", function()
    local trace <close> = assert(sonde.open(THROW))
    redact.new():trace(trace)
    assert.equal("Shop.OrderNotFoundException", trace:exceptions()[1].type)
    assert.equal(THROW, trace.name)
  end)
end)
