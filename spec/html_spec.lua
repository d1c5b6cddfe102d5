-- The HTML page as text: what it holds, what it escapes, how it is laid out.
-- What it does in a browser is in browser_spec.lua.
local assets <const> = require "sonde.report.html.assets"
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local html <const> = require "sonde.report.html"
local sonde <const> = require "sonde"

local BASE64 <const> = {}
for i = 1, 64 do
  local digits <const> = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  BASE64[digits:byte(i)] = i - 1
end

local function decode64(text)
  local bytes, bits, n = {}, 0, 0
  for i = 1, #text do
    local digit <const> = BASE64[text:byte(i)]
    if digit == nil then break end
    bits, n = (bits << 6 | digit) & 0xffffff, n + 6
    if n >= 8 then
      n = n - 8
      bytes[#bytes + 1] = string.char(bits >> n & 255)
    end
  end
  return table.concat(bytes)
end

-- The layout of a page or of what `pack:finish` gave, unzipped.
local function layout_of(text)
  local input <const> = core.input(decode64(text:match 'id="data">([^<]*)<' or text))
  assert(input:inflate "gzip")
  local pieces = {}
  while true do
    local piece <const> = input:read(1 << 20)
    if piece == nil then return table.concat(pieces) end
    pieces[#pieces + 1] = piece
  end
end

-- A reader of src/profile/pack.h, apart from the page's own.
local function read_layout(bytes)
  local at = 1
  local function int()
    local value, shift = 0, 0
    repeat
      local byte <const> = bytes:byte(at)
      value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
    until byte < 128
    return value
  end
  local function signed()
    local value <const> = int()
    return value >> 1 ~ -(value & 1)
  end
  local function column(n, read)
    local list = {}
    for i = 1, n do list[i] = read() end
    return list
  end
  local function raw(n)
    at = at + n
    return bytes:sub(at - n, at - 1)
  end
  local function texts()
    local list = {}
    for i, length in ipairs(column(int(), int)) do list[i] = length end
    for i, length in ipairs(list) do list[i] = raw(length) end
    return list
  end
  local page = { magic = raw(8) }
  page.meta, page.names, page.texts = raw(int()), texts(), texts()
  local n = int()
  page.file, page.module, page.line = column(n, int), column(n, int), column(n, signed)
  page.foreign = raw(n)
  n = int()
  page.up, page.fn = column(n - 1, int), column(n - 1, int)
  page.views = {}
  for i = 1, int() do
    local view = { keys = column(int(), int), sets = {} }
    n = int()
    for k = 1, #view.keys do view.sets[k] = column(n, int) end
    n = int()
    view.node, view.set, view.values = column(n, int), column(n, int), {}
    for t = 1, int() do view.values[t] = column(n, signed) end
    page.views[i] = view
  end
  page.timeline = int() == 1 and { quantum = int(), threads = {} } or nil
  for i = 1, page.timeline and int() or 0 do
    local thread = { name = page.texts[int() + 1], process = int(), id = int() }
    n = int()
    thread.start, thread.duration, thread.node = column(n, signed), column(n, int),
      column(n, signed)
    page.timeline.threads[i] = thread
  end
  assert(at == #bytes + 1, "bytes are left")
  return page
end

-- The rows of a view as "a;b;c value" lines.
local function stacks_of(page, view, kind)
  local paths, path = { [0] = "" }, {}
  for i, up in ipairs(page.up) do
    for _ = 1, up do path[#path] = nil end
    path[#path + 1] = page.names[page.fn[i] + 1]
    paths[i] = table.concat(path, ";")
  end
  local lines, node = {}, 0
  for i, step in ipairs(view.node) do
    node = node + step
    lines[i] = paths[node] .. " " .. view.values[kind or 1][i]
  end
  table.sort(lines)
  return lines
end

local function profile_of(rows)
  local p <const> = sonde.profile { types = { { "samples", "count" } } }
  for _, row in ipairs(rows) do
    local stack = {}
    for name in row[1]:gmatch "[^;]+" do table.insert(stack, 1, name) end
    p:add(stack, { row[2] }, row[3])
  end
  return p
end

describe("the layout of a page's data", function()
  it("holds every stack with its value", function()
    local p <const> = profile_of { { "a;b;c", 3 }, { "a;b", 2 }, { "a;d", 1 }, { "a;b;c", 4 },
      { "", 5 }, { "a;b;e", math.maxinteger }, { "z", math.mininteger } }
    local page <const> = read_layout(layout_of(core.pack_new():profile(p):finish "{}"))
    assert.equal("SONDEPG1", page.magic)
    assert.equal("{}", page.meta)
    assert.same({ " 5", "a;b 2", "a;b;c 7", "a;b;e 9223372036854775807", "a;d 1",
      "z -9223372036854775808" }, stacks_of(page, page.views[1]))
  end)

  it("shares names and calls between views", function()
    local a <const> = profile_of { { "a;b", 1 }, { "a;c", 2 } }
    local b <const> = profile_of { { "a;c", 3 }, { "x;a", 4 } }
    local page <const> = read_layout(layout_of(core.pack_new():profile(a):profile(b):finish ""))
    assert.same({ "", "a", "b", "c", "x" }, page.names)
    assert.equal(5, #page.fn)
    assert.same({ "a;b 1", "a;c 2" }, stacks_of(page, page.views[1]))
    assert.same({ "a;c 3", "x;a 4" }, stacks_of(page, page.views[2]))
  end)

  it("keeps the labels that were asked for, and joins the rest", function()
    local p <const> = profile_of { { "a", 1, { thread = "x", n = 1 } },
      { "a", 2, { thread = "x", n = 2 } }, { "a", 4, { thread = "y" } }, { "a", 8 } }
    local page <const> = read_layout(layout_of(core.pack_new():profile(p, { "thread" })
      :finish ""))
    local view <const> = page.views[1]
    assert.equal("thread", page.texts[view.keys[1] + 1])
    local sums = {}
    for i, set in ipairs(view.set) do
      sums[page.texts[view.sets[1][set + 1] + 1]] = view.values[1][i]
    end
    assert.same({ x = 3, y = 4, [""] = 8 }, sums)
  end)

  it("merges functions whose frames differ only by place", function()
    local p <const> = sonde.profile { types = { { "n", "count" } } }
    p:add({ { name = "f", line = 1, module = "/lib/m.so" }, { name = "g" } }, 1)
    p:add({ { name = "f", line = 2, module = "/lib/m.so" }, { name = "g" } }, 2)
    local page <const> = read_layout(layout_of(core.pack_new():profile(p):finish ""))
    assert.same({ "g;f 3" }, stacks_of(page, page.views[1]))
  end)

  it("holds a timeline with neighbours joined", function()
    local p <const> = sonde.profile { types = { { "n", "count" } } }
    local timeline <const> = core.timeline_new(p)
    local main <const> = timeline:thread { name = "main", id = 7 }
    timeline:add(main, 100, 10, { "b", "a" })
    timeline:add(main, 110, 10, { "b", "a" })
    timeline:add(main, 130, 5, { "b", "a" })
    timeline:add(main, 135, 5, { "a" })
    local page <const> = read_layout(layout_of(core.pack_new():timeline(timeline, 100)
      :finish ""))
    local thread <const> = page.timeline.threads[1]
    assert.equal("main", thread.name)
    assert.equal(7, thread.id)
    assert.equal(0, page.timeline.quantum)
    assert.same({ 0, 10, 0 }, thread.start)
    assert.same({ 20, 5, 5 }, thread.duration)
    assert.same({ 2, 0, -1 }, thread.node)
  end)

  it("joins what nobody could see in a long timeline, and says so", function()
    local p <const> = sonde.profile { types = { { "n", "count" } } }
    local timeline <const> = core.timeline_new(p)
    local main <const> = timeline:thread {}
    local a <const>, b <const> = { "a" }, { "b" }
    for i = 1, 300000 do timeline:add(main, i * 10, 10, i % 2 == 0 and a or b) end
    local page <const> = read_layout(layout_of(core.pack_new():timeline(timeline):finish ""))
    local rows <const> = page.timeline.threads[1].duration
    assert.is_true(page.timeline.quantum > 0)
    assert.is_true(#rows <= 1 << 18)
    local sum = 0
    for _, duration in ipairs(rows) do sum = sum + duration end
    assert.equal(3000000, sum)
  end)

  it("stays within its limit", function()
    local rows = {}
    for i = 1, 2000 do rows[i] = { ("f%d;g%d"):format(i, i), 1 } end
    local pack <const> = core.pack_new { limit = 20000 }
    local done, message, code = pack:profile(profile_of(rows))
    assert.is_nil(done)
    assert.matches("memory", message)
    assert.equal("limit", code)
  end)

  it("is refused where it is used wrongly", function()
    local pack <const> = core.pack_new()
    assert.has_error(function() pack:profile({}) end)
    assert.has_error(function() pack:timeline({}) end)
    assert.has_error(function() pack:set_foreign "too long for no function" end)
    pack:close()
    assert.has_error(function() pack:finish "" end)
    assert.equal("pack (closed)", tostring(pack))
  end)
end)

describe("the HTML page", function()
  local shop <const> = profile_of { { "Shop.Main;System.Text.Json.Write", 3 }, { "Shop.Main", 1 } }

  it("is one file without a mark left and without an address to load", function()
    local page <const> = assert(shop:render "html")
    assert.matches("^<!doctype html>", page)
    assert.is_nil(page:find("{{%w+}}"))
    assert.is_nil(page:find("src=[\"']"))
    assert.is_nil(page:find("href=\"http"))
    assert.matches("default%-src 'none'", page)
  end)

  it("shows the top table without scripts", function()
    local page <const> = assert(shop:render "html")
    local static <const> = page:match "<main.-</main>"
    assert.matches("System%.Text%.Json%.Write", static)
    assert.matches("75%.00%%", static)
  end)

  it("knows own code from a framework's", function()
    local page <const> = read_layout(layout_of(assert(shop:render "html")))
    local foreign = {}
    for i, name in ipairs(page.names) do foreign[name] = page.foreign:byte(i) end
    assert.same({ [""] = 0, ["Shop.Main"] = 0, ["System.Text.Json.Write"] = 1 }, foreign)
  end)

  it("escapes what comes from outside", function()
    local evil <const> = "</script><script>alert(1)</script>\0\xff"
    local p <const> = sonde.profile { types = { { evil, "count" } } }
    p:add({ evil }, 1)
    local page <const> = assert(p:render("html", { title = evil }))
    local _, scripts = page:gsub("<script", "")
    assert.equal(2, scripts)
    assert.is_nil(page:find("\0", 1, true))
    assert.is_truthy(utf8.len(page))
  end)

  it("is not written when there is no sample", function()
    local page, message, code = profile_of {}:render "html"
    assert.same({ nil, "no samples", "no_samples" }, { page, message, code })
  end)

  it("shows both sides of a difference", function()
    local after <const> = profile_of { { "Shop.Main", 5 }, { "Shop.New", 2 } }
    local diff <const> = assert(sonde.diff(shop, after))
    local page <const> = assert(diff:render("html", { scale = "total" }))
    assert.matches("Largest changes", page)
    assert.matches("<td>Shop%.New</td>", page)
    local layout <const> = read_layout(layout_of(page))
    assert.equal(2, #layout.views)
    assert.matches('"scale":"total"', layout.meta)
  end)

  it("is chosen by its extension and by its name", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/page.html"
      assert(shop:write(path))
      assert.matches("^<!doctype html>", helper.read(path))
    end)
  end)

  it("offers labels that tell samples apart, and none twice", function()
    local p <const> = profile_of {
      { "a", 1, { thread = "x", thread_id = 1, kind = "k" } },
      { "a", 1, { thread = "y", thread_id = 2, kind = "k" } },
    }
    local page <const> = read_layout(layout_of(assert(p:render "html")))
    local keys = {}
    for i, id in ipairs(page.views[1].keys) do keys[i] = page.texts[id + 1] end
    assert.same({ "thread", "kind" }, keys)
  end)

  it("says findings with a button that shows them", function()
    local pieces = {}
    assert(html.page({
      title = "t", profiles = { { name = "wall", profile = shop } },
      findings = { { severity = "high", title = "<b>", detail = "d", figure = { text = "1%" },
        certainty = "likely", command = "sonde top 'x'", view = "wall", focus = "A.B(" } },
    }, { write = function(_, text) pieces[#pieces + 1] = text return true end }))
    local page <const> = table.concat(pieces)
    assert.matches("<h3>&lt;b&gt;</h3>", page)
    assert.matches("data%-show=\"[^\"]*A\\\\%.B\\\\%(", (page:gsub("&quot;", "'")))
  end)

  it("of a trace shows its views, its order of samples, its facts", function()
    local trace <const> = assert(sonde.open(helper.data "demo.nettrace",
      { timeline = true }))
    local page <const> = trace:page()
    assert.equal("wall", page.profiles[1].name)
    assert.is_truthy(page.timeline)
    assert.is_true(#page.facts > 4)
    trace:close()
  end)
end)

describe("many pauses of the collector", function()
  local made <const> = require "spec.support.made_trace"
  local page <const> = require "sonde.dotnet.page"
  local function marks(n)
    local events = {}
    for i = 1, n do
      local at <const> = i * 1000
      events[#events + 1] = { at, made.suspend(i) }
      events[#events + 1] = { at + 10, made.gc_start(i, 2, 1) }
      events[#events + 1] = { at + 90, made.gc_end(i, 2) }
      events[#events + 1] = { at + 100, made.restarted() }
    end
    local trace <close> = assert(sonde.open { bytes = made.trace(events), name = "made" })
    return page.of(trace).tracks[1].rows
  end

  it("are one mark each while they can be told apart", function()
    local rows <const> = marks(3)
    assert.same({ 2000, 100, "generation 2, blocking, induced" }, rows[2])
    assert.equal(3, #rows)
  end)

  it("are joined without losing time", function()
    local rows <const> = marks(12000)
    assert(#rows <= 5001)
    local time, n = 0, 0
    for _, row in ipairs(rows) do
      time, n = time + row[2], n + tonumber(row[3]:match "^(%d+) pause")
    end
    assert.same({ 1200000, 12000 }, { time, n })
  end)
end)

describe("the scripts of the page", function()
  it("are one script whose names are each there once", function()
    local script <const> = assets.script "app.js"
    assert.is_nil(script:find("\nimport ", 1, true))
    assert.is_nil(script:find("\nexport ", 1, true))
    assert.is_nil(script:find("</script", 1, true))
    local seen = {}
    for kind, name in script:gmatch "\n(%l+) ([%w_]+)" do
      if kind == "const" or kind == "let" or kind == "class" or kind == "function" then
        assert.is_nil(seen[name], name)
        seen[name] = true
      end
    end
  end)

  it("all belong to it", function()
    local script <const> = assets.script "app.js"
    for _, path in ipairs(helper.lines((helper.run "ls lua/sonde/report/html/*.js"))) do
      local name <const> = path:match "[^/]*$"
      assert.is_truthy(script:find("// " .. name .. "\n", 1, true), name)
    end
  end)
end)
