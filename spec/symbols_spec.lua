-- Names of functions by address: of files and of running processes.
local helper <const> = require "spec.support.helper"

local found <const>, native <const> = pcall(require, "sonde.c.native")

local function it_native(name, body)
  it(name, function()
    if not found then helper.skip("built without libdw") end
    body()
  end)
end

describe("mangled names", function()
  it_native("of C++ and Rust become readable", function()
    assert.equal("std::vector<int, std::allocator<int> >::push_back",
      native.demangle "_ZNSt6vectorIiSaIiEE9push_backERKi")
    assert.equal("core::fmt::write", native.demangle "_ZN4core3fmt5write17h0123456789abcdefE")
    assert.equal("123foo::bar", native.demangle "_RNvC6_123foo3bar")
    assert.equal("f(int)", native.demangle("_Z1fi", true))
  end)

  it_native("that are none stay as they are", function()
    for _, name in ipairs { "", "main", "_", "_Z", "_Zq", "_R", "main.main", "_ZN" } do
      assert.equal(name, native.demangle(name))
    end
  end)
end)
