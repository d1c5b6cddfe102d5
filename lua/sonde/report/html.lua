--- A page to explore a profile in: one HTML file that needs nothing else.
--
-- The page knows profiles, a timeline, and texts; what they come from is its
-- caller's business. `html.page` takes them as one table:
--
--    html.page({
--      title = "api.nettrace",
--      summary = ".NET 10.0.1, 12.3s",              -- one line under the title
--      facts = { { "Runtime", ".NET 10.0.1" }, … }, -- a list that opens
--      profiles = {                                 -- the first one is shown
--        { name = "wall", label = "Wall time", note = "…", profile = p,
--          type = "wall" },                         -- type: else the default one
--        …
--      },
--      timeline = { profile = "wall", timeline = tl },
--      tracks = {                                   -- what happened when
--        { name = "GC", rows = { { start_ns, duration_ns, "gen2, blocking" }, … } },
--      },
--      findings = require("sonde.finding").all(…),
--      mine = true,                                 -- opens with own code alone
--      own = "^Shop[.]",                            -- what that is, when it is known
--    }, out)
--
-- Times count from the begin of the recording. A page of a difference has,
-- instead of `profiles`, `diff = { diff = d, before = "main", after =
-- "branch", scale = "total" }`.
-- @module sonde.report.html
local assets <const> = require "sonde.report.html.assets"
local core <const> = require "sonde.c.core"
local finding <const> = require "sonde.finding"
local filter <const> = require "sonde.filter"
local framework <const> = require "sonde.base.framework"
local json <const> = require "sonde.base.json"
local options <const> = require "sonde.base.options"
local pieces <const> = require "sonde.report.html.pieces"
local scope <const> = require "sonde.report.scope"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local top <const> = require "sonde.report.top"
local units <const> = require "sonde.base.units"

local html = {}

html.name = "html"
html.summary = "a page to explore: flame graphs, table, callers, search; one file"
html.takes = "profile"
html.extensions = { "html", "htm" }
html.options = options.join(options.select(scope.options, { "type" }), {
  { name = "title", type = "string", help = "title of the page" },
}, options.select(filter.options, { "mine", "own" }), {
  { name = "scale", type = "string", choices = { "none", "total", "time" },
    help = "of a difference: compare values, shares, or values per second" },
})

-- Options that ask for one profile of a trace.
local NARROWING <const> = {
  "view", "type", "thread", "process", "focus", "ignore", "hide", "show", "show_from",
  "prune_from", "label_focus", "label_ignore", "fold_recursion",
}

