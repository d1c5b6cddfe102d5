--- A real ClickHouse server for specs: in the foreground of its own process, on
-- loopback, with paths of its own.
local helper <const> = require "spec.support.helper"

local clickhouse = {}

local CONFIG <const> = [[
<yandex>
 <logger><level>error</level><log>%s/server.log</log><errorlog>%s/error.log</errorlog></logger>
 <listen_host>127.0.0.1</listen_host><http_port>%d</http_port><tcp_port>%d</tcp_port>
 <interserver_http_port>%d</interserver_http_port>
 <path>%s/data/</path><tmp_path>%s/tmp/</tmp_path><users_config>%s/users.xml</users_config>
 <mark_cache_size>67108864</mark_cache_size><default_profile>default</default_profile>
 <default_database>default</default_database><timezone>UTC</timezone>
</yandex>]]

local USERS <const> = [[
<yandex>
 <profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
 <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
  <profile>default</profile><quota>default</quota></default></users>
 <quotas><default></default></quotas>
</yandex>]]

local function own_pid()
  local file <close> = assert(io.open "/proc/self/stat")
  return file:read "n"
end

-- Who runs the specs may end in any way: a watcher ends the server then, and takes its
-- files away. A sanitizer of ours is neither the server's nor curl's: both would hang.
local WATCHED <const> = "(cd %s; env -u LD_PRELOAD clickhouse-server"
  .. " --config-file=%s/config.xml & echo $! >pid;"
  .. " while kill -0 %d 2>/dev/null && kill -0 $! 2>/dev/null; do sleep 0.5; done;"
  .. " if ! kill -0 %d 2>/dev/null; then kill -9 $!; rm -rf %s; fi) >/dev/null 2>&1 </dev/null &"

local function start(directory, port)
  os.remove(directory .. "/pid")
  local own <const> = own_pid()
  helper.run(WATCHED:format(directory, directory, own, own, directory))
  local pid
  for _ = 1, 100 do
    pid = (helper.read(directory .. "/pid") or ""):match "%d+"
    if pid then break end
    helper.run "sleep 0.05"
  end
  for _ = 1, 300 do
    local answer <const> = helper.run(("env -u LD_PRELOAD curl -s http://127.0.0.1:%d/ping")
      :format(port))
    if answer == "Ok.\n" then return pid end
    helper.run "sleep 0.1"
  end
  helper.run("kill -9 " .. pid)
  error "clickhouse-server does not answer"
end

--- Starts a server that ends with this process, however that ends.
-- @treturn table `port`, `kill()`, `start()`
function clickhouse.keep()
  helper.needs "clickhouse-server"
  helper.needs "curl"
  local directory <const> = helper.run("mktemp -d"):match("^(%S+)")
  local port <const> = math.random(20000, 28000)
  helper.run(("mkdir %s/data %s/tmp"):format(directory, directory))
  helper.write(directory .. "/config.xml", CONFIG:format(directory, directory, port, port + 1,
    port + 2, directory, directory, directory))
  helper.write(directory .. "/users.xml", USERS)
  local self <const> = { port = port }
  function self.start() self.pid = start(directory, port) end
  function self.kill()
    if self.pid == nil then return end
    helper.run(("kill -9 %s; while kill -0 %s 2>/dev/null; do sleep 0.05; done"):format(self.pid,
      self.pid))
    self.pid = nil
  end
  self.start()
  return self
end

return clickhouse
