-- The profile: building, graph, call tree, merge.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.profiles"

local fold <const>, unfold <const> = profiles.fold, profiles.unfold
local nodes <const>, edges <const> = profiles.nodes, profiles.edges

local function two_types()
  return core.profile_new { types = { { "samples", "count" }, { "cpu", "nanoseconds" } } }
end

describe("a profile", function()
  it("keeps what was added, in order", function()
    local p <const> = two_types()
    p:add({ "c", "main" }, { 1, 10 }, { route = "/a", bytes = { value = 512, unit = "bytes" } })
    p:add({}, { 2, 20 })
    p:add({ "main" }, { 3, 30 }, { id = { 7, 8 } })
    local rows = {}
    for stack, values, labels in p:samples() do rows[#rows + 1] = { stack, values, labels } end
    assert.same({ { 2, 1 }, { 1, 10 }, { route = { "/a" }, bytes = { 512 } } }, rows[1])
    assert.same({ {}, { 2, 20 } }, rows[2])
    assert.same({ { 1 }, { 3, 30 }, { id = { 7, 8 } } }, rows[3])
    assert.equal(3, #p)
    assert.equal(6, p:total(1))
    assert.equal(60, p:total("cpu"))
    assert.equal(60, p:total())
    assert.same({ { type = "samples", unit = "count" }, { type = "cpu", unit = "nanoseconds" } },
                p:types())
  end)

  it("has columns over its frames", function()
    local p <const> = fold(core, "main 1")
    p:add({ { name = "f", system_name = "_f", file = "f.c", line = 7, module = "/lib/m.so",
              address = -2 }, { address = 16, module = "/lib/m.so" } }, 1)
    local f <const> = p:frames()
    assert.equal(3, f.n)
    assert.same({ "main", "", "f" }, f.name)
    assert.same({ "", "", "_f" }, f.system_name)
    assert.same({ "", "", "f.c" }, f.file)
    assert.same({ 0, 0, 7 }, f.line)
    assert.same({ "", "/lib/m.so", "/lib/m.so" }, f.module)
    assert.same({ 0, 16, -2 }, f.address)
    assert.same({ 1, 2, 3 }, f.location)
  end)

  it("keeps 64 bits", function()
    local p <const> = fold(core, "a 9007199254740993\nb -9223372036854775808")
    local values = {}
    for _, value in p:samples() do values[#values + 1] = value[1] end
    assert.same({ 9007199254740993, math.mininteger }, values)
    assert.equal("integer", math.type(values[1]))
  end)

  it("stops sums at the end of the range and says so", function()
    local p <const> = fold(core, "a;b 9223372036854775807\nc;b 9223372036854775807\nd 1")
    local g <const> = p:graph {}
    assert.equal(math.maxinteger .. " " .. math.maxinteger, nodes(g).b)
    assert.equal("1 1", nodes(g).d)
    assert.is_true(g.saturated)
    assert.equal(math.maxinteger, p:total())
    assert.is_nil(fold(core, "a 1"):graph({}).saturated)
  end)

  it("has a header", function()
    local p <const> = two_types()
    local set <const> = { time_ns = 5, duration_ns = 6, period = 7, period_type = { "cpu", "ns" },
                          comments = { "one", "two" }, doc_url = "http://x", drop_frames = "d.*",
                          keep_frames = "k" }
    assert.equal(p, p:set_info(set))
    local info <const> = p:info()
    for key, value in pairs(set) do
      if key ~= "period_type" then assert.same(value, info[key]) end
    end
    assert.same({ type = "cpu", unit = "ns" }, info.period_type)
    assert.equal(2, info.default_type)
    p:set_info { default_type = "samples" }
    assert.equal(1, p:info().default_type)
    assert.equal(1, core.profile_new({ types = { { "a", "x" }, { "b", "x" } },
                                       default = "a" }):info().default_type)
  end)

  it("prints as one line", function()
    assert.equal("profile: 2 samples, 2 functions, samples 12 count",
                 tostring(fold(core, "a 5\na;b 7")))
  end)

  it("raises for wrong use", function()
    local p <const> = fold(core, "a 1")
    local function raises(text, call, ...)
      local ok <const>, message <const> = pcall(call, ...)
      assert.is_false(ok)
      assert.truthy(message:find(text, 1, true), message)
    end
    raises("unknown option 'tpe'", p.graph, p, { tpe = 1 })
    raises("option 'by' cannot be 'x'", p.graph, p, { by = "x" })
    raises("no sample type 'x'", p.graph, p, { type = "x" })
    raises("no sample type '2'", p.total, p, 2)
    raises("must have 1 bytes, has 2", p.filter, p, { focus = "\1\1" })
    raises("as many values as sample types", p.add, p, { "a" }, { 1, 2 })
    raises("values must be integers", p.add, p, { "a" }, { 1.5 })
    raises("a frame is a name or a table", p.add, p, { 1 }, 1)
    raises("must be a string", p.add, p, { { name = 1 } }, 1)
    raises("was not made by profile_new", function()
      local filtered <const> = p:filter { focus = "\1" }
      return filtered:add({ "a" }, 1)
    end)
    raises("option 'types' must be a list", core.profile_new, {})
    p:close()
    raises("closed profile", p.graph, p)
    raises("closed profile", core.merge, { { p } })
    assert.equal("profile (closed)", tostring(p))
    p:close()
  end)

  it("leaves memory at its limit, with a code", function()
    local p <const> = assert(core.profile_new { types = { { "a", "b" } }, limit = 20000 })
    local added, message, code = true, nil, nil
    for i = 1, 2000 do
      added, message, code = p:add({ "function " .. i }, 1)
      if not added then break end
    end
    assert.is_nil(added)
    assert.equal("limit", code)
    assert.is_string(message)
    assert.is_true(#p > 10)
    assert.equal(#p, p:total())
  end)
end)

describe("the graph", function()
  -- 20 in a stack that recurses, 10 in its outer part.
  local recursive <const> = "main;a;b;a;b 20\nmain;a 10"

  it("counts a recursive function once in cum, and its edges", function()
    local g <const> = fold(core, recursive):graph { edges = true }
    assert.same({ main = "0 30", a = "10 30", b = "20 20" }, nodes(g))
    assert.same({ ["main>a"] = 30, ["a>b"] = 20, ["b>a"] = 20 }, edges(g))
    assert.equal(30, g.total)
    assert.equal(30, g.sum)
  end)

  it("has no edge from a function to itself", function()
    local g <const> = fold(core, "main;f;f;f 7"):graph { edges = true }
    assert.same({ main = "0 7", f = "7 7" }, nodes(g))
    assert.same({ ["main>f"] = 7 }, edges(g))
  end)

  it("counts magnitudes and samples without frames in the total", function()
    local p <const> = fold(core, "a 10\nb -4")
    p:add({}, 6)
    local g <const> = p:graph {}
    assert.equal(20, g.total)
    assert.equal(12, g.sum)
    assert.same({ a = "10 10", b = "-4 -4" }, nodes(g))
  end)

  it("leaves out nodes without value", function()
    local g <const> = fold(core, "a 3\na;b 0\nc;d 5\nc;d -5"):graph { edges = true }
    assert.same({ a = "3 3" }, nodes(g))
    assert.same({}, edges(g))
  end)

  it("knows several identities of a frame", function()
    local p <const> = core.profile_new { types = { { "n", "count" } } }
    local function frame(name, file, line, address, module)
      return { name = name, file = file, line = line, address = address, module = module }
    end
    p:add({ frame("f", "./x//f.c", 3, 16, "/lib/a.so") }, 1)
    p:add({ frame("f", "x/y/../f.c", 4, 32, "/lib/a.so") }, 2)
    p:add({ frame("f", "g.c", 3, 48, "/lib/b.so") }, 4)
    p:add({ { address = 64, module = "/lib/b.so" } }, 8)
    p:add({ { address = 80 } }, 16)
    local function by(what) return nodes(p:graph { by = what }) end
    assert.same({ f = "7 7", ["[b.so]"] = "8 8", ["<unknown>"] = "16 16" }, by "function")
    assert.same({ ["f x/f.c"] = "3 3", ["f g.c"] = "4 4", ["[b.so]"] = "8 8",
                  ["<unknown>"] = "16 16" }, by "filefunction")
    assert.same({ ["x/f.c"] = "3 3", ["g.c"] = "4 4", ["[b.so]"] = "8 8",
                  ["<unknown>"] = "16 16" }, by "file")
    assert.same({ ["f x/f.c:3"] = "1 1", ["f x/f.c:4"] = "2 2", ["f g.c:3"] = "4 4",
                  ["[b.so]"] = "8 8", ["<unknown>"] = "16 16" }, by "line")
    assert.same({ ["[a.so]"] = "3 3", ["[b.so]"] = "12 12", ["<unknown>"] = "16 16" },
                by "module")
    local addresses <const> = by "address"
    assert.equal("1 1", addresses["0000000000000010 f x/f.c:3"])
    assert.equal("8 8", addresses["0000000000000040 [b.so]"])
    assert.equal("16 16", addresses["0000000000000050 <unknown>"])
  end)

  it("bridges frames that are not kept with residual edges", function()
    local p <const> = fold(core, "main;a;b;c 5\nmain;a 1")
    local g <const> = p:graph { edges = true,
      keep = profiles.mask(p, function(name) return name == "main" or name == "c" end) }
    assert.same({ main = "0 6", c = "5 5" }, nodes(g))
    assert.same({ ["main>c"] = 5 }, edges(g))
    assert.is_true(g.edges[1].residual)
  end)

  it("says which node a frame is", function()
    local p <const> = fold(core, "main;f 1\ng 0")
    local g <const> = p:graph { node_of = true }
    local f <const> = p:frames()
    for i = 1, f.n do
      local node <const> = g.node_of[i]
      assert.equal(f.name[i] == "g" and 0 or i, node)
      if node ~= 0 then assert.equal(f.name[i], g.nodes[node].name) end
    end
    for _, node in ipairs(g.nodes) do assert.equal(node.name, f.name[node.frame]) end
  end)

  it("divides by the first type for means", function()
    local p <const> = two_types()
    p:add({ "f" }, { 2, 11 })
    p:add({ "f" }, { 1, 1 })
    p:add({ "g", "f" }, { 1, 100 })
    local g <const> = p:graph { mean = true }
    assert.same({ f = "4 28", g = "100 100" }, nodes(g))
    assert.equal(28, g.total)
  end)

  it("takes 100 % from the base of a difference", function()
    local function total(is_base)
      local g <const> = core.merge({ { fold(core, "f 33") },
                                     { fold(core, "f 99"), -1, base = is_base } }):graph {}
      assert.same({ f = "-66 -66" }, nodes(g))
      return g.total
    end
    assert.equal(99, total(true))
    assert.equal(66, total(false))
  end)

  it("totals the values of a label", function()
    local p <const> = fold(core, "a 1")
    p:add({ "a" }, 2, { k = "x", n = { value = 5, unit = "bytes" } })
    p:add({ "b" }, 4, { k = { "x", "y", "x" } })
    local g <const> = p:graph { by = "label:k" }
    assert.same({ x = "6 6", y = "4 4" }, nodes(g))
    assert.equal(1, g.missing)
    assert.equal(7, g.total)
    local n <const> = p:graph { by = "label:n" }
    assert.same({ { name = "5", num = 5, unit = "bytes", flat = 2, cum = 2 } }, n.nodes)
    assert.same({}, p:graph({ by = "label:other" }).nodes)
  end)
end)

describe("the call tree", function()
  local function rows(t)
    local lines = {}
    for i = 1, t.n do
      lines[i] = ("%s%s %d %d"):format((" "):rep(t.depth[i] - 1), t.name[i], t.self[i], t.total[i])
    end
    return lines
  end

  local text <const> = "main;a;b 20\nmain;c 30\nmain;a 3\nx 30\nmain;a;b 5"

  it("is in preorder, the heaviest first, then by name", function()
    local t <const> = fold(core, text):calltree {}
    assert.same({ "main 0 58", " c 30 30", " a 3 28", "  b 25 25", "x 30 30" }, rows(t))
    assert.equal(88, t.sum)
    local even <const> = fold(core, "b 1\nc 1\na 1\nab 1"):calltree {}
    assert.same({ "a", "ab", "b", "c" }, even.name)
  end)

  it("can start at the innermost frame", function()
    local t <const> = fold(core, text):calltree { inverted = true }
    assert.same({ "c 0 30", " main 30 30", "x 30 30", "b 0 25", " a 0 25", "  main 25 25",
                  "a 0 3", " main 3 3" }, rows(t))
  end)

  it("sums what it leaves out", function()
    local t <const> = fold(core, text):calltree { min = 26 }
    assert.same({ "main 0 58", " c 30 30", " a 3 28", "x 30 30" }, rows(t))
    assert.equal(25, t.pruned)
    local none <const> = fold(core, text):calltree { min = 1000 }
    assert.equal(0, none.n)
    assert.equal(88, none.pruned)
  end)

  it("tells of samples without frames", function()
    local p <const> = fold(core, "a 1")
    p:add({}, 5)
    local t <const> = p:calltree {}
    assert.same({ "a 1 1" }, rows(t))
    assert.equal(5, t.bare)
    assert.equal(6, t.sum)
  end)

  it("keeps recursion as depth", function()
    local t <const> = fold(core, "f;f;f 3\nf;f 2\nf 1"):calltree {}
    assert.same({ "f 1 6", " f 2 5", "  f 3 3" }, rows(t))
  end)

  it("has a second column", function()
    local p <const> = two_types()
    p:add({ "b", "a" }, { 1, 10 })
    p:add({ "a" }, { 2, 0 })
    local t <const> = p:calltree { type = 1, also = 2 }
    assert.same({ 3, 1 }, t.total)
    assert.same({ 10, 10 }, t.total2)
    assert.same({ 0, 10 }, t.self2)
    assert.equal(10, t.sum2)
  end)

  it("adds up on random stacks", function()
    math.randomseed(4)
    local p <const> = core.profile_new { types = { { "n", "count" } } }
    local total = 0
    for _ = 1, 300 do
      local stack = {}
      for k = 1, math.random(0, 8) do stack[k] = string.char(96 + math.random(4)) end
      local value <const> = math.random(0, 9)
      total = total + value
      p:add(stack, value)
    end
    for _, options in ipairs { {}, { inverted = true }, { min = 20 } } do
      local t <const> = p:calltree(options)
      local self = t.pruned + t.bare
      local open = {}
      for i = 1, t.n do
        self = self + t.self[i]
        local depth <const> = t.depth[i]
        if depth > 1 then
          local parent <const> = open[depth - 1]
          assert.is_true(t.total[i] <= t.total[parent])
        end
        open[depth] = i
      end
      assert.equal(total, self)
      assert.equal(total, t.sum)
    end
  end)
end)

describe("merge", function()
  it("sums equal stacks and keeps others", function()
    local m <const> = core.merge { { fold(core, "a;b 1\nc 2") }, { fold(core, "c 3\na;b 4\nd 5") } }
    assert.same({ "a;b 5", "c 5", "d 5" }, unfold(m))
  end)

  it("subtracts, and leaves out what becomes zero", function()
    local m <const> = core.merge { { fold(core, "a 5\nb 7\nc 1") },
                                   { fold(core, "a 2\nb 7\nd 3"), -1 } }
    assert.same({ "a 3", "c 1", "d -3" }, unfold(m))
  end)

  it("scales exactly by integers and rounds for others", function()
    local big <const> = fold(core, "a 9007199254740993")
    assert.same({ "a 27021597764222979" }, unfold(core.merge { { big, 3 } }))
    local halves <const> = fold(core, "a 3\nb -3\nc 5")
    assert.same({ "a 2", "b -2", "c 3" }, unfold(core.merge { { halves, 0.5 } }))
  end)

  it("stops at the end of the range with a warning", function()
    local m <const> = core.merge { { fold(core, "a 9223372036854775807") }, { fold(core, "a 1") } }
    assert.same({ "a 9223372036854775807" }, unfold(m))
    assert.same({ "sums do not fit 64 bits and were cut there" }, m:info().warnings)
    local low <const> = core.merge { { fold(core, "a -9223372036854775808"), -1 } }
    assert.same({ "a 9223372036854775807" }, unfold(low))
  end)

  it("keeps labels apart, whatever their order", function()
    local p <const> = fold(core, "a 1")
    p:add({ "a" }, 2, { x = "1", y = "2" })
    local q <const> = fold(core, "a 4")
    q:add({ "a" }, 8, { y = "2", x = "1" })
    assert.same({ "a 5", "a 10" }, unfold(core.merge { { p }, { q } }))
  end)

  it("combines headers", function()
    local p <const>, q <const> = fold(core, "a 1"), fold(core, "b 1")
    p:set_info { time_ns = 50, duration_ns = 3, period = 10, comments = { "x", "y" } }
    q:set_info { time_ns = 40, duration_ns = 4, period = 20, comments = { "y", "z" },
                 doc_url = "u" }
    local info <const> = core.merge({ { p }, { q } }):info()
    assert.equal(40, info.time_ns)
    assert.equal(7, info.duration_ns)
    assert.equal(20, info.period)
    assert.same({ "x", "y", "z" }, info.comments)
    assert.equal("u", info.doc_url)
  end)

  it("refuses other sample types and names both lists", function()
    local q <const> = two_types()
    q:add({ "a" }, { 1, 2 })
    local m <const>, message <const>, code <const> = core.merge { { fold(core, "a 1") }, { q } }
    assert.is_nil(m)
    assert.equal("sample types differ: (samples/count) and (samples/count, cpu/nanoseconds)",
                 message)
    assert.equal("malformed", code)
  end)

  it("takes chosen columns with factors for their units", function()
    local function open(name)
      return assert(core.pprof_decode(helper.read(
        helper.data("cases/17-pprof-merge-different-types/" .. name .. ".pb.gz"))))
    end
    local m <const> = assert(core.merge({
      { open "go", columns = { "alloc_space", "inuse_space" } },
      { open "reordered", columns = { "alloc_space", "inuse_space" }, factors = { 1, 1024 } },
    }, { units = { "bytes", "bytes" } }))
    assert.same({ { type = "alloc_space", unit = "bytes" },
                  { type = "inuse_space", unit = "bytes" } }, m:types())
    assert.equal(1000, m:total "alloc_space")
    assert.equal(2348, m:total "inuse_space")
    assert.equal(1048576, m:info().period)
    local _, message <const> = core.merge { { open "go" }, { open "cpp" } }
    assert.truthy(message:find("(alloc_objects/count, alloc_space/bytes, inuse_objects/count, "
                               .. "inuse_space/bytes) and (objects/count, space/bytes)", 1, true))
  end)
end)
