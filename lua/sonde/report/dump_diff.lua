--- What became of each goroutine between two dumps of a process.
-- @module sonde.report.dump_diff
local dump_report <const> = require "sonde.report.dump"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"

local report = {}

local MAX_IDS <const> = 5

-- Changes of one kind and stack are one group.
local function groups_of(changes, kind)
  local groups, by_key = {}, {}
  for _, change in ipairs(changes) do
    if change.change == kind then
      local key <const> = change.frames
      local group = by_key[key]
      if group == nil then
        group = { count = 0, frames = key, state = change.state, longest = 0, ids = {},
          created_by = change.created_by, before = change.before }
        by_key[key], groups[#groups + 1] = group, group
      end
      group.count = group.count + 1
      group.longest = math.max(group.longest, change.wait_minutes)
      if #group.ids < MAX_IDS then
        group.ids[#group.ids + 1] = ("%d"):format(change.goroutine_id)
      end
    end
  end
  table.sort(groups, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    return a.ids[1] < b.ids[1]
  end)
  return groups
end

local function top_of(frames)
  local frame <const> = require("sonde.dump").main_frame(frames)
  return frame and frame.func or "(no frames)"
end

local function head_of(group)
  local words = { text.printable(group.state) }
  if group.longest > 0 then words[#words + 1] = ("up to %d min"):format(group.longest) end
  if group.created_by then
    words[#words + 1] = "created by " .. text.printable(group.created_by.func)
  end
  if group.before then
    words[#words + 1] = ("before: %s in %s"):format(text.printable(group.before.state),
      text.printable(top_of(group.before.frames)))
  end
  return ("%d: %s"):format(group.count, table.concat(words, ", "))
end

local function put_kind(to, changes, kind, title, opts)
  local groups <const> = groups_of(changes, kind)
  local n = opts.n == 0 and #groups or math.min(#groups, opts.n or 10)
  if n == 0 then return end
  to:putf("\n%s\n", title)
  for i = 1, n do
    local group <const> = groups[i]
    to:put("  " .. head_of(group) .. "\n")
    to:lines(dump_report.frame_lines(group.frames, opts.frames))
    to:putf("    goroutine %s%s\n", table.concat(group.ids, ", "),
      group.count > #group.ids and ", …" or "")
  end
  if n < #groups then to:putf("  … %d more stacks; -n 0 shows all\n", #groups - n) end
end

local TITLES <const> = {
  { "new", "New" }, { "stuck", "Stuck: same stack and state" }, { "moved", "Moved" },
  { "gone", "Gone" },
}

--- Writes the changes.
-- @tparam {table,...} changes of `Dump:diff`
-- @tparam table counts likewise
-- @tparam table opts `before` and `after` (names), `n`, `frames`
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code
function report.write(changes, counts, opts, out)
  local to <const> = sink.new(out)
  to:putf("%s → %s: %d new, %d gone, %d stuck, %d moved\n", text.printable(opts.before),
    text.printable(opts.after), counts.new, counts.gone, counts.stuck, counts.moved)
  for _, row in ipairs(TITLES) do put_kind(to, changes, row[1], row[2], opts) end
  return to:finish()
end

return report
