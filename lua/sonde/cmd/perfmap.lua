--- `sonde perfmap PID on|off`: maps of compiled code for other profilers.
-- @module sonde.cmd.perfmap
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local live <const> = require "sonde.cmd.live"
local options <const> = require "sonde.base.options"

local function what_of(args)
  if args.switch == "on" then return args.type end
  if args.switch == "off" then return "off" end
  errors.usage(("'%s' is neither on nor off"):format(args.switch), "sonde help perfmap")
end

local function tell(files, args, env)
  local uv <const> = require "sonde.base.uv"
  local units <const> = require "sonde.base.units"
  for _, path in ipairs(files) do
    local stat <const> = uv.fs_stat(path)
    if stat and args.switch == "off" and args.remove then
      local done, message = uv.fs_unlink(path)
      if not done then env:warn(message, "permission") end
    elseif stat then
      env.out:write(("%s (%s)\n"):format(path, units.bytes(stat.size)))
    end
  end
end

return common.verb {
  name = "perfmap",
  summary = "have a running process write maps of its code, for perf and the like (.NET 8)",
  arguments = {
    { name = "target", help = live.target_argument.help },
    { name = "switch", choices = { "on", "off" }, help = "on or off" },
  },
  options = function()
    return options.join({
      { name = "type", type = "string", choices = { "perfmap", "jitdump", "all" },
        default = "perfmap",
        help = "perfmap: names by address, /tmp/perf-PID.map; jitdump: the code too,"
          .. " /tmp/jit-PID.dump; or all" },
      { name = "remove", type = "boolean", help = "with off: remove the files" },
    }, require("sonde.dotnet.target").request_options)
  end,
  examples = { "sonde perfmap 4242 on", "sonde perfmap Api off --remove" },
  run = function(args, env)
    local what <const> = what_of(args)
    local target <const> = live.target(args)
    local files <const> = common.check(target:perfmap(what, { timeout = args.timeout }))
    tell(files, args, env)
  end,
}
