-- Actions on real processes and against a server of our own.
local act <const> = require "sonde.policy.act"
local artifacts <const> = require "sonde.policy.artifacts"
local dotnet <const> = require "spec.support.dotnet"
local golang <const> = require "spec.support.golang"
local helper <const> = require "spec.support.helper"
local http_server <const> = require "spec.support.http_server"
local policy <const> = require "sonde.policy"

local function compile(actions)
  local one <const> = assert(policy.compile(([[return { summary = "s", trigger = { start = true },
    actions = %s }]]):format(actions), "p.lua"))
  one.name = "p"
  return one
end

-- Runs a policy's actions for a process: what act.run gives.
local function run(actions, process, facts, directory)
  local one <const> = compile(actions)
  facts = facts or {}
  facts.pid = process.pid
  return http_server.in_task(function()
    return (act.run({ policy = one, facts = facts, pid = process.pid, name = facts.name or "api",
      start = 1, reason = "it was time", at = 1767225600 },
      { folder = artifacts.folder(directory, one), say = function() end }))
  end)
end

local function problem_of(actions)
  local loaded, message = policy.compile(([[return { summary = "s", trigger = { start = true },
    actions = %s }]]):format(actions), "p.lua")
  assert.is_nil(loaded)
  return message
end

local function sleeper()
  return dotnet.spawn { "sleep", "7655" }
end

describe("actions", function()
  it("are checked and explained", function()
    assert.matches("did you mean 'stacks'", problem_of '{ { checkpoint = { kind = "stakcs" } } }')
    assert.matches("not one of",  (problem_of [[{ { checkpoint = { kind = "goprof",
      params = { profile = { "hep" } } } } }]]:gsub("is not known: .*", "not one of")))
    assert.matches("consent", problem_of [[{ { checkpoint = { params = { consent = true } } } }]])
    assert.matches("ends the process", problem_of '{ { dump = "sigquit" } }')
    assert.matches("is no transport", problem_of '{ { dump = "gpos" } }')
    assert.matches("https://", problem_of '{ { push = { url = "ftp://x", file = "y" } } }')
    assert.matches("labels", problem_of
      '{ { push = { url = "http://x", file = "y", labels = { ["a b"] = 1 } } } }')
    local one <const> = compile [[{ { checkpoint = "stacks" }, { dump = "pprof" },
      { core = "mini" }, { counters = "10s" }, { move = { file = "%{record.path}", to = "/srv" } },
      { push = { url = "http://u:secret@host", file = "%{record.path}" } } }]]
    local text <const> = table.concat(require("sonde.policy.action").explain_all(one.actions), "\n")
    for _, words in ipairs { "keep the stacks of goroutines and threads in the store captures.db",
      "where every thread or goroutine stands %(by pprof%)", "a core dump %(mini%)",
      "its counters for 10s, every 1s", "into the folder /srv", "server at http://.*host as" } do
      assert.matches(words, text)
    end
    assert.not_matches("secret", text)
  end)

  it("move an artifact into a folder, once and whole", function()
    helper.in_directory(function(directory)
      helper.run("mkdir -p " .. directory .. "/out")
      local process <close> = sleeper()
      local actions <const> = ([[{ { write = { path = "a.txt", text = "%%{name}" } },
        { move = { file = "%%{write.path}", to = "%s/out" } } }]]):format(directory)
      local done = run(actions, process, nil, directory)
      assert.is_nil(done.results[2].failed)
      assert.equal("api", helper.read(directory .. "/out/a.txt"))
      assert.is_nil(helper.read(directory .. "/p/a.txt"))
      done = run(actions, process, nil, directory)
      assert.matches("is there already", done.results[2].failed)
      done = run([[{ { write = { path = "a.txt", text = "" } },
        { move = { file = "%{write.path}", to = "/nowhere" } } }]], process, nil, directory)
      assert.matches("is no folder", done.results[2].failed)
    end)
  end)

  it("stay in their folder, whatever a process calls itself", function()
    helper.in_directory(function(directory)
      local process <close> = sleeper()
      run([[{ { write = { path = "%{name}.txt", text = "x" } } }]], process,
        { name = "../../outside" }, directory .. "/a/b")
      assert.equal("x", helper.read(directory .. "/a/b/p/.._.._outside.txt"))
    end)
  end)

  it("tell a server what happened, by POST and by PUT, and heed its refusal", function()
    local server <close> = http_server.start {
      ["/hook"] = function(peer) peer:reply(200, "thanks") end,
      ["/put"] = function(peer) peer:reply(403, "no") end,
    }
    helper.in_directory(function(directory)
      local process <close> = sleeper()
      local done <const> = run(([[{ { write = { path = "a.bin", text = "\0\1" } },
        { post = { url = "%s/hook", json = { text = "%%{name} %%{reason}", pid = "%%{pid}" } } },
        { post = { url = "%s/put?sig=x", method = "PUT", file = "%%{write.path}" } } }]]):format(
        server.url, server.url), process, nil, directory)
      local body <const> = require("dkjson").decode(server.requests[1].body)
      assert.equal("api it was time", body.text)
      assert.equal("PUT", server.requests[2].method)
      assert.equal("\0\1", server.requests[2].body)
      assert.matches("403", done.results[3].failed)
      assert.equal("permission", done.results[3].code)
    end)
  end)

  it("hand a profile to a profiling server", function()
    local server <close> = http_server.start {
      ["/pyro/ingest"] = function(peer) peer:reply(200, "") end }
    helper.in_directory(function(directory)
      local process <close> = sleeper()
      helper.write(directory .. "/a.folded", "main;work 7\nmain;rest 3\n")
      local done <const> = run(([[{ { push = { url = "%s/pyro/", file = "%s/a.folded",
        labels = { policy = "%%{policy}", host = "a,b" } } } }]]):format(server.url, directory),
        process, { name = "Api" }, directory)
      assert.is_nil(done.results[1].failed)
      local query <const> = server.requests[1].query
      assert.matches("name=Api%%7Bhost%%3Da_b%%2Cpolicy%%3Dp%%7D&from=%d+&until=%d+&format=pprof",
        query)
      local path <const> = directory .. "/sent.pb.gz"
      helper.write(path, server.requests[1].body)
      assert.equal(10, assert(require("sonde").open(path)):total(1))
    end)
  end)

  it("write down the figures of any process", function()
    helper.in_directory(function(directory)
      local process <close> = sleeper()
      local done <const> = run('{ { counters = { duration = "500ms", interval = "100ms" } } }',
        process, { runtime = "native" }, directory)
      local text <const> = helper.read(done.results[1].path)
      assert.matches("^time_s,provider,name,tags,value,rate\n", text)
      assert.matches("System,memory,,%d+,\n", text)
      assert.matches("System,threads,,1,\n", text)
    end)
  end)
end)

