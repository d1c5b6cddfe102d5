--- `sonde diff BEFORE AFTER`: what changed between two profiles.
-- @module sonde.cmd.diff
local chosen <const> = require "sonde.cmd.chosen"
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local formats <const> = require "sonde.cmd.formats"
local options <const> = require "sonde.base.options"

local diff = {
  name = "diff",
  summary = "what changed between two traces or profiles",
}

local views_option <const> = {
  name = "views", type = "string", argname = "BEFORE,AFTER",
  help = "a view for each input, to compare two ways of measuring one thing: cpu,oncpu compares"
    .. " samples of the kernel with those of a runtime",
}

-- The input's path is what messages name. `scale` and `normalize` mean
-- something else where several profiles are added up.
local function profile_of(path, module, view, args, env)
  args.view = view
  local scale <const>, normalize <const> = args.scale, args.normalize
  args.input, args.scale, args.normalize = path, nil, nil
  local profile <const> = chosen.profile(common.open(path, args, env), args, env,
    module)
  args.scale, args.normalize = scale, normalize
  local redactor <const> = common.redactor(args)
  return common.redacted(profile, args):set_name(redactor and redactor:path(path) or path)
end

-- What `--views` chooses: one for each input.
local function views_of(args)
  if args.views == nil then return nil end
  local before <const>, after = args.views:match "^([^,]+),([^,]+)$"
  if before == nil then errors.usage("--views: two views, BEFORE,AFTER", "--views cpu,oncpu") end
  if args.view or args.type then errors.usage("--views and --view or --type: one of them") end
  return { before, after }
end

-- A profile of one of a profile's sample types, under another name.
local function one_measure(profile, index, name)
  local frames <const> = profile:frames()
  local entry <const> = profile:types()[index]
  local result <const> = require("sonde.c.core").profile_new {
    types = { { name, entry.unit } }, default = name,
  }
  for stack, values, labels in profile:samples() do
    local place = {}
    for i, frame in ipairs(stack) do
      place[i] = { name = frames.name[frame], file = frames.file[frame],
        module = frames.module[frame] }
    end
    result:add(place, values[index], labels)
  end
  result:set_info { time_ns = profile:info().time_ns, duration_ns = profile:info().duration_ns }
  return result:set_name(profile:notes().name)
end

-- The same thing has a name in each of them, such as `cpu` in samples of the
-- kernel and `oncpu` in those of a runtime.
local function of_one_measure(before, after, views, args)
  local scope <const> = require "sonde.report.scope"
  local first <const> = common.check(scope.find_type(before, views[1]))
  local second <const> = common.check(scope.find_type(after, views[2]))
  local a <const>, b <const> = before:types()[first], after:types()[second]
  if a.unit ~= b.unit then
    errors.usage(("--views: %s is in %s, %s in %s"):format(views[1], a.unit, views[2], b.unit))
  end
  args.type, args.view = nil, nil
  if a.type == b.type then
    args.type = a.type
    return before, after
  end
  return one_measure(before, first, b.type), one_measure(after, second, b.type)
end

local function compare(module, args, env)
  local views <const> = views_of(args)
  local before = profile_of(args.before, module, views and views[1] or args.view, args, env)
  local after = profile_of(args.after, module, views and views[2] or args.view, args, env)
  if views then before, after = of_one_measure(before, after, views, args) end
  -- Two recordings are hardly ever of one length, so a gate compares shares.
  if args.fail_above and not args.scale and not args.normalize then args.scale = "total" end
  local opts <const> = common.options_of(require "sonde.diff", args)
  return common.check(require("sonde").diff(before, after, opts))
end

local function judge(difference, args)
  if args.fail_above == nil then
    if args.min_samples then errors.usage("--min-samples: needs --fail-above") end
    return nil
  end
  return common.check(difference:gate {
    fail_above = args.fail_above, min_samples = args.min_samples, by = args.by,
    label = args.label, cum = args.cum,
  })
end

-- Rows as the report gives them, each with what the gate says of it.
local function with_verdict(rows, verdict)
  if verdict == nil then return rows end
  local of = {}
  for _, row in ipairs(verdict.rows) do of[row.name] = row end
  return function()
    local row <const> = rows()
    local said <const> = row and of[row.name]
    if said then
      row.growth, row.noise, row.failed = said.growth, said.noise, said.failed
      row.samples_before, row.samples_after = said.samples_before, said.samples_after
    end
    return row
  end
end

local function write(module, difference, verdict, args, env)
  if args.json then
    local rows <const> = common.check(module.rows(difference, common.options_of(module, args)))
    return common.write_rows(with_verdict(rows, verdict), args, env)
  end
  local writer <const> = module.takes ~= "diff" and module.write_diff or nil
  common.write_report(module, difference, args, env, writer)
end

-- The verdict stands behind a report for people, or alone on stdout; other
-- outputs there are for programs, so then it goes to stderr.
local function tell(verdict, module, args, env)
  local to_file <const> = args.output ~= nil and args.output ~= "-"
  local out <const> = (to_file or module.takes == "diff" and not args.json) and env.out or env.err
  if out == env.out and not to_file then out:write("\n") end
  out:write(table.concat(verdict:lines(), "\n"), "\n")
  return verdict.failed and errors.exit.empty or errors.exit.done
end

local function run(module, args, env)
  local difference <const> = compare(module, args, env)
  local verdict <const> = judge(difference, args)
  local status <const> = write(module, difference, verdict, args, env)
  if verdict then return tell(verdict, module, args, env) end
  return status
end

local function chosen_module(words)
  local module, implied = formats.chosen(words)
  module = module or require("sonde.report").get "diff"
  if module.takes ~= "diff" and module.write_diff == nil then
    errors.usage(("'%s' cannot show a difference"):format(module.name), "sonde diff BEFORE AFTER")
  end
  return module, implied
end

local function verb_for(module, implied)
  return common.verb {
    name = diff.name,
    summary = diff.summary,
    arguments = {
      { name = "before", help = "the earlier input" }, { name = "after", help = "the later input" },
    },
    options = function()
      local json <const> = module.takes == "diff" and { common.json } or {}
      return options.join(require("sonde.diff").options, require("sonde.gate").options,
        formats.options(module, implied), json,
        { common.output, common.format, views_option }, common.profile_options(),
        common.redact_options())
    end,
    examples = {
      "sonde diff monday.nettrace tuesday.nettrace",
      "sonde diff before.pb.gz after.pb.gz --scale total -o diff.svg",
      "sonde diff native.pb.gz runtime.nettrace --views cpu,oncpu --names full --scale total",
      "sonde diff main.nettrace branch.nettrace --view running --fail-above 5% --min-samples 50",
    },
    run = function(args, env) return run(module, args, env) end,
  }
end

--- The declarations of the verb, one for each format.
-- @treturn {table,...}
function diff.forms()
  local list = {}
  for _, module in ipairs(require("sonde.report").list()) do
    if module.takes == "diff" or module.write_diff then
      list[#list + 1] = verb_for(module).declaration()
    end
  end
  return list
end

--- Runs the verb.
-- @tparam {string,...} words
-- @tparam table env
-- @treturn ?integer exit status
function diff.start(words, env)
  return verb_for(chosen_module(words)).start(words, env)
end

return diff
