--- `sonde dump FILE|URL|PID`: goroutines or native threads, of a saved dump or of a
-- running Go program.
-- @module sonde.cmd.dump_file
local common <const> = require "sonde.cmd.common"
local dumps <const> = require "sonde.dump"
local errors <const> = require "sonde.base.errors"
local files <const> = require "sonde.base.files"
local json <const> = require "sonde.base.json"
local opens <const> = require "sonde.open"
local options <const> = require "sonde.base.options"
local take <const> = require "sonde.cmd.take"

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

-- A dump as it may be shown.
local function shown(dump, args)
  local redactor <const> = common.redactor(args)
  return redactor and require("sonde.redact.dump").wrap(redactor, dump) or dump
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
  "schema", "pid", "taken_at", "transport", "format", "goroutine_id", "change", "state",
  "wait_minutes",
  "locked_to_thread", "frames", "func", "file", "line", "created_by", "creator_id", "labels",
  "count", "raw",
}

local function hex(value)
  return value and ("0x%x"):format(value)
end

-- The registers in a text between goroutines, those of the last thread.
local function registers_in(between)
  if between == "" then return nil end
  local registers <const> = require "sonde.golang.registers"
  local blocks <const> = registers.of(between)
  return blocks[1] and registers.object(blocks[#blocks]) or nil
end

local function registers_field(between)
  local found <const> = registers_in(between)
  return found and '"registers":' .. json.encode(found, {}) or nil
end

-- A record as the core writes it, when its labels come from elsewhere or it is
-- redacted.
local function json_of_record(stream, labels, redactor, schema, before, input)
  local record <const> = stream:record()
  if labels and next(record.labels) == nil then
    record.labels = labels(record.frames) or record.labels
  end
  record.registers = registers_in(before)
  if redactor then
    require("sonde.redact.dump").record(redactor, record)
    before = before ~= "" and redactor:text(before) or before
  end
  record.schema, record.before = schema, before ~= "" and before or nil
  if type(input) == "table" then
    record.transport, record.pid, record.taken_at = input.source, input.pid, input.taken_at
  end
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

-- What is said of each goroutine of a dump that we took, and of the first alone;
-- and the registers that stand before it.
local function head_of(input, schema, before)
  local head = schema and '"schema":1,' or ""
  local found <const> = registers_field(before)
  if found then head = head .. found .. "," end
  if type(input) ~= "table" then return head end
  if input.pid then head = ('%s"pid":%d,'):format(head, input.pid) end
  return ('%s"taken_at":"%s",'):format(head, input.taken_at)
end

-- The core writes of every text that it came from a file.
local function with_transport(line, input)
  if type(input) ~= "table" then return line end
  return (line:gsub('"transport":"file"', ('"transport":"%s"'):format(input.source or "pprof"), 1))
end

-- One object a line. Text between goroutines goes with the next one, what is
-- behind the last with that: so one line is held back.
local function write_json(args, env)
  local stream <const>, labels = stream_of(args), labels_of(args, env)
  local redactor <const> = common.redactor(args)
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
      held = (labels or redactor)
        and json_of_record(stream, labels, redactor, schema, before, args.input)
        or with_transport(stream:json(head_of(args.input, schema, before), before), args.input)
      before = ""
    end
  end
  if held then
    local found <const> = registers_field(before)
    if before ~= "" and redactor then before = redactor:text(before) end
    if found then held = ("%s,%s}"):format(held:sub(1, -2), found) end
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
  common.write_report(require "sonde.report.dump", shown(dump:where {
    state = args.state, func = args.func, wait = args.wait,
  }, args), args, env)
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
  return shown(dump:where { state = args.state, func = args.func, wait = args.wait }, args)
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
    before = before.name, after = after.name, n = args.n, frames = args.frames or 8,
  }, env.out))
  return true
end

-- The text itself.
local function write_text(args, env)
  local written, message, code = files.write(args.output, function(out)
    if type(args.input) == "table" then
      out:write(args.input.bytes)
      return true
    end
    local source <close> = common.opened(require("sonde.base.input").open(args.input))
    local bytes, why, reason = files.read_all(source.input, args.limit)
    if bytes == nil then return nil, why, reason end
    out:write(bytes)
    return true
  end)
  if not written then errors.raise { message = "cannot write: " .. message, code = code } end
  env:say("wrote " .. args.output)
  return true
end

