-- Requests to block devices, by the stacks that made them.
local helper <const> = require "spec.support.helper"
local places <const> = require "sonde.probe.places"
local programs <const> = require "spec.support.native"
local sample <const> = require "sonde.probe.sample"
local sonde <const> = require "sonde"

-- Skips where the kernel does not let us look at requests.
local function needs_requests()
  programs.module()
  local sampling, message = sample.open { pid = require("sonde.process.proc").self().pid,
    block_io = true }
  if sampling == nil then helper.skip(message) end
  sampling:close()
end

-- Requests and nanoseconds of stacks with a function, of one operation.
local function of(profile, name, operation)
  local frames <const> = profile:frames()
  local times, ns = 0, 0
  for stack, values, labels in profile:samples() do
    local hit = false
    for _, frame in ipairs(stack) do hit = hit or frames.name[frame] == name end
    if hit and labels.operation[1] == operation then
      times, ns = times + values[1], ns + values[2]
      assert.equal("_start", frames.name[stack[#stack]])
    end
  end
  return times, ns
end

describe("requests to block devices", function()
  it("are counted and timed below the functions that made them", function()
    needs_requests()
    helper.in_directory(function(directory)
      local program <const>, path = directory .. "/blocks", directory .. "/io.pb.gz"
      programs.sh(("gcc -O2 -o %s spec/targets/native/blocks.c"):format(program))
      local out, status, err = helper.sonde("record", "--native", "--block-io", "-o", path, "--",
        program, directory .. "/file")
      local writes, reads, took = out:match("^did (%d+) (%d+) (%d+)\n$")
      if writes == nil then helper.skip "temporary files are on no block device here" end
      assert.equal(0, status, err)
      -- A busy machine's requests may be too many for the rings, and some kernels do not
      -- tell of every end: both are said.
      local lost <const> = err:find("were lost", 1, true) ~= nil
      local unended <const> = math.tointeger(tonumber(err:match("(%d+) of [%d,]+ requests? were")))
        or 0
      local profile <const> = assert(sonde.open(path))
      local types = {}
      for _, row in ipairs(profile:types()) do types[#types + 1] = row.type .. "/" .. row.unit end
      assert.same({ "requests/count", "block_io/nanoseconds" }, types)
      local loads <const>, ns = of(profile, "load", "read")
      local saves <const> = of(profile, "save", "write")
      if loads + saves == 0 then helper.skip "files here make no requests to a block device" end
      assert(lost or loads >= tonumber(reads), ("%d of %d reads"):format(loads, reads))
      assert(lost or saves >= tonumber(writes), ("%d of %d writes"):format(saves, writes))
      -- One after the other, within the calls.
      assert(ns < tonumber(took), ("%d of %d ns"):format(ns, took))
      assert(ns > 0 or unended >= loads, ("%d of %d did not end"):format(unended, loads))
    end)
  end)

  it("tell the tracepoints they need, and what does not go with them", function()
    for _, words in ipairs { { "--event", "cycles" }, { "--frequency", "9" }, { "--off-cpu" } } do
      local _, status, err = helper.sonde("record", "-p", "1", "--native", "--block-io",
        table.unpack(words))
      assert.equal(2, status, err)
      assert.truthy(err:find("--block-io counts every request", 1, true), err)
    end
    local form, _, code = places.block_requests()
    if form == nil then
      assert.equal("unavailable", code)
    else
      assert(form.made > 0 and form.issue > 0 and form.complete > 0)
      assert.same({ 8, 16 }, { form.device, form.sector })
    end
  end)
end)
