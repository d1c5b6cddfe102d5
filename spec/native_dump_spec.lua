-- Stacks of native processes as eu-stack and gdb write them.
local dumps <const> = require "spec.support.dumps"
local helper <const> = require "spec.support.helper"

local function read(name)
  return assert(helper.read(helper.data("cases/35-native-stack-text/" .. name)))
end

local expected <const> = dumps.expected(helper, "35-native-stack-text")

describe("stacks of eu-stack", function()
  it("are threads with frames", function()
    local records <const> = dumps.records(read "eu-stack.txt", "native")
    assert.same(expected["eu-stack"], dumps.compare(expected["eu-stack"], records))
    assert.equal(0x7f8ec24ed545, records[1].frames[1].pc)
    assert.equal("0x7f8ec24e7a36", records[2].frames[1].func)
    assert.equal("dwfl_thread_getframes tid 814: No such process", records[3].error)
    assert.equal("native", records[1].format)
  end)

  it("are told to be partial", function()
    local dump, message, code = dumps.open(read "eu-stack.txt", "eu-stack.txt")
    assert.equal(3, dump:count())
    assert.equal("eu-stack.txt: 1 of 3 threads could not be looked into", message)
    assert.equal("truncated", code)
  end)

  it("have modules, sources and activations", function()
    local records <const> = dumps.records("TID 7:\n"
      .. "#0  0x0000000000000010     operator()(int) const - /usr/lib/lib a.so\n"
      .. "    /src/oven dir/dough.cc:12:5\n"
      .. "#1  0x0000000000000020 - 1 a - b - /x - /bin/oven\n[0123abcd]@0x400000+0x20\n"
      .. "#2  0x0000000000000030 - 1\n#3  0x0000000000000040 - 1 main - [vdso]\n", "native")
    local frames <const> = records[1].frames
    assert.same({ func = "operator()(int) const", module = "/usr/lib/lib a.so", pc = 0x10,
      file = "/src/oven dir/dough.cc", line = 12 }, frames[1])
    assert.same({ func = "a - b - /x", module = "/bin/oven", pc = 0x20 }, frames[2])
    assert.same({ func = "0x30", pc = 0x30 }, frames[3])
    assert.same({ func = "main", module = "[vdso]", pc = 0x40 }, frames[4])
  end)
end)