-- The dump as a profile, for any report or format.
local function write_profile(module, args, env)
  local dump, message, code, hint = common.opened(opens.dump(args.input, { limit = args.limit }))
  if message then env:warn(message, code, hint) end
  dump:set_labels(labels_of(args, env))
  local profile <const> = common.check(dump:where {
    state = args.state, func = args.func, wait = args.wait,
  }:profile())
  common.write_report(module, common.redacted(profile, args), {
    output = args.output, redact = args.redact, redactor = args.redactor,
  }, env)
  return true
end

-- What writes to the output that was named: as a profile, or the text.
local function writer_of(args)
  local reports <const> = require "sonde.report"
  local module, message
  if args.format then
    module, message = reports.get(args.format)
    if module == nil then errors.usage("--format: " .. message, "sonde report --help") end
  else
    module = reports.for_path(args.output)
  end
  if args.json or args.full or args.diff then
    errors.usage "-o and -f are for the dump itself: without --json, --full and --diff"
  end
  if module == nil and args.redact then
    errors.usage("--redact: the text itself cannot be", "--json, or -o FILE.pb.gz")
  end
  if module == nil then return write_text end
  return function(given, env) return write_profile(module, given, env) end
end

-- Inputs that are running programs are taken first.
local function take_inputs(args, env)
  for _, name in ipairs { "input", "other", "labels" } do
    local value <const> = args[name]
    if value and take.is_live(value) then
      args[name] = take.dump(value, args, env)
      args[name].taken_at = os.date "!%Y-%m-%dT%H:%M:%SZ"
      if args.redact then args[name].name = "stacks" end   -- not the address
    end
  end
  local joins <const> = args.labels == nil and not args.redact
  if joins and type(args.input) == "table" then args.labels = args.input.labels end
end

return common.verb {
  name = "dump",
  summary = "goroutines or threads by stack, with states, waits and suspects",
  arguments = {
    { name = "input", help = "a goroutine dump, a log that holds one, stacks of eu-stack or gdb, -"
      .. " (stdin); or the pid or name of a running program of Go or native code, or the URL of"
      .. " one of Go" },
    { name = "other", optional = true, help = "with --diff, the later dump" },
  },
  options = function()
    return options.join({
      { name = "output", short = "o", type = "path", argname = "FILE",
        help = "write the text to this file, or the profile of the dump when its name is of one" },
      { name = "format", short = "f", type = "string", argname = "NAME",
        help = "show the dump as a profile by this report or format: top svg html folded pprof …" },
      { name = "transport", type = "string", choices = { "pprof", "gops", "native" },
        help = "how a running program is asked (default: the first that answers; native:"
          .. " eu-stack or gdb, which stop it for the time that they take)" },
      { name = "gops", type = "string", argname = "HOST:PORT",
        help = "the address of its gops agent, when the port file does not say it" },
      { name = "timeout", type = "duration", min = 1, help = "how long a running one may take" },
      { name = "full", type = "boolean", help = "every goroutine as it stands in the text" },
      common.json,
      { name = "diff", type = "boolean",
        help = "what became of each goroutine between two dumps of a process" },
      { name = "labels", type = "path",
        help = "a dump with debug=1 of the same time, for the labels of the goroutines" },
    }, dumps.filters, require("sonde.report.dump").options, require "sonde.base.connection",
      options.select(common.input_options, { "limit" }), common.redact_options())
  end,
  examples = {
    "sonde dump goroutines.txt",
    "sonde dump server.log --state chan --wait 5m",
    "sonde dump --diff before.txt after.txt",
    "sonde dump http://localhost:6060 --func Handler",
    "sonde dump -p 4242 --json",
    "sonde dump -p 4242 -o goroutines.svg",
    "sonde dump nginx",
  },
  run = function(args, env)
    if args.other and not args.diff then
      errors.usage("two dumps without --diff", "sonde dump --diff BEFORE AFTER")
    end
    local write = (args.output or args.format) and writer_of(args) or write_groups
    take_inputs(args, env)
    if args.diff then write = write_diff
    elseif args.full then write = write_full
    elseif args.json then write = write_json end
    if args.redact and (args.full or args.labels) then
      errors.usage("--redact: not with --full or --labels, which show the text as it is", "--json")
    end
    local status
    common.checked(args, env, function(inner)
      status = write(args, inner) and errors.exit.done or errors.exit.empty
    end)
    return status
  end,
}
