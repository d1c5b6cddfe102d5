local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"

local function rows_of(...)
  local out, status, err = helper.sonde("counters", ...)
  assert.equal(0, status, err)
  local by_name = {}
  for _, row in ipairs(helper.json_lines(out)) do
    by_name[row.name .. (row.tags and row.tags.kind or "")] = row
  end
  return by_name
end

describe("sonde counters of a meter", function()
  for _, version in ipairs { "8.0", "10.0" } do
    it("has tags and histograms, .NET " .. version, function()
      local process <close> = dotnet.start("meters", version)
      local pid <const> = tostring(process.pid)
      local rows <const> = rows_of(pid, "--meter", "Targets.Meters", "--once", "--json")
      local book <const>, film <const> = rows.ordersbook, rows.ordersfilm
      assert.equal("counter", book.kind)
      assert.equal("{order}", book.unit)
      assert.equal("Targets.Meters", book.provider)
      assert.is_true(book.rate > 0 and film.rate > 0)
      assert.is_true(math.abs(book.rate / film.rate - 2) < 0.5)
      assert.equal("histogram", rows.duration.kind)
      assert.is_true(math.abs(rows.duration.quantiles["0.5"] - 50) < 3)
      assert.is_true(math.abs(rows.duration.quantiles["0.99"] - 99) < 3)
      assert.equal("updown", rows.queue.kind)
      assert.is_true(rows.queue.value > 0)
      assert.equal(42.5, rows.level.value)
      local only <const> = rows_of(pid, "--meter", "Targets.Meters\\level", "--once", "--json")
      assert.equal(42.5, only.level.value)
      assert.is_nil(only.queue)
      local out <const> = helper.sonde("counters", pid, "--meter", "Targets.Meters", "--once",
        "--csv")
      assert.matches("Targets.Meters,orders %({order}%)%[kind=book%],Rate,%d", out)
      assert.matches("orders{kind=book}", (helper.sonde("counters", pid, "--meter",
        "Targets.Meters", "--once")))
      assert.is_true(dotnet.sessions(process.pid) <= 1)
    end)
  end
end)
