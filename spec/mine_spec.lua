-- Own code alone (`--mine`): what a framework does is one frame, the call into
-- it, in every report.
local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.profiles"
require "sonde.profile"

local SHOP <const> = table.concat({
  "System.Threading.Thread.Run;Shop.Main;Shop.List;System.Text.Json.Serialize;"
    .. "System.Text.Json.Write 40",
  "System.Threading.Thread.Run;Shop.Main;System.Linq.Enumerable.Sum;System.Linq.Move;Shop.Price"
    .. ";System.Math.Round 10",
  "System.Threading.Thread.Run;System.Threading.Monitor.Wait 25", "",
}, "\n")

local FOLDED <const> = {
  "System.Threading.Thread.Run 25",
  "System.Threading.Thread.Run;Shop.Main;Shop.List;System.Text.Json.Serialize 40",
  "System.Threading.Thread.Run;Shop.Main;System.Linq.Enumerable.Sum;Shop.Price;System.Math.Round"
    .. " 10",
}

local function sorted(list)
  table.sort(list)
  return list
end

-- Stacks, outermost first, without the frames that follow one of the mask.
local function reference(p, mask)
  local names <const>, list = p:frames().name, {}
  for stack, values in p:samples() do
    local words, was_foreign = {}, false
    for i = #stack, 1, -1 do
      local is_foreign <const> = mask:byte(stack[i]) == 1
      if not (is_foreign and was_foreign) then words[#words + 1] = names[stack[i]] end
      was_foreign = is_foreign
    end
    list[#list + 1] = table.concat(words, ";") .. " " .. table.concat(values, " ")
  end
  return sorted(list)
end

local function stacks_of(p)
  return reference(p, ("\0"):rep(p:frames().n))
end

describe("fold_frames", function()
  it("leaves the outermost of neighbours", function()
    local p <const> = profiles.fold(core, "x;x2;a;x;b;x;x2 1\nx 2\na 4")
    local mask <const> = profiles.named(p, "^x")
    assert.same(sorted { "x;a;x;b;x 1", "x 2", "a 4" }, stacks_of(p:fold_frames(mask)))
  end)

  it("does so among inlined frames", function()
    local p <const> = assert(core.pprof_decode(helper.read(helper.data "pprof/g0.pb.gz")))
    local state = 1
    for _ = 1, 20 do
      local bytes = {}
      for i = 1, p:frames().n do
        state = state * 6364136223846793005 + 1442695040888963407
        bytes[i] = state >> 62 == 0 and "\0" or "\1"
      end
      local mask <const> = table.concat(bytes)
      assert.same(reference(p, mask), stacks_of(p:fold_frames(mask)))
    end
  end)

  it("refuses a mask of another length", function()
    local p <const> = profiles.fold(core, "a 1")
    assert.has_error(function() p:fold_frames "" end)
    assert.has_error(function() p:fold_frames(nil) end)
  end)
end)

describe("--mine", function()
  local directory, path, other
  lazy_setup(function()
    directory = helper.run("mktemp -d"):match "%S+"
    path, other = directory .. "/shop.folded", directory .. "/later.folded"
    helper.write(path, SHOP)
    helper.write(other, (SHOP:gsub("Write 40", "Write 90")))
  end)
  lazy_teardown(function() helper.run("rm -r " .. helper.quote(directory)) end)

  local function report(...)
    local out <const>, status, err = helper.sonde(...)
    assert.equal(0, status, err)
    return out
  end

  it("folds runs of foreign frames and keeps the sum", function()
    local lines <const> = helper.lines(report("convert", path, "--format", "folded", "--mine"))
    assert.same(sorted(FOLDED), sorted(lines))
  end)

  for name, more in pairs {
    top = {}, text = {}, tree = {}, peek = { "--pattern", "Serialize" }, traces = {}, calltree = {},
    dot = {}, raw = {}, callgrind = {}, speedscope = {}, svg = {},
  } do
    it("works in " .. name, function()
      local out <const> = report("report", name, path, "--mine", table.unpack(more))
      assert.matches("Serialize", (out:gsub("\\n", "")))
      assert.is_nil(out:find("Write", 1, true))
      assert.is_nil(out:find("Monitor", 1, true))
      local whole <const> = report("report", name, path, table.unpack(more))
      assert.matches("Write", whole)
    end)
  end

  it("works in a difference, as text and picture", function()
    for _, form in ipairs { "diff", "folded", "svg" } do
      local out <const> = report("diff", path, other, "--mine", "--format", form)
      assert.matches("Serialize", out)
      assert.is_nil(out:find("Write", 1, true))
    end
  end)

  it("takes a pattern of what is own code", function()
    local out <const> = report("convert", path, "--format", "folded", "--mine", "--own", "Json")
    assert.matches("System%.Threading%.Thread%.Run;System%.Text%.Json%.Serialize;"
      .. "System%.Text%.Json%.Write 40", out)
    local _, status, err = helper.sonde("top", path, "--own", "Json")
    assert.equal(2, status)
    assert.matches("%-%-own: needs %-%-mine", err)
  end)

  it("opens a page that way and leaves all in it", function()
    for _, words in ipairs { { "convert", path }, { "diff", path, other } } do
      local page <const> = directory .. "/page.html"
      words[#words + 1] = "--mine"
      words[#words + 1] = "-o"
      words[#words + 1] = page
      report(table.unpack(words))
      local data <const> = helper.read(page):match '<script[^>]-id="data"[^>]*>(.-)</script>'
      local file <const> = directory .. "/data"
      helper.write(file, data)
      local text <const> = helper.run(("base64 -d <%s | gzip -dc"):format(helper.quote(file)))
      assert.matches('"own":true', text)
      assert.matches("System%.Text%.Json%.Write", text)
    end
  end)

  it("is a method, too", function()
    local p <const> = profiles.fold(core, SHOP)
    assert.same(sorted { table.unpack(FOLDED) }, stacks_of(p:mine()))
    assert.same({ "mine", "own=Json" }, p:mine("Json"):notes().filters)
  end)
end)
