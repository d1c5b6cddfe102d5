local commands <const> = require "spec.support.commands"
local helper <const> = require "spec.support.helper"

local TRACE <const> = helper.data "demo.nettrace"

local run <const> = commands.run

describe("an answer that is empty because the input was cut", function()
  -- The stream's head and blocks of its first events, of which none is a sample.
  local PARTS <const> = { 3000, 300 }
  for _, line in ipairs {
    {}, { "top" }, { "top", "--json" }, { "top", "--from", "1h" }, { "top", "--focus", "nowhere" },
    { "report", "tree" }, { "report", "gc" }, { "report", "jit", "--json" },
    { "report", "threads" }, { "report", "exceptions" }, { "report", "findings" },
    { "report", "raw" }, { "convert", "--format", "pprof" }, { "convert", "--format", "html" },
    { "convert", "--format", "chromium" }, { "diff", "DEMO" }, { "events", "--name", "nowhere" },
    { "inspect" }, { "shell", "-c", "top" }, { "policy", "test", "gc_pressure", "--replay" },
  } do
    it(("has the status of damage: %s"):format(table.concat(line, " ")), function()
      helper.in_directory(function(directory)
        local path <const> = directory .. "/cut.nettrace"
        for _, bytes in ipairs(PARTS) do
          helper.write(path, helper.read(TRACE):sub(1, bytes))
          local words <const> = { table.unpack(line) }
          for i, word in ipairs(words) do words[i] = word == "DEMO" and TRACE or word end
          words[#words + 1] = path
          local _, status, err = run(table.unpack(words))
          assert.equal(4, status, err)
          assert.matches("ends [early at]+ byte " .. bytes, err)
        end
      end)
    end)
  end

  it("is one for every kind of input", function()
    helper.in_directory(function(directory)
      local function refused(name, bytes, ...)
        helper.write(directory .. name, bytes)
        local words <const> = { ... }
        words[#words + 1] = directory .. name
        local _, status, err = run(table.unpack(words))
        assert.equal(4, status, err)
      end
      local packed <const> = helper.read(helper.data "pprof/b1.pb.gz")
      refused("/p.pb.gz", packed:sub(1, 200), "top", "--lenient", "--focus", "nowhere")
      refused("/p.pb.gz", packed:sub(1, 30), "top")
      refused("/p.folded", "a;b 1\na;c", "top", "--focus", "nowhere")
      local old <const> = helper.read(helper.data "synth/v6-flush-flags.nettrace")
      refused("/v6.nettrace", old:sub(1, #old // 2), "top")
    end)
  end)
end)
