-- The HTML page in a real browser. The checks are JavaScript, in
-- spec/browser/checks; here each becomes a test.
local helper <const> = require "spec.support.helper"

local RUN <const> = "node spec/browser/run.mjs "
-- Where `make test` puts the modules of spec/browser/package.json.
local NPM <const> = os.getenv "SONDE_NPM" or "build/npm"

-- Why the checks cannot run here; nil when they can.
local function obstacle()
  local told <const> = helper.read(NPM .. "/obstacle")
  if told then return told:match "^[^\n]*" end
  for _, file in ipairs { NPM .. "/ready", os.getenv "SONDE_CHROMIUM" or "/usr/bin/chromium" } do
    local opened <close> = io.open(file, "rb")
    if opened == nil then return file .. " is missing: make test-browser sets it up" end
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
