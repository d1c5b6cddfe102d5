-- What cannot be had of a system or a program: each case says what is missing and
-- what helps.
local dotnet <const> = require "spec.support.dotnet"   -- its `spawn` runs any program
local helper <const> = require "spec.support.helper"
local native <const> = require "spec.support.native"
local probes <const> = require "spec.support.probes"

local BPF <const>, PERF_EVENT_OPEN <const> = 321, 298   -- system calls of x86-64
local EPERM <const>, ENOSYS <const> = 1, 38
local NOBODY <const> = "setpriv --reuid 65534 --regid 65534 --clear-groups "

local function needs_root()
  native.module()
  if helper.run "id -u" ~= "0\n" then helper.skip "needs root" end
end

-- The command with these words, behind what changes its rights: stderr, status.
local function said(before, words)
  local _, status, err = helper.run(before .. helper.command .. " " .. words)
  return err, status
end

local function check(err, what, try)
  assert(err:find(what, 1, true), err)
  assert(err:find("\ntry: " .. try, 1, true), err)
end

local function denied(number, errno)
  helper.needs "gcc"
  if native.sh "uname -m" ~= "x86_64\n" then helper.skip "numbers of x86-64" end
  local program <const> = os.tmpname()
  native.sh(("gcc -O1 -o %s spec/targets/native/deny.c"):format(program))
  return ("%s %d %d "):format(program, number, errno), program
end

describe("without privileges", function()
  before_each(function()
    needs_root()
    helper.needs "setpriv"
    if helper.run(NOBODY .. "test -r " .. helper.command .. " && echo yes") ~= "yes\n" then
      helper.skip "others cannot read this folder"
    end
  end)

  it("probes name the capabilities that they need", function()
    local err, status = said(NOBODY, ("probe -b %s -f '^counted$'"):format(
      probes.program "calls.c"))
    check(err, "the kernel does not let us use BPF", "as root, or with the capabilities CAP_BPF")
    assert.equal(3, status)
  end)

  it("processes of others are told by their user", function()
    local target <close> = dotnet.spawn { "sleep", "60" }
    local err, status = said(NOBODY, ("record -p %d --native --duration 1s -o %s"):format(
      target.pid, os.tmpname() .. ".folded"))
    check(err, ("cannot sample process %d of user root (uid 0)"):format(target.pid), "sudo sonde")
    assert.equal(3, status)
    err = said(NOBODY, ("probe -p %d -f x"):format(target.pid))
    check(err, "of user root (uid 0): its program cannot be looked at", "sudo sonde")
  end)

  it("the machine is told by perf_event_paranoid", function()
    local level <const> = require("sonde.probe.limits").paranoid()
    if level < 1 then helper.skip "this system lets everybody sample" end
    local err <const> = said(NOBODY, "record --system --duration 1s -o " .. os.tmpname()
      .. ".folded")
    check(err, ("(kernel.perf_event_paranoid is %d)"):format(level), "sudo sysctl")
  end)

  it("own processes are sampled without the kernel, or the level is told", function()
    local level <const> = require("sonde.probe.limits").paranoid()
    if level > 2 then helper.skip "this system samples for nobody" end
    helper.in_directory(function(directory)
      native.sh("chmod 777 " .. directory)
      local busy <const> = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
      local _, status, err = helper.run(("%s%s record --native -o %s/o.folded -- sh -c '%s'"):
        format(NOBODY, helper.command, directory, busy))
      assert.equal(0, status, err)
      assert.matches("user stacks reach", err)
    end)
  end)

  it("tracepoints that are there and not ours name that, and not a mount", function()
    if helper.run "test -r /sys/kernel/tracing/events/header_page && echo yes" ~= "yes\n" then
      helper.skip "no tracefs here"
    end
    local err, status = said(NOBODY, "probe --tracepoint sched:sched_switch")
    check(err, "tracepoints are not ours to see", "as root")
    assert.equal(3, status)
  end)
end)

