--- `sonde convert INPUT -o OUTPUT`: another format of the same profile.
-- @module sonde.cmd.convert
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"
local report <const> = require "sonde.cmd.report"

-- What the formats need beside the shared options is few and told apart by
-- name, so that one command line serves them all.
local function format_options()
  local lists = {}
  for i, module in ipairs(require("sonde.report").list()) do lists[i] = module.options end
  return options.join(table.unpack(lists))
end

local function chosen_module(args)
  local reports <const> = require "sonde.report"
  local module, implied
  if args.format then
    module, implied = reports.get(args.format)
    if module == nil then errors.usage("--format: " .. implied, "sonde report --help") end
    return module, {}
  end
  if args.output == nil or args.output == "-" then
    errors.usage("neither -o FILE nor --format says what to write",
      ("sonde convert %s -o flame.svg"):format(args.input))
  end
  module, implied = reports.for_path(args.output)
  if module == nil then errors.usage("-o: " .. implied, "--format NAME; sonde report --help") end
  return module, implied
end

return common.verb {
  name = "convert",
  summary = "write a profile in another format, chosen by the output's name",
  arguments = { common.input_argument },
  options = function()
    return options.join(format_options(), {
      common.output,
      { name = "format", type = "string", argname = "NAME",
        help = "format, when the output's name does not say it" },
    }, common.profile_options())
  end,
  examples = {
    "sonde convert api.nettrace -o flame.svg",
    "sonde convert api.nettrace -o api.pb.gz           # go tool pprof api.pb.gz",
    "sonde convert api.nettrace -o api.speedscope.json",
    "sonde convert api.nettrace --format folded | grep Json",
  },
  run = function(args, env)
    local module, implied = chosen_module(args)
    for name, value in pairs(implied) do
      if args[name] == nil then args[name] = value end
    end
    return report.run(module, args, env)
  end,
}
