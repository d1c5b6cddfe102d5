--- `sonde dump PID`: what every thread is doing now.
-- @module sonde.cmd.dump_process
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"

local ORDER <const> = {
  "schema", "pid", "thread_id", "thread_name", "state", "managed", "samples", "same", "transport",
  "format", "taken_at", "frames", "func", "ip", "assembly",
}

local function frames_of(thread)
  local frame_name <const> = require("sonde.dotnet.dump").frame_name
  local list = {}
  for i, frame in ipairs(thread.frames) do
    list[i] = { func = frame_name(frame), ip = ("0x%x"):format(frame.ip),
      assembly = frame.assembly ~= "" and frame.assembly or nil }
  end
  return json.array(list)
end

local function write_json(dump, env, schema)
  for i, thread in ipairs(dump.threads) do
    env.out:write(json.encode({
      schema = i == 1 and schema or nil, pid = dump.pid, thread_id = thread.thread_id,
      thread_name = thread.thread_name, state = thread.state, managed = thread.managed,
      samples = thread.samples, same = thread.same, transport = "eventpipe", format = "dotnet",
      taken_at = os.date("!%Y-%m-%dT%H:%M:%SZ", dump.taken_at), frames = frames_of(thread),
    }, ORDER), "\n")
  end
end

local function who(thread)
  local words = { tostring(thread.thread_id) }
  if thread.thread_name then words[#words + 1] = ('"%s"'):format(thread.thread_name) end
  if thread.state then words[#words + 1] = thread.state end
  if thread.same < thread.samples then
    words[#words + 1] = ("moving: %d of %d looks"):format(thread.same, thread.samples)
  end
  return text.printable(table.concat(words, " "))
end

local function write_text(dump, env)
  local frame_name <const> = require("sonde.dotnet.dump").frame_name
  env.out:write(text.printable(tostring(dump)), "\n")
  for _, group in ipairs(dump:groups()) do
    local names = {}
    for i, thread in ipairs(group.threads) do names[i] = who(thread) end
    env.out:write("\n", #names > 1 and ("%d threads: "):format(#names) or "thread ",
      table.concat(names, ", "), "\n")
    for _, frame in ipairs(group.frames) do
      env.out:write("   ", text.printable(frame_name(frame)), "\n")
    end
  end
end

-- The target, and with `--tree` all .NET processes below it.
local function targets_of(args)
  local first <const> = live.target(args)
  local list = { first }
  if not args.tree or first.pid == nil then return list end
  local proc <const> = require "sonde.process.proc"
  for _, pid in ipairs(proc.pids()) do
    if proc.descends(pid, first.pid) then
      list[#list + 1] = require("sonde.targets").open(pid)
    end
  end
  return list
end

-- How many dumps were shown.
local function show_all(args, env)
  local redactor <const> = common.redactor(args)
  local shown = 0
  for i, target in ipairs(targets_of(args)) do
    local dump, message, code, hint = target:dump { timeout = args.timeout }
    if dump == nil then
      env:warn(message, code, hint)
    else
      if redactor then dump = require("sonde.redact.dump").managed(redactor, dump) end
      if args.json then
        write_json(dump, env, shown == 0 and 1 or nil)
      else
        if i > 1 then env.out:write("\n") end
        write_text(dump, env)
      end
      shown = shown + 1
    end
  end
  return shown
end

return common.verb {
  name = "dump",
  summary = "what every thread of a running process is doing now",
  arguments = { live.target_argument },
  options = function()
    return options.join(live.target_options, require("sonde.dotnet.dump").options, {
      { name = "tree", type = "boolean", help = "also the processes that it has started" },
      common.json,
    }, common.redact_options())
  end,
  examples = { "sonde dump 4242", "sonde dump Api --json | head -n 1" },
  run = function(args, env)
    local shown
    common.checked(args, env, function(inner) shown = show_all(args, inner) end)
    return shown == 0 and errors.exit.empty or errors.exit.done
  end,
}
