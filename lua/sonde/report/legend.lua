--- What pprof writes over a picture: of what it is, and what it leaves out.
-- @module sonde.report.legend
local text <const> = require "sonde.base.text"
local trim <const> = require "sonde.report.trim"
local units <const> = require "sonde.base.units"

local legend = {}

local MAX_FILTER <const> = 80
local MAX_NOTES <const>, MAX_NOTE <const> = 12, 300
-- Filters that pprof leaves out of its list.
local UNTOLD <const> = { prune_from = true, no_inlines = true, tagroot = true, tagleaf = true }

--- The name of the program: the base name of the first mapping.
-- @param profile
-- @treturn string "" when it is not known
function legend.program(profile)
  local main <const> = profile:mappings()[1]
  return main and main.file:match("([^/]*)/*$") or ""
end

local function add_program(lines, profile)
  local main <const> = profile:mappings()[1]
  if main == nil then return end
  if main.file ~= "" then lines[#lines + 1] = "File: " .. legend.program(profile) end
  if main.build_id ~= "" then lines[#lines + 1] = "Build ID: " .. main.build_id end
end

local function add_comments(lines, comments)
  local shown = 0
  for _, comment in ipairs(comments) do
    if comment:sub(1, 1) ~= "#" and shown < MAX_NOTES then
      shown = shown + 1
      lines[#lines + 1] = text.cut(text.utf8(comment), MAX_NOTE)
    end
  end
end

local function duration(about)
  local info <const> = about.info
  local share = ""
  if units.family(about.unit) == "time" and about.whole ~= 0 then
    local total <const> = units.whole(about.whole, about.unit, "ns")
    share = "(" .. units.percent(total, info.duration_ns) .. ")"
  end
  return ("Duration: %s, Total samples = %s %s"):format(units.duration(info.duration_ns),
    about:value(about.whole), share)
end

--- What a profile says of itself.
-- @param about a scope
-- @treturn {string,...}
function legend.profile(about)
  local lines, info = {}, about.info
  add_program(lines, about.profile)
  add_comments(lines, info.comments)
  lines[#lines + 1] = "Type: " .. about:type_name()
  if info.doc_url ~= "" then lines[#lines + 1] = "Doc: " .. info.doc_url end
  if info.time_ns ~= 0 then
    lines[#lines + 1] = os.date("!Time: %Y-%m-%d %H:%M:%S UTC", info.time_ns // 1000000000)
  end
  if info.duration_ns ~= 0 then lines[#lines + 1] = duration(about) end
  return lines
end

local function add_filters(lines, filters)
  local begun = false
  for _, words in ipairs(filters) do
    if not UNTOLD[words:match("^[%w_]+")] then
      if not begun then lines[#lines + 1] = "Active filters:" end
      begun = true
      lines[#lines + 1] = "   " .. (#words > MAX_FILTER and text.cut(words, MAX_FILTER) or words)
    end
  end
end

--- All lines: the profile, the filters, what is shown of it.
-- @param about a scope, whose unit has been chosen
-- @tparam table graph as of `trim.graph`
-- @tparam table opts checked options
-- @treturn {string,...}
function legend.lines(about, graph, opts)
  local lines <const> = legend.profile(about)
  add_filters(lines, about.filters)
  local sum = 0
  for _, node in ipairs(graph.nodes) do sum = sum + node.flat end
  lines[#lines + 1] = ("Showing nodes accounting for %s, %s of %s total"):format(
    about:value(sum), (about:percent(sum):gsub("^ +", "")), about:value(about.whole))
  if about.whole == 0 then return lines end
  if graph.dropped > 0 then
    lines[#lines + 1] = trim.dropped(graph.dropped, "node", "cum",
      about:value(trim.cutoff(about, opts.node_fraction)))
  end
  if graph.dropped_edges > 0 then
    lines[#lines + 1] = trim.dropped(graph.dropped_edges, "edge", "freq",
      about:value(trim.cutoff(about, opts.edge_fraction)))
  end
  local shown <const> = #graph.nodes
  if shown > 0 and shown < graph.original then
    lines[#lines + 1] = ("Showing top %d nodes out of %d"):format(shown, graph.original)
  end
  return lines
end

return legend
