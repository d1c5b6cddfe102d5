local dkjson <const> = require "dkjson"
local json <const> = require "sonde.base.json"

describe("the JSON writer", function()
  it("writes integers exactly", function()
    assert.equal("9223372036854775807", json.encode(math.maxinteger))
    assert.equal("-9223372036854775808", json.encode(math.mininteger))
    assert.equal("[9007199254740993]", json.encode { 9007199254740993 })
  end)

  it("writes other numbers so that they come back", function()
    for _, n in ipairs { 0.1, 1 / 3, 1e300, 5e-324, -2.5, 1.0 } do
      assert.equal(n, tonumber(json.encode(n)))
    end
    assert.equal("0.1", json.encode(0.1))
    assert.equal("null", json.encode(0 / 0))
    assert.equal("null", json.encode(math.huge))
    assert.equal("null", json.encode(-math.huge))
  end)

  it("writes strings of any bytes as valid UTF-8", function()
    for byte = 0, 255 do
      local text <const> = json.encode("a" .. string.char(byte) .. "b")
      assert.truthy(utf8.len(text))
      assert.is_nil(text:find("%c"))
      local back <const> = dkjson.decode(text)
      assert.equal(byte < 128 and "a" .. string.char(byte) .. "b" or "a\u{FFFD}b", back)
    end
    assert.equal('"é中😀"', json.encode("é中😀"))
    assert.equal('"\u{FFFD}\u{FFFD}\u{FFFD}"', json.encode("\xed\xa0\x80"))
    assert.equal('"a\u{FFFD}"', json.encode("a\xe4"))
  end)

  it("cannot end a script element around it", function()
    assert.is_nil(json.encode({ "</script>" }):find("</", 1, true))
    assert.same({ "</script>" }, dkjson.decode(json.encode { "</script>" }))
  end)

  it("keeps the order of keys", function()
    local row <const> = { unit = "count", name = "f", flat = 1, cum = 2 }
    assert.equal('{"name":"f","flat":1,"cum":2,"unit":"count"}',
      json.encode(row, { "name", "flat", "cum" }))
    assert.equal('{"cum":2,"flat":1,"name":"f","unit":"count"}', json.encode(row))
  end)

  it("tells arrays from objects", function()
    assert.equal("{}", json.encode {})
    assert.equal("[]", json.encode(json.array {}))
    assert.equal("{}", json.encode(json.object {}))
    assert.equal("[1,[2],{}]", json.encode { 1, { 2 }, {} })
    assert.equal('{"1":"a","n":1}', json.encode { "a", n = 1 })
    assert.equal("[null]", json.encode { json.null })
    assert.equal("null", json.encode(nil))
  end)

  it("refuses what has no form in JSON", function()
    assert.error_matches(function() json.encode { print } end, "a function has no form in JSON")
    local cycle <const> = {}
    cycle[1] = cycle
    assert.error_matches(function() json.encode(cycle) end, "nested too deep")
  end)
end)
