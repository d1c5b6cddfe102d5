--- `sonde probe`: counts, latencies and stacks of any function.
-- @module sonde.cmd.probe
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"
local options <const> = require "sonde.base.options"

local SIGINT <const>, SIGTERM <const>, SIGHUP <const> = 2, 15, 1

local SECOND <const> = 1000000000
local FOREVER <const> = 10 * 365 * 24 * 3600 * SECOND
local TURN <const> = SECOND // 10

local declared <const> = {
  { name = "duration", type = "duration", min = 1, help = "stop after this time" },
  { name = "hits", type = "boolean", help = "write each hit as it comes, instead of a table" },
  { name = "all", type = "boolean", help = "list also the functions that were not hit" },
  { name = "n", short = "n", type = "integer", min = 0,
    help = "functions and stacks to list, 0 for all (default 20, and 3 stacks of each)" },
  { name = "output", short = "o", type = "path", argname = "FILE",
    help = "write the stacks as a profile; its name chooses the format: .svg .pb.gz .folded" },
  { name = "graph", type = "path", argname = "FILE",
    help = "draw who calls what, for Graphviz: dot -Tsvg FILE" },
  common.json,
}

-- The options of `sonde.probe` out of the verb's.
local function request_of(args)
  local opts <const> = { hits = args.hits }
  for _, option in ipairs(require("sonde.probe").options) do
    opts[option.name] = args[option.name]
  end
  if args.graph or args.output then opts.stacks = true end
  return opts
end

local function check_usage(args)
  for _, name in ipairs { "functions", "kernel" } do
    if args[name] and args[name] ~= "" then
      local good, why = options.scan({ type = "pattern" }, args[name])
      if good == nil then errors.usage(("%s %s"):format(options.flag(name), why)) end
    end
  end
  if args.arg_type == "string" and not args.arg then
    errors.usage("--arg-type goes with --arg N")
  end
end

local function start(args, env)
  local probe <const> = common.check(require("sonde.probe").start(request_of(args)))
  for _, warning in ipairs(probe.warnings) do env:say(warning.message, warning.hint) end
  require("sonde.cmd.probe_talk").attached(probe, env)
  return probe
end

-- Ends at the deadline or the first signal; each turn something can be shown.
local function run(probe, args, each)
  local loop <const> = require "sonde.base.loop"
  local stopped <const> = loop.event()
  local release <const> = loop.on_signals({ SIGINT, SIGTERM, SIGHUP }, function()
    stopped:set()
  end)
  local deadline <const> = loop.after(args.duration or FOREVER)
  while not stopped:is_set() and loop.now() < deadline do
    each()
    stopped:wait(math.min(deadline, loop.after(TURN)))
    if not stopped:is_set() then probe:look() end
  end
  each()
  release()
end

local function write_results(report, args, env)
  local talk <const> = require "sonde.cmd.probe_talk"
  if args.json then talk.json(report, args, env) else talk.tables(report, args, env) end
  if args.output then
    common.check(report:profile():write(args.output))
    env:say("wrote " .. args.output)
  end
  if args.graph then
    common.check(files.write(args.graph, function(out)
      out:write(report:graph())
      return true
    end))
    env:say("wrote " .. args.graph .. " (graph)")
  end
end

return common.verb {
  name = "probe",
  summary = "how often functions are called, how long they take, and from where",
  arguments = {},
  options = function() return options.join(require("sonde.probe").options, declared) end,
  examples = {
    "sonde probe -b /usr/bin/app -f '^handle_' --latency --stacks",
    "sonde probe -b /lib/x86_64-linux-gnu/libc.so.6 -p app -f '^(malloc|free)$' --duration 5s",
    "sonde probe -p 4242 -f 'Parser::' --latency --by thread",
    "sonde probe -k '^vfs_(read|write)$' --latency --stacks -o reads.svg",
    "sonde probe --tracepoint sched:sched_switch -p app --stacks",
    "sonde probe --perf page-faults -p app --stacks --duration 3s",
    "sonde probe -b /usr/bin/app -f '^query$' --arg 1 --arg-type string --json",
  },
  run = function(args, env)
    check_usage(args)
    if args.output then
      local module, why = require("sonde.report").for_path(args.output)
      if module == nil then errors.usage("-o: " .. why) end
      common.check(files.writable(args.output))
    end
    if args.graph then common.check(files.writable(args.graph)) end
    local talk <const> = require "sonde.cmd.probe_talk"
    local probe <close> = start(args, env)
    local show <const> = args.hits and talk.hits(probe, args, env) or talk.live(probe, args, env)
    run(probe, args, show)
    if not args.hits then talk.clear(env) end
    local report <const> = probe:stop()
    if args.hits then
      talk.losses(report, env)
      return errors.exit.done
    end
    write_results(report, args, env)
    talk.losses(report, env)
    if #report:functions() == 0 then
      env:say("no hits: none of the probed functions was called meanwhile")
      return errors.exit.empty
    end
    return errors.exit.done
  end,
}
