--- Filters of profiles: what their patterns mean, as masks of bytes for the
-- core. The meaning of each is pprof's.
-- @module sonde.filter
local errors <const> = require "sonde.base.errors"
local labels <const> = require "sonde.report.labels"
local patterns <const> = require "sonde.base.pattern"
local units <const> = require "sonde.base.units"

local filter = {}

--- Filters of frames that are given as masks.
filter.of_frames = { "focus", "ignore", "hide", "show", "show_from", "prune_from" }

--- The filters, as declared options.
filter.options = {
  { name = "focus", type = "pattern",
    help = "only samples with a frame whose name, file or module matches" },
  { name = "ignore", type = "pattern", help = "no samples with a frame that matches" },
  { name = "hide", type = "pattern", help = "leave out the frames that match" },
  { name = "show", type = "pattern", help = "leave out the frames that do not match" },
  { name = "show_from", type = "pattern",
    help = "leave out the callers of the outermost frame that matches" },
  { name = "prune_from", type = "pattern",
    help = "leave out the callees of the innermost frame that matches" },
  { name = "label_focus", type = "string", argname = "[KEY=]RE",
    help = "only samples with a label that matches; of this key when one is named" },
  { name = "label_ignore", type = "string", argname = "[KEY=]RE",
    help = "no samples with a label that matches" },
  { name = "tagfocus", type = "string", argname = "[KEY=]WHAT",
    help = "as pprof's: samples with a label; WHAT is RE,RE or a range such as 1kb:4mb" },
  { name = "tagignore", type = "string", argname = "[KEY=]WHAT",
    help = "as pprof's: no samples with such a label" },
  { name = "tagshow", type = "pattern", help = "only labels whose key matches" },
  { name = "taghide", type = "pattern", help = "no labels whose key matches" },
  { name = "tagroot", type = "string", argname = "KEYS",
    help = "put the values of these labels (keys with commas) under the stacks, as their"
      .. " outermost frames" },
  { name = "tagleaf", type = "string", argname = "KEYS",
    help = "put the values of these labels (keys with commas) on the stacks, as their"
      .. " innermost frames" },
  { name = "no_inlines", aliases = { "noinlines" }, type = "boolean",
    help = "count what was inlined for the function it was inlined into" },
  { name = "fold_recursion", type = "boolean",
    help = "show a function that calls itself as one frame" },
  { name = "mine", type = "boolean",
    help = "own code only: what a framework does is one frame, the call into it" },
  { name = "own", type = "pattern",
    help = "with --mine, what is own code, by name, file or module; otherwise all that"
      .. " belongs to no known framework" },
}

--- A function that says whether a text matches, and matches each text once.
-- @tparam string source the pattern
-- @tparam string where the option's name, for the message; a bad one raises
-- @treturn function
function filter.matcher(source, where)
  local matches <const> = patterns.matcher(source, where)
  local known = { [""] = matches("") }
  return function(subject)
    local hit = known[subject]
    if hit == nil then
      hit = matches(subject)
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

--- The masks for `profile:filter`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?table nil when nothing was asked of frames
function filter.masks(profile, opts)
  local masks, frames
  for _, name in ipairs(filter.of_frames) do
    if opts[name] then
      masks, frames = masks or {}, frames or profile:frames()
      local make <const> = name == "prune_from" and simple_mask or mask_of
      masks[name] = make(frames, filter.matcher(opts[name], name))
    end
  end
  if opts.no_inlines then
    masks = masks or {}
    masks.no_inlines = true
  end
  return masks
end

--- The mask of the frames that are not the user's own code.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?string nil when it was not asked for
function filter.foreign_mask(profile, opts)
  if not opts.mine then
    if opts.own then errors.usage("--own: needs --mine") end
    return nil
  end
  local frames <const>, bytes = profile:frames(), {}
  if opts.own then
    return (mask_of(frames, filter.matcher(opts.own, "own")):gsub(".", { ["\0"] = "\1",
      ["\1"] = "\0" }))
  end
  local framework <const> = require "sonde.base.framework"
  local known = {}
  for i = 1, frames.n do
    local key <const> = frames.name[i] .. "\0" .. frames.module[i]
    known[key] = known[key]
      or (framework.is_function(frames.name[i], frames.module[i]) and "\1" or "\0")
    bytes[i] = known[key]
  end
  return table.concat(bytes)
