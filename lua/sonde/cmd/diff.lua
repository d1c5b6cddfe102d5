--- `sonde diff BEFORE AFTER`: what changed between two profiles.
-- @module sonde.cmd.diff
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"

local function chosen_module(args)
  local reports <const> = require "sonde.report"
  local module, message
  if args.format then
    module, message = reports.get(args.format)
  elseif args.output and args.output ~= "-" then
    module, message = reports.for_path(args.output)
  else
    module = reports.get "diff"
  end
  if module == nil then errors.usage(message, "sonde report --help") end
  if module.takes ~= "diff" and module.write_diff == nil then
    errors.usage(("'%s' cannot show a difference"):format(module.name), "sonde diff BEFORE AFTER")
  end
  return module
end

local function profile_of(path, args, env)
  return common.profile_of(common.open(path, args, env), args)
end

local function compare(args, env)
  local before <const> = profile_of(args.before, args, env)
  local after <const> = profile_of(args.after, args, env)
  local opts <const> = common.options_of(require "sonde.diff", args)
  return common.check(require("sonde").diff(before, after, opts))
end

local function input(name)
  return { name = name, help = "the " .. (name == "before" and "earlier" or "later") .. " input" }
end

return common.verb {
  name = "diff",
  summary = "what changed between two traces or profiles",
  arguments = { input "before", input "after" },
  options = function()
    local reports <const> = require "sonde.report"
    return options.join(require("sonde.diff").options, reports.get("diff").options, {
      common.json, common.output,
      { name = "format", type = "string", argname = "NAME",
        help = "format, when the output's name does not say it" },
    }, common.profile_options())
  end,
  examples = {
    "sonde diff monday.nettrace tuesday.nettrace",
    "sonde diff before.pb.gz after.pb.gz --normalize -o diff.svg",
  },
  run = function(args, env)
    local module <const> = chosen_module(args)
    local difference <const> = compare(args, env)
    if args.json then
      local rows <const> = common.check(module.rows(difference, common.options_of(module, args)))
      return common.write_rows(rows, args, env)
    end
    local write <const> = module.takes ~= "diff" and module.write_diff or nil
    common.write_report(module, difference, args, env, write)
  end,
}