describe("where something is missing", function()
  before_each(needs_root)

  it("tracefs: it is told how to mount it", function()
    if select(2, helper.run "unshare -m true") ~= 0 then helper.skip "unshare is not allowed" end
    local words <const> = "unshare -m sh -c 'umount -l /sys/kernel/tracing 2>/dev/null;"
      .. " umount -l /sys/kernel/debug 2>/dev/null; exec \"$@\"' sh "
    local err, status = said(words, "probe --tracepoint sched:sched_switch")
    if status == 0 then helper.skip "tracefs cannot be hidden here" end
    check(err, "tracepoints need tracefs, which is not mounted", "mount -t tracefs")
    assert.equal(3, status)
  end)

  it("BPF: samples are told as what needs none", function()
    local before, program = denied(BPF, ENOSYS)
    local err, status = said(before, ("probe -b %s -f '^counted$'"):format(
      probes.program "calls.c"))
    os.remove(program)
    check(err, "this kernel has no BPF (CONFIG_BPF_SYSCALL), or a container's filter",
      "outside of the container; samples need no BPF")
    assert.equal(3, status)
  end)

  it("BPF in a container: root is told the capabilities", function()
    local before, program = denied(BPF, EPERM)
    local err <const> = said(before, ("probe -b %s -f '^counted$'"):format(
      probes.program "calls.c"))
    os.remove(program)
    check(err, "the kernel does not let us use BPF",
      "outside of the container, or with its capabilities CAP_BPF and CAP_PERFMON")
  end)

  it("perf events: it is told that they are hidden", function()
    for errno, words in pairs { [ENOSYS] = { "has no perf events, or a container's filter",
      "outside of the container" }, [EPERM] = { "does not let us sample this machine",
      "outside of the container, or with its capabilities CAP_PERFMON" } } do
      local before, program = denied(PERF_EVENT_OPEN, errno)
      local err, status = said(before, "record --system --duration 1s -o " .. os.tmpname()
        .. ".folded")
      os.remove(program)
      check(err, words[1], words[2])
      assert.equal(3, status)
    end
  end)

  it("the right to look under lockdown: it is named, and that root cannot end it", function()
    local limits <const> = require "sonde.probe.limits"
    local path <const> = os.tmpname()
    local real <const> = limits.paths.lockdown
    limits.paths.lockdown = path
    helper.write(path, "none integrity [confidentiality]\n")
    local _, message, code, hint = limits.refused("the kernel does not let us use BPF", "EPERM",
      "X")
    helper.write(path, "[none] integrity confidentiality\n")
    local _, plain = limits.refused("no", "EPERM", "X")
    limits.paths.lockdown = real
    os.remove(path)
    assert.equal("the kernel does not let us use BPF (it is locked down: confidentiality): EPERM",
      message)
    assert.equal("permission", code)
    assert.matches("lockdown=none: root cannot end it", hint)
    assert.equal("no: EPERM", plain)
  end)

  it("addresses of the kernel: kptr_restrict is named", function()
    local kernel <const> = require "sonde.probe.kernel"
    local path <const> = os.tmpname()
    local real <const> = { symbols = kernel.paths.symbols, probes = kernel.paths.probes }
    kernel.paths.symbols, kernel.paths.probes = path, path
    helper.write(path, "0000000000000000 T vfs_read\n0000000000000000 t x\t[ext4]\n")
    local none, message, code, hint = kernel.find "^vfs"
    local why <const> = kernel.why_nameless()
    helper.write(path, "")
    local _, empty = kernel.find "^vfs"
    helper.write(path, "ffffffff81000000 T vfs_read\nffffffff81000010 t x\t[ext4]\n")
    local found <const> = kernel.find "."
    kernel.paths.symbols, kernel.paths.probes = real.symbols, real.probes
    os.remove(path)
    assert.is_nil(none)
    assert.matches("hides the addresses of its functions %(kernel.kptr_restrict is %d", message)
    assert.same({ "permission", "sudo sysctl kernel.kptr_restrict=0, or run as root" },
      { code, hint })
    assert.matches("have no names: the kernel hides", why)
    assert.matches("lists no symbols", empty)
    assert.same({ "vfs_read", "x", "ext4" }, { found[1].name, found[2].name, found[2].module })
  end)

  it("probes of kernel functions: it is told what works all the same", function()
    if helper.read "/sys/bus/event_source/devices/kprobe/type" then
      helper.skip "this kernel has them"
    end
    local err, status = said("", "probe -k vfs_read")
    assert.matches("CONFIG_KPROBES.*user functions, tracepoints and events work", err)
    assert.equal(3, status)
  end)
end)

describe("the kernel's verifier", function()
  it("is quoted when it refuses a probe", function()
    local log <const> = "0: (79) r0 = *(u64 *)(r1 +0)\nR1 invalid mem access 'scalar'\n"
    local run <const> = {
      attach_many = function() return nil, "Invalid argument", "unavailable", 22 end,
      attach_one = function() return nil, "Permission denied", "permission", 13 end,
      log = function() return log end,
    }
    local func <const> = { id = 0, kind = "user", name = "f", attach_path = "/x", offset = 1 }
    local attached <const> = require("sonde.probe.attach").all(run, { func }, {})
    assert.equal(0, attached.attached)
    assert.matches("^Permission denied; the kernel's verifier says:\n.*R1 invalid mem access",
      attached.failed[1].message)
    assert.equal(13, attached.failed[1].errno)
  end)
end)

