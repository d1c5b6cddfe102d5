--- The rows of `text` as a profile of their own: each function is a sample without
-- callers, with the values cum and flat, in the unit in which the table is printed.
-- @module sonde.report.topproto
local core <const> = require "sonde.c.core"
local nodes <const> = require "sonde.report.nodes"
local options <const> = require "sonde.base.options"
local scope <const> = require "sonde.report.scope"
local trim <const> = require "sonde.report.trim"
local units <const> = require "sonde.base.units"

local topproto = {}

topproto.name = "topproto"
topproto.summary = "the rows of text as a pprof profile without callers"
topproto.takes = "profile"
topproto.binary = true
topproto.extensions = {}
topproto.options = options.join({
  { name = "n", type = "integer", short = "n", min = 0, aliases = { "nodecount" },
    help = "rows to keep, 0 for all" },
  { name = "cum", type = "boolean", default = false, help = "sort by the value with callees" },
  { name = "gzip", type = "boolean", default = true, help = "compress" },
}, nodes.options, trim.options, scope.options)

local function frame_of(node)
  return {
    name = node.name, system_name = node.system_name, file = node.file, line = node.line,
    start_line = node.start_line, address = node.address,
  }
end

--- Writes the profile.
-- @param profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function topproto.write(profile, opts, out)
  local about, message, code = scope.new(profile, opts)
  if about == nil then return nil, message, code end
  local graph, why, what = trim.graph(about, opts)
  if graph == nil then return nil, why, what end
  about:choose_unit(trim.smallest(graph.nodes))
  local unit <const> = about.out_unit == "auto" and about.unit or about.out_unit
  local made <const> = core.profile_new { types = { { "cum", unit }, { "flat", unit } } }
  for _, node in ipairs(graph.nodes) do
    made:add({ frame_of(node) }, { units.whole(node.cum, about.unit, unit),
      units.whole(node.flat, about.unit, unit) })
  end
  local info <const> = profile:info()
  local every <const> = info.period_type
  made:set_info { time_ns = info.time_ns, duration_ns = info.duration_ns, period = info.period,
    period_type = every and { every.type, every.unit } or nil }
  local bytes, refused, reason = made:encode { gzip = opts.gzip }
  if bytes == nil then return nil, refused, reason end
  out:write(bytes)
  return true
end

return topproto
