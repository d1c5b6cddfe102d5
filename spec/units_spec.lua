local units <const> = require "sonde.base.units"

describe("units", function()
  it("read durations", function()
    for text, ns in pairs {
      ["10s"] = 10000000000, ["1.5ms"] = 1500000, ["1h30m"] = 5400000000000, ["0"] = 0,
      ["250us"] = 250000, ["3µs"] = 3000, ["3μs"] = 3000, [" 2 seconds "] = 2000000000,
      ["0.1s"] = 100000000, [".5s"] = 500000000, ["1d"] = 86400000000000,
      ["9223372036s"] = 9223372036000000000,
    } do
      assert.equal(ns, units.scan_duration(text), text)
    end
  end)

  it("refuse what is no duration", function()
    for _, text in ipairs { "", "10", "s", ".", "1s junk", "-1s", "1e3s", "9999999999999s" } do
      local value, message = units.scan_duration(text)
      assert.is_nil(value, text)
      assert.matches("is not a duration", message)
    end
  end)

  it("read sizes, exactly", function()
    for text, bytes in pairs {
      ["4096"] = 4096, ["1GiB"] = 1 << 30, ["64MB"] = 64 << 20, ["1.5k"] = 1536,
      ["8191PB"] = 8191 << 50, ["9007199254740993"] = 9007199254740993,
    } do
      assert.equal(bytes, units.scan_size(text), text)
    end
    assert.is_nil((units.scan_size("8192PB")))
    assert.is_nil((units.scan_size("1e5")))
    assert.is_nil((units.scan_size("x")))
  end)

  it("read counts and percentages", function()
    assert.equal(1500000, units.scan_count("1.5M"))
    assert.equal(250, units.scan_count("250"))
    assert.is_nil((units.scan_count("many")))
    assert.equal(0.5, units.scan_percent("0.5%"))
    assert.equal(5, units.scan_percent("5"))
    assert.is_nil((units.scan_percent("5s")))
  end)

  it("print values as pprof does", function()
    for _, row in ipairs {
      { 1234567890, "nanoseconds", "1.23s" }, { 0, "nanoseconds", "0" },
      { 90000000000, "nanoseconds", "90s" }, { 3600000000000, "nanoseconds", "1hrs" },
      { math.mininteger, "nanoseconds", "-2562047.79hrs" }, { -36864, "bytes", "-36kB" },
      { 64000, "bytes", "62.50kB" }, { 5, "count", "5" }, { 7, "widgets", "7widgets" },
      { 9223372036854775807, "count", "9223372036854775807" }, { 3, "milliseconds", "3ms" },
      { 5000, "us", "5ms" },
    } do
      assert.equal(row[3], units.value(row[1], row[2]))
    end
    assert.equal("4850ms", units.value(4850000000, "nanoseconds", "ms"))
    assert.equal("0.05s", units.value(50000000, "nanoseconds", "s"))
  end)

  it("choose one unit for a table by pprof's rule", function()
    assert.equal("ms", units.choose("nanoseconds", 50000000, 4920000000))
    assert.equal("s", units.choose("nanoseconds", 10000000, 4920000000))
    assert.equal("s", units.choose("nanoseconds", 0, 4920000000))
    assert.equal("", units.choose("count", 1, 100000))
  end)

  it("know which units go together", function()
    assert.is_true(units.fits("nanoseconds", "ms"))
    assert.is_true(units.fits("count", "auto"))
    assert.is_false(units.fits("nanoseconds", "MB"))
    assert.is_false(units.fits("count", "ms"))
    assert.equal("time", units.family("microseconds"))
    assert.equal("bytes", units.family("bytes"))
    assert.is_nil(units.family("count"))
    assert.equal(1000000, units.worth("milliseconds"))
  end)

  it("print shares as pprof does", function()
    for _, row in ipairs {
      { 1, 3, "33.33%" }, { 0, 0, "    0%" }, { 1, 100000, "0.001%" }, { 5, 5, "  100%" },
      { -1, 2, "50.00%" }, { 99951, 100000, "  100%" }, { 3, 2, "150.00%" },
    } do
      assert.equal(row[3], units.percent(row[1], row[2]))
    end
  end)

  it("mark thousands", function()
    assert.equal("1,234,567", units.count(1234567))
    assert.equal("-123", units.count(-123))
    assert.equal("123,456", units.count(123456))
  end)
end)
