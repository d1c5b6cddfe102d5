-- pprof files: what is accepted, what is refused and why, what is written.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.profiles"

local function bytes_of(name)
  return assert(helper.read(helper.data(name)))
end

local function decode(name)
  return assert(core.pprof_decode(bytes_of(name)))
end

local function plain(name)
  return profiles.gunzip(helper.data(name))
end

describe("reading pprof", function()
  -- Verdicts of go tool pprof; the reasons and offsets are ours.
  local refused <const> = {
    ["pprof/badfn.pb"] = "location[8]: line[0].function_id = 77: no such function (at offset 317)",
    ["pprof/badloc.pb"] = "sample[7]: location_id[0] = 99: no such location (at offset 317)",
    ["pprof/badstr.pb"] =
      "sample[7]: label.key = 9999: string_table has 21 entries (at offset 317)",
    ["pprof/concat.pb"] = "a second string table begins at offset 797: were several profiles",
    ["pprof/dupfn.pb"] = "function[8]: id 1 was used before (at offset 317)",
    ["pprof/duploc.pb"] = "location[8]: id 1 was used before (at offset 317)",
    ["pprof/group.pb"] = "field 200 (?): groups are not supported (at offset 317)",
    ["pprof/loc0.pb"] = "location[8]: has the reserved id 0 (at offset 317)",
    ["pprof/nost.pb"] = "string_table is missing",
    ["pprof/notype.pb"] = "sample[0]: there are samples but no sample types (at offset 26)",
    ["pprof/nvals.pb"] = "sample[7]: has 1 values for 2 sample types (at offset 317)",
    ["pprof/st0.pb"] = 'string_table[0] must be empty, found "samples" (at offset 317)',
    ["pprof/trunc.pb"] = "string_table has 20 entries",
    ["pprof/wire.pb"] = "field 9 (time_nanos) has wire type 2, not 0 (at offset 317)",
    ["pprof/html.txt"] = "it looks like an HTML page",
    ["pprof/jsonl.txt"] = "it looks like JSON",
    ["pprof/g1.txt"] = "it looks like a goroutine profile in text form (debug=1)",
    ["cases/26-pprof-header-only/appended.pprof"] = "the file has 3 gzip members",
    ["cases/26-pprof-header-only/text-then-proto.pprof"] = "gzip data follow at offset 42",
  }

  local truncated <const> = {
    ["pprof/empty.pb"] = "file is empty (0 bytes)",
    ["pprof/truncgz.pb.gz"] = "gzip data end early at byte 291; 454 bytes could be unzipped",
    ["cases/26-pprof-header-only/ten-bytes.pprof"] =
      "gzip data end at byte 10 and there is no profile in it",
    ["cases/26-pprof-header-only/empty-member.pprof"] =
      "it unzips to 0 bytes and there is no profile in it",
  }

  for code, list in pairs { malformed = refused, truncated = truncated } do
    for name, reason in pairs(list) do
      it("refuses " .. name:match("[^/]+$"), function()
        local p <const>, message <const>, got <const> = core.pprof_decode(bytes_of(name))
        assert.is_nil(p)
        assert.truthy(message:find(reason, 1, true), message)
        assert.equal(code, got)
      end)
    end
  end

  it("accepts what is odd but legal", function()
    assert.equal(0, #decode "pprof/nosample.pb")
    assert.equal(180000000, decode("pprof/unknown.pb"):total())
    local empty_stack <const> = decode "pprof/nostack.pb"
    assert.equal(185000000, empty_stack:total())
    assert.equal(8, #empty_stack)
    local lost <const> = decode "pprof/badmap.pb"
    assert.equal(8, #lost)
    assert.same({ "1 locations name a mapping that is not there" }, lost:info().warnings)
  end)

  it("names what is not a gzip stream's own", function()
    local gz <const> = bytes_of "pprof/ok.pb.gz"
    local _, trailing <const> = core.pprof_decode(gz .. "garbage")
    assert.equal("7 bytes of other data after the gzip data, at byte " .. #gz, trailing)
    local wrong_sum <const> = gz:sub(1, -9) .. "\0\0\0\0" .. gz:sub(-4)
    local _, damaged <const>, code <const> = core.pprof_decode(wrong_sum)
    assert.truthy(damaged:find("gzip data are damaged near byte", 1, true), damaged)
    assert.truthy(damaged:find("incorrect data check", 1, true), damaged)
    assert.equal("malformed", code)
  end)

  it("reads several gzip members as one stream", function()
    helper.needs("gzip")
    local raw <const> = bytes_of "pprof/ok.pb"
    local name <const> = os.tmpname()
    local members = {}
    for i, part in ipairs { raw:sub(1, 100), raw:sub(101) } do
      helper.write(name, part)
      members[i] = helper.run("gzip -nc " .. name)
    end
    os.remove(name)
    local p <const> = assert(core.pprof_decode(table.concat(members)))
    assert.equal(180000000, p:total())
    assert.equal(7, #p)
    assert.is_nil((core.pprof_decode(members[1])))
  end)

  it("chooses the default sample type by name", function()
    local case <const> = "cases/15-pprof-default-sample-type/"
    local function default(name)
      local p <const> = decode(case .. name)
      return p:types()[p:info().default_type].type, p
    end
    assert.equal("alloc_space", (default "allocs.pb.gz"))
    assert.equal("cpu", (default "no-default.pb.gz"))
    local type <const>, p <const> = default "unknown-default.pb.gz"
    assert.equal("cpu", type)
    assert.truthy(p:info().warnings[1]:find('"not_a_type"', 1, true))
    assert.equal("not_a_type", p:info().default_type_name)
  end)

  it("keeps names as they are", function()
    local p <const> = decode "cases/23-pprof-odd-function-names/names.pb.gz"
    local nodes <const> = profiles.nodes(p:graph {})
    for name, flat in pairs {
      ["std::map<int, std::pair<char, void (*)()> >::at(int)"] = 8,
      [".ppc_entry"] = 7,
      ['pkg.Fill[go.shape.struct { A int "json:\\"a;b\\""; B []string }]'] = 6,
      ["operator()(int) const"] = 5,
      ["(anonymous namespace)::step(int)"] = 4,
      ["+(::Int, ::Int)"] = 3,
      ["(::Wheel)(n::Int)"] = 2,
    } do
      assert.equal(("%d %d"):format(flat, flat), nodes[name], name)
    end
  end)

  it("keeps negative values and samples without a stack", function()
    local delta <const> = decode "cases/14-pprof-negative-heap-delta/delta.pb.gz"
    local flat <const> = profiles.nodes(delta:graph { type = "inuse_space" })
    assert.equal("16384 16384", flat["cache.fill"])
    assert.equal("-36864 -36864", flat["cache.evict"])
    assert.equal(-20480, delta:total "inuse_space")
    local bare <const> = decode "cases/19-pprof-sample-without-stack/goroutine.pb.gz"
    assert.equal(43, bare:graph({}).total)
    assert.equal("40 40", profiles.nodes(bare:graph {})["net.Serve"])
    assert.equal(3, #assert(core.pprof_decode(bare:encode())))
  end)

  it("stays within its limit", function()
    for limit = 100, 20000, 500 do
      local p <const>, message <const>, code <const> =
        core.pprof_decode(bytes_of "pprof/g0.pb.gz", { limit = limit })
      if p == nil then
        assert.equal("limit", code)
        assert.is_string(message)
      else
        assert.equal(19, p:total())
      end
    end
    assert.is_nil((core.pprof_decode(bytes_of "pprof/g0.pb.gz", { limit = 5000 })))
  end)

  it("survives every cut and every changed byte", function()
    local raw <const> = bytes_of "pprof/labels.pb"
    local accepted = 0
    local function check(bytes)
      local p <const>, message <const>, code <const> = core.pprof_decode(bytes)
      if p then
        accepted = accepted + 1
        assert(core.pprof_decode(p:encode { gzip = false }))
      else
        assert.is_true(#message > 0 and (code == "malformed" or code == "truncated"))
      end
    end
    for i = 1, #raw do
      check(raw:sub(1, i - 1))
      for _, bit in ipairs { 1, 8, 128 } do
        check(raw:sub(1, i - 1) .. string.char(raw:byte(i) ~ bit) .. raw:sub(i + 1))
      end
    end
    assert.is_true(accepted > 100)
  end)
end)

describe("writing pprof", function()
  -- Written by google/pprof; see spec/data/README.md.
  it("gives the bytes of google/pprof", function()
    for source, want in pairs { cpu = "cpu.head.proto", heap = "heap.head.proto" } do
      local p <const> = decode("pprof/ref/" .. source .. ".pb.gz")
      assert.equal(plain("pprof/ref/" .. want .. ".pb.gz"), p:encode { gzip = false })
    end
  end)

  it("gives the bytes of google/pprof after a merge", function()
    local function ref(name) return decode("pprof/ref/" .. name .. ".pb.gz") end
    local function check(want, sources)
      local m <const> = assert(core.merge(sources))
      assert.equal(plain("pprof/ref/" .. want .. ".pb.gz"), m:encode { gzip = false })
    end
    check("cpu.go119.proto", { { ref "cpu" } })
    check("heap.go119.proto", { { ref "heap" } })
    check("cpu.merge2.head.proto", { { ref "cpu" }, { ref "cpu2" } })
    check("cpu.diff.head.proto", { { ref "cpu" }, { ref "cpu2", -1, base = true } })
  end)

  it("is a fixed point", function()
    for _, name in ipairs { "ok.pb", "labels.pb", "user42.pb", "badmap.pb", "drop.pb", "dst.pb",
                            "g0.pb.gz", "h0.pb.gz", "d.pb.gz" } do
      local once <const> = decode("pprof/" .. name):encode { gzip = false }
      assert.equal(once, assert(core.pprof_decode(once)):encode { gzip = false }, name)
    end
  end)

  it("drops what is nothing on the wire, and only that", function()
    local labels = {}
    for _, _, set in decode("pprof/labels.pb"):samples() do labels[#labels + 1] = set end
    assert.same({ { n = { 0 }, bytes = { 4096 }, thread = { "t1" } } }, labels)
  end)

  it("keeps a header and 64-bit values", function()
    local p <const> = core.profile_new { types = { { "n", "count" } }, default = "n" }
    p:set_info { time_ns = 9007199254740993, duration_ns = -1, period = math.mininteger,
                 period_type = { "cpu", "ns" }, comments = { "a", "", "c" }, doc_url = "http://d",
                 drop_frames = "x", keep_frames = "y" }
    p:add({ { name = "f", address = -1, module = "m", line = math.maxinteger } }, math.mininteger,
          { k = "v", num = { value = -5, unit = "bytes" } })
    for _, gzip in ipairs { true, false } do
      local q <const> = assert(core.pprof_decode(p:encode { gzip = gzip }))
      assert.same(p:info(), q:info())
      assert.same(p:frames(), q:frames())
      local _, values, labels = q:samples()()
      assert.same({ math.mininteger }, values)
      assert.same({ k = { "v" }, num = { -5 } }, labels)
    end
  end)

  it("is given in pieces to who writes it", function()
    local p <const> = core.profile_new { types = { { "n", "count" } } }
    for k = 1, 60000 do
      p:add({ "f" .. k % 977, "g" .. k % 1009, "main" }, k * 7919 % 1000003)
    end
    for _, gzip in ipairs { true, false } do
      local pieces, closed = {}, nil
      assert.is_true(p:encode { gzip = gzip, write = function(piece)
        pieces[#pieces + 1] = piece
        closed = closed or select(2, pcall(p.types, p))
      end })
      assert.equal(p:encode { gzip = gzip }, table.concat(pieces))
      assert.is_true(gzip or #pieces > 1)
      assert.matches("closed profile", closed)
    end
    local done <const>, what <const> = pcall(p.encode, p, { gzip = false,
      write = function() error({ "no" }) end })
    assert.is_false(done)
    assert.same({ "no" }, what)
    assert.equal(60000, #p)
  end)

  it("is read by go tool pprof with the same top", function()
    helper.needs("go")
    local p <const> = core.profile_new { types = { { "samples", "count" } } }
    math.randomseed(11)
    local names <const> = { "main.main", "pkg.(*T).f", "g;h", "op (int)", "x" }
    for _ = 1, 60 do
      local stack = {}
      for k = 1, math.random(5) do
        stack[k] = { name = names[math.random(5)], line = k, address = 4096 + k, module = "/app" }
      end
      p:add(stack, math.random(0, 20), { t = "x" .. math.random(3) })
    end
    local path <const> = os.tmpname()
    helper.write(path, p:encode())
    local out <const>, status <const> = helper.run(
      "go tool pprof -symbolize=none -top -nodecount=0 -nodefraction=0 " .. path .. " 2>/dev/null")
    os.remove(path)
    assert.equal(0, status)
    local want = {}
    for flat, cum, name in out:gmatch("\n%s*(%d+)%s+%S+%%%s+%S+%%%s+(%d+)%s+%S+%%  ([^\n]*)") do
      want[name] = flat .. " " .. cum
    end
    assert.is_true(next(want) ~= nil)
    assert.same(want, profiles.nodes(p:graph {}))
    assert.truthy(out:find(("of %d total"):format(p:total()), 1, true))
  end)
end)
