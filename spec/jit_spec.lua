-- Names of code that compilers made while a program ran: jitdumps, perf maps, and
-- what comes first.
local helper <const> = require "spec.support.helper"
local native <const> = require "spec.support.native"

-- Records of a jitdump, as linux/tools/perf describes them.
local function head(changes)
  local h <const> = changes or {}
  return ("<I4I4I4I4I4I4I8I8"):pack(h.magic or 0x4A695444, h.version or 1, h.size or 40, 62, 0,
    h.pid or 77, 1, 0)
end

local function record(kind, body)
  return ("<I4I4I8"):pack(kind, 16 + #body, 1) .. body
end

local function load(start, size, name)
  return record(0, ("<I4I4I8I8I8I8z"):pack(77, 78, start, start, size, 1, name)
    .. ("\x90"):rep(size))
end

local function move(from, to, size)
  return record(1, ("<I4I4I8I8I8I8I8"):pack(77, 78, to, from, to, size, 1))
end

local function lines(start, list)
  local body = ("<I8I8"):pack(start, #list)
  for _, row in ipairs(list) do
    body = body .. ("<I8I4I4"):pack(row[1], row[2], 0) .. row[3] .. "\0"
  end
  return record(2, body)
end

local GOOD <const> = head() .. lines(0x1000, { { 0x1000, 10, "a.js" }, { 0x1008, 12, "\xff" } })
  .. load(0x1000, 32, "first") .. load(0x2000, 16, "second") .. record(4, ("\0"):rep(24))
  .. move(0x2000, 0x3000, 16) .. record(3, "")

local function read(bytes)
  local map <const> = native.module().codemap()
  local path <const> = os.tmpname()
  helper.write(path, bytes)
  local n, about, code = map:jitdump(path)
  os.remove(path)
  return map, n, about, code
end

local function names(map, from, to, step)
  local list = {}
  for address = from, to, step do list[#list + 1] = map:find(address) or "-" end
  return table.concat(list, " ")
end

describe("a jitdump", function()
  it("names code, with files and lines", function()
    local map <close>, n, about = read(GOOD)
    assert.equal(3, n)
    assert.same({ pid = 77, damaged = 0, read = #GOOD, size = #GOOD }, about)
    assert.same({ "first", 0x1000, "a.js", 10 }, { map:find(0x1003) })
    assert.same({ "first", 0x1000, "a.js", 12 }, { map:find(0x101f) })
    assert.same({ "second", 0x2000 }, { map:find(0x200f) })
    assert.same({ "second", 0x3000 }, { map:find(0x3001) })
    assert.is_nil(map:find(0x1020))
    assert.is_nil(map:find(0xfff))
  end)

  it("gives an address to what was there last, whatever begins nearer", function()
    local map <close> = read(head() .. load(0x10, 0x40, "old") .. load(0x20, 0x10, "young")
      .. load(0x18, 4, "between") .. load(0x28, 0x100, "last"))
    assert.equal("- old between young last last", names(map, 8, 0x30, 8))
    assert.equal("last", map:find(0x127))
    assert.is_nil(map:find(0x128))
  end)

  it("finds its code among very many others that lay there before", function()
    local parts = { head() }
    for i = 1, 500 do parts[#parts + 1] = load(0x1000 + i, 8, "old" .. i) end
    parts[#parts + 1] = load(0x1000, 600, "all")
    parts[#parts + 1] = load(0x1100, 1, "one")
    local map <close> = read(table.concat(parts))
    assert.equal("all all one all", names(map, 0x10fe, 0x1101, 1))
    assert.equal("all", map:find(0x1257))
  end)

  it("that is still written counts up to its last whole record", function()
    for cut = 40, #GOOD do
      local map <close>, n, about = read(GOOD:sub(1, cut))
      assert(n and about.read <= cut)
      assert.equal(n >= 1 and "first" or nil, (map:find(0x1000)))
    end
  end)

  it("that is damaged names what is whole and counts the rest", function()
    local no_end <const> = record(0, ("<I4I4I8I8I8I8"):pack(77, 78, 0, 0x5000, 32, 1) .. "endless")
    local many <const> = record(2, ("<I8I8I8I4I4z"):pack(0x1000, -1, 0x1000, 1, 0, "x"))
    local short, nowhere = record(0, "short"), move(0x777, 0x888, 8)
    local map <close>, n, about = read(head() .. no_end .. many .. short .. nowhere
      .. load(-16, 4096, "at the end") .. load(-1, 9, "none") .. load(0x1000, 0, "nothing"))
    assert.equal(1, n)
    assert.equal(4, about.damaged)
    assert.equal("at the end", map:find(-2))
    assert.is_nil(map:find(0x1000))
    for i = 1, #GOOD do
      for _, byte in ipairs { 0, 255 } do
        local other <close> = read(GOOD:sub(1, i - 1) .. string.char(byte) .. GOOD:sub(i + 1))
        names(other, 0x0ff8, 0x1028, 8)
      end
    end
  end)

  it("whose lines count from the head of perf's file, as V8's do", function()
    local told <const> = lines(0x1000, { { 0x1040, 1, "a.js" }, { 0x1050, 2, "\xff" } })
    local map <close> = read(head() .. told .. load(0x1000, 0x80, "f"))
    assert.equal(1, select(4, map:find(0x100f)))
    assert.equal(2, select(4, map:find(0x1010)))
  end)

  it("whose lines cannot be has names without them", function()
    local twice <const> = lines(0x1000, { { 0x1000, 1, "a\0b\0\0" }, { 0x1008, 2, "a\0b\0\0" } })
    local control <const> = lines(0x1000, { { 0x1000, 1, "a\1" } })
    for _, bytes in ipairs { twice, control } do
      local map <close>, n, about = read(head() .. bytes .. load(0x1000, 32, "f"))
      assert.equal(1, n)
      assert.equal(1, about.damaged)
      assert.same({ "f", 0x1000 }, { map:find(0x1004) })
    end
  end)

  it("that is none is refused with the reason", function()
    local function why(bytes)
      local _, n, message, code = read(bytes)
      assert.is_nil(n)
      return message:match ": (.*)$", code
    end
    assert.same({ "no jitdump", "malformed" }, { why "1000 20 name\n" })
    assert.equal("a damaged jitdump", (why(head { size = 39 })))
    assert.equal("a damaged jitdump", (why(head { size = 41 })))
    assert.equal("a jitdump of an unknown version", (why(head { version = 2 })))
    assert.equal("a jitdump of a machine with another order of bytes",
      (why(head { magic = 0x4454694A })))
    assert.same({ "not a file with content", "unavailable" }, { why "" })
    local map <close> = native.module().codemap()
    local _, message, code = map:jitdump "/nowhere/jit-1.dump"
    assert.same({ "/nowhere/jit-1.dump: No such file or directory", "not_found" },
      { message, code })
  end)
end)

describe("a perf map", function()
  it("names code by the latest of its lines", function()
    local map <close> = native.module().codemap()
    local path <const> = os.tmpname()
    helper.write(path, "1000 20 old name\nnonsense\n0x1010 4 young\n2000 0 empty\n3000 5 cut")
    assert.equal(2, map:perf_map(path))
    os.remove(path)
    assert.equal("old name", map:find(0x100f))
    assert.equal("young", map:find(0x1010))
    assert.equal("old name", map:find(0x1014))
    assert.is_nil(map:find(0x3000))
  end)
end)

-- A process that is none of this machine's, whose files are in a folder.
local PID <const> = (1 << 22) + 5

local function with_files(use)
  helper.in_directory(function(directory)
    native.module()
    helper.run(("mkdir %s/tmp"):format(directory))
    local seen <const> = { pid = PID, inner_pid = 77, root = directory, mappings = {} }
    use(seen, directory .. "/tmp", function()
      return require("sonde.probe.jit").of(seen)
    end)
  end)
end

describe("code of no file", function()
  it("is named by the jitdump before the perf map", function()
    with_files(function(_, folder, names_of)
      helper.write(folder .. "/jit-77.dump", GOOD)
      helper.write(folder .. "/perf-77.map", "1000 20 other\n9000 10 only here\n")
      local known <const> = names_of()
      assert.same({ name = "first", start = 0x1000, file = "a.js", line = 12 },
        known:find(0x1009))
      assert.same({ name = "only here", start = 0x9000 }, known:find(0x9001))
      assert.is_nil(known:find(0x7777))
      assert.same({}, known.problems)
    end)
  end)

  it("is named by the dump that the process mapped, wherever that is", function()
    with_files(function(seen, folder, names_of)
      helper.run(("mkdir %s/deep"):format(folder))
      helper.write(folder .. "/deep/jit-77.dump", GOOD)
      helper.write(folder .. "/jit-77.dump", head() .. load(0x1000, 32, "left behind"))
      seen.mappings[1] = { from = 0x7000, to = 0x8000, offset = 0, path = "/tmp/deep/jit-77.dump" }
      assert.equal("first", names_of():find(0x1009).name)
    end)
  end)

  it("is not named by what somebody else may have put there", function()
    with_files(function(seen, folder, names_of)
      helper.write(folder .. "/perf-77.map", "1000 20 planted\n")
      seen.uid = 12345
      if helper.run("id -u") ~= "0\n" then helper.skip "files of others need root" end
      helper.run(("chown 54321 %s/perf-77.map"):format(folder))
      local known <const> = names_of()
      assert.is_nil(known:find(0x1000))
      assert.matches("perf%-77%.map is of 54321, and process %d+ of 12345: it names nothing",
        known.problems[1])
      helper.run(("chown 0 %s/perf-77.map"):format(folder))
      assert.equal("planted", names_of():find(0x1000).name)
    end)
  end)

  it("is not named by what an earlier process of the number left", function()
    with_files(function(seen, folder, names_of)
      helper.write(folder .. "/jit-77.dump", GOOD)
      seen.started_at = os.time() + 3600
      local known <const> = names_of()
      assert.is_nil(known:find(0x1000))
      assert.matches("jit%-77%.dump is older than process", known.problems[1])
      seen.started_at = os.time()
      assert.equal("first", names_of():find(0x1000).name)
    end)
  end)

  it("keeps what a damaged or foreign file has, and says so", function()
    with_files(function(_, folder, names_of)
      helper.write(folder .. "/jit-77.dump", head { pid = 9 } .. record(0, "short")
        .. load(0x1000, 4, "f"))
      helper.write(folder .. "/perf-77.map", "")
      local known <const> = names_of()
      assert.equal("f", known:find(0x1000).name)
      assert.is_nil(known:find(0x2000))
      assert.equal(3, #known.problems)
      assert.matches("process 9", known.problems[1])
      assert.matches("1 damaged records were left out", known.problems[2])
      assert.matches("not a file with content", known.problems[3])
    end)
  end)
end)
