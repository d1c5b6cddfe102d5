-- Names of functions by address, from files.
local helper <const> = require "spec.support.helper"
local programs <const> = require "spec.support.native"
local sonde <const> = require "sonde"

local sh <const> = programs.sh

describe("mangled names", function()
  it("of C++ and Rust become readable", function()
    local native <const> = programs.module()
    assert.equal("std::vector<int, std::allocator<int> >::push_back",
      native.demangle "_ZNSt6vectorIiSaIiEE9push_backERKi")
    assert.equal("core::fmt::write", native.demangle "_ZN4core3fmt5write17h0123456789abcdefE")
    assert.equal("123foo::bar", native.demangle "_RNvC6_123foo3bar")
    assert.equal("f(int)", native.demangle("_Z1fi", true))
  end)

  it("that are none stay as they are", function()
    local native <const> = programs.module()
    for _, name in ipairs { "", "main", "_", "_Z", "_Zq", "_R", "main.main", "_ZN" } do
      assert.equal(name, native.demangle(name))
    end
  end)
end)

-- Builds names.cc with more options; its path, and where Worker::work is.
local WORK <const> = "_ZN3app6Worker4workEl"

local function build(directory, name, flags)
  helper.needs "g++"
  local program <const> = directory .. "/" .. name
  sh(("g++ -O2 -g %s -o %s spec/targets/native/names.cc"):format(flags or "", program))
  return program, programs.address(program, WORK)
end

-- The frames in the loop that `work` has from an inlined function.
local function frames_in_work(image, start)
  for address = start, start + 64 do
    local frames <const> = image:frames(address)
    if #frames == 2 and frames[1].line == 8 then return frames end
  end
  error("no inlined frame in Worker::work")
end

local function check_inlined(image, start)
  local frames <const> = frames_in_work(image, start)
  assert.equal("inlined", frames[1].name)
  assert.equal("app::Worker::work", frames[2].name)
  assert.equal(WORK, frames[2].system_name)
  assert.equal(14, frames[2].line)
  assert.equal(13, frames[2].start_line)
  for _, frame in ipairs(frames) do assert.truthy(frame.file:find("names.cc$")) end
end

