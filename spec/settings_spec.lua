local helper <const> = require "spec.support.helper"
local settings <const> = require "sonde.base.settings"

describe("a user's own files", function()
  it("lie where the system's conventions say", function()
    local function path(variables)
      return settings.path("findings", function(name) return variables[name] end)
    end
    assert.equal("/c/sonde/findings", path { XDG_CONFIG_HOME = "/c", HOME = "/h" })
    assert.equal("/h/.config/sonde/findings", path { HOME = "/h" })
    assert.equal("/h/.config/sonde/findings", path { XDG_CONFIG_HOME = "", HOME = "/h" })
    assert.equal("/h/.config/sonde/findings", path { XDG_CONFIG_HOME = "c", HOME = "/h" })
    assert.is_nil(path {})
  end)

  it("are listed by name, and found by it when they are there", function()
    helper.in_directory(function(directory)
      local function getenv(name) return name == "XDG_CONFIG_HOME" and directory or nil end
      assert.same({}, settings.lua_names(settings.path("policies", getenv)))
      helper.run(("mkdir -p %s/sonde/policies"):format(directory))
      for _, name in ipairs { "b.lua", "a.lua", ".c.lua", "d.txt" } do
        helper.write(("%s/sonde/policies/%s"):format(directory, name), "")
      end
      assert.same({ "a", "b" }, settings.lua_names(settings.path("policies", getenv)))
      assert.equal(directory .. "/sonde/policies/a.lua",
        settings.lua_file("policies", "a", getenv))
      assert.is_nil(settings.lua_file("policies", "x", getenv))
      assert.is_nil(settings.lua_file("policies", "../policies/a", getenv))
    end)
  end)
end)
