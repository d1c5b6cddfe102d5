--- `sonde export [STORE] --format FORMAT`: a window of a store in one file.
-- @module sonde.cmd.export
local common <const> = require "sonde.cmd.common"
local core <const> = require "sonde.c.core"
local errors <const> = require "sonde.base.errors"
local json <const> = require "sonde.base.json"
local options <const> = require "sonde.base.options"
local query <const> = require "sonde.capture.query"
local record_json <const> = require "sonde.capture.record_json"
local stores <const> = require "sonde.cmd.stores"
local text <const> = require "sonde.base.text"

local OWN <const> = {
  { name = "format", type = "string", argname = "NAME",
    help = "text (dumps as they came), jsonl, pprof, folded, html, svg, or any report's name;"
      .. " the output's name says it otherwise" },
  { name = "view", type = "string", argname = "VIEW",
    help = "what is measured, for formats that show one: a sample type; of stacks goroutine"
      .. " or wait" },
  common.output,
}

local OF_NAMES <const> = { { "%.jsonl$", "jsonl" }, { "%.json$", "jsonl" }, { "%.txt$", "text" },
  { "%.pb%.gz$", "pprof" }, { "%.pprof$", "pprof" }, { "%.pb$", "pprof" } }

local function format_of(args)
  if args.format then return args.format end
  for _, row in ipairs(args.output and OF_NAMES or {}) do
    if args.output:find(row[1]) then return row[2] end
  end
  local module, message
  if args.output then module, message = require("sonde.report").for_path(args.output) end
  if module then return module.name end
  errors.usage(message and "-o: " .. message or "neither -o FILE nor --format says what to write",
    "sonde export --format pprof -o window.pb.gz")
end

local FORMATS <const> = {}

function FORMATS.jsonl(store, question, out)
  local n = 0
  for record in common.check(store:records(question)) do
    if n == 0 then record.schema = 1 end
    out:write(record_json.encode(record), "\n")
    n = n + 1
  end
  return n
end

-- A stack without its text, in the form of a traceback.
local function write_frames(record, out)
  local id <const> = record.goroutine_id or record.thread_id
  out:write(("%s %s [%s]:\n"):format(record.goroutine_id and "goroutine" or "thread",
    id or "?", text.printable(record.state or record.thread_name or "")))
  for _, frame in ipairs(record.frames or {}) do
    out:write(text.printable(frame.func), "(...)\n")
    if frame.file then
      out:write("\t", text.printable(frame.file), (":%d\n"):format(frame.line or 0))
    end
  end
  out:write("\n")
end

local function write_record(record, out)
  if record.error then
    out:write("error: ", text.printable(record.error), "\n\n")
  elseif record.raw then
    out:write(record.raw, record.raw:sub(-1) == "\n" and "" or "\n")
  elseif record.frames then
    write_frames(record, out)
  else
    out:write(json.encode(record), "\n")
  end
end

-- The dumps of a window, each checkpoint's in turn.
function FORMATS.text(store, question, out)
  local n, part = 0, nil
  for record in common.check(store:records(question)) do
    local own <const> = ("%s %s %s"):format(record.checkpoint_id, record.key or record.pid or "?",
      record.transport or record.profile or record.kind)
    if own ~= part then
      part = own
      out:write(("%s# %s  checkpoint %s  process %s  %s%s\n\n"):format(n > 0 and "\n" or "",
        query.time(record.taken_at), text.printable(record.checkpoint_id),
        text.printable(tostring(record.key or record.pid or "?")),
        record.transport or record.profile or record.kind,
        record.reason and "  " .. text.printable(record.reason) or ""))
    end
    write_record(record, out)
    n = n + 1
  end
  return n
end

-- Are single records asked about, which no payload tells?
local function is_of_records(store, question)
  local q <const> = common.check(store:query(question))
  if q.func then return true end
  for _, condition in ipairs(q.conditions) do
    if condition.field.at == "record" or condition.field.name == "sample_type" then return true end
  end
  return false
end