describe("stacks of gdb", function()
  it("are threads with names and frames", function()
    local records, text = dumps.records(read "gdb.txt", "native")
    assert.same(expected.gdb, dumps.compare(expected.gdb, records))
    assert.same({ func = "knead", file = "/src/oven dir/dough.cc", line = 10, pc = 0x56293f6a94c6,
      args = [[n=2, what=0x5555 "a \"b\" at c.c:1", f=...]] }, records[1].frames[2])
    assert.same({ func = "spin", file = "dough.cc", line = 16 }, records[1].frames[3])
    assert.equal("/lib/x86_64-linux-gnu/libc.so.6", records[1].frames[5].module)
    assert.is_true(records[1].truncated)
    assert.is_nil(records[2].truncated)
    assert(text:find("[Inferior 1 (process 812) detached]", 1, true))
  end)

  it("have names of all kinds", function()
    local records <const> = dumps.records("Thread 1 (process 9):\n"
      .. "#0  0x01 in std::function<void (int)>::operator()(int) const (this=0x1, c=40 '(')"
      .. " at /f.h:7\n"
      .. "#1  0x02 in main::{lambda(char)#1}::operator() (x=41 ')', s=0x3 \"(\\\"\") at m.cc:9\n"
      .. "#2  <alloc::boxed::Box<F> as core::ops::FnOnce<A>>::call_once (self=...) at /b.rs:1\n"
      .. "#3  0x04 in ?? ()\n#4  0x0000000000000000 in ?? ()\n", "native")
    local names = {}
    for i, frame in ipairs(records[1].frames) do names[i] = frame.func end
    assert.same({ "std::function<void (int)>::operator()(int) const",
      "main::{lambda(char)#1}::operator()",
      "<alloc::boxed::Box<F> as core::ops::FnOnce<A>>::call_once", "??", "??" }, names)
    assert.equal(9, records[1].frames[2].line)
    assert.equal(9, records[1].thread_id)
  end)

  it("may be broken into lines", function()
    local records <const> = dumps.records("Thread 1 (LWP 9 \"a\"):\n"
      .. "#0  0x01 in poll (fds=0x1,\n    nfds=2,\n    timeout=3)\n    at /src/poll.c:29\n"
      .. "#1  0x02 in main () at m.c:3\n        local = 1\nNo locals.\n"
      .. "(More stack frames follow...)\n\n", "native")
    local frames <const> = records[1].frames
    assert.same({ "poll", "/src/poll.c", 29 }, { frames[1].func, frames[1].file, frames[1].line })
    assert.same({ "main", "m.c", 3 }, { frames[2].func, frames[2].file, frames[2].line })
    assert.is_true(records[1].truncated)
    assert.equal(1, records[1].unknown_lines)
  end)

  it("may be of one thread without a header", function()
    local records <const> = dumps.records("#0  0x01 in raise () from /lib/libc.so.6\n"
      .. "#1  0x02 in main () at m.c:3\n", "native")
    assert.equal(2, #records[1].frames)
    assert.is_nil(records[1].thread_id)
  end)
end)

describe("a native dump", function()
  it("is found by its content and grouped by stack", function()
    local text = {}
    for tid = 1, 9 do
      text[tid] = ("TID %d:\n#0  0x0000000000000010 poll\n#1  0x00000000000000%d0 main\n"):format(
        tid, tid)
    end
    local dump <const> = dumps.open("PID 1 - process\n" .. table.concat(text))
    assert.equal("native", dump.format)
    local groups <const> = dump:groups()
    assert.equal(1, #groups)
    assert.equal(9, groups[1].count)
    assert.same({ 1, 2, 3, 4 }, groups[1].ids)
    local profile <const> = dump:profile()
    assert.same({ { type = "thread", unit = "count" } }, profile:types())
    assert.equal(9, profile:total())
    assert.same({}, dump:suspects())
    assert.equal("text: 9 threads in 1 stack", tostring(dump))
  end)

  it("keeps earlier threads wherever it is cut", function()
    for _, name in ipairs { "eu-stack.txt", "gdb.txt" } do
      local text <const> = read(name)
      local whole <const> = dumps.json(text, "native")
      for n = 0, #text, 3 do
        local records <const> = dumps.json(text:sub(1, n), "native")
        for i = 1, #records - 1 do assert.equal(whole[i], records[i]) end
      end
    end
  end)

  it("has plain names where a demangler is installed", function()
    helper.needs "c++filt"
    local dump <const> = dumps.open("TID 1:\n#0  0x0000000000000010 _ZN4oven5Baker4bakeEi\n"
      .. "#1  0x0000000000000020 _ZN4core3ops8function6FnOnce9call_once17h0123456789abcdefE\n"
      .. "#2  0x0000000000000030 _ZNnothing\n#3  0x0000000000000040 main\n")
    local names = {}
    for i, frame in ipairs(dump:groups()[1].frames) do names[i] = frame.func end
    assert.same({ "oven::Baker::bake(int)", "core::ops::function::FnOnce::call_once", "_ZNnothing",
      "main" }, names)
    local record <const> = dump:entries()()
    assert.equal("oven::Baker::bake(int)", record.frames[1].func)
    assert(record.raw:find("_ZN4oven5Baker4bakeEi", 1, true))
  end)
end)

describe("stacks of a real process", function()
  local SOURCE <const> = [[
#include <pthread.h>
#include <unistd.h>
namespace oven {
struct Baker { void operator()(int n) const; };
__attribute__((noinline)) void Baker::operator()(int n) const { for (;;) { sleep(n); } }
}
static void *work(void *) {
  pthread_setname_np(pthread_self(), "my) \"worker");
  oven::Baker()(100);
  return nullptr;
}
int main() {
  pthread_t t;
  pthread_create(&t, nullptr, work, nullptr);
  usleep(200000);
  write(1, "READY\n", 6);
  pthread_join(t, nullptr);
}
]]

  -- Runs `tool` (a command with %d for the pid) on a program of two threads.
  local function stacks_of(tool)
    helper.needs "g++"
    local text
    helper.in_directory(function(directory)
      helper.write(directory .. "/oven.cc", SOURCE)
      local command <const> = ("cd %s && g++ -g -O1 -pthread -o oven oven.cc 2>/dev/null"
        .. " && { ./oven >ready & pid=$!; for i in 1 2 3 4 5 6 7 8 9 10; do [ -s ready ] && break;"
        .. " sleep 0.2; done; %s; kill $pid; }"):format(directory, tool)
      text = helper.run(command)
    end)
    if not text:find("#0", 1, true) then helper.skip("processes cannot be traced here") end
    return dumps.open(text)
  end

  local function check(dump)
    local found = false
    for _, group in ipairs(dump:groups()) do
      for _, frame in ipairs(group.frames) do
        if frame.func:find("^oven::Baker::operator%(%)") then found = true end
      end
    end
    assert.is_true(found)
    assert.equal(2, dump:count())
  end

  it("by eu-stack", function()
    helper.needs "eu-stack"
    check(stacks_of "eu-stack -p $pid 2>/dev/null")
  end)

  it("by gdb", function()
    helper.needs "gdb"
    -- A sanitizer of ours is not gdb's, and stops it.
    local dump <const> = stacks_of("env -u LD_PRELOAD gdb -nx -batch"
      .. " -iex 'set debuginfod enabled off'"
      .. " -iex 'set auto-load off' -p $pid -ex 'thread apply all bt' 2>/dev/null </dev/null")
    check(dump)
    local names = {}
    for _, group in ipairs(dump:groups()) do names[group.names[1] or ""] = true end
    assert.is_true(names['my) "worker'])
  end)
end)

describe("sonde dump of a native process", function()
  local process

  before_each(function()
    helper.needs "eu-stack"
    process = require("spec.support.dotnet").spawn { "sleep", "600" }
  end)

  after_each(function() process:close() end)

  -- What it says, or a skip where nothing may be traced.
  local function dump(...)
    local out, status, err = helper.sonde("dump", tostring(process.pid), ...)
    if status ~= 0 and err:find "[Pp]ermi" then helper.skip "processes cannot be traced here" end
    assert.equal(0, status, err)
    return out, err
  end

  it("shows its threads, and says that it was stopped", function()
    local out, err = dump()
    assert.matches(("^process %d: 1 thread in 1 stack\n"):format(process.pid), out)
    assert.matches(("thread %d\n"):format(process.pid), out)
    assert.matches(("process %d is stopped while eu%%-stack reads"):format(process.pid), err)
  end)

  it("has records with the process and how they were taken", function()
    local record <const> = require("dkjson").decode((dump "--json"))
    assert.equal(process.pid, record.pid)
    assert.equal(process.pid, record.thread_id)
    assert.equal("native", record.transport)
    assert.equal("native", record.format)
    assert.truthy(#record.frames > 0)
  end)

  it("is redacted, and a picture where that is asked for", function()
    assert.is_nil((dump "--redact"):find("nanosleep", 1, true))
    helper.in_directory(function(directory)
      dump("-o", directory .. "/threads.svg")
      assert.matches("<svg", helper.read(directory .. "/threads.svg"))
    end)
  end)

  it("does not ask it as a Go program", function()
    local _, status, err = helper.sonde("dump", tostring(process.pid), "--transport", "gops")
    assert.are_not.equal(0, status)
    assert.matches("is no Go program", err)
  end)
end)
