-- Faults that an older tool of this kind had: each has a spec which shows that
-- ours does not.
local helper <const> = require "spec.support.helper"
local native <const> = require "spec.support.native"
local probes <const> = require "spec.support.probes"

local OPTIMIZED <const> = "-O1 -fno-optimize-sibling-calls"

local function with_target(flags, use)
  local program <const> = probes.program("calls.c", flags)
  local target <const> = probes.start(program)
  use(target, program)
  target:close()
end

-- A report of one target that acts.
local function report_of(opts, words, flags)
  local report
  with_target(flags, function(target, program)
    opts.binary = opts.binary or program
    report = probes.run(opts, function()
      for _, word in ipairs(words) do target:act(word) end
    end)
  end)
  return report
end

local function names(frames)
  local list = {}
  for i, frame in ipairs(frames) do list[i] = frame.name end
  return list
end

describe("probes", function()
  before_each(probes.needed)

  it("1: tell process and thread apart", function()
    with_target(nil, function(target, program)
      local probe <close> = assert(require("sonde").probe { binary = program, hits = true,
        functions = "^counted$" })
      target.stdin:write "thread 1\n"
      local tid <const> = tonumber(target:line("^tid", 20):match("%d+"))
      assert(target:line("^did", 20))
      local hit <const> = probe:hits()()
      assert.same({ target.pid, tid }, { hit.pid, hit.tid })
    end)
  end)

  it("2: make no stack of an error, and know the stack of id 0", function()
    local report <const> = report_of({ functions = "^counted$", stacks = true }, { "calls 20" })
    -- At a user's function the kernel has no stack: that is no loss.
    assert.same({ user = 20, kernel = 0, lost_user = 0, lost_kernel = 0 }, report:stack_counts())
    assert.equal(20, report:stack(0).count)
    assert.equal(report:stack(0), report:func(0):stack(0))
    assert.equal(1, #report:func(0):stacks_by_hits())
  end)

  it("3: never give the hits of one stack to another", function()
    local report <const> = report_of({ functions = "^leaf$", stacks = true }, { "spread 3" })
    local stacks <const> = report:func(0):stacks_by_hits()
    local total = 0
    for _, stack in ipairs(stacks) do
      assert.equal(3, stack.count)
      total = total + stack.count
    end
    assert.equal(512 * 3, total + report:stack_counts().lost_user)
    assert(#stacks >= 510, #stacks)
  end)

  it("3: count the stacks that have no place", function()
    local report <const> = report_of({ functions = "^leaf$", stacks = true, max_stacks = 64 },
      { "spread 2" })
    local counts <const> = report:stack_counts()
    assert(counts.lost_user > 0)
    local lost_rows <const> = report.lost.rows
    assert.equal(1024, counts.user + counts.lost_user + lost_rows)
    assert.equal(1024, report:func(0).count)
    assert.matches("had no place", table.concat(report:losses(), "\n"))
  end)

  it("4: do no work outside the kernel for a hit", function()
    with_target(nil, function(target, program)
      local probe <const> = assert(require("sonde").probe { binary = program, stacks = true,
        functions = "^counted$" })
      target.stdin:write "calls 50000\n"
      local before <const> = os.clock()
      assert(target:line("^did", 120))
      assert(os.clock() - before < 0.5)
      assert.equal(50000, probe:stop():func(0).count)
    end)
  end)

  it("5: name frames of position-independent programs and of libraries", function()
    local report <const> = report_of({ functions = "^counted$", stacks = true }, { "calls 2" })
    local list <const> = names(report:func(0):stacks_by_hits()[1].user)
    assert.same({ "counted", "count", "act", "main" }, table.move(list, 1, 4, 1, {}))
    assert.is_not.equal("[symbol_not_found]", list[5])
  end)

  it("5: name the callers of functions without a frame of their own", function()
    local report <const> = report_of({ functions = "^nest$", stacks = true }, { "nest 5" },
      OPTIMIZED)
    local depths = {}
    for _, stack in ipairs(report:func(0):stacks_by_hits()) do
      local n = 0
      for _, name in ipairs(names(stack.user)) do n = n + (name == "nest" and 1 or 0) end
      depths[n] = stack.count
    end
    assert.same({ 1, 1, 1, 1, 1 }, depths)
  end)

  it("5: name frames of the program when the process was gone at once", function()
    local program <const> = probes.program "calls.c"
    local report <const> = probes.run({ binary = program, functions = "^counted$", stacks = true },
      function() native.sh(("echo calls 3 | %s"):format(program)) end)
    assert.same({ "counted", "count", "act", "main" },
      table.move(names(report:func(0):stacks_by_hits()[1].user), 1, 4, 1, {}))
  end)

  it("6: reach a library in a running process, by any path, and children", function()
    helper.in_directory(function(directory)
      with_target(nil, function(target, program)
        local link <const> = directory .. "/link"
        native.sh(("ln -s %s %s"):format(program, link))
        local by_link <const> = probes.run({ binary = link, functions = "^counted$" }, function()
          target:act "calls 4"
          target:act "fork 5"
        end)
        assert.equal(9, by_link:func(0).count)
        local library <const> = native.sh(("ldd %s"):format(program)):match("(/%S*libc%.so%S*)")
        local in_libc <const> = probes.run({ binary = library, functions = "^madvise$",
          process = tostring(target.pid) }, function() target:act "touch 1" end)
        assert.equal(1, in_libc:func(0).count)
      end)
    end)
  end)

  it("7: measure recursion, each call by itself", function()
    local report <const> = report_of({ functions = "^nest$", latency = true, stacks = true },
      { "nest 40" })
    local func <const> = report:func(0)
    assert.same({ 40, 40, 0, 0 }, { func.count, func.returns, func.in_flight, func.lost })
    local by_depth = {}
    for _, stack in ipairs(func:stacks_by_hits()) do by_depth[#stack.user] = stack.total_ns end
    local last
    for _, total in pairs(by_depth) do assert(total > 0) end
    for depth = 1, 127 do
      if by_depth[depth] then
        assert(last == nil or by_depth[depth] < last, depth)
        last = by_depth[depth]
      end
    end
  end)

  it("7: count the returns that the kernel leaves out of deep recursion", function()
    local report <const> = report_of({ functions = "^nest$", latency = true }, { "nest 100" })
    local func <const> = report:func(0)
    assert.equal(100, func.count)
    assert.equal(100, func.returns + func.missed_returns + func.in_flight)
    assert.equal(func.missed_returns, func.lost)
    assert.equal(0, func.in_flight)
  end)

  it("8: divide by returns, and tell of calls in flight", function()
    with_target(nil, function(target, program)
      local probe <const> = assert(require("sonde").probe { binary = program, latency = true,
        functions = "^(wait_line|act)$" })
      target:act "calls 1"
      target.stdin:write "wait\n"
      local loop <const> = require "sonde.base.loop"
      local deadline <const> = loop.after(20000000000)
      repeat
        loop.sleep(20000000)
        local calls = 0
        for _, row in ipairs(probe:counts()) do
          if row.name == "act" then calls = row.count end
        end
      until calls == 2 or loop.now() > deadline
      loop.sleep(100000000)
      local report <const> = probe:stop()
      local act <const> = probes.func(report, "act")
      assert.same({ 2, 1, 1, 0 }, { act.count, act.returns, act.in_flight, act.lost })
      assert.equal(act.total_ns, act.mean_ns)
    end)
  end)

  it("9: leave a Go program alone when its latency is asked for", function()
    local program <const> = require("spec.support.golang").program "dumps"
    local probe, message, code = require("sonde").probe { binary = program, latency = true,
      functions = "^main%.main$" }
    assert.is_nil(probe)
    if code == "not_found" then
      probe, message, code = require("sonde").probe { binary = program, latency = true,
        functions = "^main" }
      assert.is_nil(probe)
    end
    assert.equal("unavailable", code)
    assert.matches("Go program", message)
  end)

  it("9: do not break exceptions that pass through probed functions", function()
    local program <const> = probes.program "throws.cc"
    local target <const> = probes.start(program)
    local report <const> = probes.run({ binary = program, functions = "pass|thrower",
      latency = true }, function()
      target.stdin:write "\n"
      assert(target:line("^caught 5", 20))
      target.stdin:write "\n"
      assert(target:line("^caught 10", 20))
    end)
    target:close()
    local func <const> = probes.func(report, "Box<long>::pass")
    -- The last call that was left by an exception may look as if it still ran.
    assert.same({ 20, 10, 10 }, { func.count, func.returns, func.lost + func.in_flight })
    assert(func.lost >= 9)
  end)

  it("9: break nothing when everything is probed", function()
    with_target(OPTIMIZED, function(target, program)
      local report <const> = probes.run({ binary = program, functions = ".", latency = true },
        function()
          for _, words in ipairs { "calls 5", "nest 70", "text", "thread 3", "fork 3" } do
            target:act(words)
          end
          native.sh(("echo calls 3 | %s"):format(program))
        end)
      assert.equal(14, probes.func(report, "counted").returns)
    end)
  end)

  it("10: find a function by each of its names, in an order that stays", function()
    local report <const> = report_of({ functions = "^other_name$" }, { "calls 6" })
    assert.equal("other_name", report:func(0).name)
    assert.equal(6, report:func(0).count)
    local list <const> = names(report_of({ functions = "^[a-z_]+$" }, {}):functions(true))
    local sorted <const> = table.move(list, 1, #list, 1, {})
    table.sort(sorted)
    assert.same(sorted, list)
  end)

  it("11: list what could not be probed, with the error's number", function()
    local report <const> = report_of({ functions = "^(counted|say|unprobed)$" }, { "calls 3" })
    assert.equal(3, probes.func(report, "counted").count)
    assert.equal(1, #report.failed)
    assert.equal("unprobed", report.failed[1].func.name)
    assert(report.failed[1].errno > 0)
  end)

  it("12: count an event once, however many programs are given", function()
    with_target(nil, function(target, program)
      local other <const> = probes.program "throws.cc"
      local function faults(binaries)
        return probes.run({ binary = binaries, perf = "page-faults" }, function()
          target:act "touch 3000"
        end):func(0).count
      end
      for _, binaries in ipairs { { program }, { program, other } } do
        local n <const> = faults(binaries)
        assert(n >= 3000 and n < 3300, n)
      end
    end)
  end)

  it("13: know frames of the kernel by where they come from", function()
    with_target(nil, function(target, program)
      local report <const> = probes.run({ binary = program, perf = "page-faults", stacks = true },
        function() target:act "touch 200" end)
      local types = {}
      for _, stack in ipairs(report:func(0):stacks_by_hits()) do
        for _, frame in ipairs(stack.user) do types["u:" .. frame.type] = true end
        for _, frame in ipairs(stack.kernel) do types["k:" .. frame.type] = true end
      end
      assert.is_true(types["u:user"])
      assert.is_nil(types["u:kernel"])
      assert.is_nil(types["k:user"])
    end)
  end)

  local function nanoseconds(target)
    target.stdin:write "calls 20000\n"
    local ns <const> = tonumber(target:line("^ns", 120):match("%d+"))
    assert(target:line("^did", 120))
    return ns
  end

  for signal, status in pairs { TERM = 0, KILL = 137 } do
    it("14: take probes back after SIG" .. signal, function()
      with_target(nil, function(target, program)
        local out <const> = os.tmpname()
        local pid <const> = native.sh(("%s probe -b %s -f '^counted$' --json >%s 2>/dev/null & "
          .. "echo $!"):format(helper.command, program, out)):match("%d+")
        local during
        for _ = 1, 40 do
          during = nanoseconds(target)
          if during > 20000 * 1000 then break end
          native.sh "sleep 0.2"
        end
        assert(during > 20000 * 1000, "probes were never there")
        native.sh(("kill -%s %s"):format(signal, pid))
        native.sh(("i=0; while kill -0 %s 2>/dev/null && [ $i -lt 100 ]; do sleep 0.1;"
          .. " i=$((i+1)); done"):format(pid))
        local after <const> = math.min(nanoseconds(target), nanoseconds(target))
        assert(after < during // 5, ("%d ns, and %d before"):format(after, during))
        local text <const> = helper.read(out)
        os.remove(out)
        if status == 0 then assert(helper.json_lines(text)[1].count >= 20000) end
      end)
    end)
  end

  it("15: draw graphs that Graphviz takes, whatever functions are called", function()
    helper.needs "dot"
    local program <const> = probes.program "throws.cc"
    local target <const> = probes.start(program)
    local report <const> = probes.run({ binary = program, functions = ".", stacks = true,
      perf = "page-faults" }, function()
      target.stdin:write "\n"
      assert(target:line("^caught", 20))
    end)
    target:close()
    local text <const> = report:graph()
    assert.matches("blues9", text)
    helper.in_directory(function(directory)
      helper.write(directory .. "/g.dot", text)
      local _, status, err = helper.run(("dot -Tsvg -o %s/g.svg %s/g.dot"):format(directory,
        directory))
      assert.equal(0, status)
      assert.equal("", err)
    end)
  end)

  it("15: keep user and kernel apart, and escape what labels hold", function()
    local graph <const> = require "sonde.probe.graph"
    local funcs <const> = { { id = 0, count = 3, stacks = { { count = 3,
      user = { { name = 'a|b<"{c}">', type = "user", function_id = 0 },
        { name = "write", type = "user", function_id = -1 } },
      kernel = { { name = "write", type = "kernel", function_id = -1 },
        { name = "entry", type = "kernel", function_id = -1 } } } } } }
    local text <const> = graph.of {
      duration_ns = 5, functions = function() return funcs end,
      func = function() return funcs[1] end, by_hits = function() return {} end,
      stack_counts = function()
        return { user = 3, kernel = 3, lost_user = 0, lost_kernel = 0 }
      end,
    }
    local _, writes = text:gsub('label="write"', "")
    assert.equal(2, writes)
    assert(text:find('a|b<\\"{c}\\">', 1, true))
    assert.matches('n1 %-> n2 %[label="3", color="/blues9/9"%]', text)
    assert.matches('n3 %-> n4 %[label="3", color="/greens9/9"%]', text)
    assert.matches('n2 %-> n3 %[label="3", color=orange, dir=both%]', text)
  end)

  it("16: list no function without hits, and keep files private enough", function()
    local report <const> = report_of({ functions = "^(counted|never|say)$" }, { "calls 2" })
    assert.same({ "counted" }, names(report:functions()))
    assert.same({ "counted", "never", "say" }, names(report:functions(true)))
    helper.in_directory(function(directory)
      local program <const> = probes.program "calls.c"
      native.sh(("(for i in 1 2 3 4 5 6 7 8; do echo calls 3; sleep 0.5; done) | %s >/dev/null &"
        .. " umask 077; %s probe -b %s -f '^counted$' --duration 3s -o %s/o.svg --graph %s/o.dot"
        .. " >/dev/null; wait"):format(
        program, helper.command, program, directory, directory))
      assert.equal("600\n600\n", native.sh(("stat -c %%a %s/o.svg %s/o.dot"):format(directory,
        directory)))
    end)
  end)

  it("17: start at once, whatever the number of functions", function()
    local program <const> = os.tmpname()
    local lines = { "int main(void) { return 0; }" }
    for i = 1, 1000 do lines[i + 1] = ("int many_%d(void) { return %d; }"):format(i, i) end
    helper.write(program .. ".c", table.concat(lines, "\n"))
    native.sh(("gcc -O0 -o %s %s.c"):format(program, program))
    local probe <const> = assert(require("sonde").probe { binary = program, functions = "^many_",
      latency = true })
    if probe.rung.user ~= "many" then
      probe:close()
      helper.skip("this kernel has no links to many user functions (Linux 6.6)")
    end
    assert.equal(1000, #probe.functions)
    local before <const> = os.clock()
    probe:stop()
    assert(os.clock() - before < 2)
    os.remove(program)
    os.remove(program .. ".c")
  end)
end)