local function profiles_of(store, question)
  local list, names = {}, {}
  for bytes, part in common.check(store:payloads(question)) do
    if not part.error then
      list[#list + 1] = { bytes = bytes, name = part.profile or "" }
      names[part.profile or ""] = true
    end
  end
  local several = {}
  for name in pairs(names) do several[#several + 1] = name end
  table.sort(several)
  if #several > 1 then
    errors.usage("the window holds different profiles: " .. table.concat(several, ", "),
      ("sonde export %s --kind goprof --profile %s --format pprof"):format(store.name, several[1]))
  end
  return list
end

-- One profile is written byte for byte as it came, several are merged; without
-- payloads, or when single records are asked about, it is made of records.
function FORMATS.pprof(store, question, out)
  require "sonde.profile"
  local list <const> = not is_of_records(store, question) and profiles_of(store, question) or {}
  if #list == 0 then
    out:write((common.check(common.check(store:profile(question)):encode { gzip = true })))
    return 1
  end
  if #list == 1 then
    out:write(list[1].bytes)
    return 1
  end
  local sum
  for _, row in ipairs(list) do
    local profile <const> = common.check(core.pprof_decode(row.bytes))
    if sum == nil then
      sum = profile
    else
      local merged <const> = common.check(require("sonde").merge { sum, profile })
      sum:close()
      profile:close()
      sum = merged
    end
  end
  out:write((common.check(sum:encode { gzip = true })))
  return #list
end

-- Any report of a profile.
local function write_report(module, store, question, args, out)
  question.view = args.view
  local profile <const> = common.check(store:profile(question))
  local opts = {}
  for _, option in ipairs(module.options) do
    if option.name == "type" then
      for _, type in ipairs(profile:types()) do
        if type.type == args.view then opts.type = args.view end
      end
    end
  end
  common.check(module.write(profile, options.check(module.options, opts, "export"), out))
  return 1
end

local function writer_of(format, store, question, args)
  if FORMATS[format] then
    return function(out) return FORMATS[format](store, question, out) end
  end
  local module, message = require("sonde.report").get(format)
  if module == nil then
    errors.usage("--format: " .. message, "sonde export --format text|jsonl|pprof|folded|html|svg")
  end
  if module.takes ~= "profile" and module.takes ~= "any" then
    errors.usage(("--format: a store has no %s, which '%s' is of"):format(module.takes, format))
  end
  return function(out) return write_report(module, store, question, args, out) end,
    module.binary
end

-- Dumps hold what a process chose to print; a terminal must not obey it.
local function harmless(out)
  return { write = function(self, ...)
    for _, piece in ipairs { ... } do out:write((piece:gsub("[^\n\t]+", text.printable))) end
    return self
  end }
end

-- What the store has to say is no failure of the output, which hears of it first.
local function write_all(store, args, format, env, write)
  local failure
  local function checked(out)
    if write(out) == 0 then
      errors.raise { message = store.name .. ": nothing found", code = "no_samples",
        hint = "sonde captures " .. store.name }
    end
    return true
  end
  local done, raised = pcall(common.write_to, args, format, env, function(out)
    local is_shown <const> = format == "text" and env.terminal.out and (args.output or "-") == "-"
    local written, why = pcall(checked, is_shown and harmless(out) or out)
    if written then return true end
    if errors.is_failure(why) and not why.told then failure = why end
    error(why, 0)
  end)
  if not done then error(failure or raised, 0) end
end

local function run(args, env)
  local format <const> = format_of(args)
  local store <close> = stores.open(args.store, env, "read")
  args.input = { store.name }
  local question <const> = stores.question(args, { format = true })
  if question.kind == nil and format ~= "jsonl" then
    local kinds <const> = store:kinds()
    if #kinds > 1 then
      errors.usage("the store has several kinds: " .. table.concat(kinds, ", "),
        ("sonde export %s --kind %s"):format(store.name, kinds[1]))
    end
    question.kind = kinds[1]
  end
  local write <const>, is_binary <const> = writer_of(format, store, question, args)
  if (is_binary or format == "pprof") and env.terminal.out and (args.output or "-") == "-" then
    errors.usage(format .. " is no text for a terminal", "-o FILE")
  end
  write_all(store, args, format, env, write)
end

return common.verb {
  name = "export",
  summary = "a window of a store of captures as text, JSON lines, pprof, or any report",
  arguments = { stores.argument },
  options = function() return options.join(stores.filters(), OWN) end,
  examples = {
    "sonde export captures.db --kind goprof --profile heap --checkpoint last -o heap.pb.gz",
    "sonde export captures.db --kind goprof --profile cpu --last 1h -o hour.pb.gz",
    "sonde export captures.db --kind stacks --format text",
    "sonde export captures.db --kind stacks --format jsonl --state select",
    "sonde export captures.db --kind goprof -o flame.svg",
  },
  run = run,
}
