-- pprof, dot and JSON of a profile.
local core <const> = require "sonde.c.core"
local dkjson <const> = require "dkjson"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.made_profiles"

describe("the export pprof", function()
  it("is read back with the same numbers", function()
    local back <const> = assert(core.pprof_decode(assert(profiles.program():render("pprof"))))
    assert.same({ 66, 660000000 }, { back:total("samples"), back:total("cpu") })
    assert.equal(profiles.program():render("folded"), back:render("folded"))
  end)

  it("is compressed, or not, as the name says", function()
    helper.in_directory(function(directory)
      local program <const> = profiles.program()
      for name, magic in pairs { ["a.pb.gz"] = "\x1f\x8b", ["a.pprof"] = "\x1f\x8b" } do
        assert(program:write(directory .. "/" .. name))
        assert.equal(magic, helper.read(directory .. "/" .. name):sub(1, 2))
      end
      assert(program:write(directory .. "/a.pb"))
      assert.not_equal("\x1f\x8b", helper.read(directory .. "/a.pb"):sub(1, 2))
    end)
  end)

  it("gives go tool pprof the same table", function()
    helper.needs("go")
    helper.in_directory(function(directory)
      local program <const> = profiles.program()
      assert(program:write(directory .. "/a.pb.gz"))
      local text <const> = helper.run("go tool pprof -symbolize=none -top -nodefraction=0 "
        .. directory .. "/a.pb.gz 2>/dev/null")
      local _, at = text:find("cum%%\n")
      local _, ours = tostring(program:top { n = 0 }):find("cum%%\n")
      assert.equal(text:sub(at + 1), tostring(program:top { n = 0 }):sub(ours + 1))
    end)
  end)
end)

-- The attributes of a list `name=value name="value" …`.
local function read_attributes(list)
  local found, rest = {}, list
  while rest ~= "" do
    local name, after = rest:match("^ ?(%a+)=()")
    assert(name, "bad attribute: " .. rest)
    rest = rest:sub(after)
    local stop = 2
    if rest:sub(1, 1) == '"' then
      while rest:sub(stop, stop) ~= '"' do
        stop = stop + (rest:sub(stop, stop) == "\\" and 2 or 1)
        assert(stop <= #rest, "string without an end")
      end
      found[name] = rest:sub(2, stop - 1)
    else
      stop = #assert(rest:match("^[%w.]+"), "bad value: " .. rest)
      found[name] = rest:sub(1, stop)
    end
    rest = rest:sub(stop + 1)
  end
  return found
end

-- Reads the statements of a dot file as far as our writer uses the language,
-- and refuses anything else. Returns nodes and edges with their attributes.
local function read_dot(text)
  local nodes, edges, nodelets = {}, {}, 0
  for line in text:gmatch("[^\n]+") do
    local from, to, list = line:match("^N(%d+) %-> N(%d+) %[(.*)%]$")
    local node, own = line:match("^N(%d+) %[(.*)%]$")
    local nodelet = line:match("^N+%d+_[%d_]+ %[label = \".*\" id=.*%]$")
      or line:match("^N+[%d_]+ %-> N+%d+_[%d_]+ %[label=.*%]$")
    if nodelet then
      nodelets = nodelets + 1
    elseif from then
      edges[from .. ">" .. to] = read_attributes(list)
    elseif node then
      nodes[tonumber(node)] = read_attributes(own)
    else
      assert(line:find("^digraph \".*\" {$") or line == "}" or line:find("^node %[")
        or line:find("^subgraph cluster_L { .* }$"), line)
    end
  end
  return nodes, edges, nodelets
end

describe("the export dot", function()
  it("has a node for each function and an edge for each call", function()
    local nodes, edges, nodelets = read_dot(profiles.program():render("dot"))
    assert.equal(10, nodelets)
    assert.equal(7, #nodes)
    local by_name = {}
    for i, node in ipairs(nodes) do by_name[node.tooltip:match("^%S+")] = i end
    assert.equal("Json\\nskip\\n300ms (45.45%)", nodes[by_name["Json.skip"]].label)
    assert.equal("24", nodes[by_name["Json.skip"]].fontsize)
    assert.equal("main\\n0 of 650ms (98.48%)", nodes[by_name.main].label)
    assert.equal(" 600ms", edges[by_name.main .. ">" .. by_name["Json.parse"]].label)
    assert.is_nil(edges[by_name.rec .. ">" .. by_name.rec])
  end)

  it("keeps paths over functions that are left out", function()
    local _, edges = read_dot(profiles.of("a;tiny;b 1\na;b 1000"):render("dot"))
    local found
    for _, edge in pairs(edges) do found = edge end
    assert.equal("dotted", found.style or "solid")
    local text <const> = profiles.of("a;tiny;b 1000"):render("dot", { n = 1 })
    assert.matches("Showing top 1 nodes out of 3", text)
  end)

  it("escapes what names, labels and comments hold", function()
    local quotes <const> = profiles.case("21-pprof-quotes-and-newlines/quotes.pb.gz")
    read_dot(quotes:render("dot"))
    assert.matches('label="unterminated \\"double quote\\l', quotes:render("dot"), 1, true)
    read_dot(profiles.case("29-svg-illegal-characters/in.folded"):render("dot"))
  end)

  it("is accepted by Graphviz", function()
    helper.needs("dot")
    helper.in_directory(function(directory)
      local path <const> = directory .. "/a.dot"
      for _, name in ipairs { "21-pprof-quotes-and-newlines/quotes.pb.gz",
        "29-svg-illegal-characters/in.folded", "14-pprof-negative-heap-delta/delta.pb.gz" } do
        assert(profiles.case(name):write(path))
        local _, status, errors = helper.run("dot -Tsvg -o /dev/null " .. path)
        assert.equal(0, status, errors)
      end
    end)
  end)

  it("shows what went away in green", function()
    local delta <const> = profiles.case("14-pprof-negative-heap-delta/delta.pb.gz")
    local nodes <const> = read_dot(delta:render("dot", { type = "inuse_space" }))
    for _, node in ipairs(nodes) do
      local red, green = node.color:match("^#(%x%x)(%x%x)")
      assert.equal(node.label:find("%-") ~= nil, green > red)
    end
  end)
end)

describe("the export json", function()
  it("holds the whole profile", function()
    local program <const> = profiles.program():set_view("wall")
    local file <const> = dkjson.decode(program:render("json"))
    assert.equal(1, file.schema)
    assert.equal("wall", file.view)
    assert.same({ { type = "samples", unit = "count" }, { type = "cpu", unit = "nanoseconds" } },
      file.types)
    assert.equal(2, file.default_type)
    assert.same({ 66, 660000000 }, file.totals)
    assert.equal(5, #file.samples)
    local first <const> = file.samples[1]
    assert.same({ 30, 300000000 }, first.values)
    assert.same({ thread = { "worker" } }, first.labels)
    assert.same({ name = "Json.skip", module = "json" }, file.frames[first.stack[1] + 1])
    assert.equal("main", file.frames[first.stack[3] + 1].name)
  end)

  it("keeps 64 bits and any name", function()
    local text <const> = profiles.of("a\xff 9223372036854775807"):render("json")
    assert.matches('"values":%[9223372036854775807%]', text)
    assert.truthy(utf8.len(text))
    assert(dkjson.decode(profiles.case("29-svg-illegal-characters/in.folded"):render("json")))
  end)
end)
