-- What the README shows is what happens.
local helper <const> = require "spec.support.helper"

local README <const> = helper.read "README.md"

local function blocks(language)
  local list = {}
  for body in README:gmatch("\n```" .. language .. "\n(.-)\n```") do list[#list + 1] = body end
  return list
end

-- A command of the README with the built command, a trace that is here, and
-- outputs in a directory that goes away.
local function local_command(line, directory)
  return (line:gsub("^sonde ", helper.command .. " ")
    :gsub(" %-o (%S+)", " -o " .. directory .. "/%1")
    :gsub("[%w]+%.nettrace", function(name)
      return name == "demo.nettrace" and name or helper.data "demo.nettrace"
    end))
end

-- Is each line of `shown` a line of `out`, in this order? "…" stands for any
-- lines between two.
local function assert_shown(shown, out)
  local at = 1
  for _, line in ipairs(helper.lines(shown)) do
    if line ~= "…" then
      local from <const>, to <const> = (out .. "\n"):find(line .. "\n", at, true)
      assert(from, "not in the output: " .. line)
      at = to + 1
    end
  end
end

describe("the README", function()
  it("shows the command's real output", function()
    local sessions <const> = blocks "console"
    assert.is_true(#sessions > 0)
    for _, session in ipairs(sessions) do
      local command, shown = session:match("^%$ ([^\n]+)\n(.*)$")
      local out, status = helper.run(local_command(command, "/tmp") .. " </dev/null")
      assert.equal(0, status)
      assert_shown(shown, out)
    end
  end)

  it("has commands that run", function()
    local count = 0
    helper.in_directory(function(directory)
      for line in README:gmatch("| `(sonde [^`]+)`") do
        line = line:gsub(" && go tool.*$", "")
        local _, status, err = helper.run(local_command(line, directory))
        -- The trace at hand has no exceptions and no allocations to show.
        assert(status == 0 or status == 1, line .. "\n" .. err)
        count = count + 1
      end
    end)
    assert.is_true(count >= 8)
  end)

  it("has Lua that runs", function()
    for _, body in ipairs(blocks "lua") do
      local chunk <const> = assert(load(body, "=README.md", "t", setmetatable({
        print = function() end }, { __index = _G })))
      chunk()
    end
  end)

  it("links to files that are there", function()
    for target in README:gmatch("%]%(([^)]+)%)") do
      local file <const> = target:gsub("#.*$", "")
      local _, status = helper.run("test -e " .. helper.quote(file))
      assert(status == 0, target)
    end
  end)
end)
