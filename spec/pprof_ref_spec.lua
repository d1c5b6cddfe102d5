-- Reports equal those of the reference, line by line after the header. The
-- outputs were made by google/pprof (see ../shared/pprof/ref/README.md); a
-- part of them is in spec/data for checkouts that lie alone.
local helper <const> = require "spec.support.helper"
local profiles <const> = require "spec.support.profiles"
local reference <const> = require "spec.support.pprof_commands"

-- The newer tool's output where there is one.
local function expected(directory, name, ending)
  for _, version in ipairs { ".head", ".go119" } do
    local text <const> = helper.read(directory .. name .. version .. ending)
    if text then return text, directory .. name .. version .. ending end
  end
end

local function check_proto(directory, name, command)
  local _, path <const> = expected(directory, name:gsub("%.proto$", ""), ".proto.pb.gz")
  local ours <const> = assert(reference.run(command, directory .. "profiles/"))
  assert.equal(profiles.gunzip(path), ours)
end

local function check_text(directory, name, command)
  local theirs <const> = assert(expected(directory, name, ".txt"))
  local ours, message = reference.run(command, directory .. "profiles/")
  if ours == nil then
    -- Where nothing is left the reference shows a header, and we say so.
    assert.same({}, { select(2, table.unpack(reference.body(theirs, command.report))) }, message)
    return
  end
  assert.same(reference.body(theirs, command.report), reference.body(ours, command.report))
end

-- Commands that are meant to fail, with the reference's words for why.
local WRONG <const> = {
  ["cpu.bad-regex"] = "bad option 'focus' to 'profile:where': is not a regular expression",
  ["cpu.gran-flag"] = "unknown option 'granularity'",
}

local function check(directory, name, line)
  local command <const> = reference.parse(line)
  if name == "cpu.bad-regex" then
    assert.error_matches(function() reference.run(command, directory .. "profiles/") end,
      WRONG[name])
  elseif name == "cpu.gran-flag" then
    -- Not an option there; here it is another word for `by`.
    assert.truthy(reference.run(reference.parse(line:gsub("-granularity=", "-")),
      directory .. "profiles/"))
  elseif command.report == "proto" then
    check_proto(directory, name, command)
  else
    check_text(directory, name, command)
  end
end

local function check_all(directory)
  local list <const> = helper.read(directory .. "COMMANDS")
  for name, line in list:gmatch("([^\t\n]+)\t([^\n]+)\n") do
    it("writes " .. name .. " as " .. line:match("go tool pprof .*$"), function()
      check(directory, name, line)
    end)
  end
end

describe("reports of the shipped profiles", function()
  check_all(helper.data "pprof/ref/")
end)

describe("reports of all reference profiles", function()
  if helper.read "../shared/pprof/ref/COMMANDS" then
    check_all "../shared/pprof/ref/"
  else
    it("equal the reference", function() helper.shared "pprof/ref/COMMANDS" end)
  end
end)
