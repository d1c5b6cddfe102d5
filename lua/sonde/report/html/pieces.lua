--- The parts of the page that are plain HTML: they are there before a script
-- runs, and when none does.
-- @module sonde.report.html.pieces
local json <const> = require "sonde.base.json"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local pieces = {}

local xml <const> = text.xml

-- Findings that are shown before somebody asks for all.
local FEW <const> = 4

local WORDS <const> = { certain = "certain", likely = "likely", hint = "a hint" }

--- The facts as a list that opens.
-- @tparam ?{table,...} facts each `{ label, value }`
-- @treturn string
function pieces.facts(facts)
  if facts == nil or #facts == 0 then return "" end
  local rows = {}
  for i, fact in ipairs(facts) do
    rows[i] = ("<dt>%s</dt><dd>%s</dd>"):format(xml(tostring(fact[1])), xml(tostring(fact[2])))
  end
  return ('<details class="facts"><summary>About</summary><dl>%s</dl></details>'):format(
    table.concat(rows))
end

-- What the page shows when a finding is asked for: parts of its state, or nil.
local function state_of(finding, profiles)
  local state = {}
  for _, entry in ipairs(profiles) do
    if entry.name == finding.view then state.profile = entry.name end
  end
  if finding.view and state.profile == nil then return nil end
  if finding.focus then state.q = (finding.focus:gsub("[%^$.|?*+()%[%]{}\\]", "\\%0")) end
  return next(state) and state
end

local function finding_item(finding, profiles)
  local show <const> = state_of(finding, profiles)
  local button <const> = show
    and ('<button type="button" class="link" data-show="%s">Show</button>'):format(
      xml(json.encode(show))) or ""
  return table.concat {
    ('<li class="finding %s"><h3>%s</h3>'):format(finding.severity, xml(finding.title)),
    ('<p><span class="figure">%s</span> %s</p>'):format(xml(finding.figure.text),
      xml(finding.detail)),
    ('<div class="foot">%s<span class="sure">%s</span><code>%s</code></div></li>'):format(button,
      WORDS[finding.certainty], xml(finding.command)),
  }
end

local function toggle(class, open, close, is_open)
  return ('<button type="button" data-findings="%s" data-open="%s" data-close="%s" '
    .. 'aria-expanded="%s" aria-controls="findings">%s</button>'):format(class, open, close,
    tostring(is_open), is_open and close or open)
end

--- The findings as cards.
-- @tparam ?{table,...} findings of `sonde.finding`
-- @tparam {table,...} profiles of the page
-- @treturn string
function pieces.findings(findings, profiles)
  if findings == nil or #findings == 0 then return "" end
  local items = {}
  for i, finding in ipairs(findings) do items[i] = finding_item(finding, profiles) end
  local more <const> = #findings > FEW
    and toggle("is-short", "Show all " .. #findings, "Show fewer", false) or ""
  return table.concat {
    '<section class="findings is-short" aria-label="Findings"><div class="findings-head">',
    "<h2>Findings</h2>", more, toggle("is-closed", "Open", "Close", true), "</div>",
    '<ol id="findings">', table.concat(items, "\n"), "</ol></section>",
  }
end

local function table_of(head, rows)
  local lines = { '<div class="table-scroll" tabindex="0"><table><thead><tr>' }
  for _, title in ipairs(head) do
    lines[#lines + 1] = ('<th scope="col"%s>%s</th>'):format(
      title.number and ' class="number"' or "", title[1])
  end
  lines[#lines + 1] = "</tr></thead><tbody>\n"
  for _, row in ipairs(rows) do
    lines[#lines + 1] = "<tr>"
    for i, cell in ipairs(row) do
      lines[#lines + 1] = (head[i].number and '<td class="number">%s</td>' or "<td>%s</td>")
        :format(xml(cell))
    end
    lines[#lines + 1] = "</tr>\n"
  end
  lines[#lines + 1] = "</tbody></table></div>"
  return table.concat(lines)
end

local function share(value, whole)
  return (units.percent(value, whole):gsub("^ +", ""))
end

--- The functions with the largest values.
-- @tparam string title
-- @tparam {table,...} rows `{ name, flat, cum, unit }`
-- @tparam integer whole what percentages are of
-- @treturn string
function pieces.top(title, rows, whole)
  local lines = {}
  for i, row in ipairs(rows) do
    lines[i] = {
      units.value(row.flat, row.unit), share(row.flat, whole),
      units.value(row.cum, row.unit), share(row.cum, whole), row.name,
    }
  end
  local number <const> = function(word) return { word, number = true } end
  return ("<h2>%s</h2>\n%s"):format(xml(title), table_of(
    { number "Self", number "Self %", number "Total", number "Total %", { "Function" } }, lines))
end

--- What changed most.
-- @tparam string title
-- @tparam {table,...} rows of `Diff:rows`
-- @tparam function relative_text of `sonde.diff`
-- @treturn string
function pieces.changes(title, rows, relative_text)
  local lines = {}
  for i, row in ipairs(rows) do
    lines[i] = {
      units.value(row.before, row.unit), units.value(row.after, row.unit),
      (row.change > 0 and "+" or "") .. units.value(row.change, row.unit),
      relative_text(row.relative), row.name,
    }
  end
  local number <const> = function(word) return { word, number = true } end
  return ("<h2>%s</h2>\n%s"):format(xml(title), table_of(
    { number "Before", number "After", number "Change", number "Change %", { "Function" } },
    lines))
end

return pieces
