--- `sonde dump FILE`: a dump of goroutines or native threads that was saved.
-- @module sonde.cmd.dump_file
local common <const> = require "sonde.cmd.common"
local dumps <const> = require "sonde.dump"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local opens <const> = require "sonde.open"
local options <const> = require "sonde.base.options"

-- What the whole text came to, told when it was read to its end.
local function conclude(stream, shown, env)
  local counts <const> = stream:counts()
  local message, code = dumps.shortcoming(counts)
  if message then env:warn(stream.name .. ": " .. message, code) end
  local closed, why, reason = stream:close()
  if not closed then env:warn(why, reason) end
  if counts.entries == 0 then
    errors.raise { code = "not_nettrace",
      message = ("%s: no goroutine or thread in %d bytes"):format(stream.name, counts.bytes) }
  end
  if shown == 0 then env:say(stream.name .. ": nothing matches the filters") end
  return shown > 0
end

local function stream_of(args)
  return common.opened(opens.dump_stream(args.input, { limit = args.limit })):where(args)
end

-- Labels by stack, of a dump with debug=1.
local function labels_of(args, env)
  if args.labels == nil then return nil end
  local labelled, message, code, hint = common.opened(opens.dump(args.labels,
    { limit = args.limit }))
  if message then env:warn(message, code, hint) end
  return require("sonde.golang.dump").labels_of(labelled)
end

local ORDER <const> = {
  "schema", "transport", "format", "goroutine_id", "change", "state", "wait_minutes",
  "locked_to_thread", "frames", "func", "file", "line", "created_by", "creator_id", "labels",
  "count", "raw",
}

local function hex(value)
  return value and ("0x%x"):format(value)
end

-- A record as the core writes it, when its labels come from elsewhere.
local function json_with_labels(stream, labels, schema, before)
  local record <const> = stream:record()
  if next(record.labels) == nil then record.labels = labels(record.frames) or record.labels end
  record.schema, record.before = schema, before ~= "" and before or nil
  json.object(record.labels)
  json.array(record.frames)
  for _, frame in ipairs(record.frames) do
    frame.pc, frame.fp, frame.sp = hex(frame.pc), hex(frame.fp), hex(frame.sp)
  end
  for _, name in ipairs { "goroutine_id", "state", "created_by", "creator_id" } do
    if record[name] == nil then record[name] = json.null end
  end
  if record.race then record.race.address = hex(record.race.address) end
  return json.encode(record, ORDER)
end

local MAX_BEFORE <const> = 1 << 16

-- One object a line. Text between goroutines goes with the next one, what is
-- behind the last with that: so one line is held back.
local function write_json(args, env)
  local stream <const>, labels = stream_of(args), labels_of(args, env)
  local before, held, n = "", nil, 0
  while true do
    local kind, message, code = stream:next()
    if message then env:warn(stream.name .. ": " .. message, code) end
    if kind == nil then break end
    if kind == "text" then
      before = (before .. stream:text()):sub(-MAX_BEFORE)
    else
      if held then env.out:write(held, "\n") end
      n = n + 1
      local schema <const> = n == 1 and 1 or nil
      held = labels and json_with_labels(stream, labels, schema, before)
        or stream:json(schema and '"schema":1,' or "", before)
      before = ""
    end
  end
  if held then
    if before ~= "" then held = held:sub(1, -2) .. ',"after":' .. json.string(before) .. "}" end
    env.out:write(held, "\n")
  end
  return conclude(stream, n, env)
end

-- Everything, as it stands in the text.
local function write_full(args, env)
  local stream <const> = stream_of(args)
  local has_filter <const> = args.state or args.func or args.wait
  local n = 0
  while true do
    local kind, message, code = stream:next()
    if message then env:warn(stream.name .. ": " .. message, code) end
    if kind == nil then break end
    if kind == "entry" then
      n = n + 1
      env.out:write(stream:text(), "\n")
    elseif not has_filter then
      env.out:write(stream:text())
    end
  end
  return conclude(stream, n, env)
end

local function write_groups(args, env)
  local dump, message, code, hint = common.opened(opens.dump(args.input, { limit = args.limit }))
  if message then env:warn(message, code, hint) end
  dump:set_labels(labels_of(args, env))
  common.write_report(require "sonde.report.dump", dump:where {
    state = args.state, func = args.func, wait = args.wait,
  }, args, env)
  return true
end

local function row_of(change, schema)
  local row <const> = {
    schema = schema, goroutine_id = change.goroutine_id, change = change.change,
    state = change.state, wait_minutes = change.wait_minutes, frames = json.array(change.frames),
    created_by = change.created_by or json.null, creator_id = change.creator_id or json.null,
  }
  if change.before then
    row.before = { state = change.before.state, wait_minutes = change.before.wait_minutes,
      frames = json.array(change.before.frames) }
  end
  return row
end

local function open_for_diff(path, args, env)
  local dump, message, code, hint = common.opened(opens.dump(path, {
    limit = args.limit, rows = true,
  }))
  if message then env:warn(message, code, hint) end
  return dump:where { state = args.state, func = args.func, wait = args.wait }
end

local function write_diff(args, env)
  if args.other == nil then
    errors.usage("--diff takes two dumps", "sonde dump --diff BEFORE AFTER")
  end
  local before <const> = open_for_diff(args.input, args, env)
  local after <const> = open_for_diff(args.other, args, env)
  local changes, counts = common.check(after:diff(before))
  if counts.strangers > 0 then
    env:warn(("%d of the ids that are in both dumps were created by different functions: these are"
      .. " not two dumps of one process"):format(counts.strangers))
  end
  if args.json then
    for i, change in ipairs(changes) do
      env.out:write(json.encode(row_of(change, i == 1 and 1 or nil), ORDER), "\n")
    end
    return #changes > 0
  end
  common.check(require("sonde.report.dump_diff").write(changes, counts, {
    before = args.input, after = args.other, n = args.n, frames = args.frames or 8,
  }, env.out))
  return true
end

return common.verb {
  name = "dump",
  summary = "goroutines or threads of a dump by stack, with states, waits and suspects",
  arguments = {
    { name = "input", help = "a goroutine dump, a log that holds one, or stacks of eu-stack or"
      .. " gdb; - is stdin" },
    { name = "other", optional = true, help = "with --diff, the later dump" },
  },
  options = function()
    return options.join({
      { name = "full", type = "boolean", help = "every goroutine as it stands in the text" },
      common.json,
      { name = "diff", type = "boolean",
        help = "what became of each goroutine between two dumps of a process" },
      { name = "labels", type = "path",
        help = "a dump with debug=1 of the same time, for the labels of the goroutines" },
    }, dumps.filters, require("sonde.report.dump").options, common.input_options)
  end,
  examples = {
    "sonde dump goroutines.txt",
    "sonde dump server.log --state chan --wait 5m",
    "sonde dump --diff before.txt after.txt",
    "curl -s localhost:6060/debug/pprof/goroutine?debug=2 | sonde dump - --json",
  },
  run = function(args, env)
    if args.other and not args.diff then
      errors.usage("two dumps without --diff", "sonde dump --diff BEFORE AFTER")
    end
    local write = write_groups
    if args.diff then write = write_diff
    elseif args.full then write = write_full
    elseif args.json then write = write_json end
    return write(args, env) and errors.exit.done or errors.exit.empty
  end,
}