--- Which object the page is of: a trace shows all its views, unless something
-- that is asked for makes it one profile.
-- @tparam table opts
-- @treturn string "any" or "profile"
function html.needs(opts)
  for _, name in ipairs(NARROWING) do
    local value <const> = opts[name]
    if value and (type(value) ~= "table" or #value > 0) then return "profile" end
  end
  if opts.names and opts.names ~= "pretty" then return "profile" end
  return "any"
end

local STATIC_ROWS <const> = 40
-- Labels that the page can filter by: more keys or values help nobody.
local MAX_KEYS <const> = 8
local MAX_VALUES <const> = 5000
-- Events of a track that the page gets; more of them are no longer seen.
local MAX_EVENTS <const> = 20000

-- The distinct values of each label key, and the keys in order.
local function label_values(sets)
  local values, keys = {}, {}
  for _, labels in ipairs(sets) do
    for key, list in pairs(labels) do
      if values[key] == nil then
        values[key] = { n = 0 }
        keys[#keys + 1] = key
      end
      local known <const> = values[key]
      if not known[list[1]] then
        known[list[1]] = true
        known.n = known.n + 1
      end
    end
  end
  table.sort(keys, function(a, b)
    if (a == "thread") ~= (b == "thread") then return a == "thread" end
    return a < b
  end)
  return values, keys
end

-- Whether a key only says in other words what the thread says already.
local function repeats_thread(sets, key)
  local thread_of, of_thread = {}, {}
  for _, labels in ipairs(sets) do
    local value, thread = labels[key] and labels[key][1], labels.thread and labels.thread[1]
    if value == nil or thread == nil then return false end
    if (thread_of[value] or thread) ~= thread or (of_thread[thread] or value) ~= value then
      return false
    end
    thread_of[value], of_thread[thread] = thread, value
  end
  return true
end

-- The keys of labels that people can choose samples by, the thread first.
local function label_keys(profile)
  local sets = {}
  for _, labels in ipairs(profile:label_sets()) do
    if next(labels) then sets[#sets + 1] = labels end
  end
  local values, keys = label_values(sets)
  local useful = {}
  for _, key in ipairs(keys) do
    local fits <const> = values[key].n <= MAX_VALUES and #useful < MAX_KEYS
    if fits and (key == "thread" or not repeats_thread(sets, key)) then
      useful[#useful + 1] = key
    end
  end
  return useful
end

local function types_of(profile)
  local list = json.array {}
  for i, entry in ipairs(profile:types()) do list[i] = { type = entry.type, unit = entry.unit } end
  return list
end

local function comment_of(profile)
  for _, comment in ipairs(profile:info().comments) do
    if comment:sub(1, 1) ~= "#" then return comment end
  end
end

-- Adds the profiles to the pack and gives what the page says of them.
local function add_views(pack, profiles)
  local views = json.array {}
  for i, entry in ipairs(profiles) do
    local index, message, code = scope.find_type(entry.profile, entry.type)
    if index == nil then return nil, message, code end
    local added
    added, message, code = pack:profile(entry.profile, label_keys(entry.profile))
    if added == nil then return nil, message, code end
    views[i] = {
      name = entry.name, label = entry.label, note = entry.note or comment_of(entry.profile),
      types = types_of(entry.profile), type = index - 1,
    }
  end
  return views
end

local function place_of(profiles, name)
  for i, entry in ipairs(profiles) do
    if entry.name == name then return i - 1 end
  end
  error(("the timeline's profile '%s' is not on the page"):format(tostring(name)), 4)
end

local function tracks_of(tracks)
  local list = json.array {}
  for i, track in ipairs(tracks or {}) do
    local rows = json.array(table.move(track.rows, 1, math.min(#track.rows, MAX_EVENTS), 1, {}))
    list[i] = { name = track.name, rows = rows }
  end
  return list
end

-- Says of each function in the pack whether it is the user's own.
local function mark_foreign(pack)
  local names <const>, modules <const> = pack:functions()
  local known = {}
  local bytes = { "\0" }
  for i = 2, #names do
    local module <const> = modules[i]
    local decided = known[module]
    if decided == nil then
      decided = framework.is_module(module)
      if decided == nil then decided = "by name" end
      known[module] = decided
    end
    if decided == "by name" then decided = framework.is_name(names[i]) end
    bytes[i] = decided and "\1" or "\0"
  end
  pack:set_foreign(table.concat(bytes))
end

-- All that the scripts need, as base64; or nil, message, code.
local function data_of(page)
  local pack <close> = core.pack_new()
  local views, message, code = add_views(pack, page.profiles)
  if views == nil then return nil, message, code end
  local meta = {
    schema = 1, views = views, tracks = tracks_of(page.tracks), diff = page.meta_diff,
    own = page.mine or nil, mine = page.own,
  }
  if page.timeline then
    local added, why, reason = pack:timeline(page.timeline.timeline)
    if added == nil then return nil, why, reason end
    meta.timeline = { view = place_of(page.profiles, page.timeline.profile) }
  end
  mark_foreign(pack)
  return pack:finish(json.encode(meta))
end

local function static_top(entry)
  local opts <const> = options.check(top.options, { type = entry.type, n = STATIC_ROWS },
    "html.page")
  local rows, about = top.list(entry.profile, opts)
  if rows == nil then return ("<p>%s</p>"):format(text.xml(about)) end
  return pieces.top(("Top %d of %s"):format(#rows, about:title()), rows, about.whole)
end

local NO_SCRIPT <const> = "<p>The pictures of this page need JavaScript in a browser of 2020 or "
  .. "later. This table does not.</p>\n"

local function write(page, static, out)
  local data, message, code = data_of(page)
  if data == nil then return nil, message, code end
  local to <const> = sink.new(out)
  assets.fill({
    title = text.xml(page.title or "profile"), summary = text.xml(page.summary or ""),
    facts = pieces.facts(page.facts), findings = pieces.findings(page.findings, page.profiles),
    static = static .. NO_SCRIPT, css = assets.style(), script = assets.script "app.js",
    data = data,
  }, to)
  return to:finish()
end

-- The two profiles of a difference as the page's, and what it says of them.
local function set_sides(page)
  local diff <const> = page.diff.diff
  local function side(one, label)
    return { label = label, duration_ns = one.profile:info().duration_ns, worth = one.worth }
  end
  page.meta_diff = {
    type = diff.type, unit = diff.unit,
    scale = page.diff.scale or diff.normalize and "total" or "none",
    before = side(diff.from, page.diff.before or "before"),
    after = side(diff.to, page.diff.after or "after"),
  }
  page.profiles = {
    { name = "before", profile = diff.from.profile, type = diff.from.type },
    { name = "after", profile = diff.to.profile, type = diff.to.type },
  }
end

local function static_changes(diff)
  local rows <const> = diff:rows { cum = false }
  for i = #rows, STATIC_ROWS + 1, -1 do rows[i] = nil end
  return pieces.changes(("Largest changes of %s (%s)"):format(diff.type, diff.unit), rows,
    diff.relative_text)
end

--- Writes a page.
-- @tparam table page as above
-- @param out anything with `write`
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code
function html.page(page, out)
  local own = {}
  for key, value in pairs(page) do own[key] = value end
  if own.diff == nil then return write(own, static_top(own.profiles[1]), out) end
  set_sides(own)
  return write(own, static_changes(own.diff.diff), out)
end

local function facts_of(profile)
  local info <const> = profile:info()
  local facts = {}
  if info.time_ns ~= 0 then
    facts[1] = { "Recorded", os.date("!%Y-%m-%d %H:%M:%S UTC", info.time_ns // 1000000000) }
  end
  if info.duration_ns ~= 0 then
    facts[#facts + 1] = { "Duration", units.duration(info.duration_ns) }
  end
  if info.period ~= 0 then
    facts[#facts + 1] = { "Period", units.value(info.period, info.period_type.unit) }
  end
  facts[#facts + 1] = { "Samples", units.count(#profile) }
  for _, words in ipairs(profile:notes().filters) do facts[#facts + 1] = { "Filter", words } end
  for _, comment in ipairs(info.comments) do facts[#facts + 1] = { "Note", comment } end
  return facts
end

-- The facts that fit on a line.
local function summary_of(facts)
  local words = {}
  for _, fact in ipairs(facts) do
    if fact[1] == "Samples" then words[#words + 1] = fact[2] .. " samples" end
    if fact[1] == "Duration" or fact[1] == "Recorded" then words[#words + 1] = fact[2] end
  end
  return table.concat(words, " · ")
end

-- The page of one profile.
local function page_of(profile, opts)
  local index, message, code = scope.find_type(profile, opts.type)
  if index == nil then return nil, message, code end
  if #profile == 0 then return nil, "no samples", "no_samples" end
  local facts <const>, notes <const> = facts_of(profile), profile:notes()
  local name <const> = notes.view or profile:types()[index].type
  return {
    title = notes.name and notes.name:match("[^/]*$") or name, summary = summary_of(facts),
    facts = facts,
    profiles = { { name = name, profile = profile, type = profile:types()[index].type } },
  }
end

--- Writes the page of a profile, or of what has a method `page`: a trace.
-- @param object
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function html.write(object, opts, out)
  local make <const> = object.page or page_of
  local page, message, code = make(object, opts)
  if page == nil then return nil, message, code end
  if #page.profiles == 0 then
    return nil, ("%s: no samples of any view"):format(page.title), "no_samples"
  end
  page.title, page.mine, page.own = opts.title or page.title, opts.mine, opts.own
  if #(object.notes and object:notes().filters or {}) == 0 then
    page.findings = finding.all(object, { name = page.title })
  end
  return html.page(page, out)
end

-- What the sides are called: their files, with the directory where that is
-- all that tells them apart.
local function names_of(diff)
  local before <const>, after <const> = diff.from.profile:notes().name, diff.to.profile:notes().name
  if before == nil or after == nil or before == after then return "before", "after" end
  for _, pattern in ipairs { "[^/]*$", "[^/]*/[^/]*$" } do
    local a <const>, b <const> = before:match(pattern), after:match(pattern)
    if a and b and a ~= b then return text.printable(a), text.printable(b) end
  end
  return text.printable(before), text.printable(after)
end

--- Writes the page of a difference.
-- @param diff
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function html.write_diff(diff, opts, out)
  local function words(side)
    return ("%s in %s samples"):format(
      units.value(side.profile:total(side.index, true), side.unit), units.count(#side.profile))
  end
  local before <const>, after <const> = names_of(diff)
  return html.page({
    title = opts.title or ("%s → %s"):format(before, after),
    summary = ("%s before: %s · after: %s"):format(text.printable(diff.type), words(diff.from),
      words(diff.to)),
    diff = { diff = diff, scale = opts.scale, before = before, after = after },
    mine = opts.mine, own = opts.own,
  }, out)
end

return html
