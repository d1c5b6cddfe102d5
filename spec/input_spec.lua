local core <const> = require "sonde.c.core"
local detect <const> = require "sonde.base.detect"
local helper <const> = require "spec.support.helper"
local input <const> = require "sonde.base.input"
local sonde <const> = require "sonde"

local TRACE <const> = helper.data "synth/v4-program-compressed.nettrace"

local function read_all(source)
  local pieces = {}
  repeat
    local piece <const> = source.input:read(1000)
    pieces[#pieces + 1] = piece
  until piece == nil
  return table.concat(pieces)
end

-- Runs a shell line that packs TRACE into "out" and opens what came out.
local function packed(command, name)
  local kind, text, problem
  helper.in_directory(function(directory)
    local path <const> = directory .. "/" .. name
    local line <const> = "cp %s %s/t; cd %s && %s"
    local _, status = helper.run(line:format(TRACE, directory, directory, command))
    assert.equal(0, status)
    local source <const> = assert(input.open(path))
    kind, problem = source:kind()
    if kind then text = read_all(source) end
    source:close()
  end)
  return kind, text, problem
end

describe("an input #binding", function()
  it("comes from a path, a handle, a descriptor, standard input and a string", function()
    local bytes <const> = helper.read(TRACE)
    local file <close> = assert(io.open(TRACE, "rb"))
    for _, from in ipairs { TRACE, file, { bytes = bytes } } do
      local source <const> = assert(input.open(from))
      assert.equal("nettrace", source:kind())
      assert.equal(bytes, read_all(source))
      source:close()
    end
    local out <const> = helper.run(([[lua5.4 -e '
      package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path
      package.cpath = "%s;" .. package.cpath
      local input = require "sonde.base.input"
      for _, from in ipairs { 3, "-" } do
        local source = input.open(from)
        io.write(source:kind(), " ", source.input:skip(), "\n")
      end' 3<%s <%s]]):format("./" .. helper.module:gsub("sonde/c/core", "?"), TRACE, TRACE))
    assert.equal(("nettrace %d\nnettrace %d\n"):format(#bytes, #bytes), out)
  end)

  it("raises for what is no source", function()
    assert.has_error(function() input.open({}) end)
    assert.has_error(function() input.open(1.5) end)
    assert.has_error(function() core.input() end)
    assert.has_error(function() core.input(true) end)
  end)

  it("says which file, what the system says, and a code", function()
    local source, message, code = input.open("no/such/file")
    assert.is_nil(source)
    assert.equal("no/such/file: No such file or directory", message)
    assert.equal("not_found", code)
    source, message, code = input.open("spec")
    assert.is_nil(source)
    assert.equal("spec: is a directory", message)
    assert.equal("unavailable", code)
  end)

  it("peeks without taking, reads, skips and is bounded", function()
    local source <const> = core.input("0123456789")
    assert.equal("0123", source:peek(4))
    assert.equal("0123456789", source:peek(100))
    assert.equal("01", source:read(2))
    assert.equal(3, source:skip(3))
    assert.equal("56", source:only(2):read(10))
    assert.is_nil((source:read(1)))
    assert.equal("789", source:plain():read(10))
    assert.is_nil((source:read(1)))
    assert.equal("", source:peek(5))
    assert.has_error(function() source:peek(-1) end)
    assert.has_error(function() source:read(0) end)
    assert.has_error(function() source:inflate("rar") end)
    source:close()
    source:close()
    assert.equal("input (closed)", tostring(source))
    assert.has_error(function() source:read(1) end)
  end)
end)

describe("unpacking #binding", function()
  local bytes <const> = helper.read(TRACE)

  for _, row in ipairs {
    { "gzip", "gzip t", "t.gz" },
    { "gzip in two members", "(head -c 700 t | gzip; tail -c +701 t | gzip) >t.gz", "t.gz" },
    { "gzip with padding", "gzip t; head -c 512 /dev/zero >>t.gz", "t.gz" },
    { "gzip with junk behind", "gzip t; echo junk >>t.gz", "t.gz" },
    { "xz", "xz t", "t.xz" },
  } do
    it("opens " .. row[1], function()
      if row[1] == "xz" then helper.needs("xz") end
      local kind, text = packed(row[2], row[3])
      assert.equal("nettrace", kind)
      assert.equal(bytes, text)
    end)
  end

  it("says how far damaged xz could be unpacked", function()
    helper.needs("xz")
    helper.in_directory(function(directory)
      local path <const> = directory .. "/cut.xz"
      helper.run(("xz -c %s >%s"):format(helper.data "demo.nettrace", path))
      local whole <const> = helper.read(path)
      helper.write(path, whole:sub(1, #whole * 2 // 3))
      local trace, message, code = sonde.open(path)
      assert.is_true(trace:counts().bytes > 100000)
      assert.equal("truncated", code)
      assert(message:find(("after %d bytes unpacked"):format(trace:counts().bytes), 1, true),
        message)
    end)
  end)

  it("opens xz that comes by a pipe", function()
    helper.needs("xz")
    local out, status = helper.run(("xz -c %s | %s inspect -"):format(TRACE, helper.command))
    assert.equal(0, status)
    assert.is_true(#out > 0)
  end)

  it("tells a cut gzip from a damaged one", function()
    local kind, _, problem = packed("gzip t; head -c 10 t.gz >u.gz", "u.gz")
    assert.is_nil(kind)
    assert.matches("a gzip header and no data", problem)
    local source <const> = core.input("\x1f\x8b\8\0\0\0\0\0\0\3\xff\xff\xff"):inflate("gzip")
    local text, message, code = source:read(10)
    assert.is_nil(text)
    assert.matches("damaged at byte", message)
    assert.equal("malformed", code)
  end)

  it("gives what stands before the damage", function()
    local packed_bytes <const> = helper.read(helper.data "real/mixed.nettrace.gz")
    local source <const> = core.input(packed_bytes:sub(1, 60000), "x.gz"):inflate("gzip")
    local pieces = {}
    local piece, message, code = source:read(50000)
    while piece do
      pieces[#pieces + 1] = piece
      piece, message, code = source:read(50000)
    end
    assert.is_true(#table.concat(pieces) > 60000)
    assert.equal("x.gz: compressed data ends too early, at byte 60000", message)
    assert.equal("truncated", code)
  end)
end)

-- CRC-32, bit by bit, as zip and gzip have it.
local function crc32(bytes)
  local sum = 0xffffffff
  for i = 1, #bytes do
    sum = sum ~ bytes:byte(i)
    for _ = 1, 8 do sum = sum >> 1 ~ (sum & 1) * 0xedb88320 end
  end
  return sum ~ 0xffffffff
end

-- A zip made by hand: its entries, and whether sizes stand behind the data.
local function zip(entries, described)
  local parts = {}
  for _, entry in ipairs(entries) do
    local packed_entry <const> = entry.packed or entry.bytes
    local size <const> = described and 0 or #packed_entry
    local sum <const> = entry.sum or crc32(entry.bytes)
    parts[#parts + 1] = ("<c4 I2 I2 I2 I2 I2 I4 I4 I4 I2 I2"):pack("PK\3\4", 20,
      (described and 8 or 0) | (entry.flags or 0), entry.method, 0, 0,
      described and 0 or sum, entry.large and 0xffffffff or size, size, #entry.name,
      entry.large and 20 or 0) .. entry.name
      .. (entry.large and ("<I2 I2 I8 I8"):pack(1, 16, size, size) or "") .. packed_entry
    if described then
      parts[#parts + 1] = ("<c4 I4 I4 I4"):pack("PK\7\8", sum, #packed_entry, #entry.bytes)
    end
  end
  parts[#parts + 1] = "PK\1\2"
  return table.concat(parts)
end

-- Deflate's own form for data that is not compressed: blocks of 64 KiB.
local function deflated(bytes)
  return ("<B I2 I2"):pack(1, #bytes, #bytes ~ 0xffff) .. bytes
end

-- The same in gzip.
local function gzip_of_stored(bytes)
  return "\x1f\x8b\8\0\0\0\0\0\0\3" .. deflated(bytes) .. ("<I4 I4"):pack(crc32(bytes), #bytes)
end

describe("a zip", function()
  local bytes <const> = helper.read(TRACE)
  local readme <const> = { name = "README", bytes = "hello", method = 0 }
  local folder <const> = { name = "d/", bytes = "", method = 0 }

  local function open(data)
    local source <const> = assert(input.open { bytes = data, name = "t.zip" })
    return source, source:kind()
  end

  it("is opened at its first entry that is a trace", function()
    for _, described in ipairs { false, true } do
      local trace <const> = { name = "t", bytes = bytes, packed = deflated(bytes), method = 8 }
      local other = readme
      if described then
        other = { name = "R", bytes = "hello", packed = deflated "hello", method = 8 }
      end
      local list = described and { other, trace, other } or { folder, other, trace, other }
      local source, kind = open(zip(list, described))
      assert.equal("nettrace", kind)
      assert.equal("t", source.entry)
      assert.equal(bytes, read_all(source))
    end
  end)

  it("may hold it unpacked", function()
    local source, kind = open(zip { { name = "t", bytes = bytes, method = 0 }, readme })
    assert.equal("nettrace", kind)
    assert.equal(bytes, read_all(source))
  end)

  it("says what is wrong otherwise", function()
    local _, kind, message, code = open(zip { readme })
    assert.is_nil(kind)
    assert.matches("a zip without a trace or profile in it: the first entry, 'README', is text",
      message)
    assert.equal("not_nettrace", code)
    _, kind, message = open(zip { { name = "t", bytes = bytes, method = 0, flags = 1 } })
    assert.is_nil(kind)
    assert.matches("encrypted", message)
    _, kind, message = open(zip { { name = "t", bytes = bytes, method = 14 } })
    assert.is_nil(kind)
    assert.matches("packs 't' by method 14", message)
  end)

  local function told(data)
    local trace, message, code = sonde.open { bytes = data, name = "t.zip" }
    assert.is_table(trace)
    return message, code, trace
  end

  it("is checked by its sum", function()
    for _, described in ipairs { false, true } do
      local good <const> = { name = "t", bytes = bytes, packed = deflated(bytes), method = 8 }
      assert.is_nil(told(zip({ good }, described)))
      good.sum = 1
      local message, code, trace = told(zip({ good, readme }, described))
      assert.equal("t.zip: the zip's entry 't' is damaged: its checksum is wrong", message)
      assert.equal("malformed", code)
      assert.equal(message, trace.outside)
    end
    local stored <const> = { name = "t", bytes = bytes, method = 0, large = true }
    assert.is_nil(told(zip { stored, readme }))
    stored.sum = 2
    assert.equal("malformed", select(2, told(zip { stored, readme })))
  end)

  it("tells of a second trace, which nobody reads", function()
    local one <const> = { name = "1.nettrace", bytes = bytes, method = 0 }
    local two <const> = { name = "2.nettrace", bytes = bytes, packed = deflated(bytes), method = 8 }
    local message, code = told(zip { one, readme, two })
    assert.equal("t.zip: the zip holds '2.nettrace' as well: only '1.nettrace' is read", message)
    assert.is_nil(code)
  end)

  it("inside anything packed is packed once more, and is named so", function()
    local _, kind, message, code, hint = open(zip {
      { name = "t.gz", bytes = "\x1f\x8b\8", method = 0 } })
    assert.is_nil(kind)
    assert.matches("the first entry, 't.gz', is packed once more, by gzip$", message)
    assert.equal("not_nettrace", code)
    assert.equal("unzip -p 't.zip' | sonde top -", hint)
    local trace, why, _, try = sonde.open { name = "x.gz",
      bytes = gzip_of_stored(zip { readme }) }
    assert.is_nil(trace)
    assert.equal("x.gz: inside its gzip: packed once more, as a zip", why)
    assert.equal("gzip -dc 'x.gz' | sonde top -", try)
  end)

  it("of damaged gzip all that was before the damage is read", function()
    local whole <const> = gzip_of_stored(bytes)
    local trace, message, code = sonde.open { name = "x.gz",
      bytes = whole:sub(1, -9) .. "\0\0\0\0" .. whole:sub(-4) }
    assert.equal("malformed", code)
    assert.matches("^x.gz: compressed data is damaged at byte %d+: incorrect data check; 7 events",
      message)
    assert.equal(#bytes, trace:counts().bytes)
    assert.equal(false, trace:counts().truncated)
  end)
end)

describe("detect.kind", function()
  local nested <const> = "\20\0\0\0!FastSerialization.1\5\5\1\4\0\0\0\4\0\0\0"
  for _, row in ipairs {
    { "", "empty" }, { "Nett", "beginning" }, { nested:sub(1, 20), "beginning" },
    { "Nettrace\20\0\0\0", "nettrace" }, { nested .. "\5\0\0\0Trace", "nettrace" },
    { nested .. "\11\0\0\0GCHeapDump", "gcdump" }, { nested .. "\8\0\0\0TraceLog", "etlx" },
    { "xxxx" .. "\0\0\0\0\20\0\0\0!FastSerialization.1Trace", "headless" },
    { "\x1f\x8b\8", "gzip" }, { "\xfd7zXZ\0\0", "xz" }, { "PK\3\4..", "zip" },
    { "\127ELF" .. ("\0"):rep(12) .. "\4\0", "core" },
    { "\127ELF" .. ("\0"):rep(12) .. "\2\0", "elf" },
    { "<!DOCTYPE html><html>", "html" }, { "  <html>", "html" }, { "PERFILE2", "perf" },
    { "MDMP\x93\xa7", "minidump" }, { "\x28\xb5\x2f\xfd\4", "zstd" },
    { "HTTP/1.1 200 OK\r\n", "http" },
    { '{"$schema":"https://www.speedscope.app/file-format-schema.json"}', "speedscope" },
    { '{"traceEvents":[]}', "chromium" }, { '[{"ph":"X","ts":1}]', "chromium" },
    { '{"a":1}', "json" },
    { "goroutine 1 [running]:\nmain.main()\n", "goroutines" },
    { "heap profile: 1: 2 [3: 4] @ heap/1048576\n", "legacy" },
    { "main;a 3\nmain;b 4\n", "folded" }, { "[ET NET 0];java main;x 17\n", "folded" },
    { "# a remark\nmain;a\t3\r\n", "folded" }, { "a;\0b 1\nc 2\n", "folded" },
    { "hello world\nthis is text\n", "text" }, { "\1\2\3\4\200", "unknown" },
    { "\10\4\8\1\16\2\10\4\8\3\16\4", "pprof" }, { "hihihihihihi\n", "text" },
    { "\18\4\8\1\16\2\50\0", "pprof" }, { "\10\4hello", "unknown" },
  } do
    it("sees " .. row[2], function() assert.equal(row[2], detect.kind(row[1])) end)
  end

  it("has words for every kind that is no input", function()
    for _, kind in ipairs { "empty", "gcdump", "etl", "html", "core", "zstd", "text", "unknown" } do
      local what, hint = detect.describe(kind, "x.bin")
      assert.is_string(what)
      assert.is_true(hint == nil or type(hint) == "string")
    end
    assert.matches("Windows event log", (detect.describe("unknown", "trace.ETL")))
    assert.equal("zstd -dc x.zst | sonde top -", (select(2, detect.describe("zstd", "x.zst"))))
  end)
end)
