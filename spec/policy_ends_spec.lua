-- What a policy hears of how processes end, where the kernel tells it and where not.
local commands <const> = require "spec.support.commands"
local core <const> = require "sonde.c.core"
local ends <const> = require "sonde.policy.ends"
local helper <const> = require "spec.support.helper"
local policy <const> = require "sonde.policy"

local function compile(name, trigger)
  local loaded <const> = assert(policy.compile(
    ('return { summary = "s", trigger = %s, actions = { { log = "x" } } }'):format(trigger),
    name .. ".lua"))
  loaded.name = name
  return loaded
end

-- The kernel as it is in a container, which tells nobody.
local function in_container(work)
  local real <const> = core.exits
  local _ <close> = setmetatable({}, { __close = function() core.exits = real end })
  core.exits = function() return nil, "Connection refused", "unavailable" end
  return work()
end

-- What a verb of policies says on stderr, its status, and its answer.
local function said(verb, path)
  local out <const>, status <const>, words <const> = commands.run("policy", verb, path)
  return words, status, out
end

describe("a policy that waits for a status", function()
  it("cannot fire where the kernel tells none, however deep it stands", function()
    local status <const> = compile("status", '{ exit = "139" }')
    local deep <const> = compile("deep",
      '{ any = { { metric = "cpu", above = 5 }, { all = { { exit = "failure" } } } } }')
    local any <const> = compile("any", '{ exit = "any" }')
    local other <const> = compile("other", '{ metric = "cpu", above = 5 }')
    local list <const> = in_container(function()
      return ends.warnings { status, deep, any, other }
    end)
    assert.equal(2, #list)
    assert.equal(status, list[1].policy)
    assert.matches("waits for an end with status 139, .* %(Connection refused%)", list[1].text)
    assert.equal(deep, list[2].policy)
    assert.matches("status failure", list[2].text)
  end)

  it("is told by check and explain, which end well", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/crashed.lua"
      helper.write(path, 'return { summary = "s", trigger = { exit = "139" },'
        .. ' actions = { { log = "x" } } }')
      for _, verb in ipairs { "check", "explain" } do
        local err, status, out = in_container(function() return said(verb, path) end)
        assert.equal(0, status)
        assert.matches("^sonde: crashed: it waits for an end with status 139, but the kernel does"
          .. " not tell us statuses .*: only 'any' fires; try as root", err)
        assert.is_nil(out:find("only 'any' fires", 1, true))
      end
      helper.write(path, 'return { summary = "s", trigger = { exit = "any" },'
        .. ' actions = { { log = "x" } } }')
      assert.equal("", (in_container(function() return said("check", path) end)))
    end)
  end)

  it("is not warned of where the kernel tells them", function()
    local listener <const>, message <const> = core.exits()
    if listener == nil then helper.skip("the kernel tells no statuses here: " .. message) end
    listener:close()
    assert.same({}, ends.warnings { compile("status", '{ exit = "139" }') })
  end)
end)
