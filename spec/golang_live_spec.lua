-- Running Go processes: their pprof servers and gops agents, and servers that stall,
-- lie, send pages, bombs, or half an answer.
local golang <const> = require "spec.support.golang"
local helper <const> = require "spec.support.helper"
local http_server <const> = require "spec.support.http_server"
local loop <const> = require "sonde.base.loop"
local sonde <const> = require "sonde"
local uv <const> = require "sonde.base.uv"

local SECOND <const> = 1000000000

local function flat_of(profile, type)
  local flat = {}
  for _, node in ipairs(profile:graph { type = type }.nodes) do flat[node.name] = node.flat end
  return flat
end

local function cum_of(profile)
  local cum = {}
  for _, node in ipairs(profile:graph {}.nodes) do cum[node.name] = node.cum end
  return cum
end

-- Runs with $GOPS_CONFIG_DIR naming a directory.
local function with_ports(directory, fn)
  local old <const> = os.getenv "GOPS_CONFIG_DIR"
  uv.os_setenv("GOPS_CONFIG_DIR", directory)
  local ok, message = xpcall(fn, debug.traceback)
  if old then uv.os_setenv("GOPS_CONFIG_DIR", old) else uv.os_unsetenv "GOPS_CONFIG_DIR" end
  if not ok then error(message, 0) end
end