describe("a program", function()
  it("names addresses with files, lines and inlined calls", function()
    local native <const> = programs.module()
    helper.in_directory(function(directory)
      for name, flags in pairs { pie = "", fixed = "-no-pie", five = "-gdwarf-5",
                                 four = "-gdwarf-4 -ffunction-sections" } do
        local program, start = build(directory, name, flags)
        local image <close> = assert(native.image(program))
        check_inlined(image, start)
        assert.equal(WORK, (image:find(start + 1)))
        assert.equal(WORK, (image:find(start)))
      end
    end)
  end)

  it("has functions without names when it is stripped", function()
    local native <const> = programs.module()
    helper.in_directory(function(directory)
      local program, start = build(directory, "program")
      sh("strip " .. program)
      local image <close> = assert(native.image(program))
      local name, found, how = image:find(start + 5)
      assert.is_nil(name)
      assert.equal(start, found)
      assert.equal("unwind", how)
      assert.same({}, image:frames(start + 5))
    end)
  end)

  it("finds its debug file by the name in it, and only its own", function()
    local native <const> = programs.module()
    helper.in_directory(function(directory)
      local program, start = build(directory, "program")
      local debug <const> = directory .. "/program.debug"
      sh(("objcopy --only-keep-debug %s %s && strip %s && objcopy --add-gnu-debuglink=%s %s")
        :format(program, debug, program, debug, program))
      local image <close> = assert(native.image(program))
      check_inlined(image, start)
      local other <const> = build(directory, "other", "-DOTHER -O1")
      sh(("objcopy --only-keep-debug %s %s"):format(other, debug))
      local stranger <close> = assert(native.image(program))
      assert.same({}, stranger:frames(start + 5))
    end)
  end)

  it("finds its debug file in the cache of debuginfod", function()
    local native <const> = programs.module()
    helper.in_directory(function(directory)
      local program, start = build(directory, "program")
      local image <close> = assert(native.image(program))
      local folder <const> = directory .. "/debuginfod_client/" .. image:info().build_id
      sh(("mkdir -p %s && objcopy --only-keep-debug %s %s/debuginfo && strip %s")
        :format(folder, program, folder, program))
      local script <const> = ([[local i = require("sonde.c.native").image "%s"
        print(#i:frames(%d))]]):format(program, start + 5)
      local path <const> = directory .. "/ask.lua"
      helper.write(path, script)
      local out <const> = sh(("XDG_CACHE_HOME=%s LUA_CPATH='%s/?.so' lua5.4 %s"):format(directory,
        helper.module:match("^(.*)/sonde/c/"), path))
      assert.truthy(tonumber(out) > 0, out)
    end)
  end)

  it("of MiniDebugInfo names its own functions", function()
    local native <const> = programs.module()
    helper.needs "xz"
    helper.in_directory(function(directory)
      local program, start = build(directory, "program")
      local mini <const> = directory .. "/mini"
      sh(("objcopy --only-keep-debug --strip-debug --remove-section .comment %s %s && xz -k %s && "
        .. "strip %s && objcopy --add-section .gnu_debugdata=%s.xz %s"):format(program, mini, mini,
        program, mini, program))
      local image <close> = assert(native.image(program))
      assert.equal(WORK, (image:find(start + 5)))
    end)
  end)

  it("of Go is named by Go's own table", function()
    local native <const> = programs.module()
    helper.needs "go"
    helper.in_directory(function(directory)
      local program <const>, plain <const> = directory .. "/program", directory .. "/plain"
      sh(("go build -o %s spec/targets/native/names.go && cp %s %s && strip %s"):format(plain,
        plain, program, program))
      local start <const> = programs.address(plain, "main.work")
      local image <close> = assert(native.image(program))
      local name, found, how = image:find(start + 8)
      assert.equal("main.work", name)
      assert.equal(start, found)
      assert.equal("go", how)
      assert.is_true(image:info().is_go)
      local lines = {}
      for address = start, start + 40 do
        local frame <const> = image:frames(address)[1]
        if frame == nil or frame.name ~= "main.work" then break end
        if frame.line > 0 then assert.truthy(frame.file:find("names.go$")) end
        lines[frame.line] = true   -- what pads the end has none
      end
      assert.is_true(lines[10])
    end)
  end)

  it("that is none is refused with the reason", function()
    local native <const> = programs.module()
    local image, message, code = native.image("spec/symbols_spec.lua")
    assert.is_nil(image)
    assert.equal("spec/symbols_spec.lua: not an ELF file", message)
    assert.equal("malformed", code)
    image, message, code = native.image("/nowhere/program")
    assert.is_nil(image)
    assert.equal("/nowhere/program: No such file or directory", message)
    assert.equal("not_found", code)
    assert.equal("malformed", select(3, native.image("/dev/null")))
  end)

  it("that is damaged anywhere answers or refuses", function()
    local native <const> = programs.module()
    helper.in_directory(function(directory)
      local program, start = build(directory, "program")
      local bytes <const> = helper.read(program)
      for i = 1, 60 do
        local at <const> = (i * 7919) % #bytes
        local cut = bytes:sub(1, at) .. ("\xff"):rep(16) .. bytes:sub(at + 17)
        if i % 3 == 0 then cut = bytes:sub(1, at) end
        if i % 3 == 1 then cut = bytes:sub(1, i) .. "\x7f" .. bytes:sub(i + 2) end
        helper.write(program, cut)
        local image <close> = native.image(program)
        if image then
          image:find(start)
          image:frames(start + 5)
          image:info()
        end
      end
    end)
  end)
end)

-- A message of numbers and texts: { { field, value }, … }.
local function message(fields)
  local function varint(n)
    return n < 128 and string.char(n) or string.char(n & 127 | 128) .. varint(n >> 7)
  end
  local parts = {}
  for i, field in ipairs(fields) do
    local number <const>, value <const> = field[1], field[2]
    if type(value) == "string" then
      parts[i] = varint(number << 3 | 2) .. varint(#value) .. value
    else
      parts[i] = varint(number << 3) .. varint(value)
    end
  end
  return table.concat(parts)
end

-- A profile of a native program as others write it: one address, no names.
local function nameless(program, id, offset)
  local base <const> = 0x400000
  local strings <const> = { "", "samples", "count", program, id }
  local fields = {
    { 1, message { { 1, 1 }, { 2, 2 } } }, { 2, message { { 1, 1 }, { 2, 5 } } },
    { 3, message { { 1, 1 }, { 2, base }, { 3, base + (1 << 20) }, { 4, 0 }, { 5, 3 }, { 6, 4 } } },
    { 4, message { { 1, 1 }, { 2, 1 }, { 3, base + offset } } },
  }
  for _, text in ipairs(strings) do fields[#fields + 1] = { 6, text } end
  return message(fields)
end

local function id_of(program)
  local image <close> = assert(programs.module().image(program))
  return image:info().build_id
end

-- Names of the frames of the only sample, innermost first.
local function names_of(profile)
  local frames <const> = profile:frames()
  local names = {}
  for stack in profile:samples() do
    for i, frame in ipairs(stack) do names[i] = frames.name[frame] end
  end
  return names
end

describe("a profile of a native program", function()
  it("gets names, lines and inlined calls from the program", function()
    programs.module()
    helper.in_directory(function(directory)
      local program, start = build(directory, "program")
      local image <close> = assert(programs.module().image(program))
      local at = start
      while #image:frames(at) < 2 do at = at + 1 end
      local bytes <const> = nameless(program, id_of(program), at)
      local profile <const> = assert(sonde.open { bytes = bytes, name = "text" })
      assert.same({ "inlined", "app::Worker::work" }, names_of(profile))
      local mapping <const> = profile:mappings()[1]
      assert.is_true(mapping.has_functions and mapping.has_filenames)
      assert.is_true(mapping.has_line_numbers and mapping.has_inline_frames)
      local path <const> = directory .. "/native.pb"
      helper.write(path, bytes)
      local out = helper.sonde("top", path)
      assert.truthy(out:find("app::Worker::work", 1, true), out)
      out = helper.sonde("top", path, "--symbolize=none")
      assert.is_nil(out:find("app::Worker::work", 1, true), out)
      assert.truthy(out:find("[program]", 1, true), out)
    end)
  end)

  it("takes no names from another build, and says so", function()
    programs.module()
    helper.in_directory(function(directory)
      local program, start = build(directory, "program")
      local path <const> = directory .. "/native.pb"
      helper.write(path, nameless(program, "00112233", start + 5))
      local out, status, err = helper.sonde("top", path)
      assert.equal(0, status)
      assert.truthy(out:find("[program]", 1, true), out)
      assert.truthy(err:find(program .. ": another build than the one", 1, true), err)
    end)
  end)

  it("without a build id stays as it is", function()
    programs.module()
    helper.in_directory(function(directory)
      local program, start = build(directory, "program")
      local bytes <const> = nameless(program, "", start + 5)
      assert.same({ "" }, names_of(assert(sonde.open { bytes = bytes, name = "text" })))
    end)
  end)
end)

-- In a process of its own, which the signal would end.
local CUT <const> = [[
  local image <const> = assert(require("sonde.c.native").image(arg[1]))
  local file <const> = assert(io.open(arg[1], "wb"))   -- cuts it to nothing
  file:close()
  local known = 0
  for address = 0x1000, 0x4000, 16 do
    image:frames(address)
    if image:find(address) then known = known + 1 end
  end
  image:info()
  print("alive")
]]

describe("a file that is cut while it is read", function()
  it("has no names, and ends nobody", function()
    programs.module()
    helper.in_directory(function(directory)
      for _, flags in ipairs { "", "-s" } do
        local program <const> = directory .. "/cut"
        sh(("g++ -O2 -g %s -o %s spec/targets/native/names.cc"):format(flags, program))
        helper.write(directory .. "/cut.lua", CUT)
        local out, status, err = helper.run(("LUA_CPATH=%s lua5.4 %s/cut.lua %s"):format(
          helper.quote(package.cpath), directory, program))
        assert.equal(0, status, err)
        assert.equal("alive\n", out)
      end
    end)
  end)
end)
