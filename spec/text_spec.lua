local table_of <const> = require "sonde.base.table"
local text <const> = require "sonde.base.text"

describe("text from outside", function()
  it("is left alone when it is harmless", function()
    for _, name in ipairs { "main.run", "std::map<int, char>::at(int)", "日本語", "a\\b" } do
      assert.equal(name, text.printable(name))
      assert.equal(name, text.utf8(name))
    end
  end)

  it("never commands a terminal", function()
    assert.equal("a\\x1b[31mred", text.printable("a\27[31mred"))
    assert.equal("a\\nb\\tc\\x00\\x7f", text.printable("a\nb\tc\0\127"))
    assert.equal("\\u{9b}31m", text.printable("\u{9b}31m"))
    assert.equal("\\x9b31m", text.printable("\x9b31m"))
    assert.equal("\\u{202e}txt", text.printable("\u{202e}txt"))
    assert.equal("\\x80\\xff日", text.printable("\x80\xff日"))
  end)

  it("is cut between characters", function()
    assert.equal("日本…", text.cut("日本語テ", 3))
    assert.equal("日本語テ", text.cut("日本語テ", 4))
    assert.equal("…", text.cut("日本", 1))
    assert.equal("ab…yz", text.cut_middle("abcdefghijklmnopqrstuvwxyz", 5))
    assert.equal("日…語", text.cut_middle("日本テキスト語", 3))
  end)

  it("stays content in XML", function()
    assert.equal("&lt;b&gt; &amp;amp; &quot;&#39;\\x00", text.xml("<b> &amp; \"'\0"))
    assert.equal("\\u{fffe}", text.xml("\u{fffe}"))
  end)

  it("stands in columns", function()
    local lines <const> = table_of.lines({ { title = "n", right = true }, { title = "name" } },
      { { "1", "日本" }, { "200", "x" } })
    assert.same({ "  n  name", "  1  日本", "200  x" }, lines)
  end)
end)
