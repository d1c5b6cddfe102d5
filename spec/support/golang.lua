-- Go processes to look into: builds the programs of spec/targets/go and runs them.
local dotnet <const> = require "spec.support.dotnet"   -- its `spawn` runs any program
local helper <const> = require "spec.support.helper"
local uv <const> = require "sonde.base.uv"

local golang = {}

local failed <const> = {}   -- programs that could not be built, and why

local function place(name)
  local build <const> = os.getenv "SONDE_BUILD" or "build"
  local base <const> = build:sub(1, 1) == "/" and build or uv.cwd() .. "/" .. build
  return ("%s/targets/go-%s"):format(base, name)
end

--- The program of a target; it is built first when its sources are newer.
function golang.program(name)
  helper.needs "go"
  local to <const> = place(name)
  if failed[to] then helper.skip(failed[to]) end
  local source <const> = "spec/targets/go/" .. name
  local newer <const> = helper.run(("find %s -newer %s 2>/dev/null || echo none"):format(source,
    to))
  if newer == "" then return to end
  local build <const> = "mkdir -p %s; cd %s && CGO_ENABLED=0 GOFLAGS= go build -o %s ."
  local _, status, err = helper.run(build:format(to:match("^(.*)/"), source, to))
  if status ~= 0 then
    failed[to] = "the Go target was not built: " .. (err:match("[^\n]+") or "?")
    helper.skip(failed[to])
  end
  return to
end

--- Runs a target and waits until it is ready: the process, with `url`.
function golang.start(name, arguments, opts)
  local words = { golang.program(name), table.unpack(arguments or {}) }
  local process <const> = dotnet.spawn(words, opts)
  local line <const> = assert(process:line("^READY", 30), "the target did not start")
  process.address = line:match("http=(%S+)")
  process.url = "http://" .. process.address
  return process
end

return golang