end

-- What matches the names that a profile's own patterns mean.
local function drop_matchers(info)
  return patterns.matcher("^(?:" .. info.drop_frames .. ")$"), info.keep_frames ~= ""
    and patterns.matcher("^(?:" .. info.keep_frames .. ")$")
end

--- What is wrong with the patterns of uninteresting frames that a profile has.
-- @param profile
-- @treturn ?string message, when they cannot be used
function filter.drop_problem(profile)
  local info <const> = profile:info()
  if info.drop_frames == "" then return nil end
  local done <const>, failure <const> = pcall(drop_matchers, info)
  if done then return nil end
  if not errors.is_failure(failure) then error(failure, 0) end
  return "drop_frames or keep_frames: " .. failure.message
end

--- The mask of the frames that a profile itself calls uninteresting: those of
-- an allocator, say. Its patterns are of whole names.
-- @param profile
-- @treturn ?string nil when it names none
-- @treturn ?string message about a pattern that cannot be used
function filter.drop_mask(profile)
  local info <const> = profile:info()
  if info.drop_frames == "" then return nil end
  -- The patterns are the file's: what is wrong with them is not the user's fault.
  local done, mask = pcall(function()
    local drop <const>, keep <const> = drop_matchers(info)
    return simple_mask(profile:frames(), function(name)
      return drop(name) and not (keep and keep(name))
    end)
  end)
  if done then return mask end
  if not errors.is_failure(mask) then error(mask, 0) end
  return nil, "drop_frames or keep_frames: " .. mask.message
end

-- Whether a label set (key to list of values) has a label that matches.
local function label_test(condition, where)
  local key, pattern = condition:match("^([%w_:.-]+)=(.*)$")
  local matches <const> = filter.matcher(pattern or condition, where)
  return function(row)
    for _, label in ipairs(row) do
      local value <const> = tostring(label.value)
      local subject = pattern and value or label.key .. ":" .. value
      if (key == nil or label.key == key) and matches(subject) then return true end
    end
    return false
  end
end

-- A number with its unit, in the largest unit of its family that pprof would
-- compare in: its own.
local function scaled(value, unit, out)
  local worth <const>, to = units.worth(unit), units.worth(out)
  if worth and to and units.family(unit) == units.family(out) then
    return (value + 0.0) * worth / to, out
  end
  if worth then return nil end
  return value + 0.0, out
end

-- "32kb", ":64kb", "4mb:", "12kb:64mb": a test of a number and its unit.
local function range_test(words)
  local from, from_unit, to, to_unit = words:match("^([+-]?%d+)(%a*):([+-]?%d+)(%a*)$")
  local least, most = from, to
  if from == nil then
    local before, number, unit, behind = words:match("^(:?)([+-]?%d+)(%a*)(:?)$")
    if number == nil or before ~= "" and behind ~= "" then return nil end
    from, from_unit, to, to_unit = number, unit, number, unit
    least, most = before == "" and number or nil, behind == "" and number or nil
  end
  local lowest <const> = scaled(math.tointeger(tonumber(from)) or 0, from_unit, from_unit)
  local highest <const> = scaled(math.tointeger(tonumber(to)) or 0, to_unit, from_unit)
  return function(value, unit)
    local number <const> = scaled(value, unit, from_unit)
    return number ~= nil and (least == nil or number >= lowest)
      and (most == nil or number <= highest)
  end
end

local function number_test(key, in_range, unit_of)
  return function(row)
    for _, label in ipairs(row) do
      if label.unit and (key == nil or label.key == key)
        and in_range(label.value, unit_of[label.key]) then return true end
    end
    return false
  end
end

