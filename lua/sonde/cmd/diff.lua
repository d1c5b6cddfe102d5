--- `sonde diff BEFORE AFTER`: what changed between two profiles.
-- @module sonde.cmd.diff
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"

local diff = {
  name = "diff",
  summary = "what changed between two traces or profiles",
}

-- The input's path is what messages name.
local function profile_of(path, args, env)
  args.input = path
  return common.profile_of(common.open(path, args, env), args)
end

local function compare(args, env)
  local before <const> = profile_of(args.before, args, env)
  local after <const> = profile_of(args.after, args, env)
  local opts <const> = common.options_of(require "sonde.diff", args)
  return common.check(require("sonde").diff(before, after, opts))
end

local function run(module, args, env)
  local difference <const> = compare(args, env)
  if args.json then
    local rows <const> = common.check(module.rows(difference, common.options_of(module, args)))
    return common.write_rows(rows, args, env)
  end
  local write <const> = module.takes ~= "diff" and module.write_diff or nil
  common.write_report(module, difference, args, env, write)
end

local function chosen_module(words)
  local module <const> = common.chosen_format(words) or require("sonde.report").get "diff"
  if module.takes ~= "diff" and module.write_diff == nil then
    errors.usage(("'%s' cannot show a difference"):format(module.name), "sonde diff BEFORE AFTER")
  end
  return module
end

local function verb_for(module)
  return common.verb {
    name = diff.name,
    summary = diff.summary,
    arguments = {
      { name = "before", help = "the earlier input" }, { name = "after", help = "the later input" },
    },
    options = function()
      local json <const> = module.takes == "diff" and { common.json } or {}
      return options.join(require("sonde.diff").options, module.options, json,
        { common.output, common.format }, common.profile_options())
    end,
    examples = {
      "sonde diff monday.nettrace tuesday.nettrace",
      "sonde diff before.pb.gz after.pb.gz --normalize -o diff.svg",
    },
    run = function(args, env) return run(module, args, env) end,
  }
end

--- Runs the verb.
-- @tparam {string,...} words
-- @tparam table env
-- @treturn ?integer exit status
function diff.start(words, env)
  return verb_for(chosen_module(words)).start(words, env)
end

return diff
