--- A dump: what every goroutine or thread of a process did at one instant.
--
--    local dump = assert(sonde.open("goroutines.txt"))
--    for _, group in ipairs(dump:groups()) do print(group.count, group.frames[1].func) end
--    print(dump:where{ state = "chan", wait = "5m" }:profile():top())
--
-- A dump keeps its goroutines by stack, so its size follows the number of
-- different stacks. What is told of a single one (arguments, raw text) is read
-- from the file again by `Dump:entries`. Where the text comes from is the
-- business of `sonde.golang.dump` and `sonde.process.native`.
-- @module sonde.dump
local core <const> = require "sonde.c.core"
local filter <const> = require "sonde.dump.filter"
local options <const> = require "sonde.base.options"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local dump = {}

local Dump <const> = {}
Dump.__index = Dump
Dump.__name = "sonde.Dump"

--- Options of `Dump:where`; see `sonde.dump.filter`.
dump.filters = filter.options

--- Options of `Dump:groups`.
dump.group_options = {
  { name = "similar", type = "string", choices = { "line", "function" }, default = "line",
    help = "stacks are alike when these are: functions with their lines, or functions alone" },
}

--- Options of `Dump:profile`.
dump.profile_options = {
  { name = "view", type = "string", choices = { "goroutine", "thread", "wait" },
    help = "what is measured: their number, or the time that they have waited" },
}

-- What was missing in the text, in words; nil when all is well.
local function shortcoming(info)
  local nouns <const> = info.format == "native" and "threads" or "goroutines"
  if info.capped then
    return "the text is 64 MiB, the most that debug=2 of a Go program gives: " .. nouns
      .. " are missing at its end", "truncated"
  end
  if info.cut then
    return "the text ends in mid-line: its last entry is not complete, and others may be missing",
      "truncated"
  end
  if info.failed > 0 then
    return ("%d of %d threads could not be looked into"):format(info.failed, info.entries),
      "truncated"
  end
  if info.told > 0 and info.told > info.goroutines then
    return ("the text speaks of %d %s and holds %d"):format(info.told, nouns, info.goroutines),
      "truncated"
  end
end

-- Why there is nothing in a text.
local function nothing_in(info)
  local noun <const> = info.format == "native" and "thread" or "goroutine"
  local first <const> = info.notes:match("%S[^\n]*")
  return ("no %s in %d bytes%s"):format(noun, info.bytes, first
    and "; the first line is: " .. text.cut(text.utf8(text.printable(first)), 60) or ""),
    "not_nettrace"
end

--- What is wrong with a text that was read.
-- @tparam table info of `Dump:info`, or counts of a stream
-- @treturn ?string message; nil when nothing is
-- @treturn ?string code `truncated`
function dump.shortcoming(info)
  return shortcoming(info)
end

--- Makes a dump of a text.
-- @tparam table source of `sonde.base.input`
-- @tparam table opts `format` ("go" or "native"), `limit`, `rows` (keep a row
--   for each goroutine, which `Dump:diff` needs), `names` (of functions),
--   `progress`, `reopen` (gives another source of the same text; nil when there
--   is none)
-- @treturn ?Dump
-- @treturn ?string message; beside a dump it says what is missing in it
-- @treturn ?string code
function dump.read(source, opts)
  local userdata, refused, refusal = core.dump {
    format = opts.format, limit = opts.limit, rows = opts.rows, names = opts.names,
  }
  if userdata == nil then return nil, refused, refusal end
  local taken = 0
  while true do
    local n, message, code = userdata:pump(source.input)
    if n == nil then return nil, message, code end
    if n == 0 then break end
    taken = taken + n
    if opts.progress then opts.progress(taken, source.size) end
  end
  local finished, message, code = userdata:finish()
  if not finished then return source:fail(message, code) end
  local self <const> = dump.wrap(userdata, { name = source.name, transport = "file",
    format = opts.format, reopen = opts.reopen, rows = opts.rows })
  local info <const> = self:info()
  if info.entries == 0 then return source:fail(nothing_in(info)) end
  local missing, why = shortcoming(info)
  if missing then return self, ("%s: %s"):format(source.name, missing), why end
  return self