local function split(words)
  local parts = {}
  for part in (words .. ","):gmatch("(.-),") do parts[#parts + 1] = part end
  return parts
end

-- With a key one of the patterns has to match one of its values; without one
-- each of them "key:value" of some label.
local function text_test(key, words, where)
  local tests = {}
  for i, pattern in ipairs(split(words)) do tests[i] = filter.matcher(pattern, where) end
  local function any(row, matches)
    for _, label in ipairs(row) do
      if label.unit == nil and (key == nil or label.key == key) then
        local subject <const> = key and label.value or label.key .. ":" .. label.value
        if matches(subject) then return true end
      end
    end
    return false
  end
  return function(row)
    for _, matches in ipairs(tests) do
      local hit <const> = any(row, matches)
      if key and hit then return true end
      if key == nil and not hit then return false end
    end
    return key == nil
  end
end

local function tag_test(condition, where, unit_of)
  local key, words = condition:match("^([^=]*)=(.*)$")
  words = words or condition
  if key == "" then key = nil end
  local in_range <const> = range_test(words)
  if in_range then return number_test(key, in_range, unit_of) end
  return text_test(key, words, where)
end

--- The mask of the label sets that stay, for `profile:filter_labels`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?string nil when nothing was asked of labels
function filter.label_mask(profile, opts)
  if not (opts.label_focus or opts.label_ignore or opts.tagfocus or opts.tagignore) then
    return nil
  end
  local rows <const> = profile:label_rows()
  local unit_of <const> = labels.units(profile, rows)
  local function test(name, make)
    return opts[name] and make(opts[name], name, unit_of)
  end
  local keeps <const> = { test("label_focus", label_test), test("tagfocus", tag_test) or nil }
  local drops <const> = { test("label_ignore", label_test), test("tagignore", tag_test) or nil }
  local bytes = {}
  for i, row in ipairs(rows) do
    local kept = true
    for _, name in pairs(keeps) do kept = kept and (not name or name(row)) end
    for _, name in pairs(drops) do kept = kept and not (name and name(row)) end
    bytes[i] = kept and "\1" or "\0"
  end
  return table.concat(bytes)
end

-- The frame of a label's values: their words, and the key as the file.
local function value_words(row, key, out)
  local texts, numbers = {}, {}
  for _, label in ipairs(row) do
    if label.key == key and label.unit == nil then texts[#texts + 1] = label.value end
    if label.key == key and label.unit then
      numbers[#numbers + 1] = label.unit == "" and ("%d"):format(label.value)
        or units.value(label.value, label.unit, out)
    end
  end
  table.move(numbers, 1, #numbers, #texts + 1, texts)
  return table.concat(texts, ",")
end

local function keys_of(words)
  local keys = {}
  for key in (words or ""):gmatch("[^,]+") do keys[#keys + 1] = key end
  return keys
end

--- What `tagroot` and `tagleaf` put at the ends of the stacks of each label
-- set, for `profile:extend`.
-- @param profile
-- @tparam table opts checked options
-- @treturn ?table `root` and `leaf`: for each label set a list of `{ name, file }`,
--   innermost first; nil when nothing was asked for
function filter.ends(profile, opts)
  if not (opts.tagroot or opts.tagleaf) then return nil end
  local rows <const> = profile:label_rows()
  local ends <const> = { root = {}, leaf = {} }
  for side, keys in pairs { root = keys_of(opts.tagroot), leaf = keys_of(opts.tagleaf) } do
    for set, row in ipairs(rows) do
      local list = {}
      for i = #keys, 1, -1 do
        list[#list + 1] = { name = value_words(row, keys[i], opts.unit), file = keys[i] }
      end
      ends[side][set] = list
    end
  end
  return ends
end

--- Which labels stay, for `profile:select_labels`.
-- @tparam table opts checked options
-- @treturn ?function (key) whether it stays; nil when nothing was asked for
function filter.label_keys(opts)
  if not (opts.tagshow or opts.taghide) then return nil end
  local show <const> = opts.tagshow and filter.matcher(opts.tagshow, "tagshow")
  local hide <const> = opts.taghide and filter.matcher(opts.taghide, "taghide")
  return function(key)
    return (show == nil or show(key)) and not (hide and hide(key))
  end
end

return filter
