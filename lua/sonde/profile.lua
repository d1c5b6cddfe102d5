--- The Lua half of Profile: patterns, filters, tables, writing.
-- A profile is a value: every operation returns a new one and leaves its
-- receiver alone. Loading this module adds the methods below to the class
-- that `sonde.c.core` made.
-- @module sonde.profile
local core <const> = require "sonde.c.core"
local diff <const> = require "sonde.diff"
local options <const> = require "sonde.base.options"
local reports <const> = require "sonde.report"
local rex <const> = require "rex_pcre2"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"

local profile = {}

local Profile <const> = core.profile_class
local core_fold <const> = Profile.fold_recursion

-- What is known of a profile beside its samples: the view it shows, the
-- filters it went through and the totals it had before them. Kept here since
-- it is for people and no part of the model.
local notes_of <const> = setmetatable({}, { __mode = "k" })

--- What a report says of a profile beside its numbers.
-- @treturn table `view` (nil, or the view of a trace), `name` (nil, or of the
--   file), `filters` (list of words such as "focus=Json"), `whole` (nil, or the
--   totals by sample type before the filters)
function Profile:notes()
  return notes_of[self] or { filters = {} }
end

--- Names the view that a profile shows.
-- @tparam string view such as "wall"
-- @treturn Profile itself
function Profile:set_view(view)
  local notes <const> = self:notes()
  notes_of[self] = {
    view = view, name = notes.name, filters = notes.filters, whole = notes.whole,
  }
  return self
end

--- Names the file that a profile came from.
-- @tparam string name
-- @treturn Profile itself
function Profile:set_name(name)
  local notes <const> = self:notes()
  notes_of[self] = {
    view = notes.view, name = name, filters = notes.filters, whole = notes.whole,
  }
  return self
end

local function totals_of(self)
  local totals = {}
  for i = 1, #self:types() do totals[i] = self:total(i, true) end
  return totals
end

