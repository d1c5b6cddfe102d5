-- The numbers that a store gives to stacks: hashes, rows of profiles.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
require "sonde.profile"

local function integers(packed)
  local list = {}
  for at = 1, #packed, 8 do list[#list + 1] = ("=i8"):unpack(packed, at) end
  return list
end

describe("a book of stacks", function()
  it("hashes as sha256sum does, whatever the length", function()
    local book <const> = core.stack_book()
    helper.in_directory(function(directory)
      local names, hashes = {}, {}
      for length = 0, 130 do
        local func <const> = ("f"):rep(length)
        local stack <const> = book:add { { func = func, file = "x", line = length },
          { func = "main" } }
        hashes[length] = ("%016x"):format(book:hash(stack))
        names[#names + 1] = ("%03d"):format(length)
        helper.write(directory .. "/" .. names[#names],
          ("%s\0x\0%dmain\0\0000"):format(func, length))
      end
      local sums <const> = helper.lines((helper.run("cd " .. directory .. " && sha256sum "
        .. table.concat(names, " "))))
      for length = 0, 130 do assert.are.equal(sums[length + 1]:sub(1, 16), hashes[length]) end
    end)
    assert.are.equal("e3b0c44298fc1c14", ("%016x"):format(book:hash(0)))
  end)

  it("makes one row of what differs by address and label alone", function()
    local profile <const> = core.profile_new { types = { { "a", "count" }, { "b", "bytes" } } }
    local function frame(line, address)
      return { name = "f", file = "f.go", line = line, address = address }
    end
    profile:add({ frame(1, 10), "main" }, { 1, math.maxinteger }, { k = "x" })
    profile:add({ frame(1, 20), "main" }, { 2, 5 }, { k = "y" })
    profile:add({ frame(2, 10), "main" }, { 4, -7 })
    profile:add({}, { 8, 1 })
    profile:add({ { address = 0xdeadbeef } }, { 16, 0 })
    local book <const> = core.stack_book()
    local n <const>, fresh <const> = book:take(profile)
    assert.are.same({ 4, 4 }, { n, #fresh })
    assert.has_error(function() book:columns() end)
    for i, stack in ipairs(fresh) do book:set(stack, 100 - i) end
    local ids <const>, values <const> = book:columns()
    assert.are.same({ 96, 97, 98, 99 }, integers(ids))
    assert.are.same({ 16, 8, 4, 3 }, integers(values[1]))
    assert.are.same({ 0, 1, -7, math.maxinteger }, integers(values[2]))
    assert.are.same({ "0xdeadbeef", "", 0 }, { book:frame(book:stack(fresh[4])[1]) })
    -- Another profile: what is known is not told again, and old rows are gone.
    local other <const> = core.profile_new { types = { { "c", "count" } } }
    other:add({ frame(2, 99), "main" }, { 5 })
    local more <const>, unknown <const> = book:take(other)
    assert.are.same({ 1, 0 }, { more, #unknown })
    local again <const>, sums <const> = book:columns()
    assert.are.same({ 98 }, integers(again))
    assert.are.same({ 5 }, integers(sums[1]))
  end)

  it("keeps to its limit, and is closed", function()
    local book <const> = core.stack_book { limit = 1 << 16 }
    local stack, message, code
    for i = 1, 100000 do
      stack, message, code = book:add { { func = "function number " .. i } }
      if stack == nil then break end
    end
    assert.is_nil(stack)
    assert.is_string(message)
    assert.are.equal("limit", code)
    book:close()
    assert.has_error(function() book:hash(0) end)
    assert.has_error(function() core.stack_book { wat = 1 } end)
    assert.has_error(function() core.stack_book():add { { func = 1 } } end)
  end)

  it("packs bytes as gzip does", function()
    for _, bytes in ipairs { "", "x", ("text\0"):rep(100000) } do
      local input <const> = core.input(core.gzip(bytes)):inflate "gzip"
      local text = require("sonde.base.files").read_all(input, 1 << 24)
      assert.are.equal(bytes, text)
    end
  end)
end)
