-- The HTML page in a real browser. The checks are JavaScript, in
-- spec/browser/checks; here each becomes a test.
local helper <const> = require "spec.support.helper"

local RUN <const> = "node spec/browser/run.mjs "
-- Where `make test-browser` puts the modules of spec/browser/package.json.
local MODULES <const> = (os.getenv "SONDE_NPM" or "build/npm") .. "/node_modules/playwright-core"

-- Why the checks cannot run here; nil when they can.
local function obstacle()
  for _, program in ipairs { "node", "chromium" } do
    local _, status = helper.run("command -v " .. program .. " >/dev/null")
    if status ~= 0 then return program .. " is not installed: make test-browser installs it" end
  end
  if helper.read(MODULES .. "/package.json") == nil then
    return "playwright-core is not installed: make test-browser installs it"
  end
end

local function results_of(directory)
  local out <const>, _, err = helper.run(RUN .. helper.quote(directory))
  local results = { [""] = err }
  for _, row in ipairs(helper.json_lines(out)) do results[row.name] = row.problem or "" end
  return results
end

describe("the HTML page in Chromium", function()
  local why <const> = obstacle()
  if why then
    it("opens, moves, finds", function() helper.skip(why) end)
    return
  end
  local results
  lazy_setup(function()
    helper.in_directory(function(directory)
      require("spec.browser.pages").write(directory)
      results = results_of(directory)
    end)
  end)
  for _, name in ipairs(helper.lines((helper.run(RUN .. "--list")))) do
    it(name, function()
      assert.equal("", results[name] or "it did not run: " .. results[""])
    end)
  end
end)