-- `result` was made of `self` by what `words` say.
local function derived(self, result, words)
  local old <const> = self:notes()
  local filters = table.move(old.filters, 1, #old.filters, 1, {})
  table.move(words, 1, #words, #filters + 1, filters)
  notes_of[result] = {
    view = old.view, name = old.name, filters = filters,
    whole = old.whole or totals_of(self),
  }
  return result
end

local function compile(pattern, where)
  local ok, regex = pcall(rex.new, pattern)
  if ok then return regex end
  error(("bad pattern '%s' to '%s': %s"):format(pattern, where,
    tostring(regex):gsub("^.-:%d+: ", "")), 4)
end

-- A function that says whether a text matches, and matches each text once.
local function matcher(pattern, where)
  local regex <const> = compile(pattern, where)
  local known = { [""] = regex:find("") ~= nil }
  return function(subject)
    local hit = known[subject]
    if hit == nil then
      hit = regex:find(subject) ~= nil
      known[subject] = hit
    end
    return hit
  end
end

-- The frames that a pattern matches by name, file or module, as a string of a
-- byte for each frame. A part that is not known matches nothing.
local function mask_of(frames, matches)
  local bytes = {}
  local name <const>, file <const>, module <const> = frames.name, frames.file, frames.module
  for i = 1, frames.n do
    local hit = name[i] ~= "" and matches(name[i]) or file[i] ~= "" and matches(file[i])
      or module[i] ~= "" and matches(module[i])
    bytes[i] = hit and "\1" or "\0"
  end
  return table.concat(bytes)
end

-- Name without arguments, as pprof simplifies it for drop_frames and
-- prune_from.
local function simple_name(name)
  name = name:gsub("^%.", "")
  local at = 1
  while true do
    local open = name:find("(", at, true)
    if open == nil then return name end
    if name:find("^%(anonymous namespace%)", open) then
      at = open + #"(anonymous namespace)"
    elseif name:sub(1, open - 1):find("operator$") and name:sub(open, open + 1) == "()" then
      at = open + 2
    else
      return name:sub(1, open - 1)
    end
  end
end

local function simple_mask(frames, matches)
  local bytes = {}
  for i = 1, frames.n do
    local name = frames.name[i]
    bytes[i] = name ~= "" and matches(simple_name(name)) and "\1" or "\0"
  end
  return table.concat(bytes)
end

local FRAME_FILTERS <const> = { "focus", "ignore", "hide", "show", "show_from", "prune_from" }

--- The filters, as declared options.
profile.filters = {
  { name = "focus", type = "pattern",
    help = "only samples with a frame whose name, file or module matches" },
  { name = "ignore", type = "pattern", help = "no samples with a frame that matches" },
  { name = "hide", type = "pattern", help = "leave out the frames that match" },
  { name = "show", type = "pattern", help = "leave out the frames that do not match" },
  { name = "show_from", type = "pattern",
    help = "leave out the callers of the outermost frame that matches" },
  { name = "prune_from", type = "pattern",
    help = "leave out the callees of the innermost frame that matches" },
  { name = "label_focus", type = "string", aliases = { "tagfocus" }, argname = "[KEY=]RE",
    help = "only samples with a label that matches; of this key when one is named" },
  { name = "label_ignore", type = "string", aliases = { "tagignore" }, argname = "[KEY=]RE",
    help = "no samples with a label that matches" },
  { name = "fold_recursion", type = "boolean",
    help = "show a function that calls itself as one frame" },
}

-- Whether a label set (key to list of values) has a label that matches.
local function label_test(condition, where)
  local key, pattern = condition:match("^([%w_:.-]+)=(.*)$")
  local matches <const> = matcher(pattern or condition, where)
  return function(labels)
    for name, values in pairs(labels) do
      for _, value in ipairs(values) do
        local subject = pattern and tostring(value) or name .. ":" .. tostring(value)
        if (key == nil or name == key) and matches(subject) then return true end
      end
    end
    return false
  end
end

local function filter_labels(self, opts)
  local keep <const> = opts.label_focus and label_test(opts.label_focus, "label_focus")
  local drop <const> = opts.label_ignore and label_test(opts.label_ignore, "label_ignore")
  if keep == nil and drop == nil then return self end
  local bytes = {}
  for i, labels in ipairs(self:label_sets()) do
    local kept = (keep == nil or keep(labels)) and not (drop and drop(labels))
    bytes[i] = kept and "\1" or "\0"
  end
  return self:filter_labels(table.concat(bytes))
end

local function filter_frames(self, opts)
  local masks, frames
  for _, name in ipairs(FRAME_FILTERS) do
    if opts[name] then
      masks, frames = masks or {}, frames or self:frames()
      local make <const> = name == "prune_from" and simple_mask or mask_of
      masks[name] = make(frames, matcher(opts[name], name))
    end
  end
  if masks == nil then return self end
  return self:filter(masks)
end

local function words_of(opts)
  local words = {}
  for _, option in ipairs(profile.filters) do
    local value = opts[option.name]
    if type(value) == "string" then
      words[#words + 1] = option.name .. "=" .. text.printable(value)
    elseif value then
      words[#words + 1] = option.name
    end
  end
  return words
end

--- Applies several filters as pprof does: focus, ignore, hide and show see the
-- same frames, then show_from, the labels, prune_from, the fold of recursion.
-- @tparam table opts any of `sonde.profile.filters`
-- @treturn ?Profile a new one; itself when nothing was asked for
-- @treturn ?string message
-- @treturn ?string code
function Profile:where(opts)
  opts = options.check(profile.filters, opts, "profile:where")
  local words <const> = words_of(opts)
  if #words == 0 then return self end
  local result, message, code = filter_frames(self, opts)
  if result then result, message, code = filter_labels(result, opts) end
  if result and opts.fold_recursion then result, message, code = core_fold(result) end
  if result == nil then return nil, message, code end
  return derived(self, result, words)
end

for _, name in ipairs(FRAME_FILTERS) do
  Profile[name] = function(self, pattern)
    return self:where { [name] = pattern }
  end
end

--- Keeps the samples with a frame whose name, file or module matches.
-- @function Profile:focus
-- @tparam string pattern regular expression (PCRE2)
-- @treturn Profile

--- Drops the samples with a frame that matches.
-- @function Profile:ignore
-- @tparam string pattern
-- @treturn Profile

--- Leaves out the frames that match.
-- @function Profile:hide
-- @tparam string pattern
-- @treturn Profile

--- Leaves out the frames that do not match.
-- @function Profile:show
-- @tparam string pattern
-- @treturn Profile

--- Leaves out the callers of the outermost frame that matches, and the samples
-- without such a frame.
-- @function Profile:show_from
-- @tparam string pattern
-- @treturn Profile

--- Leaves out the callees of the innermost frame whose name matches.
-- @function Profile:prune_from
-- @tparam string pattern
-- @treturn Profile

--- Shows a function that calls itself as one frame.
-- @treturn Profile
function Profile:fold_recursion()
  return self:where { fold_recursion = true }
end

-- A list of rows that prints as the report prints it: `print(p:top())`.
local function listing(self, module, opts)
  local rows, message, code = module.rows(self, opts)
  if rows == nil then return nil, message, code end
  local list = {}
  for row in rows do list[#list + 1] = row end
  return setmetatable(list, { __tostring = function()
    local out <const> = sink.collector()
    local done, why = module.write(self, opts, out)
    return done and out:text() or why
  end })
end

local function ask(self, name, opts)
  local module <const> = reports.get(name)
  opts = options.check(module.options, opts, "profile:" .. name)
  return listing(self, module, opts)
end

--- The functions with the largest values.
-- @tparam ?table opts `n type by cum unit relative`, as the report `top`
-- @treturn ?{table,...} rows `{ name, flat, cum, unit }`; prints as a table
-- @treturn ?string message
-- @treturn ?string code `not_found` when there are no samples
function Profile:top(opts)
  return ask(self, "top", opts)
end

--- The tree of calls in preorder.
-- @tparam ?table opts `min depth inverted type unit relative`
-- @treturn ?{table,...} rows `{ depth, name, self, total, unit }`
-- @treturn ?string message
-- @treturn ?string code
function Profile:tree(opts)
  return ask(self, "tree", opts)
end

--- Functions between their callers and their callees.
-- @tparam string|table pattern regular expression, or the options of the
--   report `peek`
-- @treturn ?{table,...} rows `{ name, flat, cum, unit, callers, callees }`
-- @treturn ?string message
-- @treturn ?string code
function Profile:peek(pattern)
  local opts <const> = type(pattern) == "string" and { pattern = pattern } or pattern
  return ask(self, "peek", opts)
end

--- Compares with a later profile.
-- @tparam Profile after
-- @tparam ?table opts as `sonde.diff`
-- @treturn ?Diff
-- @treturn ?string message
-- @treturn ?string code
function Profile:diff(after, opts)
  return diff.new(self, after, opts)
end

--- Writes the profile as a report or in a format.
-- @tparam string|table path file name, whose extension says the format; or
--   options: `path`, `format` (a report's name), `out` (instead of a path,
--   something with `write`), and the options of that report
-- @treturn ?boolean true
-- @treturn ?string message
-- @treturn ?string code `not_found` when there are no samples
function Profile:write(path)
  return reports.write(self, "profile", path, "profile:write")
end

--- The text that `write` would write.
-- @tparam string format a report's name
-- @tparam ?table opts its options
-- @treturn ?string
-- @treturn ?string message
-- @treturn ?string code
function Profile:render(format, opts)
  return reports.render(self, "profile", format, opts, "profile:render")
end

return profile
