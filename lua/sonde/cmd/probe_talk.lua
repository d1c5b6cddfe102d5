--- What `sonde probe` writes: tables, lines of JSON, and a table that is
-- rewritten while probes run.
-- @module sonde.cmd.probe_talk
local json <const> = require "sonde.base.json"
local table_of <const> = require "sonde.base.table"
local text <const> = require "sonde.base.text"
local units <const> = require "sonde.base.units"

local talk = {}

local SECOND <const> = 1000000000
local DEFAULT_ROWS <const>, DEFAULT_STACKS <const> = 20, 3
local LIVE_ROWS <const> = 15
local MOST_FAILURES <const> = 10

local ORDER <const> = {
  "schema", "name", "binary", "kind", "pid", "tid", "arg", "process", "count", "returns", "mean_ns",
  "min_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns", "total_ns", "in_flight", "lost", "no_latency",
  "stacks", "user", "kernel", "type", "function_id", "offset", "file",
}

-- Stacks share their frames, so each is encoded once; 'texts' has those that were.
local function frames_json(list, texts)
  local parts = {}
  for i, frame in ipairs(list) do
    local words = texts[frame]
    if words == nil then
      words = json.encode({ name = frame.name, type = frame.type, function_id = frame.function_id,
        offset = frame.offset, file = frame.file }, ORDER)
      texts[frame] = words
    end
    parts[i] = words
  end
  return table.concat(parts, ",")
end

local function stacks_json(func, texts)
  local rows = {}
  for i, stack in ipairs(func:stacks_by_hits()) do
    rows[i] = ('{"count":%d%s,"user":[%s],"kernel":[%s]}'):format(stack.count,
      func.returns and (',"total_ns":%d'):format(stack.total_ns) or "",
      frames_json(stack.user, texts), frames_json(stack.kernel, texts))
  end
  return json.encoded("[" .. table.concat(rows, ",") .. "]")
end

local FIGURES <const> = {
  "count", "returns", "mean_ns", "min_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns", "total_ns",
  "in_flight", "lost", "no_latency",
}

local function figures_of(measure, row)
  for _, name in ipairs(FIGURES) do row[name] = measure[name] end
  return row
end

--- Writes a line of JSON for each function, and one for each group.
-- @tparam Report report
-- @tparam table args
-- @tparam table env
function talk.json(report, args, env)
  local first, texts = true, {}
  local function write(row)
    row.schema = first and 1 or nil
    first = false
    env.out:write(json.encode(row, ORDER), "\n")
  end
  for _, func in ipairs(report:functions(args.all)) do
    write(figures_of(func, { name = func.name, binary = func.binary, kind = func.kind,
      stacks = args.stacks and stacks_json(func, texts) or nil }))
  end
  for _, group in ipairs(report.groups) do
    write(figures_of(group, { name = group.name, binary = group.binary, pid = group.pid,
      tid = group.tid, arg = group.arg, process = group.process }))
  end
end

local function duration(ns)
  return ns and units.duration(ns) or "-"
end

