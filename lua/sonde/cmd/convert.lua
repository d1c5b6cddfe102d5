--- `sonde convert INPUT -o OUTPUT`: another format of the same profile.
-- @module sonde.cmd.convert
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local formats <const> = require "sonde.cmd.formats"
local options <const> = require "sonde.base.options"
local report <const> = require "sonde.cmd.report"

local convert = {
  name = "convert",
  summary = "write a profile in another format, chosen by the output's name",
}

local function run(module, args, env)
  if module == nil then
    errors.usage("neither -o FILE nor --format says what to write",
      ("sonde convert %s -o flame.svg"):format(args.input[1]))
  end
  return report.run(module, args, env)
end

-- The verb for one format, or for none, which knows only what all share.
local function verb_for(module, implied)
  return common.verb {
    name = convert.name,
    summary = convert.summary,
    arguments = { common.input_arguments },
    options = function()
      return options.join({ common.output, common.format },
        module and formats.options(module, implied) or {},
        common.profile_options(), common.combine_options, common.redact_options())
    end,
    examples = {
      "sonde convert api.nettrace -o flame.svg",
      "sonde convert api.nettrace -o api.pb.gz           # go tool pprof api.pb.gz",
      "sonde convert api.nettrace -o api.speedscope.json",
      "sonde convert api.nettrace --format folded | grep Json",
      "sonde convert api.nettrace --redact -o ticket.html   # names get pseudonyms",
      "sonde help convert -o x.speedscope.json           # with the options of that format",
    },
    run = function(args, env) return run(module, args, env) end,
  }
end

--- The declarations of the verb, one for each format.
-- @treturn {table,...}
function convert.forms()
  local list = { verb_for(nil).declaration() }
  for _, module in ipairs(require("sonde.report").list()) do
    if module.extensions then list[#list + 1] = verb_for(module).declaration() end
  end
  return list
end

--- Runs the verb.
-- @tparam {string,...} words
-- @tparam table env
-- @treturn ?integer exit status
function convert.start(words, env)
  local module, implied = formats.chosen(words)
  return verb_for(module, implied).start(words, env)
end

return convert
