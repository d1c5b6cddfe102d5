--- A dump by stack: how many goroutines or threads are where, in which states,
-- for how long, and what looks wrong.
-- @module sonde.report.dump
local dumps <const> = require "sonde.dump"
local sink <const> = require "sonde.report.sink"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local report = {}

report.name = "dump"
report.summary = "goroutines or threads by stack, with states, waits and suspects"
report.takes = "dump"
report.extensions = {}
report.options = {
  { name = "n", type = "integer", short = "n", min = 0,
    help = "stacks to print, 0 for all; 20 otherwise" },
  { name = "frames", type = "integer", min = 0, default = 20,
    help = "frames to print of each stack, 0 for all" },
  dumps.group_options[1],
}

local DEFAULT_GROUPS <const> = 20
local MAX_NOTES <const> = 12
local MAX_SUSPECTS <const> = 20

-- "/srv/shop/cart/cart.go" is "cart/cart.go" to a reader.
local function short_path(path)
  return path:match("([^/\\]+[/\\][^/\\]+)$") or path
end

--- A frame's place for people: "cart/cart.go:17".
-- @tparam table frame
-- @treturn string "" when nothing is known
function report.place(frame)
  if frame.file then
    return ("%s%s"):format(short_path(frame.file), frame.line and ":" .. frame.line or "")
  end
  return frame.module and short_path(frame.module) or ""
end

