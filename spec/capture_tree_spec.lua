-- Captures of a real tree: a shell, a Go server, a .NET service where there is one,
-- a C program with threads, a child that ends in the middle, one that forks on.
local dotnet <const> = require "spec.support.dotnet"
local golang <const> = require "spec.support.golang"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"
local stores <const> = require "spec.support.stores"
local uv <const> = require "sonde.base.uv"

local MS <const> = 1000000

if not pcall(require, "sonde.c.sqlite") then
  it("captures are kept in SQLite", function() helper.skip "libsqlite3 was missing" end)
  return
end

local function wait_for(what, check)
  for _ = 1, 300 do
    local found <const> = check()
    if found then return found end
    loop.sleep(50 * MS)
  end
  error("waited in vain for " .. what)
end

-- The C program with threads, built once.
local function threads_program(directory)
  local _, status, err = helper.run(("gcc -std=c11 -D_DEFAULT_SOURCE -g -pthread"
    .. " spec/targets/native/threads.c -o %s/threads"):format(directory))
  assert(status == 0, err)
  return directory .. "/threads"
end

-- The shell ends its children when it is told to end.
local TREE <const> = [[
trap 'kill $all 2>/dev/null; exit 0' TERM
%s & all="$all $!"; echo GO $!
%s 1 8 & all="$all $!"; echo THREADS $!
sleep 600 & all="$all $!"; echo DIES $!
(while :; do sleep 0.2; done) & all="$all $!"; echo FORKS $!
%s
echo STARTED
wait
wait
]]

-- Starts a tree; `pids` has its processes by name.
local function start_tree(directory, with_dotnet)
  helper.needs "gcc"
  local found <const>, program <const> = pcall(dotnet.program, "idle", "10.0")
  -- Its input never ends, and so it goes on.
  local service <const> = with_dotnet and found and ('mkfifo %s/in; %s <>%s/in & all="$all $!";'
    .. " echo NET $!"):format(directory, program, directory) or ""
  local script <const> = TREE:format(golang.program "live" .. " -burn=false",
    threads_program(directory), service)
  helper.write(directory .. "/tree.sh", script)
  local root <const> = dotnet.spawn { "/bin/sh", directory .. "/tree.sh" }
  local pids <const>, seen = {}, {}
  while not (seen.STARTED and seen.READY and pids.THREADS) do
    local line <const> = assert(root:line(nil, 30), "the tree did not start")
    local word <const> = line:find "^READY pid=" and "READY" or line:match "^STARTED"
    if word then seen[word] = true end
    local name <const>, pid <const> = line:match "^(%u+) (%d+)$"
    if name and name ~= "READY" then pids[name] = math.tointeger(tonumber(pid)) end
  end
  if pids.NET then
    wait_for("the .NET runtime", function()
      return require("sonde.dotnet.target").of_pid(pids.NET)
    end)
  end
  return root, pids
end

local function stop(root)
  uv.kill(root.pid, 15)
  wait_for("the end of the tree", function()
    local stat <const> = require("sonde.process.proc").stat(root.pid)
    return stat == nil or stat.state == "Z"
  end)
  root:close()
end

