-- Probes of user functions: exact counts, latencies, stacks, groups, each way of
-- attaching, and the command.
local helper <const> = require "spec.support.helper"
local native <const> = require "spec.support.native"
local probes <const> = require "spec.support.probes"

local CALLS <const> = "^(counted|nest|leaf|say|never|wait_line)$"

local function in_target(opts, words)
  local program <const> = probes.program "calls.c"
  local target <const> = probes.start(program)
  opts.binary = opts.binary or program
  opts.functions = opts.functions or CALLS
  local report <const> = probes.run(opts, function()
    for _, word in ipairs(words) do target:act(word) end
  end)
  target:close()
  return report, target
end

describe("probes of user functions", function()
  before_each(probes.needed)

  it("count to the hit under four processes", function()
    local program <const> = probes.program "calls.c"
    local targets = {}
    for i = 1, 4 do targets[i] = probes.start(program) end
    local report <const> = probes.run({ binary = program, functions = "^counted$", latency = true },
      function()
        for _, target in ipairs(targets) do target.stdin:write("calls 100000\n") end
        for _, target in ipairs(targets) do assert(target:line("^did", 240)) end
      end)
    for _, target in ipairs(targets) do target:close() end
    local func <const> = probes.func(report, "counted")
    assert.equal(400000, func.count)
    assert.equal(400000, func.returns)
    assert.equal(0, func.in_flight)
    assert.equal(0, func.lost)
    local n = 0
    for i = 3, #func.histogram, 3 do n = n + func.histogram[i] end
    assert.equal(400000, n)
  end)

  for _, way in ipairs { "many", "link", "program" } do
    it("are the same when attached by " .. way, function()
      local report <const> = in_target({ attach = way, latency = true, stacks = true },
        { "calls 300", "nest 40", "text", "calls 5" })
      assert.equal(305, probes.func(report, "counted").count)
      assert.equal(305, probes.func(report, "counted").returns)
      assert.equal(40, probes.func(report, "nest").returns)
      assert.equal(5, probes.func(report, "say").count)
      assert.equal(0, probes.func(report, "never").count)
      assert.equal(way == "many" and report.rung.user or way, report.rung.user)
      assert.same({}, report.failed)
    end)
  end

  it("give latencies whose figures fit together", function()
    local report <const> = in_target({ latency = true }, { "calls 2000" })
    local f <const> = probes.func(report, "counted")
    assert(f.min_ns > 0 and f.min_ns <= f.p50_ns and f.p50_ns <= f.p90_ns)
    assert(f.p90_ns <= f.p99_ns and f.p99_ns <= f.max_ns)
    assert(f.mean_ns >= f.min_ns and f.mean_ns <= f.max_ns)
    assert.equal((f.total_ns + 1000) // 2000, f.mean_ns)
  end)

  it("are listed with those of the longest calls first", function()
    local report <const> = in_target({ latency = true, functions = "^(nest|counted)$" },
      { "calls 2000", "nest 20" })
    local group <const> = report:by_latency()[1]
    local nest <const>, counted <const> = table.unpack(group.functions)
    assert.same({ "nest", "counted" }, { nest.name, counted.name })
    assert.is_true(nest.mean_ns > counted.mean_ns)
    assert.equal("counted", report:by_hits()[1].functions[1].name)
    assert.equal(group.binary, nest.binary)
  end)

  it("tell groups apart by the value of an argument", function()
    local numbers <const> = in_target({ arg = 1, functions = "^counted$" }, { "calls 400" })
    local seen = {}
    for _, group in ipairs(numbers.groups) do seen[group.arg] = group.count end
    assert.same({ [0] = 100, 100, 100, 100 }, seen)
    local texts <const> = in_target({ arg = 1, arg_type = "string", functions = "^say$",
      latency = true }, { "text" })
    local words = {}
    for _, group in ipairs(texts.groups) do words[group.arg] = group.returns end
    assert.same({ odd = 2, even = 3 }, words)
  end)

  it("tell processes and threads apart", function()
    local report, target = in_target({ by = { "thread" }, functions = "^counted$" },
      { "calls 7", "thread 9", "fork 11" })
    local main, thread, child = 0, 0, 0
    for _, group in ipairs(report.groups) do
      if group.pid ~= target.pid then
        child = child + group.count
      elseif group.tid == target.pid then
        main = main + group.count
      else
        thread = thread + group.count
      end
    end
    assert.same({ 7, 9, 11 }, { main, thread, child })
  end)

  it("look only at the process that is asked for", function()
    local program <const> = probes.program "calls.c"
    local one, other = probes.start(program), probes.start(program)
    local report <const> = probes.run({ process = tostring(one.pid), functions = "^counted$" },
      function()
        one:act "calls 50"
        other:act "calls 70"
      end)
    one:close()
    other:close()
    assert.equal(50, probes.func(report, "counted").count)
  end)

  it("make a profile that every report takes", function()
    local report <const> = in_target({ latency = true, stacks = true,
      functions = "^(counted|nest)$" }, { "calls 30", "nest 3" })
    local profile <const> = report:profile()
    assert.equal(30 + 3, profile:total("hits"))
    assert(profile:total("time") > 0)
    assert.matches("counted", profile:render "folded")
  end)

  it("are listed by binary, those of the kernel below each program by its share", function()
    helper.in_directory(function(directory)
      local function dd(name, sizes)
        helper.run(("cp \"$(command -v dd)\" %s/%s && %s/%s if=/dev/zero of=/dev/null %s"):format(
          directory, name, directory, name, sizes))
      end
      local report <const> = probes.run({ stacks = true,
        tracepoint = { "syscalls:sys_enter_read", "syscalls:sys_enter_write" } }, function()
        dd("reader", "ibs=1 obs=512 count=512")
        dd("writer", "ibs=2000 obs=1 count=1")
      end)
      local first, counts = {}, {}
      for _, group in ipairs(report:by_hits()) do
        local name <const> = group.binary:match "[^/]*$"
        first[name], counts[name] = group.functions[1].name, group.functions[1].count
      end
      assert.equal("syscalls:sys_enter_read", first.reader)
      assert.equal("syscalls:sys_enter_write", first.writer)
      assert.is_true(counts.reader >= 512 and counts.reader < 600, counts.reader)
      assert.is_true(counts.writer >= 2000 and counts.writer < 2100, counts.writer)
    end)
  end)

  it("give single hits with their stacks", function()
    local program <const> = probes.program "calls.c"
    local target <const> = probes.start(program)
    local probe <close> = assert(require("sonde").probe { binary = program, stacks = true,
      functions = "^(counted|say)$", hits = true, latency = true })
    target:act "calls 3"
    target:act "text"
    local entries, returns, last = {}, 0, nil
    for hit in probe:hits() do
      if hit.is_return then
        returns = returns + 1
        assert(hit.latency_ns > 0)
      else
        entries[hit.func.name] = (entries[hit.func.name] or 0) + 1
        last = hit
      end
    end
    assert.same({ counted = 3, say = 5 }, entries)
    assert.equal(8, returns)
    assert.equal("say", last:stacks()[1].name)
    assert.equal("act", last:stacks()[2].name)
    target:close()
  end)

  it("resolve addresses of the process and of the kernel", function()
    local program <const> = probes.program "calls.c"
    local target <const> = probes.start(program)
    local probe <close> = assert(require("sonde").probe { binary = program, stacks = true,
      functions = "^counted$" })
    target:act "calls 1"
    local report <const> = probe:stop()
    local frame <const> = report:func(0):stacks_by_hits()[1].user[2]
    local again <const> = probe:resolve_user(frame.address, target.pid)
    assert.equal("count", again.name)
    assert.equal(frame.offset, again.offset)
    assert.equal(-1, again.function_id)
    assert.equal("[symbol_not_found]", probe:resolve_user(16, target.pid).name)
    target:close()
  end)
end)

describe("a record of a hit", function()
  it("that is too short is told by its code", function()
    local _, message, code = require("sonde.probe").decode_hit("short")
    assert.equal("not_enough_data", code)
    assert.matches("5", message)
  end)

  it("is taken apart", function()
    local bytes <const> = ("=i8I4I4I4i4i4I4i8I8"):pack(7, 1, 2, 3, 4, -14, 1, 99, 5)
    local hit <const>, size = require("sonde.probe").decode_hit(bytes)
    assert.equal(#bytes, size)
    assert.same({ 1, 2, 3, -14, 99 }, { hit.pid, hit.tid, hit.id, hit.kernel, hit.latency_ns })
  end)
end)

describe("sonde probe", function()
  before_each(probes.needed)

  it("writes a line of JSON for each function", function()
    local program <const> = probes.program "calls.c"
    local out, status = helper.run(([[
      (for i in 1 2 3 4 5 6 7 8; do echo calls 10; sleep 0.5; done) | %s >/dev/null &
      %s probe -b %s -f '^(counted|never)$' --latency --stacks --duration 3s --json
      status=$?; wait; exit $status]]):format(program, helper.command, program))
    assert.equal(0, status)
    local rows <const> = helper.json_lines(out)
    assert.equal(1, #rows)
    local row <const> = rows[1]
    assert.equal("counted", row.name)
    assert.equal(program, row.binary)
    assert(row.count >= 10 and row.count % 10 == 0, row.count)
    assert.equal(row.count, row.returns)
    for _, field in ipairs { "mean_ns", "min_ns", "max_ns", "p50_ns", "p99_ns" } do
      assert.equal("integer", math.type(math.tointeger(row[field])), field)
    end
    assert.equal(0, row.lost)
    assert.equal("counted", row.stacks[1].user[1].name)
    assert.equal("count", row.stacks[1].user[2].name)
  end)

  it("says that there were no hits, and ends with 1", function()
    local out, status, err = helper.sonde("probe", "-b", probes.program "calls.c", "-f", "^never$",
      "--duration", "100ms")
    assert.equal(1, status)
    assert.equal("", out)
    assert.matches("no hits", err)
  end)

  local MISTAKES <const> = {
    { { "-b", "CALLS" }, 2, "nothing to probe" },
    { { "-f", "x" }, 2, "none is given" },
    { { "-b", "CALLS", "-f", "" }, 2, "is empty" },
    { { "-b", "CALLS", "-f", "(" }, 2, "not a regular expression" },
    { { "-b", "CALLS", "-f", "^nowhere$" }, 3, "no function matches" },
    { { "-b", "/nowhere/x", "-f", "a" }, 3, "No such file" },
    { { "-b", "Makefile", "-f", "a" }, 4, "no ELF file" },
    { { "--tracepoint", "one" }, 3, "CATEGORY:NAME" },
    { { "--perf", "cyclez" }, 3, "did you mean 'cycles'" },
    { { "-p", "no-such-program", "-f", "a" }, 3, "no process is called" },
  }
  for _, mistake in ipairs(MISTAKES) do
    it("refuses " .. table.concat(mistake[1], " "), function()
      local words = { "probe" }
      for i, word in ipairs(mistake[1]) do
        words[i + 1] = word == "CALLS" and probes.program "calls.c" or word
      end
      local _, status, err = helper.sonde(table.unpack(words))
      assert.equal(mistake[2], status, err)
      assert(err:find(mistake[3], 1, true), err)
    end)
  end

  it("asks before it takes very many functions", function()
    local program <const> = os.tmpname()
    helper.write(program .. ".c", (function()
      local lines = { "int main(void) { return 0; }" }
      for i = 1, 5001 do lines[i + 1] = ("int many_%d(void) { return %d; }"):format(i, i) end
      return table.concat(lines, "\n")
    end)())
    helper.run(("gcc -O0 -o %s %s.c"):format(program, program))
    local _, status, err = helper.sonde("probe", "-b", program, "-f", "^many_")
    assert.equal(4, status)
    assert.matches("5001 functions", err)
    assert.matches("%-%-yes", err)
    local _, second = helper.sonde("probe", "-b", program, "-f", "^many_", "--yes", "--duration",
      "10ms")
    assert.equal(1, second)
    os.remove(program)
    os.remove(program .. ".c")
  end)

  it("names what a stripped program lacks", function()
    local program <const> = os.tmpname()
    helper.run(("strip -o %s %s"):format(program, probes.program("calls.c", "-static")))
    local _, status, err = helper.sonde("probe", "-b", program, "-f", "counted")
    os.remove(program)
    assert.equal(3, status)
    assert.matches("stripped", err)
  end)

  it("knows the functions of a stripped program whose debug file is there", function()
    helper.in_directory(function(directory)
      local program <const> = directory .. "/calls"
      native.sh(("cp %s %s && cd %s && objcopy --only-keep-debug calls calls.debug && strip calls"
        .. " && objcopy --add-gnu-debuglink=calls.debug calls"):format(probes.program "calls.c",
        program, directory))
      local report <const> = in_target({ binary = program, functions = "^counted$" }, {})
      assert.equal("counted", report:func(0).name)
    end)
  end)

  it("knows the functions of a stripped Go program", function()
    helper.in_directory(function(directory)
      local program <const> = directory .. "/go"
      native.sh(("strip -o %s %s"):format(program, require("spec.support.golang").program "dumps"))
      local probe <close> = assert(require("sonde").probe { binary = program, stacks = true,
        functions = "^main\\.main$" })
      assert.equal("main.main", probe.functions[1].name)
    end)
  end)

  it("takes static programs", function()
    local report <const> = in_target({ binary = probes.program("calls.c", "-static"),
      functions = "^counted$" }, {})
    assert.equal(0, probes.func(report, "counted").count)
  end)

  it("probes a deleted program by its process", function()
    local program <const> = os.tmpname()
    helper.run(("cp %s %s; chmod 755 %s"):format(probes.program "calls.c", program, program))
    local target <const> = probes.start(program)
    target:act "calls 1"
    helper.run(("rm %s; cp %s %s"):format(program, probes.program "calls.c", program))
    local report <const> = probes.run({ process = tostring(target.pid), functions = "^counted$" },
      function() target:act "calls 12" end)
    local older <const> = assert(require("sonde").probe { binary = program,
      functions = "^counted$" })
    assert.matches("was replaced", older.warnings[1].message)
    older:close()
    target:close()
    os.remove(program)
    assert.equal(12, probes.func(report, "counted").count)
  end)
end)

describe("the kernel's verifier", function()
  it("tells why it refuses a program", function()
    probes.needed()
    -- Reading through a number that is no address.
    local bytes <const> = ("=BBi2i4"):pack(0xb7, 1, 0, 5) .. ("=BBi2i4"):pack(0x79, 0x10, 0, 0)
      .. ("=BBi2i4"):pack(0x95, 0, 0, 0)
    local done, _, _, _, log = require("sonde.c.native").probe_try(bytes)
    assert.is_nil(done)
    assert.matches("R1", log)
  end)
end)