end

--- Makes a dump of what `core.dump` holds.
-- @tparam sonde.dump userdata finished
-- @tparam table about `name transport format reopen rows`
-- @treturn Dump
function dump.wrap(userdata, about)
  return setmetatable({
    core = userdata, name = about.name, transport = about.transport, format = about.format,
    reopen = about.reopen, has_rows = about.rows, filters = {},
  }, Dump)
end

--- The frame that says most about a stack.
-- @tparam {table,...} frames
-- @treturn ?table see `sonde.golang.suspects`
function dump.main_frame(frames)
  return require("sonde.golang.suspects").main_frame(frames)
end

--- Is the object a dump?
-- @param object
-- @treturn boolean
function dump.is(object)
  return getmetatable(object) == Dump
end

--- Facts of the whole.
-- @treturn table `format goroutines` (or threads) `entries system truncated
--   groups bytes lines text_lines unknown_lines told races cut capped notes`;
--   see docs/dumps.md
function Dump:info()
  return self.core:info()
end

--- The registers that a program printed as it died, a block for each thread.
-- @treturn {table,...} see `sonde.golang.registers`; those of the first 64 KiB of text
--   around the goroutines
-- @treturn string that text without them
function Dump:registers()
  return require("sonde.golang.registers").of(self:info().notes)
end

-- Other profiles have the same form as text: threadcreate, and a program's own.
local NOUNS <const> = { goroutine = "goroutine", thread = "thread", threadcreate = "thread" }

-- What the dump is a profile of.
local function type_of(self)
  if self.format == "native" then return "thread" end
  return ("\n" .. self:info().notes):match("\n([%w_./-]+) profile: total %d") or "goroutine"
end

--- The word for what the dump holds.
-- @treturn string "goroutine" or "thread"; "entry" when it is neither
function Dump:noun()
  return NOUNS[type_of(self)] or "entry"
end

--- A frame, by its number.
-- @tparam integer number as rows name it
-- @treturn table `func file line module inlined elided`; the dump's own
function Dump:place(number)
  self.places = self.places or {}
  local place = self.places[number]
  if place == nil then
    place = self.core:place(number)
    if place.func == "" and place.pc then place.func = ("0x%x"):format(place.pc) end
    self.places[number] = place
  end
  return place
end

--- The frames of a stack, innermost first.
-- @tparam integer stack as rows name it
-- @treturn {table,...} the dump's own, see `Dump:place`
function Dump:stack(stack)
  self.stacks = self.stacks or {}
  local frames = self.stacks[stack]
  if frames == nil then
    frames = self.core:stack(stack)
    for i, number in ipairs(frames) do frames[i] = self:place(number) end
    self.stacks[stack] = frames
  end
  return frames
end

--- Iterates over what is alike in all that is told of it.
-- @treturn function gives a number and a row: `stack state count wait` (minutes)
--   `created_by` (a place) `labels ids thread_name locked system truncated
--   unavailable leaked error`
function Dump:rows()
  local next_row, state, start = self.core:groups()
  return function(_, i)
    local row
    repeat i, row = next_row(state, i) until i == nil or self.kept == nil or self.kept[i]
    return i, row
  end, nil, start
end

--- The number of goroutines or threads that the filters leave.
-- @treturn integer
-- @treturn integer of these, stacks of the system
function Dump:count()
  local n, system = 0, 0
  for _, row in self:rows() do
    n = n + row.count
    if row.system then system = system + row.count end
  end
  return n, system
end

local function has_function(frames, functions)
  for _, frame in ipairs(frames) do
    if functions[frame.func] then return true end
  end
  return false
end

