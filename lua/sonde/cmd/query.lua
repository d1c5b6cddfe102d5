--- `sonde query [STORE]`: records of a store, by any of their fields.
-- @module sonde.cmd.query
local common <const> = require "sonde.cmd.common"
local errors <const> = require "sonde.base.errors"
local options <const> = require "sonde.base.options"
local show <const> = require "sonde.cmd.query_show"
local stores <const> = require "sonde.cmd.stores"

local OWN <const> = {
  { name = "sort", type = "string", argname = "FIELD",
    help = "sort by this field (taken_at value wait_minutes …); --sort=-FIELD for the largest"
      .. " first" },
  { name = "limit", short = "n", type = "count", help = "at most so many" },
  { name = "by", type = "string", argname = "WHAT",
    help = "group: stack, function, state, reason, process, checkpoint, transport, profile,"
      .. " thread, capture, error" },
  { name = "diff", type = "boolean",
    help = "what changed between two checkpoints, named behind the store; first and last are"
      .. " names too" },
  { name = "trend", type = "pattern",
    help = "how much of each checkpoint the functions that match have" },
  { name = "growth", type = "boolean",
    help = "goroutines that grow from checkpoint to checkpoint" },
  { name = "checkpoints", type = "boolean", help = "list the checkpoints instead of records" },
  { name = "view", type = "string", argname = "VIEW",
    help = "of --trend and --diff: the sample type; of stacks goroutine or wait" },
  common.json,
  { name = "csv", type = "boolean", help = "write comma-separated values" },
  common.output,
}

-- The store and what else stands behind the verb.
local function words_of(args)
  local words <const> = args.store or {}
  local wanted <const> = args.diff and 2 or 0
  if #words > wanted + 1 then
    errors.usage(("one argument too many: '%s'"):format(words[wanted + 2]))
  end
  if #words < wanted then
    errors.usage("--diff: needs two checkpoints", "sonde query STORE --diff first last")
  end
  if #words == wanted then return nil, words[1], words[2] end
  return words[1], words[2], words[3]
end

local function one_way(args)
  local chosen
  for _, name in ipairs { "by", "diff", "trend", "growth", "checkpoints" } do
    if args[name] then
      if chosen then
        errors.usage(("%s and %s exclude each other"):format(options.flag(chosen),
          options.flag(name)))
      end
      chosen = name
    end
  end
  if args.json and args.csv then errors.usage("--json and --csv exclude each other") end
  return chosen or "records"
end

-- Each way of asking gives rows, or writes by itself.
local ASK <const> = {}

function ASK.records(store, question)
  return common.check(store:records(question))
end

local function each(list)
  local i = 0
  return function()
    i = i + 1
    return list[i]
  end
end

function ASK.by(store, question, args)
  question.by = args.by
  return each(common.check(store:groups(question)))
end

function ASK.trend(store, question, args)
  question.func, question.view = args.trend, args.view
  local points <const> = common.check(store:trend(question))
  if args.output and args.output:find("%.svg$") then
    local svg <const> = require "sonde.cmd.query_trend"
    return nil, function(out) return svg.write(points, args.trend, out) end, "a picture"
  end
  return each(points)
end

function ASK.growth(store, question)
  return each(common.check(store:growth(question)))
end

function ASK.checkpoints(store, question)
  question.kind = question.kind or store:kinds()[1]
  if question.kind == nil then return each {} end
  return each(store:checkpoints(common.check(store:query(question))))
end

function ASK.diff(store, question, args, before, after)
  question.view = args.view
  local diff <const> = common.check(store:diff(before, after, question))
  local module <const> = require "sonde.report.diff"
  local opts <const> = options.check(module.options, { n = args.limit }, "query")
  if args.json or args.csv then return module.rows(diff, opts) end
  return nil, function(out) return module.write(diff, opts, out) end, "a difference"
end

local function run(args, env)
  local way <const> = one_way(args)
  local name <const>, before <const>, after <const> = words_of(args)
  local store <close> = stores.open(name, env, "read")
  args.input = { store.name }
  local question <const> = stores.question(args)
  question.limit, question.sort = args.limit, args.sort
  local following, write, what = ASK[way](store, question, args, before, after)
  local n = 0
  common.write_to(args, what or "records", env, function(out)
    if write then return write(out) end
    n = show.write(way, following, { json = args.json, csv = args.csv,
      terminal = env.terminal.out and (args.output or "-") == "-" }, out)
    return true
  end)
  if write or n > 0 then return end
  env:say(store.name .. ": nothing found", "sonde captures " .. store.name)
  return errors.exit.empty
end

return common.verb {
  name = "query",
  summary = "records of a store of captures, by any of their fields",
  arguments = { { name = "store", optional = true, many = true, help = stores.argument.help } },
  options = function() return options.join(stores.filters(), OWN) end,
  examples = {
    "sonde query captures.db --kind stacks --state 'chan receive' --wait-minutes 5..",
    "sonde query captures.db --kind goprof --sample-type inuse_space --sort=-value -n 20",
    "sonde query captures.db --kind stacks --by state --last 2h",
    "sonde query captures.db --kind goprof --diff first last",
    "sonde query captures.db --kind goprof --trend 'json' -o trend.svg",
    "sonde query captures.db --growth",
    "sonde query captures.db --kind stacks --func 'http' --json | jq .goroutine_id",
  },
  run = run,
}
