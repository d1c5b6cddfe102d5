-- Kinds of a user's own: the one of docs/captures.md, by the command.
local dotnet <const> = require "spec.support.dotnet"
local helper <const> = require "spec.support.helper"

if not pcall(require, "sonde.c.sqlite") then
  it("captures are kept in SQLite", function() helper.skip "libsqlite3 was missing" end)
  return
end

-- Runs the command with a directory of settings that holds this kind.
local function with_kind(name, text, use)
  helper.in_directory(function(directory)
    helper.run(("mkdir -p %s/sonde/kinds"):format(directory))
    helper.write(("%s/sonde/kinds/%s.lua"):format(directory, name), text)
    use(function(...)
      local words = { "XDG_CONFIG_HOME=" .. helper.quote(directory), helper.command }
      for _, word in ipairs { ... } do words[#words + 1] = helper.quote(word) end
      return helper.run(table.concat(words, " "))
    end, directory .. "/c.db")
  end)
end

describe("a kind of a user's own", function()
  local guide <const> = helper.read "docs/captures.md"
  local text <const> = guide:match "This one is `descriptors.lua`:\n\n```lua\n(.-)```"

  it("of the guide is captured, with its parameters, and queried", function()
    local process <close> = dotnet.spawn { "sleep", "600" }
    with_kind("descriptors", text, function(sonde, store)
      local pid <const> = tostring(process.pid)
      local _, status, err = sonde("capture", "-p", pid, "--store", store, "--kind",
        "descriptors", "--at-least", "2")
      assert.equal(0, status, err)
      local out
      out, status, err = sonde("query", store, "--kind", "descriptors", "--where", "open=2..",
        "--json")
      assert.equal(0, status, err)
      local rows <const> = helper.json_lines(out)
      assert.equal(1, #rows)
      assert.equal(process.pid, rows[1].pid)
      assert.is_true(rows[1].open >= 2)
      -- What was written is read without the kind.
      out = helper.sonde("query", store, "--kind", "descriptors", "--json")
      assert.equal(1, #helper.json_lines(out))
      _, status, err = sonde("capture", "-p", pid, "--store", store, "--kind", "descriptors",
        "--at-least", "-1")
      assert.equal(2, status)
      assert.matches("at%-least", err)
      out = sonde("help", "capture")
      assert.matches("descriptors: leave out processes with fewer", out)
    end)
  end)

  it("that is none is told by its file", function()
    with_kind("broken", "return 5", function(sonde, store)
      local _, status, err = sonde("capture", "-p", "1", "--store", store, "--kind", "broken")
      assert.equal(2, status)
      assert.matches("broken%.lua: does not return a kind", err)
      local out <const> = sonde("help", "capture")
      assert.matches("%-%-every", out)
    end)
  end)
end)
