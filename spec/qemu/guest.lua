-- Runs in a virtual machine, where the kernel's own functions can be probed:
-- prints a line for each check.
local sonde <const> = require "sonde"
local dotnet <const> = require "spec.support.dotnet"

local CALLS <const> = "/bin/calls"

local function start()
  local process <const> = dotnet.spawn { CALLS }
  function process.act(_, words)
    process.stdin:write(words .. "\n")
    return assert(process:line("^did ", 60), words)
  end
  process:act "calls 1"
  return process
end

local function run(opts, words)
  local target <const> = start()
  opts.process = opts.process and tostring(target.pid) or nil
  local probe, message = sonde.probe(opts)
  if probe == nil then
    target:close()
    error(message, 0)
  end
  for _, word in ipairs(words) do target:act(word) end
  probe:look()
  local report <const> = probe:stop()
  target:close()
  return report
end

local function equal(wanted, got, what)
  if wanted ~= got then
    error(("%s: %s wanted, %s found"):format(what or "value", wanted, got), 0)
  end
end

local function names(list)
  local found = {}
  for _, frame in ipairs(list) do found[frame.name] = true end
  return found
end

local checks <const> = {}

for _, way in ipairs { "many", "link", "program" } do
  checks[#checks + 1] = { "kernel functions by " .. way, function()
    local report <const> = run({ kernel = "^vfs_open$", process = true, latency = true,
      stacks = true, attach = way }, { "open 20", "calls 3" })
    local func <const> = report:func(0)
    equal(20, func.count, "hits")
    equal(20, func.returns, "returns")
    equal(0, func.in_flight, "in flight")
    equal("kernel", func.type, "type")
    assert(func.mean_ns > 0)
    local stack <const> = func:stacks_by_hits()[1]
    equal("vfs_open", stack.kernel[1].name, "innermost frame")
    assert(names(stack.kernel).do_filp_open, "no do_filp_open in the stack")
    assert(#stack.user > 0, "no user stack")
    for _, frame in ipairs(stack.kernel) do equal("kernel", frame.type, "frame") end
    return report.rung.kernel
  end }

  checks[#checks + 1] = { "user functions by " .. way, function()
    local report <const> = run({ binary = CALLS, functions = "^(counted|nest)$", latency = true,
      attach = way, stacks = true }, { "calls 50", "nest 30" })
    equal(50, report:func(0).count, "hits")
    equal(50, report:func(0).returns, "returns")
    equal(30, report:func(1).returns, "returns of recursion")
    return report.rung.user
  end }
end

checks[#checks + 1] = { "tracepoints", function()
  local report <const> = run({ tracepoint = "syscalls:sys_enter_getppid", process = true,
    stacks = true }, { "getppid 33" })
  equal(33, report:func(0).count, "hits")
  equal("syscalls:sys_enter_getppid", report:func(0):stacks_by_hits()[1].kernel[1].name, "frame")
end }

checks[#checks + 1] = { "a kernel function below the program that had it run", function()
  local report <const> = run({ kernel = "^vfs_open$", binary = CALLS, stacks = true },
    { "open 9" })
  for _, group in ipairs(report:by_hits()) do
    if group.binary == CALLS then
      equal(9, group.functions[1].count, "hits")
      return
    end
  end
  error("not listed below the program", 0)
end }

checks[#checks + 1] = { "children of a process", function()
  local report <const> = run({ binary = CALLS, functions = "^counted$", process = true },
    { "calls 3", "fork 8" })
  equal(11, report:func(0).count, "hits")
end }

checks[#checks + 1] = { "a file name as argument", function()
  local report <const> = run({ kernel = "^do_sys_openat2$", process = true, arg = 2,
    arg_type = "string" }, { "open 4" })
  equal("/proc/version", report.groups[1].arg, "argument")
  equal(4, report.groups[1].count, "hits")
end }

checks[#checks + 1] = { "addresses of the kernel", function()
  local probe <close> = assert(sonde.probe { kernel = "^vfs_open$" })
  local kernel <const> = require "sonde.probe.kernel"
  local address
  local all <const> = assert(kernel.table())
  for i, name in ipairs(all.names) do
    if name == "vfs_open" then address = all.addresses[i] end
  end
  local frame <const> = probe:resolve_kernel(address + 5)
  equal("vfs_open", frame.name, "name")
  equal(5, frame.offset, "offset")
end }

checks[#checks + 1] = { "what cannot be traced is told", function()
  local probe, message, code = sonde.probe { kernel = "^no_such_function_at_all$" }
  equal(nil, probe)
  equal("not_found", code, "code")
  assert(message:find("looked at"), message)
end }

io.stdout:setvbuf "line"
print ""   -- what the firmware wrote has no end of line
for _, check in ipairs(checks) do
  local done, what = pcall(check[2])
  print(("%s %s%s"):format(done and "PASS" or "FAIL", check[1],
    what and (": " .. tostring(what):gsub("\n.*", "")) or ""))
end
