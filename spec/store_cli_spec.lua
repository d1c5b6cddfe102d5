-- Verbs over a store: query, export, captures, store, and reports of one.
local helper <const> = require "spec.support.helper"
local sample_store <const> = require "spec.support.sample_store"

local function with_store(use)
  helper.in_directory(function(directory)
    local path <const> = directory .. "/captures.db"
    use(path, sample_store.fill(path), directory)
  end)
end

local function lines_of(...)
  local out <const>, status <const>, err <const> = helper.sonde(...)
  assert.are.equal(0, status, err)
  return helper.lines(out)
end

describe("verbs over a store", function()
  it("query: JSON lines, one object a record", function()
    with_store(function(path)
      local list <const> = helper.json_lines((helper.sonde("query", path, "--kind", "stacks",
        "--json")))
      assert.are.equal(63, #list)
      assert.are.equal(1, list[1].schema)
      assert.are.equal("goroutine 1 [running]:\nmain.main()\n", list[1].raw)
      local few <const> = helper.json_lines((helper.sonde("query", path, "--kind", "goprof",
        "--json", "--sort=-value", "-n", "1", "--sample-type", "inuse_space")))
      assert.are.same({ 5120, "main.ok" }, { few[1].value, few[1].frames[1].func })
    end)
  end)

  it("query: filters, groups, trends, growth, differences", function()
    with_store(function(path, _, directory)
      assert.are.equal(4, #lines_of("query", path, "--kind", "stacks", "--state", "running",
        "--last", "1h"))
      assert.are.equal(1 + 6, #lines_of("query", path, "--kind", "stacks", "--wait-minutes",
        "25..", "--where", "goroutine-id=26", "--where", "goroutine-id=27", "--where",
        "goroutine-id=28", "--where", "goroutine-id=29", "--where", "goroutine-id=30",
        "--where", "goroutine-id=31"))
      local groups <const> = lines_of("query", path, "--kind", "stacks", "--by", "state")
      assert.matches("60 .*count .*30 min .*select", groups[2])
      assert.matches("10%s+30%s+3%s+42:1%s+main.wait", lines_of("query", path, "--growth")[2])
      local trend <const> = lines_of("query", path, "--kind", "goprof", "--trend", "leak",
        "--view", "inuse_space")
      assert.matches("k3%s+3kB%s+3kB%s+8kB", trend[4])
      local svg <const> = directory .. "/trend.svg"
      lines_of("query", path, "--kind", "goprof", "--trend", "<leak>|leak", "-o", svg)
      assert(require("spec.support.xml").read(helper.read(svg)))
      local diff <const> = table.concat(lines_of("query", "--diff", path, "first", "last",
        "--kind", "goprof"), "\n")
      assert.matches("1kB%s+3kB%s+%+?2kB[^\n]*main.leak", diff)
      local csv <const> = lines_of("query", path, "--kind", "goprof", "--csv", "-n", "2")
      assert.matches("^kind,capture_id,checkpoint_id,taken_at", csv[1])
      assert.are.equal(3, #csv)
      assert.matches("k1%s+c1%s+manual%s+1%s+11%s+0",
        lines_of("query", path, "--kind", "stacks", "--checkpoints")[2])
    end)
  end)

  it("the store alone: captures, findings, and where the last checkpoint stands", function()
    with_store(function(path)
      local out <const> = table.concat(lines_of(path), "\n")
      assert.matches("1 capture, 3 checkpoints, %d+ records of goprof stacks", out)
      assert.matches("Goroutines at main.wait grow: from 10 to 30 over 3 checkpoints", out)
      assert.matches("sonde query %S+ %-%-growth", out)
      assert.matches("goprof, the last checkpoint:\n.*5kB .*main.ok", out)
      assert.matches("stacks, the last checkpoint:\n.*30 .*main.wait", out)
      -- A part that is chosen is a profile as any other.
      assert.matches("main.leak", table.concat(lines_of(path, "--kind", "goprof"), "\n"))
    end)
  end)

  it("query: an empty answer, mistakes", function()
    with_store(function(path, _, directory)
      local out, status, err = helper.sonde("query", path, "--kind", "stacks", "--state", "x")
      assert.are.same({ "", 1 }, { out, status })
      assert.matches("nothing found", err)
      _, status, err = helper.sonde("query", path, "--kind", "goprof", "--value", "x")
      assert.are.equal(2, status)
      assert.matches("not a number or a range", err)
      _, status, err = helper.sonde("query", path, "--kind", "goprof", "--sort", "raw")
      assert.are.equal(2, status)
      assert.matches("taken_at, value", err)
      _, status = helper.sonde("query", directory .. "/none.db")
      assert.are.equal(3, status)
      _, status, err = helper.sonde("query", path, "--json", "-o", path)
      assert.are.equal(2, status)
      assert.matches("would be lost", err)
      _, status = helper.sonde("query", path, "--kind", "nope")
      assert.are.equal(1, status)
    end)
  end)

  it("export: a profile byte for byte, a window as one, and other formats", function()
    with_store(function(path, profiles, directory)
      local out <const> = directory .. "/out.pb.gz"
      lines_of("export", path, "--kind", "goprof", "--format", "pprof", "--checkpoint", "k2",
        "-o", out)
      assert.are.equal(profiles[2], helper.read(out))
      lines_of("export", path, "--kind", "goprof", "--window", "1h", "-o", out)
      local core <const> = require "sonde.c.core"
      local sum <const> = assert(core.pprof_decode(helper.read(out)))
      assert.are.equal(6 + 15, sum:total "inuse_objects")
      lines_of("export", path, "--kind", "goprof", "--func", "leak", "-o", out)
      assert.are.equal(6, core.pprof_decode(helper.read(out)):total "inuse_objects")
      local folded <const> = lines_of("export", path, "--kind", "goprof", "--format", "folded",
        "--checkpoint", "last")
      table.sort(folded)
      assert.are.same({ "main.main;main.leak 3072", "main.main;main.ok 5120" }, folded)
      local dumps <const> = lines_of("export", path, "--kind", "stacks", "--format", "text")
      assert.matches("checkpoint k1  process 42:1  pprof  manual", dumps[1])
      assert.are.equal("goroutine 1 [running]:", dumps[3])
      assert.are.equal(63, #helper.json_lines((helper.sonde("export", path, "--kind", "stacks",
        "--format", "jsonl"))))
      lines_of("export", path, "--kind", "goprof", "-o", directory .. "/page.html")
      assert.matches("<html", helper.read(directory .. "/page.html"))
      local _, status, err = helper.sonde("export", path, "--format", "text")
      assert.are.equal(2, status)
      assert.matches("several kinds: goprof, stacks", err)
      local none <const> = directory .. "/none.pb.gz"
      _, status, err = helper.sonde("export", path, "--kind", "goprof", "--last", "1ms", "-o", none)
      assert.are.equal(1, status)
      assert.matches("^sonde: " .. path:gsub("%p", "%%%0") .. ": no ", err)
      assert.is_nil(helper.read(none))
    end)
  end)

  it("go tool pprof reads a window", function()
    with_store(function(path, _, directory)
      helper.needs "go"
      local out <const> = directory .. "/out.pb.gz"
      lines_of("export", path, "--kind", "goprof", "-o", out)
      local text <const> = helper.run("go tool pprof -top -sample_index=inuse_space " .. out)
      assert.matches("15kB .*main.ok", text)
      assert.matches("6kB .*main.leak", text)
    end)
  end)

  it("reports of a store", function()
    with_store(function(path)
      local top <const> = table.concat(lines_of("top", path, "--kind", "goprof", "--view",
        "inuse_space", "--last", "1h"), "\n")
      assert.matches("15kB .*main.ok", top)
      assert.matches("the sum of 3 profiles", top)
      local waits <const> = table.concat(lines_of("top", path, "--kind", "stacks"), "\n")
      assert.matches("60 .*main.wait", waits)
      assert.matches("3kB .*main.leak", table.concat(lines_of("report", "tree", path, "--kind",
        "goprof", "--checkpoint", "last", "--where", "profile=heap"), "\n"))
      local _, status, err = helper.sonde("top", path, "--kind", "goprof", "--view", "cpu")
      assert.are.equal(1, status)
      assert.matches("inuse_objects, inuse_space", err)
      _, status = helper.run(("%s top - <%s"):format(helper.command, path))
      assert.are.equal(3, status)
    end)
  end)

  it("captures, store check, prune, compact", function()
    with_store(function(path)
      assert.matches("^c1 +42 +h .* 3 +75 +goprof stacks$", lines_of("captures", path)[2])
      assert.are.equal("c1", helper.json_lines((helper.sonde("captures", path, "--json")))[1].id)
      assert.are.equal("all is well", lines_of("store", "check", path)[3])
      assert.matches("^3 checkpoints", lines_of("store", "prune", path, "--keep", "1s")[1])
      assert.matches("before", lines_of("store", "compact", path)[1])
      local _, status, err = helper.sonde("captures", path)
      assert.are.equal(1, status)
      assert.matches("no captures yet", err)
      _, status = helper.sonde("store", "prune", path)
      assert.are.equal(2, status)
      _, status = helper.sonde("store", "shine", path)
      assert.are.equal(2, status)
    end)
  end)
end)
