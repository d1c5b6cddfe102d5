-- Probes of kernel functions and the lower ways of attaching, in a virtual
-- machine with a kernel that has them.
local guest <const> = require "spec.support.guest"
local native <const> = require "spec.support.native"

describe("in a virtual machine", function()
  it("probes work on the kernel's functions", function()
    native.module()
    local results, out = guest.run(guest.kernel())
    local bad, n = {}, 0
    for name, verdict in pairs(results) do
      n = n + 1
      if verdict:sub(1, 4) ~= "PASS" then bad[#bad + 1] = name .. ": " .. verdict end
    end
    assert(out:find("GUEST-END", 1, true), out)
    assert.same({}, bad)
    assert.equal(12, n)
  end)
end)
