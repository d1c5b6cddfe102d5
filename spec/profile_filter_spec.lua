local profiles <const> = require "spec.support.made_profiles"

-- What is left of a profile, as folded lines in a fixed order.
local function lines(profile, opts)
  local text <const> = assert(profile:render("folded", opts or { type = "samples" }))
  local list = {}
  for line in text:gmatch("[^\n]+") do list[#list + 1] = line end
  table.sort(list)
  return list
end

describe("filters of a profile", function()
  local program
  before_each(function() program = profiles.program() end)

  it("focus keeps samples by name, file or module", function()
    assert.same({ "main;idle;wait 5" }, lines(program:focus("^wait$")))
    assert.same({ "main;idle;wait 5" }, lines(program:focus("^sys$")))
    assert.same({ "rec;rec;rec 1" }, lines(program:focus("rec")))
  end)

  it("ignore drops them", function()
    assert.same({ "main;idle;wait 5", "rec;rec;rec 1" }, lines(program:ignore("Json")))
  end)

  it("hide and show leave out frames", function()
    assert.same({ "Json.parse 10", "Json.parse;Json.read 20", "Json.parse;Json.skip 30" },
      lines(program:hide("^main$"):focus("Json")))
    assert.same({ "main 65", "rec;rec;rec 1" }, lines(program:show("^app$"):hide("idle")))
  end)

  it("show_from and prune_from cut stacks", function()
    assert.same({ "Json.parse 10", "Json.parse;Json.read 20", "Json.parse;Json.skip 30" },
      lines(program:show_from("parse")))
    assert.same({ "main;Json.parse 60", "main;idle;wait 5", "rec;rec;rec 1" },
      lines(program:prune_from("parse")))
  end)

  it("keep the numbers of locations for who shows them", function()
    local at = {}
    for i, location in ipairs(program:locations()) do at[location.address] = i end
    for _, filters in ipairs { { focus = "rec" }, { tagfocus = "thread=work" },
      { tagshow = "thread" }, { tagroot = "thread" } } do
      local left <const> = program:where(filters, true)
      assert.is_true(#left:locations() >= #program:locations())
      assert.same(program:mappings(), left:mappings())
      for i, location in ipairs(left:locations()) do
        if location.address ~= 0 then assert.equal(at[location.address], i) end
      end
    end
    assert.is_true(#program:focus("rec"):locations() < #program:locations())
  end)

  it("fold_recursion makes one frame of a function that calls itself", function()
    assert.same({ "rec 1" }, lines(program:focus("rec"):fold_recursion()))
  end)

  it("labels choose samples, with and without a key", function()
    assert.same({ "main;Json.parse;Json.read 20", "main;Json.parse;Json.skip 30" },
      lines(program:where { label_focus = "thread=work" }))
    assert.same({ "main;Json.parse;Json.read 20", "main;Json.parse;Json.skip 30" },
      lines(program:where { label_ignore = "thread:boss" }))
    local none, message = program:where({ label_focus = "host=." }):top()
    assert.is_nil(none)
    assert.equal("no samples: nothing is left by label_focus=host=.", message)
  end)

  it("together see the same frames, as in pprof", function()
    assert.same({ "Json.parse 60" },
      lines(program:where { focus = "main", hide = "skip|read|^main$", ignore = "wait" }))
  end)

  it("leave their receiver alone and name themselves", function()
    local before <const> = lines(program)
    local focused <const> = program:focus("Json")
    assert.same(before, lines(program))
    assert.same({}, program:notes().filters)
    assert.same({ "focus=Json", "hide=main" }, focused:hide("main"):notes().filters)
    assert.same({ 66, 660000000 }, focused:hide("main"):notes().whole)
    assert.equal(program, program:where {})
  end)

  it("match each name once, whatever its bytes", function()
    local odd <const> = profiles.of("a\xff\0b 1\nplain 2")
    assert.same({ "a\\xff\\x00b 1" }, lines(odd:focus("\\xff"), {}))
    assert.same({ "a\\xff\\x00b 1" }, lines(odd:focus("\\x00b$"), {}))
  end)

  it("refuse what is no pattern", function()
    assert.error_matches(function() program:focus("(") end,
      "'focus' to 'profile:where': is not a regular expression")
    assert.error_matches(function() program:where { focous = "x" } end, "did you mean 'focus'")
  end)
end)
