--- `sonde cut FILE --from --to -o OUT`: a smaller trace.
-- @module sonde.cmd.cut
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local units <const> = require "sonde.base.units"

return common.verb {
  name = "cut",
  summary = "a stretch of time of a trace as a smaller trace",
  arguments = { { name = "input", help = "a trace (.nettrace); - is stdin" } },
  options = function()
    local options <const> = require "sonde.base.options"
    return options.join(require("sonde.dotnet.cut").options, { common.output })
  end,
  examples = { "sonde cut api.nettrace --from 10s --to 12s -o slow.nettrace" },
  run = function(args, env)
    if args.output == nil then
      errors.usage("where to? give -o FILE", ("sonde cut %s -o part.nettrace"):format(args.input))
    end
    if args.from and args.to and args.from >= args.to then
      errors.usage("--from is not before --to")
    end
    local counts, message, code, hint = require("sonde.dotnet.cut").write(args.input, args.output,
      { from = args.from, to = args.to, limit = args.limit })
    if counts == nil then
      errors.raise { message = "cannot cut: " .. message, code = code, hint = hint }
    end
    env:say(("wrote %s (%s): %s events, %s left out"):format(args.output,
      units.bytes(counts.written), units.count(counts.kept), units.count(counts.left_out)),
      "sonde " .. args.output)
    if message then env:warn(message, code) end
    return errors.exit.done
  end,
}
