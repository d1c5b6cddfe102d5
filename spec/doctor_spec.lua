local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local function by_name(rows)
  local map = {}
  for _, row in ipairs(rows) do
    assert.matches("^%u+$", row.status)
    assert.is_true(#row.detail > 0)
    map[row.name] = row
  end
  return map
end

describe("sonde doctor", function()
  it("looks at the machine", function()
    local rows <const> = by_name(sonde.doctor())
    for _, name in ipairs { "user", ".NET", "temporary files", "/proc", "ptrace", "kernel",
      "perf events", "BPF", "tracefs", "module http", "module native", "module sqlite" } do
      assert.truthy(rows[name], name)
      assert.equal("machine", rows[name].about)
    end
    local out, status = helper.sonde "doctor"
    assert.is_true(status == 0 or status == 1)
    assert.matches("OK +kernel +%d+%.%d+", out)
    out = helper.sonde("doctor", "--json")
    local list <const> = helper.json_lines(out)
    assert.equal(1, list[1].schema)
    assert.equal("machine", list[1].about)
  end)

  it("says what is wrong, with the fix", function()
    local out, status = helper.run(("TMPDIR=/no/such %s doctor"):format(helper.command))
    assert.equal(1, status)
    assert.matches("FAIL +temporary files +/no/such is no directory\n +fix: unset TMPDIR", out)
    out, status = helper.sonde("doctor", "99999999")
    assert.equal(1, status)
    assert.matches("FAIL +process +there is no process 99999999\n +fix: sonde ps", out)
  end)

  it("looks at a process", function()
    for _, version in ipairs { "8.0", "10.0" } do
      local process <close> = dotnet.start("idle", version)
      local rows <const> = by_name(sonde.doctor(process.pid))
      for _, name in ipairs { "process", "user", "diagnostics socket", "runtime", "sessions",
        "thread clocks", "createdump" } do
        assert.equal("OK", assert(rows[name], name).status, name)
      end
      assert.matches("%.NET " .. version:gsub("%.", "%%."), rows.runtime.detail)
      assert.matches("of 64 are open", rows.sessions.detail)
      process:kill(19)
      local _, status = helper.sonde("doctor", tostring(process.pid))
      process:kill(18)
      assert.equal(1, status)
    end
  end)

  it("says when diagnostics are off, and when it is no .NET process", function()
    local process <close> = dotnet.start("idle", "10.0",
      { env = { DOTNET_EnableDiagnostics = "0" } })
    local rows = by_name(sonde.doctor(process.pid))
    assert.equal("FAIL", rows["diagnostics socket"].status)
    assert.matches("EnableDiagnostics", rows["diagnostics socket"].detail)
    local other <close> = dotnet.spawn { "/bin/sleep", "60" }
    rows = by_name(sonde.doctor(other.pid))
    assert.equal("WARN", rows["diagnostics socket"].status)
    assert.is_nil(rows.runtime)
  end)
end)
