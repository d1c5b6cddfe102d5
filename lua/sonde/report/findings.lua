--- What an expert would point out, each with its figure, how sure it is, and
-- the command that shows more.
-- @module sonde.report.findings
local finding <const> = require "sonde.finding"
local json <const> = require "sonde.base.json"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"

local findings = {}

findings.name = "findings"
findings.summary = "what an expert would point out: hot methods, pauses, locks, losses, …"
findings.takes = "any"
findings.extensions = {}
findings.options = {
  { name = "n", type = "integer", short = "n", min = 0,
    help = "findings to print, the gravest first; 0 for all, as otherwise" },
}

-- Width of the text, and how many findings open a summary.
local WIDTH <const> = 92
local OPENING <const> = 5

local WORDS <const> = {
  certain = "certain", likely = "likely", hint = "a hint",
}

-- The words of a text in lines that fit.
local function wrap(words, indent)
  local lines, line = {}, nil
  for word in words:gmatch("%S+") do
    if line and text.length(line) + 1 + text.length(word) <= WIDTH then
      line = line .. " " .. word
    else
      lines[#lines + 1] = line
      line = indent .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

local function put(to, i, row, with_detail)
  local head <const> = ("%d. %s: %s (%s, %s)"):format(i, text.printable(row.title),
    text.printable(row.figure.text), row.severity, WORDS[row.certainty])
  for k, line in ipairs(wrap(head, "   ")) do to:put((k == 1 and line:sub(4) or line) .. "\n") end
  if with_detail and row.detail ~= "" then
    to:lines(wrap(text.printable(row.detail), "   "))
  end
  to:putf("   %s\n", text.printable(row.command))
end

local function put_problems(to, problems)
  for _, problem in ipairs(problems) do to:putf("warning: %s\n", text.printable(problem)) end
end

--- Iterates over the findings, for `--json`.
-- @param object Trace or Profile
-- @tparam table opts checked options
-- @treturn function iterator of tables; the first has `schema`
function findings.rows(object, opts)
  local list <const> = finding.all(object)
  local last <const> = (opts.n or 0) == 0 and #list or math.min(opts.n, #list)
  local i = 0
  return function()
    i = i + 1
    if i > last then return nil end
    local row <const> = list[i]
    row.figure = json.object(row.figure)
    if i == 1 then row.schema = 1 end
    return row
  end
end

--- Writes all findings with their details.
-- @param object Trace or Profile
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function findings.write(object, opts, out)
  local list <const>, problems <const> = finding.all(object)
  local last <const> = (opts.n or 0) == 0 and #list or math.min(opts.n, #list)
  local to <const> = sink.new(out)
  if #list == 0 then to:put("Findings: nothing stands out.\n") end
  for i = 1, last do
    if i > 1 then to:put("\n") end
    put(to, i, list[i], true)
  end
  put_problems(to, problems)
  return to:finish()
end

--- Writes the gravest findings in few lines, for the top of a screen.
-- @param object Trace or Profile
-- @tparam string name of the input, for commands
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function findings.write_opening(object, name, out)
  local list <const>, problems <const> = finding.all(object, { name = name })
  local to <const> = sink.new(out)
  to:put(#list == 0 and "Findings: nothing stands out.\n" or "Findings:\n")
  for i = 1, math.min(#list, OPENING) do put(to, i, list[i], false) end
  if #list > 0 then
    local more <const> = #list > OPENING and ("and %d more; "):format(#list - OPENING) or ""
    to:putf("   %sin detail: sonde report findings %s\n", more,
      require("sonde.finding.evidence").quote(name))
  end
  put_problems(to, problems)
  return to:finish()
end

return findings
