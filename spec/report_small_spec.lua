-- Reports of few words: topproto and comments, against go tool pprof where it is.
local helper <const> = require "spec.support.helper"
local sonde <const> = require "sonde"

local function raw(path)
  return (helper.run("PPROF_TMPDIR=/tmp go tool pprof -symbolize=none -raw " .. helper.quote(path)))
end

describe("topproto", function()
  for _, name in ipairs { "h0.pb.gz", "ok.pb.gz", "b1.pb.gz", "d.pb.gz" } do
    it("makes of " .. name .. " what pprof makes of it", function()
      helper.needs "go"
      local path <const> = helper.data("pprof/" .. name)
      if helper.read(path) == nil then helper.skip(name .. " is not among the data") end
      helper.in_directory(function(at)
        helper.run(("PPROF_TMPDIR=/tmp go tool pprof -symbolize=none -topproto -output %s %s")
          :format(at .. "/theirs", path))
        helper.run(("%s report topproto %s > %s/ours"):format(helper.command, path, at))
        local theirs <const> = raw(at .. "/theirs")
        assert.matches("Samples:\ncum/", theirs, 1, true)
        assert.equal(theirs, raw(at .. "/ours"))
      end)
    end)
  end

  it("keeps the values of the table, in its unit", function()
    local profile <const> = sonde.profile { types = { { "cpu", "nanoseconds" } } }
    profile:add({ "leaf", "root" }, 30000000)
    profile:add({ "root" }, 10000000)
    local report <const> = require "sonde.report.topproto"
    local options <const> = require("sonde.base.options").check(report.options, {}, "topproto")
    local bytes = ""
    assert(report.write(profile, options, { write = function(_, piece)
      bytes = bytes .. piece
      return true
    end }))
    local made <const> = assert(sonde.open { bytes = bytes, name = "made" })
    assert.same({ { type = "cum", unit = "ms" }, { type = "flat", unit = "ms" } }, made:types())
    local values = {}
    for stack, row in made:samples() do values[made:frames().name[stack[1]]] = row end
    assert.same({ leaf = { 30, 30 }, root = { 40, 10 } }, values)
  end)
end)

describe("comments", function()
  it("are written one a line", function()
    helper.in_directory(function(at)
      local profile <const> = sonde.profile { types = { { "samples", "count" } } }
      profile:add({ "main" }, 1)
      profile:set_info { comments = { "built by hand", "two\nlines", "#hidden" } }
      assert(profile:write(at .. "/c.pb.gz"))
      local out, status = helper.run(("%s report comments %s"):format(helper.command,
        at .. "/c.pb.gz"))
      assert.equal(0, status)
      assert.equal("built by hand\ntwo\\nlines\n#hidden\n", out)
    end)
  end)
end)