-- Frames that are the same one again, as a recursion shows, are one row.
local function rows_of(frames, most)
  local rows, shown = {}, 0
  for _, frame in ipairs(frames) do
    local last <const> = rows[#rows]
    if last and last.frame == frame then
      last.times = last.times + 1
    elseif most > 0 and #rows == most then
      break
    else
      rows[#rows + 1] = { frame = frame, times = 1 }
    end
    shown = shown + 1
  end
  return rows, #frames - shown
end

local LONGEST_NAME <const> = 60

--- The frames of a stack as aligned lines.
-- @tparam {table,...} frames
-- @tparam integer most 0 for all
-- @treturn {string,...}
function report.frame_lines(frames, most)
  local rows <const>, left = rows_of(frames, most)
  local width = 0
  for _, row in ipairs(rows) do
    row.name = text.printable(row.frame.func) .. (row.frame.inlined and " (inline)" or "")
    width = math.max(width, math.min(text.length(row.name), LONGEST_NAME))
  end
  local lines = {}
  for i, row in ipairs(rows) do
    local place = text.printable(report.place(row.frame))
    if row.times > 1 then place = ("%s (%d times)"):format(place, row.times) end
    local blank <const> = (" "):rep(math.max(width - text.length(row.name), 0) + 2)
    lines[i] = "    " .. row.name .. (place ~= "" and blank .. place or "")
  end
  if left > 0 then lines[#lines + 1] = ("    … %d more frames"):format(left) end
  return lines
end

local function minutes(n)
  return ("%d min"):format(n)
end

local function wait_of(group)
  if group.longest == 0 then return nil end
  if group.shortest == group.longest then return minutes(group.longest) end
  return ("%d to %s"):format(group.shortest, minutes(group.longest))
end

local function states_of(group)
  if #group.states == 0 then return nil end
  if #group.states == 1 then return text.printable(group.states[1].state) end
  local words = {}
  for i, state in ipairs(group.states) do
    words[i] = ("%s (%d)"):format(text.printable(state.state), state.count)
  end
  return table.concat(words, ", ")
end

local FLAGS <const> = {
  { "locked", "locked to thread" }, { "system", "system" }, { "leaked", "leaked" },
  { "unavailable", "stack unavailable" }, { "truncated", "frames missing" },
}

local function flags_of(group, words)
  for _, flag in ipairs(FLAGS) do
    local n <const> = group[flag[1]]
    if n > 0 then
      words[#words + 1] = n == group.count and flag[2] or ("%d %s"):format(n, flag[2])
    end
  end
end

local function head_of(group, noun)
  local words = { states_of(group), wait_of(group) }
  if words[1] == nil then words[1], words[2] = words[2], nil end
  flags_of(group, words)
  if group.created_by then
    words[#words + 1] = "created by " .. text.printable(group.created_by.func)
  end
  if group.error then words[#words + 1] = text.printable(group.error) end
  local head <const> = units.several(group.count, noun)
  return #words > 0 and head .. ": " .. table.concat(words, ", ") or head
end

-- Which they are, or some of them.
local function ids_of(group, noun)
  local words = {}
  for i, id in ipairs(group.ids) do
    local name <const> = noun == "thread" and group.names[i]
    words[i] = ("%d%s"):format(id, name and (" %s"):format(text.printable(name)) or "")
  end
  if #words == 0 then return nil end
  return ("    %s %s%s"):format(noun, table.concat(words, ", "),
    group.count > #words and ", …" or "")
end

local function labels_of(group)
  local lines = {}
  for i, row in ipairs(group.labels) do
    if i > 3 then
      lines[i] = ("    … %d more sets of labels"):format(#group.labels - 3)
      break
    end
    local keys = {}
    for key in pairs(row.labels) do keys[#keys + 1] = key end
    table.sort(keys)
    for k, key in ipairs(keys) do
      keys[k] = text.printable(("%s=%s"):format(key, row.labels[key]))
    end
    lines[i] = ("    labels %s%s"):format(table.concat(keys, " "),
      row.count < group.count and (" (%d)"):format(row.count) or "")
  end
  return lines
end

local function put_group(to, group, noun, opts)
  to:put("\n" .. head_of(group, noun) .. "\n")
  to:lines(report.frame_lines(group.frames, opts.frames))
  if #group.frames == 0 and group.unavailable == 0 then to:put("    (no frames)\n") end
  to:lines(labels_of(group))
  local ids <const> = ids_of(group, noun)
  if ids then to:put(ids .. "\n") end
end

-- Blocks of registers that are mentioned: a thread each.
local MAX_BLOCKS <const> = 3

-- What the program said around the dump: the panic, the fatal error.
local function put_notes(to, dump, info)
  local blocks <const>, notes <const> = dump:registers()
  local n = 0
  for line in notes:gmatch("[^\n]+") do
    if line:find("%S") and not line:find("^%a+ profile: total %d") then
      n = n + 1
      if n > MAX_NOTES then break end
      to:put("  | " .. text.cut(text.utf8(text.printable(line)), 160) .. "\n")
    end
  end
  for i, block in ipairs(blocks) do
    local where <const> = block.values.rip or block.values.pc or block.values.eip
    to:putf("  | %d registers%s; --json shows them\n", #block.names,
      where and (", at 0x%x"):format(where) or "")
    if i == MAX_BLOCKS then break end
  end
  if info.text_lines > n and n >= MAX_NOTES then
    to:putf("  | … %d more lines; --full shows them\n", info.text_lines - MAX_NOTES)
  end
end

local function put_suspects(to, dump)
  local list <const> = dump:suspects()
  if #list == 0 then return end
  to:put("\nSuspects\n")
  for i, suspect in ipairs(list) do
    if i > MAX_SUSPECTS then
      to:putf("  … %d more\n", #list - MAX_SUSPECTS)
      break
    end
    to:put("  " .. text.printable(suspect.message) .. "\n")
  end
end

local function put_head(to, dump, info, groups)
  local noun <const> = dump:noun()
  local n, system = dump:count()
  to:putf("%s: %s in %s", text.printable(dump.name), units.several(n - system, noun),
    units.several(#groups, "stack"))
  if system > 0 then to:putf(", %s of the system", units.several(system, "stack")) end
  if info.races > 0 then to:putf(", %s", units.several(info.races, "data race")) end
  if #dump.filters > 0 then
    to:put("; only " .. text.printable(table.concat(dump.filters, ", ")))
  end
  to:put("\n")
end

--- Writes the dump by stack.
-- @tparam Dump dump
-- @tparam table opts checked options
-- @param out
-- @treturn ?boolean
-- @treturn ?string message
-- @treturn ?string code `no_samples`
function report.write(dump, opts, out)
  local groups <const> = dump:groups { similar = opts.similar }
  if #groups == 0 then
    return nil, ("%s: no %s is left by %s"):format(dump.name, dump:noun(),
      table.concat(dump.filters, ", ")), "no_samples"
  end
  local info <const> = dump:info()
  local n = opts.n or DEFAULT_GROUPS
  if n == 0 or n > #groups then n = #groups end
  local to <const> = sink.new(out)
  put_head(to, dump, info, groups)
  put_notes(to, dump, info)
  put_suspects(to, dump)
  for i = 1, n do put_group(to, groups[i], dump:noun(), opts) end
  if n < #groups then
    to:putf("\n… %s more; -n 0 shows all\n", units.several(#groups - n, "stack"))
  end
  return to:finish()
end

return report
