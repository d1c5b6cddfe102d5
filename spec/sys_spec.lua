local core <const> = require "sonde.c.core"
local helper <const> = require "spec.support.helper"

-- A connected pair through a listener at a path.
local function pair(path)
  local listener <const> = assert(core.unix_listen(path))
  local client <const> = assert(core.unix_connect(path))
  local server <const> = assert(listener:accept())
  return client, server, listener
end

local function own_pid()
  return math.tointeger(tonumber(core.read_file("/proc/self/stat"):match("^(%d+)")))
end

describe("binding: Unix sockets", function()
  it("carry bytes both ways and end", function()
    helper.in_directory(function(directory)
      local client, server, listener = pair(directory .. "/s")
      assert.is_false((server:receive()))
      assert.is_false((listener:accept()))
      assert.equal(5, client:send "hello")
      assert.equal("hel", (server:receive(3)))
      assert.equal("lo", (server:receive()))
      client:close()
      client:close()
      assert.equal("", (server:receive()))
      local sent, message, code, name = server:send "x"
      assert.is_nil(sent)
      assert.same({ "Broken pipe", "unavailable", "EPIPE" }, { message, code, name })
      assert.error_matches(function() client:send "x" end, "the socket is closed")
    end)
  end)

  it("say who is at the other end", function()
    helper.in_directory(function(directory)
      local client, server = pair(directory .. "/s")
      local uid <const> = math.tointeger(tonumber((helper.run "id -u")))
      for _, socket in ipairs { client, server } do
        local pid, its_uid = socket:peer()
        assert.equal(own_pid(), pid)
        assert.equal(uid, its_uid)
      end
    end)
  end)

  it("belong to their owner alone", function()
    helper.in_directory(function(directory)
      local _ <close> = assert(core.unix_listen(directory .. "/s"))
      assert.matches("^600 socket", (helper.run("stat -c '%a %F' " .. directory .. "/s")))
    end)
  end)

  it("work with paths that no address can hold", function()
    helper.in_directory(function(directory)
      for length = 100, 125 do
        local deep = directory .. "/" .. ("d"):rep(length - #directory - 3)
        helper.run("mkdir -p " .. deep)
        local client, server = pair(deep .. "/s")
        client:send "x"
        assert.equal("x", (server:receive()))
      end
      local deep = directory .. ("/" .. ("e"):rep(200)):rep(8)
      helper.run("mkdir -p " .. deep)
      local client, server = pair(deep .. "/s")
      client:send "x"
      assert.equal("x", (server:receive()))
      assert.equal("ENAMETOOLONG", select(4, core.unix_connect(deep .. "/" .. ("s"):rep(108))))
      assert.equal("ENOENT", select(4, core.unix_connect(deep .. "x/s")))
    end)
  end)

  it("tell why there is no connection", function()
    helper.in_directory(function(directory)
      local path <const> = directory .. "/s"
      local socket, message, code, name = core.unix_connect(path)
      assert.is_nil(socket)
      assert.equal(path .. ": No such file or directory", message)
      assert.same({ "not_found", "ENOENT" }, { code, name })
      core.unix_listen(path):close()
      assert.same({ "unavailable", "ECONNREFUSED" }, { select(3, core.unix_connect(path)) })
      assert.same({ "unavailable", "EADDRINUSE" }, { select(3, core.unix_listen(path)) })
      local full <const> = assert(core.unix_listen(directory .. "/full", 0))
      local first <close> = assert(core.unix_connect(directory .. "/full"))
      assert.same({ "unavailable", "EAGAIN" },
        { select(3, core.unix_connect(directory .. "/full")) })
      assert.equal("integer", math.type(first:fd()))
      full:close()
    end)
  end)

  it("pass one descriptor, to those who ask", function()
    helper.in_directory(function(directory)
      local client, server = pair(directory .. "/s")
      local function count()
        return #helper.lines((helper.run(("ls /proc/%d/fd"):format(own_pid()))))
      end
      local before <const> = count()
      client:send("x", client:fd())
      local bytes, fd = server:receive(10)
      assert.same({ "x" }, { bytes, fd })
      assert.equal(before, count())
      client:send("y", client:fd())
      bytes, fd = server:receive(10, true)
      assert.equal("y", bytes)
      assert.equal("integer", math.type(fd))
      assert.equal(before + 1, count())
      -- The copy is the same socket: what goes in there comes out at the peer.
      assert.equal("z", (function()
        local stream <const> = core.stream()
        stream:put "z"
        assert.is_true(stream:write(fd))
        return server:receive()
      end)())
      require("sonde.base.uv").fs_close(fd)
    end)
  end)
end)

describe("binding: a stream's buffer", function()
  it("hands on what a socket holds", function()
    helper.in_directory(function(directory)
      local client, server = pair(directory .. "/s")
      local stream <const> = core.stream()
      assert.is_false((stream:fill(server)))
      client:send "Nettrace"
      assert.equal(8, (stream:fill(server)))
      assert.equal("Nettrace", stream:bytes())
      local input <const> = stream:loan()
      assert.equal("Nett", input:read(4))
      assert.equal("race", input:read(9))
      assert.is_nil(input:read(1))
      stream:keep(3)
      assert.equal("Net", stream:bytes())
      assert.equal("Net", stream:loan():read(9))
      client:close()
      assert.equal(0, (stream:fill(server)))
      assert.equal("", stream:bytes())
      stream:put "abc"
      local again <const> = stream:loan()
      stream:close()
      stream:close()
      assert.is_nil(again:read(1))
      assert.error_matches(function() stream:bytes() end, "the stream is closed")
    end)
  end)

  it("writes to a file, and says how much a full one took", function()
    helper.in_directory(function(directory)
      local uv <const> = require "sonde.base.uv"
      local stream <const> = core.stream()
      stream:put(("x"):rep(100000))
      local fd <const> = assert(uv.fs_open(directory .. "/f", "w", tonumber("644", 8)))
      assert.is_true(stream:write(fd))
      uv.fs_close(fd)
      assert.equal(100000, #helper.read(directory .. "/f"))
      assert.is_true(stream:write(fd))   -- nothing is left to write
      stream:put(("x"):rep(100000))
      local full <const> = assert(uv.fs_open("/dev/full", "w", 0))
      assert.same({ nil, "No space left on device", "unavailable", "ENOSPC", 0 },
        { stream:write(full) })
      uv.fs_close(full)
    end)
  end)
end)

describe("binding: a stream into a pipe", function()
  it("does not wait for its reader", function()
    local uv <const> = require "sonde.base.uv"
    local pipe <const> = assert(uv.pipe({}, {}))
    local stream <const> = core.stream()
    stream:put(("x"):rep(200000))
    assert.is_false((stream:write(pipe.write)))
    local got = 0
    repeat
      got = got + #uv.fs_read(pipe.read, 65536)
    until stream:write(pipe.write)
    while got < 200000 do got = got + #uv.fs_read(pipe.read, 65536) end
    assert.equal(200000, got)
    uv.fs_close(pipe.read)
    stream:put "x"
    assert.equal("EPIPE", select(4, stream:write(pipe.write)))
    uv.fs_close(pipe.write)
  end)
end)

describe("binding: files of /proc", function()
  it("are read whole, whatever their size", function()
    helper.in_directory(function(directory)
      for _, size in ipairs { 0, 1, 4095, 4096, 4097, 65536, 70000, 1 << 20 } do
        helper.write(directory .. "/f", ("x"):rep(size))
        assert.equal(size, #core.read_file(directory .. "/f"))
      end
      assert.equal(10, #core.read_file(directory .. "/f", 10))
      assert.equal(5000, #core.read_file(directory .. "/f", 5000))
    end)
    assert.matches("^%d+ %(", core.read_file "/proc/self/stat")
  end)

  it("say why not", function()
    local text, message, code, name = core.read_file "/proc/0/stat"
    assert.is_nil(text)
    assert.equal("/proc/0/stat: No such file or directory", message)
    assert.same({ "not_found", "ENOENT" }, { code, name })
  end)

  it("never wait, though a path names a pipe", function()
    helper.in_directory(function(directory)
      helper.run("mkfifo " .. directory .. "/p")
      assert.equal("", core.read_file(directory .. "/p"))
    end)
  end)
end)

describe("binding: bytes over a socket of libuv's", function()
  -- In a process of its own: SIGPIPE would end it.
  it("whose peer has gone are an error, and no signal", function()
    local out, status = helper.run(([[LUA_PATH='%s' LUA_CPATH='%s' lua5.4 -e '
      local core <const>, uv <const> = require "sonde.c.core", require "sonde.base.uv"
      local fds <const> = uv.socketpair("stream", 0, {}, {})
      local mine <const>, theirs <const> = uv.new_pipe(), uv.new_pipe()
      mine:open(fds[1])
      theirs:open(fds[2])
      print(core.send(mine:fileno(), "bytes"))
      theirs:close()
      uv.run()
      print(core.send(mine:fileno(), "bytes"))']]):format(package.path, package.cpath))
    assert.equal("5\nnil\tBroken pipe\tunavailable\tEPIPE\n", out)
    assert.equal(0, status)
  end)
end)

describe("binding: signals as counts", function()
  local USR2 <const> = 12

  it("are counted while they are watched", function()
    local uv <const> = require "sonde.base.uv"
    assert(core.watch_signal(USR2))
    assert.equal(core.signal_fd(), core.signal_fd())
    assert.equal(0, core.signal_count(USR2))
    for _ = 1, 2 do uv.kill(uv.os_getpid(), USR2) end
    assert.equal(2, core.signal_count(USR2))
    core.signal_calm()
    assert(core.release_signal(USR2))
    assert.is_nil((core.watch_signal(9)))
    assert.is_nil((core.watch_signal(1000)))
  end)
end)
