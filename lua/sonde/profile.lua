--- The Lua half of Profile: patterns, filters, tables, writing.
-- A profile is a value: every operation returns a new one and leaves its
-- receiver alone. Loading this module adds the methods below to the class
-- that `sonde.c.core` made.
-- @module sonde.profile
local combine <const> = require "sonde.combine"
local core <const> = require "sonde.c.core"
local diff <const> = require "sonde.diff"
local filter <const> = require "sonde.filter"
local options <const> = require "sonde.base.options"
local reports <const> = require "sonde.report"
local text <const> = require "sonde.base.text"

local profile = {}

local Profile <const> = core.profile_class
local core_fold <const> = Profile.fold_recursion

-- What the core gives its profiles, for the reference.

--- The sample types, in their order.
-- @function Profile:types
-- @treturn {table,...} each `type unit`

--- What the profile says of itself.
-- @function Profile:info
-- @treturn table `time_ns duration_ns period default_type comments drop_frames …`

--- All frames as columns.
-- @function Profile:frames
-- @treturn table `n`, and lists `name system_name file line module address location`

--- Iterates over the samples.
-- @function Profile:samples
-- @treturn function iterator: frame numbers, innermost first, values, labels, and the
--   number of the label set

--- The sum of a sample type.
-- @function Profile:total
-- @tparam integer|string type its number or its name
-- @treturn integer

--- Functions and the calls between them.
-- @function Profile:graph
-- @tparam ?table opts `type by edges`
-- @treturn table nodes and edges

--- The tree of calls as columns.
-- @function Profile:calltree
-- @tparam ?table opts `type min by inverted`
-- @treturn table

--- The sets of labels that samples have.
-- @function Profile:label_sets
-- @treturn {table,...}

--- The binaries and libraries.
-- @function Profile:mappings
-- @treturn {table,...}

--- The bytes of a file of pprof's format.
-- @function Profile:encode
-- @tparam ?table opts `gzip`
-- @treturn ?string
-- @treturn ?string message
-- @treturn ?string code

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
    whole_mean = notes.whole_mean, interesting = notes.interesting,
  }
  return self
end

--- Says for people what a profile shows; for those who make one of another.
-- @tparam table notes `view name filters whole`, as of `Profile:notes`
-- @treturn Profile itself
function Profile:set_notes(notes)
  notes_of[self] = {
    view = notes.view, name = notes.name, filters = notes.filters or {}, whole = notes.whole,
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
    whole_mean = notes.whole_mean, interesting = notes.interesting,
  }
  return self
end

local function totals_of(self, mean)
  local totals = {}
  for i = 1, #self:types() do totals[i] = self:whole(i, mean) end
  return totals
end

