--- Chosen functions between their callers and their callees.
-- @module sonde.report.peek
local context <const> = require "sonde.report.context"
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local pattern <const> = require "sonde.base.pattern"
local scope <const> = require "sonde.report.scope"
local text <const> = require "sonde.base.text"
local trim <const> = require "sonde.report.trim"

local peek = {}

peek.name = "peek"
peek.summary = "functions that match, between their callers and their callees"
peek.takes = "profile"
peek.extensions = {}
peek.options = options.join({
  { name = "pattern", type = "pattern", default = ".",
    help = "functions to show; all otherwise" },
  { name = "cum", type = "boolean", default = false,
    help = "sort by the value with callees" },
}, options.select(nodes.options, { "by" }),
  options.select(trim.options, { "drop_negative" }), scope.options)

local function look(profile, opts)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local all <const> = trim.graph(about, opts, { edges = true }).nodes
  local matches <const>, found = pattern.matcher(opts.pattern), {}
  for _, node in ipairs(all) do
    if matches(node.name) then found[#found + 1] = node end
  end
  if #found == 0 then
    return nil, ("no function matches '%s'"):format(text.printable(opts.pattern)), "no_samples"
  end
  return about, found, all
end

--- Iterates over the functions, for `--json`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?function iterator of `{ name, flat, cum, unit, callers, callees }`,
--   the last two lists of `{ name, value }`
-- @treturn ?string message
-- @treturn ?string code
function peek.rows(profile, opts)
  local about, found, why = look(profile, opts)
  if about == nil then return nil, found, why end
  return context.rows(about, found)
end

--- Writes a block for each function: callers above, callees below.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function peek.write(profile, opts, out)
  local about, found, all = look(profile, opts)
  if about == nil then return nil, found, all end
  about:choose_unit(trim.smallest(all))
  local to <const> = context.begin(about, out)
  to:putf("Showing %d function%s; %s, calls%% of the function's cum\n", #found,
    #found == 1 and "" or "s", about:denominator())
  context.write(about, found, all, to)
  return to:finish()
end

return peek
