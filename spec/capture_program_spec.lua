-- `sonde capture -- CMD`: a program is started and its tree captured.
local dotnet <const> = require "spec.support.dotnet"
local golang <const> = require "spec.support.golang"
local helper <const> = require "spec.support.helper"
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

if not pcall(require, "sonde.c.sqlite") then
  it("captures are kept in SQLite", function() helper.skip "libsqlite3 was missing" end)
  return
end

local MS <const> = 1000000

-- `sonde capture OPTIONS -- CMD`, beside the test; what comes on its standard error,
-- the program's and its own, is a file.
local function start(directory, options, command)
  local words = { "sh", "-c", 'exec "$@" 2>' .. helper.quote(directory .. "/err"), "sh",
    helper.command, "capture", "--store", directory .. "/s.db" }
  table.move(options, 1, #options, #words + 1, words)
  words[#words + 1] = "--"
  table.move(command, 1, #command, #words + 1, words)
  local process <const> = dotnet.spawn(words, { env = { TMPDIR = directory } })
  function process.said() return helper.read(directory .. "/err") or "" end
  function process.until_said(pattern)
    local deadline <const> = loop.after(30 * 1000 * MS)
    while not process.said():find(pattern) and loop.now() < deadline do loop.sleep(20 * MS) end
    assert.matches(pattern, process.said())
  end
  function process.records(kind)
    local out <const>, _, err = helper.sonde("query", directory .. "/s.db", "--kind", kind,
      "--json")
    assert.equal("", err)
    return helper.json_lines(out)
  end
  return process
end

local function functions_of(records)
  local seen = {}
  for _, record in ipairs(records) do
    for _, frame in ipairs(record.frames or {}) do seen[frame.func] = record end
  end
  return seen
end

describe("sonde capture -- CMD", function()
  it("passes on what the program writes, and its status", function()
    helper.in_directory(function(directory)
      local text <const> = [[printf 'a\0b\nno end' >&2; echo out; echo x >/dev/stderr;
        sleep 1; exit 7]]
      local process <close> = start(directory, { "--kind", "process_tree", "--every", "100ms" },
        { "sh", "-c", text })
      assert.equal(7, process:wait(), process.said())
      assert.matches("out\n", process.output)
      assert.truthy(process.said():find("a\0b\nno end", 1, true))
      assert.truthy(process.said():find("x\n", 1, true))
      local records <const> = process.records "process_tree"
      assert.is_true(#records >= 2)
      local names = {}
      for _, record in ipairs(records) do names[record.name] = true end
      assert.is_true(names.sh and names.sleep)
    end)
  end)

  it("says that nothing was recorded of one that ends at once", function()
    helper.in_directory(function(directory)
      local process <close> = start(directory, { "--every", "1h" }, { "true" })
      assert.equal(1, process:wait(), process.said())
      assert.matches("0 checkpoints", process.said())
      assert.matches("has ended", process.said())
    end)
  end)

  it("reads the dump of SIGQUIT as it passes", function()
    local live <const> = golang.program "live"
    helper.in_directory(function(directory)
      local process <close> = start(directory, { "--transport", "sigquit", "--consent",
        "--duration", "1s" }, { live })
      assert.truthy(process:line("^READY", 30))
      assert.equal(2, process:wait(), process.said())
      assert.matches("SIGQUIT: quit", process.said())
      local records <const> = process.records "stacks"
      assert.equal("sigquit", records[1].transport)
      assert.truthy(functions_of(records)["main.main"])
    end)
  end)

  it("keeps the dumps of two programs apart that write to one place", function()
    local live <const> = golang.program "live"
    helper.in_directory(function(directory)
      local process <close> = start(directory, { "--transport", "sigquit", "--consent",
        "--duration", "1s" }, { "sh", "-c", live .. " & " .. live .. "; wait" })
      assert.truthy(process:line("^READY", 30))
      assert.truthy(process:line("^READY", 30))
      process:wait()
      local seen, twice = {}, 0
      for _, record in ipairs(process.records "stacks") do
        if record.transport == "sigquit" then
          local id <const> = ("%d %d"):format(record.pid, record.goroutine_id)
          if seen[id] then twice = twice + 1 end
          seen[id] = true
        end
      end
      assert.equal(0, twice)
      local pids, n = {}, 0
      for id in pairs(seen) do
        local pid <const> = id:match "^%d+"
        if not pids[pid] then n = n + 1 end
        pids[pid] = true
      end
      assert.equal(2, n, process.said())
    end)
  end)

  it("captures a .NET program from its start", function()
    local idle <const> = dotnet.program("idle", "10.0")
    helper.in_directory(function(directory)
      local process <close> = start(directory, { "--kind", "stacks,process_tree", "--every", "1s" },
        { idle })
      assert.truthy(process:line "^ready")
      process.until_said "checkpoint [^\n]*: stacks, 1 part\n"
      assert.equal("bye", process:command "quit")
      assert.equal(0, process:wait(), process.said())
      local managed = 0
      for _, record in ipairs(process.records "stacks") do
        if record.transport == "eventpipe" then managed = managed + 1 end
      end
      assert.is_true(managed > 0, process.said())
    end)
  end)

  it("hands the first signal on, and ends by the second", function()
    helper.in_directory(function(directory)
      -- It ends by itself, and only when it is told twice that it may.
      local program <const> = [[trap 'echo told' INT; echo ready;
        until [ -e ]] .. directory .. [[/end ]; do sleep 0.05; done; exit 3]]
      local process <close> = start(directory, { "--kind", "process_tree", "--every", "100ms" },
        { "sh", "-c", program })
      assert.truthy(process:line "^ready")
      process.until_said "checkpoint"
      uv.kill(process.pid, 2)
      assert.truthy(process:line "^told")
      process.until_said "Ctrl%-C again ends the capture"
      uv.kill(process.pid, 2)
      process.until_said "asked to end"
      helper.write(directory .. "/end", "")
      assert.equal(3, process:wait(), process.said())
    end)
  end)

  it("is given up when its task is canceled", function()
    local launch <const> = require "sonde.process.launch"
    local started
    local task <const> = loop.task(function()
      started = table.pack(launch.start { "sleep", "60" })
    end)
    task:cancel "no more"
    assert(task:join(loop.after(30 * 1000 * MS)))
    assert.same({ n = 3, nil, "no more", "canceled" }, started)
  end)

  it("refuses what does not go together", function()
    for _, case in ipairs {
      { "one of them", "-p", "1", "--every", "1s", "--", "true" },
      { "%-%-json does not go", "--json", "--every", "1s", "--", "true" },
      { "when%?", "--", "true" },
      { "without a program", "--every", "1s", "--" },
    } do
      local _, status, err = helper.sonde("capture", table.unpack(case, 2))
      assert.equal(2, status)
      assert.matches(case[1], err)
    end
    helper.in_directory(function(directory)
      local _, status, err = helper.sonde("capture", "--store", directory .. "/s.db", "--every",
        "1s", "--", directory .. "/no-such")
      assert.equal(1, status)
      assert.matches("no%-such", err)
    end)
  end)
end)
