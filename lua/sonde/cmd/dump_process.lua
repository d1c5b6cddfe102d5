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

-- One .NET process; was it shown?
local function show_target(target, args, env, shown)
  local dump, message, code, hint = target:dump { timeout = args.timeout }
  if dump == nil then
    env:warn(message, code, hint)
    return false
  end
  local redactor <const> = common.redactor(args)
  if redactor then dump = require("sonde.redact.dump").managed(redactor, dump) end
  if args.json then
    write_json(dump, env, shown == 0 and 1 or nil)
  else
    if shown > 0 then env.out:write("\n") end
    write_text(dump, env)
  end
  return true
end

-- A Go process is asked by what shows saved dumps; was it shown?
local function show_go(target, args, env, shown)
  if shown > 0 and not args.json then env.out:write("\n") end
  local words = { tostring(target.pid) }
  if args.json then words[2] = "--json" end
  if args.redact then words[#words + 1] = "--redact" end
  local done, failure = pcall(require("sonde.cmd.dump_file").start, words, env)
  if done then return true end
  if not errors.is_failure(failure) or failure.broken_pipe then error(failure, 0) end
  env:warn(failure.message, failure.code, failure.hint)
  return false
end

-- The process at the top of the tree, which may be of any kind.
local function root_of(args)
  local what <const> = args.target or args.process
  return math.tointeger(tonumber(what)) or live.target(args).pid
end

-- A process and all below it, each by what does it no harm.
local function show_tree(args, env)
  local tree <const> = common.check(require("sonde.process.tree").new(root_of(args)))
  local shown, left_out = 0, {}
  for _, row in ipairs(tree:rows()) do
    local target <const> = require("sonde.targets").open(row.pid)
    if target == nil then
      left_out[#left_out + 1] = ("%d (%s)"):format(row.pid, row.name)
    else
      local show <const> = target.runtime == "go" and show_go or show_target
      if show(target, args, env, shown) then shown = shown + 1 end
    end
  end
  if #left_out > 0 then
    env:say(("left out, because nothing takes their stacks without stopping them: %s"):format(
      table.concat(left_out, ", ")))
  end
  return shown
end

local function show_all(args, env)
  if args.tree then return show_tree(args, env) end
  return show_target(live.target(args), args, env, 0) and 1 or 0
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