--- Leaves only some of the goroutines; the receiver stays as it is.
-- @tparam table wanted see `sonde.dump.filter`
-- @treturn Dump
function Dump:where(wanted)
  wanted = options.check(dump.filters, wanted, "dump:where")
  if wanted.state == nil and wanted.func == nil and wanted.wait == nil then return self end
  local states <const> = filter.matcher(wanted.state)
  local functions <const> = filter.matcher(wanted.func)
  local least <const> = filter.minutes(wanted.wait)
  local kept = {}
  for i, row in self:rows() do
    local state <const> = self.format == "native" and row.thread_name or row.state
    if row.wait >= least and (states == nil or states[state or ""])
      and (functions == nil or has_function(self:stack(row.stack), functions)) then
      kept[i] = true
    end
  end
  local copy = setmetatable({}, Dump)
  for key, value in pairs(self) do copy[key] = value end
  copy.kept, copy.grouped = kept, nil
  copy.filters = table.move(self.filters, 1, #self.filters, 1, {})
  for _, option in ipairs(dump.filters) do
    local value <const> = wanted[option.name]
    if value then
      copy.filters[#copy.filters + 1] = ("%s=%s"):format(option.name, option.name == "wait"
        and units.duration(value) or value)
    end
  end
  return copy
end

-- What two stacks must have in common to be shown as one.
local function key_of(self, row, similar)
  local creator <const> = row.created_by and self:place(row.created_by).func or ""
  if similar == "line" then return row.stack .. "\0" .. creator end
  local names = {}
  for i, frame in ipairs(self:stack(row.stack)) do names[i] = frame.func end
  names[#names + 1] = "\0" .. creator
  return table.concat(names, "\n")
end

local MAX_IDS <const> = 5

local function new_group(self, row)
  return {
    count = 0, longest = 0, shortest = row.wait, locked = 0, system = 0, truncated = 0,
    unavailable = 0, leaked = 0, ids = {}, names = {}, states = {}, by_state = {},
    labels = {}, frames = self:stack(row.stack),
    created_by = row.created_by and self:place(row.created_by) or nil,
  }
end

local FLAGS <const> = { "locked", "system", "truncated", "unavailable", "leaked" }

local function add_row(group, row)
  group.count = group.count + row.count
  if row.wait >= group.longest then group.longest, group.longest_id = row.wait, row.ids[1] end
  group.shortest = math.min(group.shortest, row.wait)
  for _, flag in ipairs(FLAGS) do
    if row[flag] then group[flag] = group[flag] + row.count end
  end
  for i = 1, math.min(#row.ids, MAX_IDS - #group.ids) do
    group.ids[#group.ids + 1] = row.ids[i]
    if i == 1 then group.names[#group.ids] = row.thread_name end
  end
  if row.labels then
    group.labels[#group.labels + 1] = { labels = row.labels, count = row.count }
  end
  group.error = group.error or row.error
  local state = group.by_state[row.state]
  if state == nil and row.state ~= "" then
    state = { state = row.state, count = 0 }
    group.by_state[row.state] = state
    group.states[#group.states + 1] = state
  end
  if state then state.count = state.count + row.count end
end

local function by_count(a, b)
  if a.count ~= b.count then return a.count > b.count end
  if a.longest ~= b.longest then return a.longest > b.longest end
  return a.order < b.order
end

--- The goroutines by similar stack, the most frequent first. The list is the
-- dump's own: who wants to change it makes a copy.
-- @tparam ?table opts see `dump.group_options`
-- @treturn {table,...} `count`, `frames` (innermost first, `func file line module
--   inlined`; where frames are missing, one with `elided`), `created_by`, `states`
--   (`{ state, count }`, the most frequent first), `longest` and `shortest` wait in
--   minutes, `longest_id`, `ids` of some, `names` of the threads by their
--   place among the ids, `labels` (`{ labels, count }`),
--   `locked system truncated unavailable leaked` (how many), `error`
function Dump:groups(opts)
  opts = options.check(dump.group_options, opts, "dump:groups")
  if self.grouped and self.grouped[opts.similar] then return self.grouped[opts.similar] end
  local groups, by_key = {}, {}
  for _, row in self:rows() do
    local key <const> = key_of(self, row, opts.similar)
    if self.labels_by and row.labels == nil then
      row.labels = self.labels_by(self:stack(row.stack))
    end
    local group = by_key[key]
    if group == nil then
      group = new_group(self, row)
      group.order = #groups + 1
      by_key[key], groups[group.order] = group, group
    end
    add_row(group, row)
  end
  for _, group in ipairs(groups) do
    table.sort(group.states, function(a, b)
      if a.count ~= b.count then return a.count > b.count end
      return a.state < b.state
    end)
    group.by_state = nil
  end
  table.sort(groups, by_count)
  for _, group in ipairs(groups) do group.order = nil end
  self.grouped = self.grouped or {}
  self.grouped[opts.similar] = groups
  return groups
end

--- Gives labels to goroutines that have none of their own.
-- @tparam ?function by labels for a list of frames, or nil
-- @treturn Dump itself
function Dump:set_labels(by)
  self.labels_by, self.grouped = by, nil
  return self
end

-- The filters as a mask of the core.
local function mask_of(self)
  if self.kept == nil then return nil end
  local bytes = {}
  for i = 1, self.core:info().groups do bytes[i] = self.kept[i] and "\1" or "\0" end
  return table.concat(bytes)
end

--- The dump as a profile: a sample for each stack, with state, creator and
-- labels as its labels.
-- @tparam ?table opts `view`: "goroutine" (their number) or "wait" (the time
--   that they have waited)
-- @treturn ?Profile
-- @treturn ?string message
-- @treturn ?string code
function Dump:profile(opts)
  opts = options.check(dump.profile_options, opts, "dump:profile")
  require "sonde.profile"
  local what <const> = type_of(self)
  local profile, message, code = self.core:profile {
    kept = mask_of(self), waits = opts.view == "wait", type = what,
  }
  if profile == nil then return nil, message, code end
  return profile:set_view(opts.view == "wait" and "wait" or what):set_name(self.name)
end

--- The views that the dump has.
-- @treturn {string,...}
function Dump:views()
  return self.format == "native" and { "thread" } or { "goroutine", "wait" }
end

--- What became of each goroutine since an earlier dump of the same process.
-- @tparam Dump before
-- @treturn ?{table,...} see `sonde.dump.changes`
-- @treturn table|string counts, or a message
-- @treturn ?string code
function Dump:diff(before)
  if not (self.has_rows and before.has_rows) then
    error("bad argument to 'dump:diff' (dumps without rows)", 2)
  end
  return require("sonde.dump.changes").between(before, self)
end

--- What an expert would point out: goroutines that leak, wait for ever or for
-- each other.
-- @treturn {table,...} see `sonde.golang.suspects`; empty for threads
function Dump:suspects()
  if self.format == "native" then return {} end
  return require("sonde.golang.suspects").of(self)
end

--- The goroutines or threads one by one, with all that the text tells of each.
-- They are read from the file again.
-- @treturn ?function iterator of records: the fields of docs/dumps.md
-- @treturn ?string message
-- @treturn ?string code `unavailable` when the text cannot be read again
-- @treturn ?string hint
function Dump:entries()
  if self.reopen == nil then
    return nil, self.name .. ": cannot be read a second time", "unavailable",
      "write it to a file first"
  end
  local stream, message, code, hint = self.reopen()
  if stream == nil then return nil, message, code, hint end
  return stream:records()
end

--- Frees the memory now.
function Dump:close()
  self.core:close()
end

Dump.__close = Dump.close

function Dump:__tostring()
  local filters <const> = table.concat(self.filters, ", ")
  return ("%s: %s in %s%s"):format(self.name, units.several(self:count(), self:noun()),
    units.several(#self:groups(), "stack"), filters ~= "" and (" (%s)"):format(filters) or "")
end

return dump