-- `result` was made of `self` by what `words` say.
local function derived(self, result, words)
  local old <const> = self:notes()
  local filters = table.move(old.filters, 1, #old.filters, 1, {})
  table.move(words, 1, #words, #filters + 1, filters)
  notes_of[result] = {
    view = old.view, name = old.name, filters = filters,
    whole = old.whole or totals_of(self, false),
    whole_mean = old.whole_mean or totals_of(self, true), interesting = true,
  }
  return result
end

--- The filters, as declared options.
profile.filters = filter.options

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

-- Each step of `where`: gives a new profile, or nil when it has nothing to do.
local STEPS <const> = {
  function(self, opts, whole)
    local ends <const> = filter.ends(self, opts)
    return ends and self:extend(ends.root, ends.leaf, whole)
  end,
  function(self, opts, whole)
    local masks <const> = filter.masks(self, opts)
    if masks then masks.whole = whole end
    return masks and self:filter(masks)
  end,
  function(self, opts, whole)
    local mask <const> = filter.label_mask(self, opts)
    return mask and self:filter_labels(mask, whole)
  end,
  function(self, opts, whole)
    local stays <const> = filter.label_keys(opts)
    return stays and self:select_labels(stays, whole)
  end,
  function(self, opts) return opts.fold_recursion and core_fold(self) end,
  function(self, opts)
    local mask <const> = filter.foreign_mask(self, opts)
    return mask and self:fold_frames(mask)
  end,
}

--- The profile without the frames that it calls uninteresting itself (its
-- drop_frames, but not its keep_frames), as reports and filters see it.
-- @tparam ?boolean whole see `Profile:where`
-- @treturn ?Profile itself when it names none
-- @treturn ?string message
-- @treturn ?string code
function Profile:interesting(whole)
  local notes <const> = self:notes()
  if notes.interesting then return self end
  local mask <const> = filter.drop_mask(self)
  if mask == nil then return self end
  local result, message, code = self:filter { drop = mask, whole = whole }
  if result == nil then return nil, message, code end
  notes_of[result] = {
    view = notes.view, name = notes.name, filters = notes.filters, whole = notes.whole,
    whole_mean = notes.whole_mean, interesting = true,
  }
  return result
end

--- Applies several filters as pprof does: labels become frames first; focus,
-- ignore, hide and show see the same frames, then show_from, the labels,
-- prune_from, the folds of recursion and of what is not own code.
-- @tparam table opts any of `sonde.profile.filters`
-- @tparam ?boolean whole keep the locations and mappings that no sample has any more,
--   and the numbers of all
-- @treturn ?Profile a new one; itself when nothing was asked for
-- @treturn ?string message
-- @treturn ?string code
function Profile:where(opts, whole)
  opts = options.check(profile.filters, opts, "profile:where")
  local words <const> = words_of(opts)
  if #words == 0 then return self end
  local result, message, code = self:interesting(whole)
  for _, step in ipairs(STEPS) do
    if result == nil then return nil, message, code end
    local changed, why, reason = step(result, opts, whole)
    if changed == nil and why then return nil, why, reason end
    result = changed or result
  end
  return derived(self, result, words)
end

for _, name in ipairs(filter.of_frames) do
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

--- Shows what a framework does as one frame, the call into it.
-- @tparam ?string own pattern of what is own code; otherwise all that belongs to
--   no known framework
-- @treturn Profile
function Profile:mine(own)
  return self:where { mine = true, own = own }
end

local function ask(self, name, opts)
  return reports.rows(self, "profile", name, opts, "profile:" .. name)
end

--- The rows of any report that has some: `profile:rows "tags"`.
-- @tparam string name the report's
-- @tparam ?table opts its options
-- @treturn ?Rows they print as the report does
-- @treturn ?string message
-- @treturn ?string code
function Profile:rows(name, opts)
  return reports.rows(self, "profile", name, opts, "profile:rows")
end

--- The functions with the largest values.
-- @tparam ?table opts `n type by cum unit relative`, as the report `top`
-- @treturn ?Rows `{ name, flat, cum, unit }`; prints as a table
-- @treturn ?string message
-- @treturn ?string code `no_samples` when there are none
function Profile:top(opts)
  return ask(self, "top", opts)
end

--- Every function between its callers and its callees.
-- @tparam ?table opts `n by cum type unit relative`, as the report `tree`
-- @treturn ?Rows `{ name, flat, cum, unit, callers, callees }`
-- @treturn ?string message
-- @treturn ?string code
function Profile:tree(opts)
  return ask(self, "tree", opts)
end

--- The calls as a tree, in preorder.
-- @tparam ?table opts `min depth inverted type unit relative`
-- @treturn ?Rows `{ depth, name, self, total, unit }`
-- @treturn ?string message
-- @treturn ?string code
function Profile:calls(opts)
  return ask(self, "calltree", opts)
end

--- Functions between their callers and their callees.
-- @tparam string|table pattern regular expression, or the options of the
--   report `peek`
-- @treturn ?Rows `{ name, flat, cum, unit, callers, callees }`
-- @treturn ?string message
-- @treturn ?string code
function Profile:peek(pattern)
  local opts <const> = type(pattern) == "string" and { pattern = pattern } or pattern
  return ask(self, "peek", opts)
end

--- A copy with all values multiplied.
-- @tparam number factor an integer is exact, else the nearest integers
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
function Profile:scale(factor)
  return combine.scale(self, factor)
end

--- The sum with another profile, of the sample types that both have.
-- @tparam Profile other
-- @treturn ?Profile
-- @treturn ?string message; beside a profile it names the sample types left out
-- @treturn ?string code
function Profile:plus(other)
  return combine.merge { self, other }
end

--- The profile minus a base: what went away is negative.
-- @tparam Profile base
-- @tparam ?table opts `mark` (percentages are of the base, as with pprof's
--   `-diff_base`), `normalize` (scale to the base's totals first)
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
function Profile:minus(base, opts)
  return combine.minus(self, base, opts)
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
-- @treturn ?string code `no_samples` when there are none
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