describe("a running Go program", function()
  local http <const> = require "sonde.base.http"
  if not http.available() then
    it("is asked over libcurl", function() helper.skip "libcurl was missing" end)
    return
  end
  local buildinfo <const> = require "sonde.golang.buildinfo"
  local gops <const> = require "sonde.golang.gops"
  local live <const> = require "sonde.golang.live"
  local pprof <const> = require "sonde.golang.pprof"
  local sources <const> = require "sonde.golang.sources"
  local transports <const> = require "sonde.golang.transports"

  local target, directory

  -- One process for all: with an agent, exact allocations, no other load.
  local function started()
    if target then return target end
    directory = helper.run("mktemp -d"):match("^%S+")
    target = golang.start("live", { "-agent", directory, "-herd", "100", "-memrate", "1",
      "-agenttime", "1s" })
    return target
  end

  teardown(function()
    if target then target:close() end
    if directory then helper.run("rm -rf " .. helper.quote(directory)) end
  end)

  it("says its version and package", function()
    local process <const> = started()
    local info <const> = assert(buildinfo.of_pid(process.pid))
    assert.matches("^go1%.%d+", info.version)
    assert.equal("sonde.example/live", info.path)
    assert.equal("sonde.example/live", info.module)
    assert.equal("linux", info.settings.GOOS)
    local _, message, code = buildinfo.of_file "/bin/sh"
    assert.same({ "/bin/sh: not a Go program", "unavailable" }, { message, code })
    _, message, code = buildinfo.of_file "/nope"
    assert.equal("not_found", code, message)
  end)

  it("is found by the sockets on which it listens", function()
    local process <const> = started()
    with_ports(directory, function()
      assert.equal(process.url, sources.pprof(process.pid))
      assert.matches("^127%.0%.0%.1:%d+$", sources.gops(process.pid))
    end)
    local _, message, code = sources.pprof(uv.os_getpid())
    assert.matches("no net/http/pprof", message, 1, true)
    assert.equal("unavailable", code)
  end)

  it("gives its profiles, with the shares and bytes that it has", function()
    local process <const> = started()
    local cpu <const> = assert(sonde.open(process.url, { duration = "3s" }))
    local cum <const> = cum_of(cpu)
    local n <const> = cpu:focus("burnCPU"):total("samples")
    assert.is_true(n > 10, n)
    for name, share in pairs { ["main.burn60"] = 60, ["main.burn30"] = 30, ["main.burn10"] = 10 } do
      local got <const> = 100 * (cum[name] or 0) / (cum["main.burnCPU"] or 1)
      -- What chance may do to so few samples, and a cut at either end.
      local off <const> = 4 + 4 * math.sqrt(share * (100 - share) / n)
      assert.is_true(math.abs(got - share) < off, ("%s: %.1f"):format(name, got))
    end
    local heap <const> = assert(sonde.open(process.url, { view = "heap" }))
    local flat = flat_of(heap)
    for name, mib in pairs { alloc1M = 40, alloc4K = 16, alloc64B = 8 } do
      local got <const> = flat["main." .. name]
      assert.is_true(math.abs(got - (mib << 20)) <= 4096, ("%s: %d"):format(name, got))
    end
    assert.is_nil(flat["main.allocDropped"])
    local allocs <const> = assert(sonde.open(process.url, { view = "alloc_objects" }))
    flat = flat_of(allocs, allocs:info().default_type)
    assert.equal(1000, flat["main.allocDropped"])
    local goroutines <const> = assert(sonde.open(process.url, { view = "goroutine" }))
    assert.equal(100, goroutines:focus("herdInner"):total("goroutine"))
    assert.is_true(#assert(sonde.open(process.url, { view = "mutex" })) > 0)
    assert(sonde.open(process.url, { view = "threadcreate" }))
  end)

  it("gives any profile by any query", function()
    local process <const> = started()
    assert.matches("^goroutine profile: total %d+", pprof.fetch(process.address, "goroutine",
      "debug=1"))
    assert.matches("^heap profile: ", pprof.fetch(process.url, "heap", "debug=1"))
    local counts <const> = assert(pprof.index(process.url))
    assert.is_true(counts.goroutine > 120)
    local trace <const> = assert(pprof.fetch(process.url .. "/debug/pprof/", "trace",
      "seconds=0.1"))
    assert.matches("^go 1%.%d+ trace", trace)
    local _, message, code = pprof.fetch(process.address, "nope")
    assert.equal("not_found", code)
    assert.matches("Unknown profile", message, 1, true)
    _, message = pprof.fetch(process.address, "mutex", "seconds=-1")
    assert.matches("must be a positive integer", message, 1, true)
    local delta <const> = assert(sonde.open(process.url, { view = "allocs", delta = "1s" }))
    assert.is_nil(flat_of(delta, "alloc_space")["main.alloc1M"])
    assert.has_error(function() sonde.open(process.url, { view = "cpu", delta = "1s" }) end)
  end)

  it("says that another CPU profile is being taken", function()
    local process <const> = started()
    local tasks, refused = {}, nil
    for i = 1, 2 do tasks[i] = loop.task(pprof.fetch, process.url, "profile", "seconds=3") end
    for _, task in ipairs(tasks) do
      local result <const> = table.pack(task:join(loop.after(60 * SECOND)))
      if not result[2] then refused = result end
    end
    assert.is_not_nil(refused)
    assert.matches("already in use", refused[3], 1, true)
    assert.equal("unavailable", refused[4])
    assert.matches("when the other", refused[5], 1, true)
  end)

  it("answers every signal of a gops agent", function()
    local process <const> = started()
    with_ports(directory, function()
      local address <const> = assert(gops.address(process.pid))
      local answers = {
        stack = "^goroutine %d+ %[running%]:", gc = "^ok$", memstats = "heap%-alloc: %d+",
        version = "^go1%.", stats = "goroutines: %d+", trace = "^go 1%.%d+ trace",
        binary = "^\127ELF", heap = "^\31\139", cpu = "^\31\139",
      }
      for name, pattern in pairs(answers) do
        assert.matches(pattern, (assert(gops.ask(address, name))))
      end
      assert.matches("set to %-1", gops.ask(address, "set_gc_percent", { argument = -1 }))
      assert.matches("set to 300. Previous value was %-1", gops.ask(address, "set_gc_percent",
        { argument = 300 }))
      assert.matches("^go1%.", gops.ask(address, 0x4))
      local _, message, code = gops.ask(address, 0x55)
      assert.equal("unavailable", code)
      assert.matches("does not know request 0x55", message, 1, true)
      local profile <const> = assert(live.of_pid(process.pid, { view = "cpu", source = "gops" }))
      assert.equal("gops", profile.source)
      local _, refused = live.of_pid(process.pid, { view = "mutex", source = "gops" })
      assert.matches("no mutex profile", refused, 1, true)
    end)
  end)

  -- Runs the command with the agent's port files in place.
  local function command(...)
    local words = { "GOPS_CONFIG_DIR=" .. helper.quote(directory), helper.quote(helper.command) }
    for _, word in ipairs { ... } do words[#words + 1] = helper.quote(tostring(word)) end
    return helper.run(table.concat(words, " ") .. " </dev/null")
  end

  it("is listed with its version and who answers", function()
    local process <const> = started()
    local row
    for _, object in ipairs(helper.json_lines((command("ps", "--json")))) do
      if object.pid == process.pid then row = object end
    end
    assert.same({ "go", "sonde.example/live", process.url },
      { row.runtime, row.module, row.sources.pprof })
    assert.matches("^127%.0%.0%.1:%d+$", row.sources.gops)
    assert.same({ "record", "dump" }, row.can)
    local text <const> = command("ps")
    assert.matches(("\n *%d +%%S+ +Go 1%%.[^\n]+pprof=127"):format(process.pid), text)
  end)

  it("is an input of verbs, by pid, name and URL", function()
    local process <const> = started()
    for _, input in ipairs { process.pid, process.url } do
      local out, status, err = command("top", input, "--view", "heap", "-n", "3")
      assert.equal(0, status, err)
      assert.matches("main.alloc1M", out, 1, true)
    end
    local out, status, err = command("top", "-p", process.pid, "--view", "inuse_objects", "--json",
      "-n", "1")
    assert.equal(0, status, err)
    assert.equal("main.alloc64B", helper.json_lines(out)[1].name)
    out, status, err = command("top", process.url .. "/debug/pprof/heap?debug=1", "-n", "1")
    assert.equal(0, status, err)
    assert.matches("main.alloc1M", out, 1, true)
    status, err = select(2, command("top", process.url, "--view", "heap", "--duration", "1s"))
    assert.equal(2, status)
    assert.matches("--delta is for what is added", err, 1, true)
  end)

  it("is recorded and compared", function()
    local process <const> = started()
    helper.in_directory(function(at)
      local heap <const> = at .. "/heap.pb.gz"
      local _, status, err = command("record", "-p", process.pid, "--view", "heap", "-o", heap)
      assert.equal(0, status, err)
      local out
      out, status, err = command("diff", heap, process.url, "--view", "heap", "--json")
      assert.equal(0, status, err)
      assert.is_true(#helper.json_lines(out) > 2)
      _, status, err = command("record", process.url, "--duration", "1s", "-o", at .. "/cpu.svg")
      assert.equal(0, status, err)
      assert.matches("main.burn60", helper.read(at .. "/cpu.svg"), 1, true)
      _, status, err = command("record", process.pid, "--view", "trace", "--duration", "200ms",
        "-o", at .. "/x.trace")
      assert.equal(0, status, err)
      assert.matches("^go 1%.%d+ trace", helper.read(at .. "/x.trace"))
      _, status, err = command("record", process.pid, "--source", "gops", "-o", at .. "/g.pb.gz")
      assert.equal(0, status, err)
      assert.matches("its gops agent, which takes 30 s", err, 1, true)
      assert.matches("burnCPU", (command("top", at .. "/g.pb.gz")), 1, true)
    end)
  end)

  it("is dumped, with labels, as text and as a picture", function()
    local process <const> = started()
    local out, status, err = command("dump", process.pid, "-n", "0")
    assert.equal(0, status, err)
    -- After a minute its length stands there, too.
    assert.matches("\n100 goroutines: chan receive[%w, ]*, created by main%.times\n", out)
    local labels = {}
    -- The labels are of a second answer: the burner has to be on the same line in both.
    for _ = 1, 200 do
      for _, row in ipairs(helper.json_lines((command("dump", process.url, "--json", "--func",
        "main.burnCPU.func")))) do
        labels = row.labels
        assert.same({ "pprof", "go" }, { row.transport, row.format })
      end
      if next(labels) then break end
    end
    assert.matches("^[136]0$", labels.share)
    out, status, err = command("dump", process.pid, "--transport", "gops", "--json")
    assert.equal(0, status, err)
    local rows <const> = helper.json_lines(out)
    assert.same({ "gops", process.pid, 1 }, { rows[1].transport, rows[1].pid, rows[1].schema })
    local _
    helper.in_directory(function(at)
      _, status, err = command("dump", process.pid, "-o", at .. "/d.txt")
      assert.equal(0, status, err)
      assert.matches("^goroutine %d+ %[", helper.read(at .. "/d.txt"))
      _, status, err = command("dump", process.pid, "-o", at .. "/d.html")
      assert.equal(0, status, err)
      assert.equal("<!doctype html>", helper.read(at .. "/d.html"):sub(1, 15))
      out, status, err = command("dump", "--diff", at .. "/d.txt", process.url)
      assert.equal(0, status, err)
      assert.matches("\n  100: chan receive[%w, ]*, created by main%.times\n", out)
    end)
    out, status, err = command("dump", process.url, "--redact", "-n", "0")
    assert.equal(0, status, err)
    assert.is_nil(out:find("herdInner", 1, true))
    assert.is_nil(out:find("127.0.0.1", 1, true))
    assert.matches("\n100 goroutines: chan receive", out, 1, true)
    _, status = command("dump", process.url, "--redact", "-o", "/dev/null")
    assert.equal(2, status)
    out, status, err = command("dump", process.pid, "-f", "top", "-n", "1")
    assert.equal(0, status, err)
    assert.matches("herdInner", out, 1, true)
    local target_object <const> = assert(sonde.target(process.pid))
    assert.equal("go", target_object.runtime)
    assert.equal(100, (assert(target_object:dump()):where { func = "herdInner" }:count()))
    assert.is_true(#assert(target_object:profile { view = "mutex" }) > 0)
  end)

  it("gives its goroutines over either transport", function()
    local process <const> = started()
    with_ports(directory, function()
      for _, transport in ipairs(transports.list) do
        assert.is_true(transport.available(process.pid))
        local got <const> = assert(transport.dump(process.pid, loop.after(20 * SECOND)))
        assert.same({ transport.name, "go" }, { got.transport, got.format })
        local dump <const> = assert(sonde.open { bytes = got.text, name = "dump" })
        local herd <const> = dump:where { func = "herdInner" }
        assert.equal(100, (herd:count()))
        assert.equal(2, (dump:where { func = "waitGroupWaiter" }:count()))
      end
    end)
    local given <const> = transports.new("pprof", function() return process.address end)
    assert.is_true(given.available(1))
    assert.matches("^goroutine ", assert(given.dump(1, loop.after(20 * SECOND))).text)
    local available, message, code = transports.gops.available(process.pid)
    assert.is_nil(available)
    assert.matches("no gops port file (tried ", message, 1, true)
    assert.equal("not_found", code)
  end)
end)

describe("port files of gops", function()
  local gops <const> = require "sonde.golang.gops"

  it("are read as they are, and say what is wrong with them", function()
    with_ports(helper.shared "cases/32-gops-port-files" .. "/config/gops", function()
      local by_pid = {}
      for _, entry in ipairs(gops.list()) do by_pid[entry.pid] = entry end
      assert.equal(39000, by_pid[4321].port)
      assert.equal(39001, by_pid[4326].port)
      for pid, content in pairs { [4322] = "0", [4323] = "", [4324] = "abc", [4325] = "70000" } do
        assert.is_nil(by_pid[pid].port)
        assert.matches(('/%d holds "%s", expected a port number'):format(pid, content),
          by_pid[pid].reason, 1, true)
        local path, message, code = gops.port_file(pid)
        assert.is_nil(path)
        assert.equal(by_pid[pid].reason, message)
        assert.equal("malformed", code)
      end
      assert.is_nil(by_pid[4328])
      assert.is_not_nil(by_pid[99999999])
      local _, message = gops.address(99999999)
      assert.matches("is stale: process 99999999 is not running", message, 1, true)
      _, message = gops.address(12345678)
      assert.matches("tried .*config/gops/12345678", message)
    end)
  end)
end)

describe("an agent that misbehaves", function()
  local gops <const> = require "sonde.golang.gops"

  local function ask(on_bytes, what, opts)
    local server <close> = http_server.start({}, { raw = on_bytes })
    return gops.ask("127.0.0.1:" .. server.port, what, opts)
  end

  it("is told from one that is busy, stalled or something else", function()
    local _, message, code = ask(function() end, "version", { timeout = "1s" })
    assert.equal("timeout", code)
    assert.matches("sent nothing in time: another request may be running", message, 1, true)
    _, message, code = ask(function(peer) peer:close() end, "version")
    assert.equal("unavailable", code, message)
    local _, words, reason, hint = ask(function(peer)
      peer:write("HTTP/1.1 400 Bad Request\r\n\r\n")
      peer:close()
    end, "version")
    assert.matches("an HTTP server and no gops agent", words, 1, true)
    assert.equal("malformed", reason)
    assert.matches("sonde http://", hint, 1, true)
    local text
    text, message, code = ask(function(peer) peer:write("half") end, "stack", { timeout = "2s" })
    assert.same({ "half", "timeout" }, { text, code }, message)
    text, message, code = ask(function(peer)
      peer:write(("x"):rep(100000))
    end, "stack", { max_bytes = 1000 })
    assert.same({ 1000, "limit" }, { #text, code }, message)
    _, message, code = gops.ask("127.0.0.1:1", "version")
    assert.same({ "127.0.0.1:1: connection refused", "unavailable" }, { message, code })
    _, message, code = gops.ask("nonsense", "version")
    assert.equal("malformed", code, message)
    assert.has_error(function() gops.ask("127.0.0.1:1", "nonsense") end)
    assert.has_error(function() gops.ask("127.0.0.1:1", 256) end)
    assert.has_error(function() gops.ask("127.0.0.1:1", "set_gc_percent") end)
  end)

  it("gets the argument of set_gc_percent as zig-zag", function()
    for percent, bytes in pairs { [-1] = "\x10\1", [0] = "\x10\0", [100] = "\x10\xc8\1",
      [math.mininteger] = "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1" } do
      local got = ""
      ask(function(peer, chunk)
        got = got .. chunk
        peer:write("ok")
        peer:close()
      end, "set_gc_percent", { argument = percent })
      assert.equal(bytes, got)
    end
  end)
end)

describe("a pprof server that misbehaves", function()
  local pprof <const> = require "sonde.golang.pprof"
  if not require("sonde.base.http").available() then
    it("is asked over libcurl", function() helper.skip "libcurl was missing" end)
    return
  end

  local function open(reply, opts)
    local server <close> = http_server.start { ["*"] = reply }
    return sonde.open(server.url, opts or { view = "heap" })
  end

  it("is quoted", function()
    local _, message, code = open(function(peer)
      peer:reply(500, "heap is on fire\n", { ["X-Go-Pprof"] = "1" })
    end)
    assert.equal("unavailable", code)
    assert.matches("/debug/pprof/heap: HTTP 500: heap is on fire", message, 1, true)
    _, message, code = open(function(peer) peer:reply(404, "404 page not found\n") end)
    assert.matches("does the program import net/http/pprof", message, 1, true)
    assert.equal("not_found", code)
    _, message, code = open(function(peer)
      peer:reply(200, "<!DOCTYPE html><html><body>Log in</body></html>")
    end)
    assert.equal("not_nettrace", code)
    assert.matches("HTML", message, 1, true)
  end)

  it("is not believed when it sends half a profile, or too much of one", function()
    local whole <const> = helper.read(helper.data "pprof/h0.pb.gz")
    local _, message, code = open(function(peer)
      peer:write(("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"):format(#whole))
      peer:write(whole:sub(1, #whole // 2))
      peer:close()
    end)
    assert.is_not_nil(message)
    assert.is_true(code == "truncated" or code == "malformed", code)
    local bomb <const> = helper.run("head -c 60000000 /dev/zero | gzip -9")
    local server <close> = http_server.start { ["*"] = function(peer, request)
      peer:reply(200, bomb, { ["Content-Encoding"] = request.path:find("heap") and "gzip" or nil })
    end }
    local _, words, reason = pprof.fetch(server.url, "heap", nil, { max_bytes = "8MiB" })
    assert.equal("limit", reason)
    assert.matches("larger than 8MB when unpacked", words, 1, true)
    local nothing, why = sonde.open(server.url, { view = "allocs", limit = "16MiB" })
    assert.is_nil(nothing)
    assert.is_not_nil(why)
  end)
end)
