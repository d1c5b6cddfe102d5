-- The HTTP client, against servers that behave and servers that do not.
local helper <const> = require "spec.support.helper"
local http_server <const> = require "spec.support.http_server"
local loop <const> = require "sonde.base.loop"
local uv <const> = require "sonde.base.uv"

local MS <const> = 1000000

describe("the HTTP client", function()
  local http <const> = require "sonde.base.http"
  local url <const> = require "sonde.base.url"
  if not http.available() then
    it("is built in", function() helper.skip "libcurl was missing" end)
    return
  end

  local function with(handlers, fn, opts)
    local server <close> = http_server.start(handlers, opts)
    fn(server)
  end

  it("gets, posts and puts", function()
    with({ ["*"] = function(peer, request)
      peer:reply(201, ("%s %s %s %s"):format(request.method, request.target,
        request.headers["x-two"] or "", request.body), { ["X-Reply"] = "yes" })
    end }, function(server)
      local function ask(opts)
        opts.url = server.url .. "/p?q=1"
        return assert(http.request(opts))
      end
      local answer <const> = ask { headers = { ["X-Two"] = "2" } }
      assert.equal(201, answer.status)
      assert.equal("yes", answer.headers["x-reply"])
      assert.equal("GET /p?q=1 2 ", answer.body)
      assert.equal("POST /p?q=1  a\0b", ask({ method = "POST", body = "a\0b" }).body)
      assert.equal("PUT /p?q=1  ", ask({ method = "PUT", body = "" }).body)
      local big <const> = ("0123456789"):rep(300000)
      assert.equal(#big + #"PUT /p?q=1  ", #ask({ method = "PUT", body = big }).body)
      assert.equal(0, #ask({ method = "HEAD" }).body)
      assert.equal(1, server.connections)   -- kept and used again
    end)
  end)

  it("closes the connection when asked to", function()
    with({ ["/"] = function(peer) peer:reply(200, "") end }, function(server)
      for _ = 1, 2 do assert(http.request { url = server.url, keep_alive = false }) end
      assert.equal(2, server.connections)
    end)
  end)

  it("runs several requests at once, in tasks", function()
    local busy, most = 0, 0
    with({ ["/"] = function(peer)
      busy = busy + 1
      most = math.max(most, busy)
      loop.sleep(200 * MS)
      busy = busy - 1
      peer:reply(200, "x")
    end }, function(server)
      local tasks = {}
      for i = 1, 20 do
        tasks[i] = loop.task(function() return (assert(http.request { url = server.url })).body end)
      end
      for _, task in ipairs(tasks) do
        assert.same({ true, "x" }, { task:join(loop.after(30000 * MS)) })
      end
      assert.is_true(most > 1, most)
    end)
  end)

  it("streams a large body and lets the server wait for its taker", function()
    local sent = 0
    with({ ["/"] = function(peer)
      peer:write("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n")
      for _ = 1, 200 do
        peer:write(("x"):rep(100000))
        sent = sent + 100000
        while peer.socket:get_write_queue_size() > 0 do loop.sleep(MS) end
      end
    end }, function(server)
      local n, ahead = 0, 0
      local answer <const> = assert(http.request { url = server.url, on_data = function(piece)
        n = n + #piece
        ahead = math.max(ahead, sent - n)
        loop.sleep(MS)
      end })
      assert.equal("", answer.body)
      assert.equal(20000000, answer.received)
      assert.equal(20000000, n)
      assert.is_true(ahead < 15000000, ahead)
    end)
  end)

  it("gives up at the deadline and says how far it came", function()
    with({
      ["/silent"] = function() end,
      ["/stall"] = function(peer)
        peer:write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
      end,
    }, function(server)
      local answer, message, code = http.request { url = server.url .. "/silent",
        timeout = "1s" }
      assert.is_nil(answer)
      assert.equal("timeout", code)
      assert.matches("connected, but no answer within", message, 1, true)
      answer, message, code = http.request { url = server.url .. "/stall", timeout = "2s" }
      assert.equal("half", answer.body)
      assert.equal("timeout", code)
      assert.matches("4B had come", message, 1, true)
    end)
  end)

  it("says what broke", function()
    with({
      ["/half"] = function(peer)
        peer:write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        peer:close()
      end,
      ["/gone"] = function(peer) peer:close() end,
      ["/other"] = function(peer)
        peer:write("SSH-2.0-x\r\n\r\n")
        peer:close()
      end,
      ["/head"] = function(peer)
        peer:write("HTTP/1.1 200 OK\r\n" .. ("X: " .. ("y"):rep(1000) .. "\r\n"):rep(100))
        peer:close()
      end,
    }, function(server)
      local answer, message, code = http.request { url = server.url .. "/half" }
      assert.same({ "half", "truncated" }, { answer.body, code })
      assert.matches("ended too early", message, 1, true)
      for path, expected in pairs { ["/gone"] = "truncated", ["/other"] = "malformed",
        ["/head"] = "malformed" } do
        answer, message, code = http.request { url = server.url .. path }
        assert.is_nil(answer)
        assert.same({ path, expected }, { path, code }, message)
      end
    end)
    local _, message, code = http.request { url = "http://u:geheim@127.0.0.1:1/" }
    assert.equal("unavailable", code)
    assert.matches("connection refused", message, 1, true)
    assert.is_nil(message:find("geheim", 1, true))
  end)

  it("caps what it takes, also when it is unpacked", function()
    local bomb <const> = helper.run("head -c 100000000 /dev/zero | gzip -9")
    with({
      ["/big"] = function(peer) peer:reply(200, ("x"):rep(3000000)) end,
      ["/bomb"] = function(peer) peer:reply(200, bomb, { ["Content-Encoding"] = "gzip" }) end,
      ["/junk"] = function(peer) peer:reply(200, "no gzip", { ["Content-Encoding"] = "gzip" }) end,
    }, function(server)
      local answer, message, code = http.request { url = server.url .. "/big", max_bytes = "1MiB" }
      assert.same({ 1 << 20, "limit" }, { #answer.body, code }, message)
      answer, message, code = http.request { url = server.url .. "/bomb", max_bytes = "4MiB" }
      assert.same({ 4 << 20, "limit" }, { #answer.body, code })
      assert.matches("larger than 4MB when unpacked", message, 1, true)
      answer, message, code = http.request { url = server.url .. "/junk" }
      assert.is_nil(answer)
      assert.equal("malformed", code, message)
    end)
  end)

  it("follows redirections within the server, and only so many", function()
    local elsewhere
    with({
      ["/a"] = function(peer) peer:reply(302, "", { Location = "/b?x" }) end,
      ["/b"] = function(peer, request) peer:reply(200, request.method .. request.target) end,
      ["/keep"] = function(peer) peer:reply(307, "", { Location = "/b" }) end,
      ["/loop"] = function(peer) peer:reply(302, "", { Location = "/loop" }) end,
      ["/away"] = function(peer) peer:reply(302, "", { Location = elsewhere }) end,
      ["/file"] = function(peer) peer:reply(302, "", { Location = "file:///etc/passwd" }) end,
    }, function(server)
      local answer = assert(http.request { url = server.url .. "/a" })
      assert.equal("GET/b?x", answer.body)
      assert.equal(server.url .. "/b?x", answer.url)
      answer = assert(http.request { url = server.url .. "/keep", method = "POST", body = "1" })
      assert.equal("POST/b", answer.body)
      answer = assert(http.request { url = server.url .. "/a", method = "POST", body = "1" })
      assert.equal("GET/b?x", answer.body)
      local _, message = http.request { url = server.url .. "/loop", redirects = 3 }
      assert.matches("more than 3 redirections", message, 1, true)
      with({ ["/"] = function(peer) peer:reply(200, "secret") end }, function(other)
        elsewhere = other.url .. "/"
        _, message = http.request { url = server.url .. "/away" }
        assert.matches("redirects to another server: " .. other.url, message, 1, true)
        assert.equal(0, #other.requests)
      end)
      assert.is_nil(http.request { url = server.url .. "/file" })
    end)
  end)

  it("speaks over Unix sockets, also with long paths", function()
    helper.in_directory(function(directory)
      local long <const>, link <const> = directory .. "/" .. ("d"):rep(120), directory .. "/s"
      assert(uv.fs_mkdir(long, 448))
      for _, path in ipairs { link, long .. "/s" } do
        with({ ["/x"] = function(peer, request) peer:reply(200, request.target) end }, function()
          if path ~= link then assert(os.rename(link, path)) end
          for _, place in ipairs { "unix:" .. path .. ":", "http+unix://" .. url.escape(path) } do
            assert.equal("/x?1", (assert(http.request { url = place .. "/x?1" })).body)
          end
        end, { unix = link })
        os.remove(path)
      end
    end)
  end)

  it("sends credentials of the call, the address or the environment", function()
    with({ ["/"] = function(peer, request)
      peer:reply(200, request.headers.authorization or "none")
    end }, function(server)
      local function sent(opts)
        opts.url = opts.url or server.url
        return (assert(http.request(opts))).body
      end
      assert.equal("none", sent {})
      assert.equal("Bearer t", sent { token = "t" })
      assert.equal("Basic dTpw", sent { user = "u", password = "p" })
      assert.equal("Basic dTpwQA==", sent { url = server.url:gsub("//", "//u:p%%40@") })
      uv.os_setenv("SONDE_HTTP_USER", "env")
      uv.os_setenv("SONDE_HTTP_PASSWORD", "pw")
      assert.equal("Basic ZW52OnB3", sent {})
      uv.os_setenv("SONDE_HTTP_TOKEN", "tok")
      assert.equal("Bearer tok", sent {})
      for _, name in ipairs { "USER", "PASSWORD", "TOKEN" } do
        uv.os_unsetenv("SONDE_HTTP_" .. name)
      end
    end)
  end)

  it("refuses a head that would be two", function()
    local wrong <const> = { "A: b\r\nC: d", "no colon", ": x", "A B: c" }
    for _, line in ipairs(wrong) do
      assert.has_error(function() http.request { url = "http://127.0.0.1:1", header = line } end)
    end
  end)

  it("puts refusals into words", function()
    with({
      ["/html"] = function(peer) peer:reply(502, "<html><title>Bad\nGateway</title>") end,
      ["/text"] = function(peer) peer:reply(500, "cpu profiling\27[31m already in use\n") end,
      ["/auth"] = function(peer) peer:reply(401, "") end,
    }, function(server)
      local function refusal(path)
        local message, code = http.refusal(assert(http.request { url = server.url .. path }))
        return message:gsub("^.*: HTTP", "HTTP"), code
      end
      assert.equal("HTTP 502: an HTML page, 'Bad Gateway'", (refusal "/html"))
      assert.equal("HTTP 500: cpu profiling\\x1b[31m already in use", (refusal "/text"))
      local _, code = refusal "/auth"
      assert.equal("permission", code)
    end)
  end)

  it("takes addresses apart", function()
    local function parts(text)
      local parsed <const>, why <const> = url.parse(text)
      if parsed == nil then return why end
      return ("%s|%s|%d|%s|%s"):format(parsed.scheme, parsed.host, parsed.port, parsed.path,
        parsed.unix_socket or "")
    end
    assert.equal("http|h|80|/|", parts "http://H")
    assert.equal("https|h|443|/a?b=c|", parts "HTTPS://h/a?b=c#d")
    assert.equal("http|[::1]|6060|/?x|", parts "http://[::1]:6060?x")
    assert.equal("http|localhost|80|/|/run/a b.sock", parts "http+unix://%2Frun%2Fa%20b.sock")
    assert.equal("http|localhost|80|/x:y|/run/a.sock", parts "unix:/run/a.sock:/x:y")
    for _, text in ipairs { "http://", "ftp://x", "http://a b", "http://h:70000", "http://h:0",
      "http://h:x", "http://[::1", "http://h\r\nX: y", "" } do
      assert.is_nil(url.parse(text), text)
    end
    assert.is_true(url.is_local(url.parse "http://127.9.9.9:1"))
    assert.is_false(url.is_local(url.parse "http://127.example.com"))
  end)
end)