describe("actions on a Go process", function()
  it("dump its goroutines, keep a checkpoint, and write its counters", function()
    local process <close> = golang.start "leak"
    helper.in_directory(function(directory)
      local done <const> = run([[{ { dump = {} }, { dump = { transport = "pprof",
        format = "jsonl" } },
        { checkpoint = { kind = "goprof", params = { profile = { "heap" } } } },
        { checkpoint = "stacks" }, { counters = { duration = "300ms" } } }]], process,
        { runtime = "go" }, directory)
      for _, result in ipairs(done.results) do assert.is_nil(result.failed) end
      assert.matches("^goroutine %d+ %[", helper.read(done.results[1].path))
      local first <const> = helper.json_lines(helper.read(done.results[2].path))[1]
      assert.equal(process.pid, first.pid)
      assert.is_true(#first.frames > 0)
      local store <const> = assert(require("sonde.capture.store").open(done.results[3].path,
        { mode = "read" }))
      local kinds = {}
      for record in store:records {} do kinds[record.kind] = record.reason end
      store:close()
      assert.same({ goprof = "p", stacks = "p" }, kinds)
      assert.matches("Go,goroutines,,%d+,", helper.read(done.results[5].path))
    end)
  end)
end)

describe("actions on a .NET process", function()
  it("write a core dump and its counters", function()
    local process <close> = dotnet.start("idle", "10.0")
    helper.in_directory(function(directory)
      local done <const> = run([[{ { core = "mini" }, { counters = { duration = "3s",
        provider = "System.Runtime", format = "jsonl" } },
        { core = { path = "x", type = "mini" } } }]],
        process, { runtime = "dotnet" }, directory)
      for _, result in ipairs(done.results) do assert.is_nil(result.failed) end
      assert.equal("\127ELF", helper.read(done.results[1].path):sub(1, 4))
      local names = {}
      for _, row in ipairs(helper.json_lines(helper.read(done.results[2].path))) do
        names[row.name] = row.value or row.rate
      end
      assert.is_true(names["working-set"] > 0)
    end)
  end)

  it("fail with a reason on a process that is none", function()
    helper.in_directory(function(directory)
      local process <close> = sleeper()
      local done <const> = run('{ { core = {}, on_failure = "go_on" }, { log = "x" } }', process,
        { runtime = "native" }, directory)
      assert.is_string(done.results[1].failed)
      assert.is_nil(done.results[2].failed)
    end)
  end)
end)