local function columns_of(latency, groups)
  local columns = { { title = "COUNT", right = true } }
  if latency then
    for _, title in ipairs { "MEAN", "MIN", "P50", "P99", "MAX" } do
      columns[#columns + 1] = { title = title, right = true }
    end
  end
  if groups then columns[#columns + 1] = { title = "OF" } end
  columns[#columns + 1] = { title = "FUNCTION" }
  return columns
end

local function cells_of(measure, latency, name, group)
  local cells = { ("%d"):format(measure.count) }
  if latency then
    for _, field in ipairs { "mean_ns", "min_ns", "p50_ns", "p99_ns", "max_ns" } do
      cells[#cells + 1] = duration(measure[field])
    end
  end
  if group then cells[#cells + 1] = group end
  cells[#cells + 1] = text.printable(name)
  return cells
end

local function write_lines(lines, out)
  for _, line in ipairs(lines) do out:write(line, "\n") end
end

local function most_of(args, otherwise)
  if args.n == nil then return otherwise end
  return args.n == 0 and math.maxinteger or args.n
end

local function note_of(func)
  local notes = {}
  if func.in_flight and func.in_flight > 0 and not func.no_latency then
    notes[1] = ("%d in flight"):format(func.in_flight)
  end
  if func.no_latency then notes[#notes + 1] = "no latency: " .. func.no_latency end
  return #notes > 0 and ("  (" .. table.concat(notes, "; ") .. ")") or ""
end

-- All functions of a binary are of one table, the others' follow.
local function write_functions(report, args, env)
  local most <const> = most_of(args, DEFAULT_ROWS)
  local groups <const> = report:by_hits()
  if args.all then
    local listed = {}
    for _, group in ipairs(groups) do listed[group.binary] = group end
    for _, func in ipairs(report:functions(true)) do
      if func.count == 0 then
        local group = listed[func.binary]
        if group == nil then
          group = { binary = func.binary, functions = {} }
          listed[func.binary], groups[#groups + 1] = group, group
        end
        group.functions[#group.functions + 1] = func
      end
    end
  end
  for i, group in ipairs(groups) do
    local rows = {}
    for k, func in ipairs(group.functions) do
      if k > most then break end
      rows[k] = cells_of(func, report.latency, func.name .. note_of(func))
    end
    env.out:write(i > 1 and "\n" or "", text.printable(group.binary), "\n")
    write_lines(table_of.lines(columns_of(report.latency), rows), env.out)
    if #group.functions > #rows then
      env.out:write(("… and %d more; -n 0 lists all\n"):format(#group.functions - #rows))
    end
  end
end

local function name_of(group)
  local parts = {}
  if group.pid then
    parts[1] = group.process and ("%d %s"):format(group.pid, group.process) or tostring(group.pid)
  end
  if group.tid then parts[#parts + 1] = "thread " .. group.tid end
  if group.arg ~= nil then
    parts[#parts + 1] = type(group.arg) == "string" and ("%q"):format(group.arg)
      or tostring(group.arg)
  end
  return text.printable(table.concat(parts, ", "))
end

local function write_groups(report, args, env)
  if #report.groups == 0 then return end
  local rows = {}
  for i, group in ipairs(report.groups) do
    if i > most_of(args, DEFAULT_ROWS) then break end
    rows[i] = cells_of(group, report.latency, group.name, name_of(group))
  end
  env.out:write("\n")
  write_lines(table_of.lines(columns_of(report.latency, true), rows), env.out)
end

local function frame_line(frame)
  local mark <const> = frame.function_id >= 0 and "*" or " "
  -- An assembly's name goes on with its version and key.
  local short <const> = frame.file:match("[^/]*$"):gsub(", Version=.*", "")
  local place <const> = short ~= "" and ("  (%s)"):format(short) or ""
  -- Of code that only its runtime names nobody knows where it begins.
  local offset <const> = (frame.start or frame.function_id >= 0)
    and ("+0x%x"):format(frame.offset) or ""
  return text.printable(("     %s %s%s%s"):format(mark, frame.name, offset, place))
end

-- Recursion is one line.
local function write_frames(list, out)
  local i = 1
  while list[i] do
    local line <const>, first <const> = frame_line(list[i]), i
    repeat i = i + 1 until list[i] == nil or frame_line(list[i]) ~= line
    out:write(line, i - first > 1 and ("  × %d"):format(i - first) or "", "\n")
  end
end

local function write_stacks(report, args, env)
  local most <const> = args.n and most_of(args) or DEFAULT_STACKS
  for i, func in ipairs(report:functions()) do
    if i > most_of(args, DEFAULT_ROWS) then break end
    for k, stack in ipairs(func:stacks_by_hits()) do
      if k > most then break end
      env.out:write(("\n%d hits of %s"):format(stack.count, text.printable(func.name)))
      if stack.returns > 0 then
        env.out:write(", mean ", units.duration(stack.total_ns // stack.returns))
      end
      env.out:write("\n")
      write_frames(stack.kernel, env.out)
      if #stack.kernel > 0 and #stack.user > 0 then env.out:write("     ---\n") end
      write_frames(stack.user, env.out)
    end
  end
end

--- Writes tables for people.
-- @tparam Report report
-- @tparam table args
-- @tparam table env
function talk.tables(report, args, env)
  write_functions(report, args, env)
  write_groups(report, args, env)
  if args.stacks then write_stacks(report, args, env) end
end

--- Says what was lost, and what names are missing.
-- @tparam Report report
-- @tparam table env
function talk.losses(report, env)
  for _, words in ipairs(report:losses()) do env:say("lost: " .. words) end
  for _, words in ipairs(report.missing) do env:say(words) end
end

--- Says what is probed, and what could not be.
-- @tparam Probe probe
-- @tparam table env
function talk.attached(probe, env)
  local failed <const> = probe.failed
  for i, failure in ipairs(failed) do
    if i > MOST_FAILURES then
      env:say(("… and %d more"):format(#failed - MOST_FAILURES))
      break
    end
    local what <const> = failure.role == "entry" and "not probed" or "no latency"
    env:say(("%s: %s: %s%s"):format(failure.func.name, what, failure.message,
      failure.errno and (" (errno %d)"):format(failure.errno) or ""))
  end
  if env.terminal.err then
    env:say(("probing %d functions; Ctrl-C ends it"):format(#probe.functions))
  end
end

-- A live table is on the terminal's screen, and takes its place again.
local lines_shown = 0

local function rewrite(env, lines)
  if lines_shown > 0 then env.out:write(("\27[%dA\27[J"):format(lines_shown)) end
  lines_shown = #lines
  write_lines(lines, env.out)
  env.out:flush()
end

--- Takes the live table away.
-- @tparam table env
function talk.clear(env)
  if lines_shown > 0 then rewrite(env, {}) end
end

--- A function that shows the counts so far, at most once a second, when
-- standard output is a terminal.
-- @tparam Probe probe
-- @tparam table args
-- @tparam table env
-- @treturn function
function talk.live(probe, args, env)
  if not env.terminal.out or args.json then return function() end end
  local loop <const>, term <const> = require "sonde.base.loop", require "sonde.base.term"
  local next_time = 0
  lines_shown = 0
  return function()
    if loop.now() < next_time then return end
    next_time = loop.now() + SECOND
    local rows, width = {}, term.columns(1)
    for i, count in ipairs(probe:counts()) do
      if i > LIVE_ROWS then break end
      local mean <const> = (count.returns or 0) > 0 and count.total_ns // count.returns or nil
      rows[i] = { ("%d"):format(count.count), duration(mean), text.printable(count.name) }
    end
    local lines <const> = table_of.lines({ { title = "COUNT", right = true },
      { title = "MEAN", right = true }, { title = "FUNCTION" } }, rows)
    for i, line in ipairs(lines) do lines[i] = text.cut(line, width - 1) end
    rewrite(env, lines)
  end
end

--- A function that writes the hits which have come, each as a line.
-- @tparam Probe probe
-- @tparam table args
-- @tparam table env
-- @treturn function
function talk.hits(probe, args, env)
  local first = true
  local function row_of(hit)
    local row <const> = { schema = first and 1 or nil, time_ns = hit.time, pid = hit.pid,
      tid = hit.tid, name = hit.func.name, binary = hit.func.binary,
      event = hit.is_return and "return" or "entry", latency_ns = hit.latency_ns }
    first = false
    if args.stacks then
      local user, kernel = hit:stacks()
      row.user, row.kernel = frames_json(user), frames_json(kernel)
    end
    return row
  end
  local function show(hit)
    if args.json then return env.out:write(json.encode(row_of(hit), ORDER), "\n") end
    env.out:write(("%d.%09d %d/%d %s%s\n"):format(hit.time // SECOND, hit.time % SECOND, hit.pid,
      hit.tid, text.printable(hit.func.name),
      hit.is_return and (" returned after " .. units.duration(hit.latency_ns)) or ""))
    if args.stacks and not hit.is_return then
      local user, kernel = hit:stacks()
      write_frames(kernel, env.out)
      write_frames(user, env.out)
    end
  end
  return function()
    for hit in probe:hits() do show(hit) end
    env.out:flush()
  end
end

return talk
