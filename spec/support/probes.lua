--- Programs with known calls for specs of probes, and whether probes can be had.
local dotnet <const> = require "spec.support.dotnet"   -- its `spawn` runs any program
local helper <const> = require "spec.support.helper"
local native <const> = require "spec.support.native"
local uv <const> = require "sonde.base.uv"

local probes = {}

local FLAGS <const> = {
  c = "gcc -std=gnu11 -O0 -g -fno-omit-frame-pointer -pthread",
  cc = "g++ -O2 -g",
}

local built <const> = {}   -- path by sources and flags

--- Builds a program of spec/targets/native; its path.
function probes.program(name, flags)
  local key <const> = name .. (flags or "")
  if built[key] then return built[key] end
  local extension <const> = name:match("%.(%w+)$")
  helper.needs(extension == "c" and "gcc" or "g++")
  local build <const> = os.getenv "SONDE_BUILD" or "build"
  local base <const> = build:sub(1, 1) == "/" and build or uv.cwd() .. "/" .. build
  local to <const> = ("%s/targets/probe-%s%s"):format(base, name:gsub("%.", "-"),
    (flags or ""):gsub("%W", ""))
  native.sh(("mkdir -p %s && LC_ALL=C %s %s -o %s spec/targets/native/%s"):format(
    to:match("^(.*)/"), FLAGS[extension], flags or "", to, name))
  built[key] = to
  return to
end

--- Runs one; `process:command(line)` has it act and waits until it has.
function probes.start(program, ...)
  local process <const> = dotnet.spawn { program, ... }
  function process.act(_, words)
    process.stdin:write(words .. "\n")
    return assert(process:line("^did ", 60), words)
  end
  return process
end

local reason

--- Skips the spec unless this system lets us probe user functions.
function probes.needed()
  native.module()
  if reason == nil then
    local probe <const>, message = require("sonde.probe").start {
      binary = probes.program "calls.c", functions = "^counted$",
    }
    reason = probe == nil and message or false
    if probe then probe:close() end
  end
  if reason then helper.skip("no probes here: " .. reason) end
end

--- Runs `act` with probes in place; the report.
function probes.run(opts, act)
  local probe <close> = assert(require("sonde.probe").start(opts))
  act(probe)
  probe:look()
  return probe:stop()
end

--- The function of a name in a report.
function probes.func(report, name)
  for _, func in ipairs(report:functions(true)) do
    if func.name == name then return func end
  end
  error("no function " .. name)
end

return probes