local function list_of(store, question)
  local list = {}
  for record in assert(store:records(question)) do list[#list + 1] = record end
  return list
end

describe("a capture of a tree", function()
  it("has each process, who ends, who is new, and two at a time agree", function()
    helper.in_directory(function(directory)
      local root <const>, pids <const> = start_tree(directory, true)
      local _ <close> = setmetatable({}, { __close = function() stop(root) end })
      local store <close> = assert(require("sonde.capture.store").open(directory .. "/s.db"))
      local first <const> = assert(sonde.capture { root = root.pid, store = store })
      local second <const> = assert(sonde.capture { root = root.pid, store = store })
      for i, reason in ipairs { "manual", "periodic", "timeout" } do
        if i == 3 then uv.kill(pids.DIES, 9) end
        for _, capture in ipairs { first, second } do
          assert(capture:checkpoint { kind = "process_tree", reason = reason })
        end
        local done <const> = assert(first:checkpoint { kind = "stacks", tree = true,
          reason = reason })
        assert(done.parts >= 5)
        assert(first:checkpoint { kind = "goprof", tree = true, reason = reason,
          profile = { "heap", "goroutine" } })
        loop.sleep(300 * MS)
      end
      wait_for("the end of a child", function()
        assert(second:checkpoint { kind = "process_tree" })
        return list_of(store, { kind = "process_tree", state = "exited", pid = pids.DIES })[1]
      end)
      assert(first:close() and second:close())
      for _, reason in ipairs { "manual", "periodic", "timeout" } do
        local rows <const> = list_of(store, { kind = "process_tree", reason = reason,
          capture = second.id })
        local of = {}
        for _, row in ipairs(rows) do of[row.pid] = row end
        assert.equal("sh", of[root.pid].name)
        assert.equal(root.pid, of[pids.GO].parent_pid)
        assert.equal(8, of[pids.THREADS].threads)
        assert.matches("go%-live", of[pids.GO].command_line)
      end
      -- The one that forks on has had several children.
      local children = {}
      for _, row in ipairs(list_of(store, { kind = "process_tree" })) do
        if row.parent_pid == pids.FORKS then children[row.key] = true end
      end
      assert.truthy(next(children, next(children)))
      local go <const> = list_of(store, { kind = "stacks", pid = pids.GO, reason = "periodic" })
      assert(#go > 1000)
      assert.equal("pprof", go[1].transport)
      assert(#list_of(store, { kind = "goprof", pid = pids.GO, reason = "timeout" }) > 0)
      assert.equal(0, #list_of(store, { kind = "goprof", pid = pids.THREADS }))
      if pids.NET then
        local net <const> = list_of(store, { kind = "stacks", pid = pids.NET,
          transport = "eventpipe" })
        assert.equal("dotnet", net[1].format)
      end
      assert.equal(2, #store:captures())
    end)
  end)
end)

-- Kills the writer after so many checkpoints were acknowledged: those.
local function capture_and_kill(root, target, acknowledged)
  local writer <close> = dotnet.spawn { helper.command, "capture", "-p", tostring(root.pid),
    "--store", target, "--kind", "goprof,stacks,process_tree", "--every", "100ms", "--json" }
  wait_for("acknowledgements", function()
    local _, n = writer.output:gsub("\n", "")
    return n >= acknowledged
  end)
  uv.kill(writer.pid, 9)
  local ids = {}
  for line in writer.output:gmatch "[^\n]+\n" do
    local row <const> = helper.json_lines(line)[1]
    ids[#ids + 1] = row
  end
  return ids
end

for _, kept in ipairs(stores) do
  describe("a capture into " .. kept.name .. " whose writer is killed", function()
    it("is queried, diffed and exported with all that was acknowledged", function()
      helper.in_directory(function(directory)
        local root <const>, pids <const> = start_tree(directory, false)
        local _ <close> = setmetatable({}, { __close = function() stop(root) end })
        kept.with(function(open)
          local store = assert(open())
          local target <const> = store.name
          store:close()
          local told <const> = capture_and_kill(root, target, 8)
          store = assert(open())
          assert.same({}, assert(store:check()).problems)
          local last
          for _, row in ipairs(told) do
            local n <const> = #list_of(store, { kind = row.kind, checkpoint = row.checkpoint })
            assert(n > 0 or row.parts == 0, row.checkpoint)
            if row.kind == "goprof" then last = row.checkpoint end
          end
          local id <const> = store:captures()[1].id
          assert.is_nil(store:captures()[1].ended_at)
          store:close()
          -- The same by the command, and the capture is gone on with.
          local path <const> = directory .. "/out.pb.gz"
          local _, status, err = helper.sonde("export", target, "--kind", "goprof", "--checkpoint",
            last, "--profile", "heap", "--pid", tostring(pids.GO), "-o", path)
          assert.equal(0, status, err)
          assert.truthy(sonde.open(path))
          local out
          out, status, err = helper.sonde("query", target, "--diff", "first", "last", "--kind",
            "stacks")
          assert.equal(0, status, err)
          assert.matches("main", out)
          out, status, err = helper.sonde("top", target, "--kind", "goprof", "--view",
            "inuse_space")
          assert.equal(0, status, err)
          assert.matches("main", out)
          _, status, err = helper.sonde("capture", "--id", id, "--store", target, "--kind",
            "process_tree")
          assert.equal(0, status, err)
          out = helper.sonde("captures", target, "--json")
          assert.equal(1, #helper.json_lines(out))
          assert.equal(root.pid, helper.json_lines(out)[1].root_pid)
          assert.truthy(helper.json_lines(out)[1].ended_at)
        end)
      end)
    end)
  end)
end
