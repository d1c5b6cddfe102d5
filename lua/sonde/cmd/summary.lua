--- `sonde INPUT`: what stands out, what it is, and where the time went, on one
-- screen.
-- @module sonde.cmd.summary
local chosen <const> = require "sonde.cmd.chosen"
local common <const> = require "sonde.cmd.common"
local options <const> = require "sonde.base.options"
local report <const> = require "sonde.cmd.report"

local ROWS <const> = 10

-- The next step for each kind of input, as commands that can be pasted.
local function next_steps(path, is_trace)
  local steps = {
    { "report tree " .. path, "who calls what" },
    { ("convert %s -o flame.svg"):format(path), "a flame graph for the browser" },
  }
  if is_trace then steps[3] = { "inspect " .. path, "can this trace be trusted?" } end
  local width = 0
  for _, step in ipairs(steps) do width = math.max(width, #step[1]) end
  local lines = { "" }
  for _, step in ipairs(steps) do
    lines[#lines + 1] = ("   sonde %s   %s"):format(step[1] .. (" "):rep(width - #step[1]), step[2])
  end
  return table.concat(lines, "\n") .. "\n"
end

local function put_head(object, args, env)
  local name = args.input ~= "-" and args.input or "FILE"
  if args.redactor then name = args.redactor:path(name) end
  common.check(require("sonde.report.findings").write_opening(object, name, env.out))
  if not common.is_trace(object) then return end
  env.out:write("\n")
  common.check(require("sonde.report.inspect").write_summary(object, env.out))
end

-- The first screen of a dump.
local function write_dump(dump, args, env)
  local module <const> = require "sonde.report.dump"
  common.check(module.write(dump, { n = args.n, frames = 8, similar = "line" }, env.out))
  if env.terminal.out then
    env.out:write(("\n   sonde dump %s --help   filters, JSON, what changed\n"):format(args.input))
  end
end

-- The view to show: a trace without samples may have others.
local function view_of(object, args)
  if args.view or not common.is_trace(object) then return args.view end
  return require("sonde.dotnet.views").best(object.core)
end

-- Was a part of a store asked for, or that names are replaced? Then it is a profile as
-- any other.
local function is_window(args)
  for _, value in pairs(common.window_of(args)) do
    if value ~= nil then return true end
  end
  return common.redactor(args) ~= nil
end

return common.verb {
  name = "summary",
  path = "",
  summary = "what stands out in a file, what it is, and where the time went",
  arguments = { common.input_argument },
  options = function()
    local top <const> = require "sonde.report.top"
    return options.join(top.options, { common.json, common.output }, common.profile_options(),
      common.redact_options())
  end,
  examples = { "sonde api.nettrace", "sonde heap.pb.gz" },
  run = function(args, env)
    local top <const> = require "sonde.report.top"
    if args.json or args.output then return report.run(top, args, env) end
    local of_store <const> = require "sonde.cmd.summary_store"
    if of_store.is_store(args.input) and not is_window(args) then
      args.n = args.n or ROWS
      return of_store.run(args, env)
    end
    -- Only profiles can be redacted, so a dump is one then.
    local open <const> = common.redactor(args) and common.open or common.open_any
    local object <const> = open(args.input, args, env)
    args.n = args.n or ROWS
    if common.is_dump(object) then return write_dump(object, args, env) end
    args.view = view_of(object, args)
    common.checked(args, env, function(inner)
      put_head(common.redacted(object, args), args, inner)
      inner.out:write("\n")
      local profile <const> = common.redacted(chosen.profile(object, args), args)
      common.write_report(top, profile, args, inner)
    end)
    if env.terminal.out then env.out:write(next_steps(args.input, common.is_trace(object))) end
  end,
}
