--- The profile, or the order of samples, that a command line chooses of its inputs.
-- @module sonde.cmd.chosen
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"
local take <const> = require "sonde.cmd.take"

local chosen = {}

local function refuse(args, names, why)
  for _, name in ipairs(names) do
    local value = args[name]
    if value ~= nil and not (type(value) == "table" and #value == 0) then
      errors.usage(("%s: %s"):format(options.flag(name), why))
    end
  end
end

-- In a pprof file the view is a sample type, which reports call `type`.
local function view_of_profile(profile, args)
  refuse(args, { "thread", "process" }, "only a trace has threads and processes; for labels"
    .. " of a profile there is --label-focus")
  if args.view and not take.chosen_by_view(profile, args) then args.type = args.view end
  return profile
end

local function whole_profile(object, args)
  return common.is_trace(object) and common.check(object:profile {
    view = args.view, names = args.names, thread = args.thread, process = args.process,
  }) or view_of_profile(object, args)
end

-- The profile of another input, for what is made of several.
local function other_profile(path, args, env)
  return whole_profile(common.open(path, args, env, { view = args.view or "wall" }), args)
end

local function add_up(first, args, env)
  if #(args.inputs or {}) < 2 then return first end
  local profiles = { first }
  for i = 2, #args.inputs do profiles[i] = other_profile(args.inputs[i], args, env) end
  local sum, message = common.check(require("sonde").merge(profiles))
  if message then env:warn(message) end
  return sum
end

-- What the options that combine profiles make of the inputs.
local function combined(first, args, env)
  local path <const> = args.base or args.diff_base
  if args.base and args.diff_base then
    errors.usage("--base and --diff-base exclude each other")
  end
  if args.normalize and path == nil then
    errors.usage("--normalize: needs --base FILE or --diff-base FILE")
  end
  local profile = add_up(first, args, env)
  if args.scale then profile = common.check(profile:scale(args.scale)) end
  if path == nil then return profile end
  local view <const> = profile:notes().view
  profile = common.check(profile:minus(other_profile(path, args, env),
    { mark = args.diff_base ~= nil, normalize = args.normalize or false }))
  return view and profile:set_view(view) or profile
end

--- The profile that the options ask for, of an object that was opened.
-- @param object Trace or Profile
-- @tparam table args `inputs` are further ones to add up
-- @tparam ?table env
-- @tparam ?table module the report that will show it: it applies filters itself
--   that it has as options
-- @treturn Profile
function chosen.profile(object, args, env, module)
  local profile <const> = combined(whole_profile(object, args), args, env)
  local wanted = {}
  for _, option in ipairs(require("sonde.profile").filters) do
    wanted[option.name] = args[option.name]
  end
  for _, option in ipairs(module and module.options or {}) do wanted[option.name] = nil end
  local filtered <const> = common.check(profile:where(wanted, module and module.whole))
  if #filtered == 0 and (args.from or args.to) then
    errors.raise { message = args.input .. ": no samples in this range of time",
      code = "no_samples", hint = "sonde inspect " .. args.input }
  end
  if #filtered == 0 and #filtered:notes().filters > 0 then
    errors.raise { message = require("sonde.report.scope").nothing(filtered),
      code = "no_samples" }
  end
  return filtered
end

--- The samples of a trace in order of time.
-- @param object Trace or Profile
-- @tparam table args
-- @treturn Timeline
function chosen.timeline(object, args)
  if not common.is_trace(object) then
    errors.raise { message = args.input .. ": a profile has no order of samples: only a trace"
      .. " has one", code = "unavailable" }
  end
  local others = { "view", "thread", "process" }
  for _, option in ipairs(require("sonde.profile").filters) do others[#others + 1] = option.name end
  refuse(args, others, "does not apply to outputs in time order")
  local timeline <const> = common.check(object:timeline { names = args.names })
  if #timeline == 0 then
    errors.raise { message = args.input .. ": no samples in time order", code = "no_samples",
      hint = "sonde inspect " .. args.input }
  end
  return timeline
end

return chosen