describe("a program", function()
  before_each(probes.needed)

  local function narrow(directory)
    helper.needs "gcc"
    local program <const> = directory .. "/narrow"
    local _, status = helper.run(("gcc -m32 -O0 -g -fno-omit-frame-pointer -fno-pie"
      .. " -fno-stack-protector -nostdlib -static -o %s spec/targets/native/narrow.c"):format(
      program))
    if status ~= 0 then helper.skip "gcc makes no 32-bit programs here" end
    return program
  end

  it("of 32 bits gets counts and stacks, and is told why no latencies", function()
    helper.in_directory(function(directory)
      local program <const> = narrow(directory)
      for _, words in ipairs { "--latency", "--arg 1" } do
        local err, status = said("", ("probe -b %s -f '^counted$' %s"):format(program, words))
        check(err, "is a 32-bit program: its latencies and arguments cannot be taken",
          "leave --latency and --arg out")
        assert.equal(3, status)
      end
      if select(2, helper.run(program .. " </dev/null")) ~= 0 then
        helper.skip "this kernel runs no 32-bit programs"
      end
      local report <const> = probes.run({ binary = program, functions = "^counted$",
        stacks = true }, function() native.sh(("echo | %s"):format(program)) end)
      assert.equal(5, report:func(0).count)
      assert.equal("counted", report:func(0):stacks_by_hits()[1].user[1].name)
    end)
  end)

  it("that is static is sampled with names", function()
    helper.needs "gcc"
    helper.in_directory(function(directory)
      local program <const> = directory .. "/static"
      native.sh(("gcc -static -O0 -g -DSTEP=step -o %s spec/targets/native/stages.c -ldl 2>&1")
        :format(program))
      local path <const> = directory .. "/o.folded"
      local _, status, err = helper.sonde("record", "--native", "--frequency", "999", "-o", path,
        "--", program, "burn")
      assert(status == 0, err)
      assert.matches("main;burn", helper.read(path))
    end)
  end)

  it("that was replaced while it was probed is told, and given no wrong names", function()
    helper.in_directory(function(directory)
      local program <const> = directory .. "/changed"
      native.sh(("gcc -O0 -g -DSTEP=old_step -o %s spec/targets/native/stages.c -ldl"):format(
        program))
      local library <const> = native.sh(("ldd %s"):format(program)):match("(/%S*libc%.so%S*)")
      local function steps(act)
        local report <const> = probes.run({ binary = library, functions = "^umask$",
          stacks = true }, act)
        local names = {}
        for _, stack in ipairs(report:func(0):stacks_by_hits()) do
          for _, frame in ipairs(stack.user) do names[frame.name] = true end
        end
        return names, table.concat(report.missing, "\n")
      end
      local function replace()
        -- Beside it first: a file system may give the number of a file that is gone to
        -- the next, and then nothing tells the two apart.
        native.sh(("gcc -O0 -g -DSTEP=new_step -o %s.new spec/targets/native/stages.c -ldl"
          .. " && mv %s.new %s"):format(program, program, program))
      end
      -- By a process that is there the old file can still be read.
      local target <close> = dotnet.spawn { program, "load", "none" }
      assert(target:line "^ready")
      target:close()
      local names, missing = steps(function()
        native.sh(program)
        replace()
      end)
      assert.is_nil(names.new_step)
      assert.is_nil(names.old_step)
      assert(missing:find(program .. " is not the file that was mapped", 1, true), missing)
      names = steps(function(probe)
        local living <const> = dotnet.spawn { program, "load", "none" }
        assert(living:line "^ready")
        replace()
        probe:look()
        probe:stop()
        living:close()
      end)
      assert.is_true(names.new_step)
    end)
  end)

  it("whose number another process has by now is not taken for that", function()
    helper.in_directory(function(directory)
      local one <const>, other = directory .. "/one_step", directory .. "/other_step"
      for _, program in ipairs { one, other } do
        native.sh(("gcc -O0 -g -DSTEP=%s -o %s spec/targets/native/stages.c -ldl"):format(
          program:match "[^/]*$", program))
      end
      local library <const> = native.sh(("ldd %s"):format(one)):match("(/%S*libc%.so%S*)")
      -- The next number can be chosen; anybody may be faster.
      local again <const> = ([[
        for try in $(seq 200); do
          %s & pid=$!; wait $pid
          echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid || exit 0
          %s & now=$!; wait $now
          if [ $pid = $now ]; then echo $pid; exit 0; fi
        done]]):format(one, other)
      local pid
      local report <const> = probes.run({ binary = library, functions = "^umask$",
        stacks = true }, function() pid = tonumber(native.sh(again)) end)
      if pid == nil then helper.skip "no number could be had again" end
      local found = {}
      for _, stack in ipairs(report:func(0):stacks_by_hits()) do
        if stack.pids[pid] then found[stack.user[2].name] = true end
      end
      assert.is_true(found.one_step)
      assert.is_true(found.other_step)
    end)
  end)
end)
